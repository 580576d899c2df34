//! The rows as a table in Markdown and as JSON.

use serde_json::{Map, Value, json};

use super::{FILE_BYTES, FILES, Row, STARTS, Unit, beside::Beside};
use crate::report::time;

pub(super) fn table(names: &[&str], rows: &[Row], rounds: u32) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let head = std::iter::once("median").chain(names.iter().copied()).chain(["ratio to the best other", "bar"]);
    let mut text = line(head.map(str::to_owned).collect());
    text += &line(vec!["---".to_owned(); names.len() + 3]);
    for row in rows {
        let mut cells = vec![row.name.to_owned()];
        cells.extend(row.figures.iter().map(|spread| figure(spread.median, row.unit)));
        cells.push(row.ratio().map_or_else(String::new, |ratio| format!("{ratio:.2}")));
        cells.push(bar(row));
        text += &line(cells);
    }
    text + &format!(
        "\n{STARTS} starts; {rounds} rounds of {FILES} files of {FILE_BYTES} bytes, each read once and once again in a new process."
    )
}

pub(super) fn json(names: &[&str], rows: &[Row]) -> Value {
    let row = |row: &Row| {
        let unit = match row.unit {
            Unit::Nanoseconds => "ns",
            Unit::Kibibytes => "KiB",
        };
        let servers: Map<String, Value> = names
            .iter()
            .zip(&row.figures)
            .map(|(name, spread)| {
                ((*name).to_owned(), json!({ "p10": spread.p10, "median": spread.median, "p90": spread.p90 }))
            })
            .collect();
        json!({ "measure": row.name, "unit": unit, "servers": servers, "ratio": row.ratio(), "bar": words(row), "holds": row.holds() })
    };
    json!({ "measures": rows.iter().map(row).collect::<Vec<_>>() })
}

pub(super) fn beside_table(rows: &[Beside], all: u64) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let head = ["beside", "ping idle", "ping", "ratio", "read idle", "read", "ratio", "peak RSS", "answered", "bars"];
    let mut text = line(head.map(str::to_owned).to_vec());
    text += &line(vec!["---".to_owned(); head.len()]);
    for row in rows {
        let of =
            |row: &crate::harness::Row| [time(row.floor.median), time(row.case.median), format!("{:.2}", row.ratio())];
        let mut cells = vec![row.ping.about.to_owned()];
        cells.extend(of(&row.ping).into_iter().chain(of(&row.read)));
        cells.extend([figure(row.peak, Unit::Kibibytes), row.answered.to_string()]);
        cells.push(if row.holds() { "hold" } else { "MISSED" }.to_owned());
        text += &line(cells);
    }
    text + &format!("\none server that met them all, each twice: {} at most", figure(all, Unit::Kibibytes))
}

pub(super) fn beside_json(rows: &[Beside], all: u64) -> Value {
    let row = |row: &Beside| {
        json!({
            "case": row.ping.name, "about": row.ping.about, "peak_kib": row.peak, "answered": row.answered,
            "ping_ratio": row.ping.ratio(), "read_ratio": row.read.ratio(), "bar": row.ping.bar.to_string(), "holds": row.holds(),
        })
    };
    json!({ "cases": rows.iter().map(row).collect::<Vec<_>>(), "peak_kib_of_all": all })
}

fn bar(row: &Row) -> String {
    words(row).map_or_else(String::new, |words| if row.holds() { words } else { format!("{words} MISSED") })
}

fn words(row: &Row) -> Option<String> {
    row.bar.map(|bar| bar.to_string())
}

fn figure(value: u64, unit: Unit) -> String {
    match unit {
        Unit::Nanoseconds => time(value),
        Unit::Kibibytes => format!("{}.{} MiB", value / 1024, value % 1024 * 10 / 1024),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::{Bar, Spread};

    #[test]
    fn a_missed_bar_is_said() {
        let spread = |median| Spread { p10: median, median, p90: median };
        let row = |unit, bar, ours| Row { name: "x", unit, bar: Some(bar), figures: vec![spread(ours), spread(2048)] };
        let rows = [row(Unit::Kibibytes, Bar::AtMost(2.0), 1536), row(Unit::Nanoseconds, Bar::Below(1.0), 2048)];
        let text = table(&["ours", "other"], &rows, 3);
        assert!(text.contains("| x | 1.5 MiB | 2.0 MiB | 0.75 | ≤ 2 |\n"), "{text}");
        assert!(text.contains("| x | 2.04 µs | 2.04 µs | 1.00 | < 1 MISSED |\n"), "{text}");
        let value = json(&["ours", "other"], &rows);
        assert_eq!(value["measures"][1]["holds"], false);
        assert_eq!(value["measures"][0]["servers"]["ours"]["median"], 1536);
    }
}

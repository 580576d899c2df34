//! The rows as a table and as JSON.

use serde_json::{Value, json};

use crate::harness::{Row, Spread, Unit};

pub(crate) fn table(rows: &[Row], size: Option<u64>) -> String {
    let line = |cells: [String; 6]| {
        let [name, floor, case, spread, ratio, bar] = cells;
        format!("{name:19} | {floor:>11} | {case:>11} | {spread:>21} | {ratio:>6} | {bar}\n")
    };
    let head = ["case", "floor", "median", "p10–p90", "ratio", "bar"].map(str::to_owned);
    let mut text = line(head);
    for row in rows {
        let word = if row.holds() { "holds" } else { "MISSED" };
        let figure = |value: u64| figure(value, row.unit);
        let spread = format!("{} – {}", figure(row.case.p10), figure(row.case.p90));
        let cells = [row.name.to_owned(), figure(row.floor.median), figure(row.case.median), spread];
        let [name, floor, case, spread] = cells;
        text += &line([name, floor, case, spread, format!("{:.2}", row.ratio()), format!("{} {word}", row.bar)]);
    }
    for row in rows {
        text += &format!("\n{}: {} ({} rounds)", row.name, row.about, row.rounds);
    }
    if let Some(size) = size {
        text += &format!("\nreadproof, stripped: {size} bytes");
    }
    text
}

pub(crate) fn json(rows: &[Row], size: Option<u64>) -> Value {
    let spread = |s: Spread, unit: Unit| match unit {
        Unit::Nanoseconds => json!({ "p10_ns": s.p10, "median_ns": s.median, "p90_ns": s.p90 }),
        Unit::Bytes => json!({ "p10_bytes": s.p10, "median_bytes": s.median, "p90_bytes": s.p90 }),
        Unit::Scaling => json!({ "p10_permille": s.p10, "median_permille": s.median, "p90_permille": s.p90 }),
    };
    let row = |row: &Row| {
        json!({
            "case": row.name, "about": row.about, "rounds": row.rounds,
            "floor": spread(row.floor, row.unit), "measured": spread(row.case, row.unit),
            "ratio": row.ratio(), "bar": row.bar.to_string(), "holds": row.holds(),
        })
    };
    json!({ "cases": rows.iter().map(row).collect::<Vec<_>>(), "stripped_bytes": size })
}

/// In a suitable unit.
fn figure(value: u64, unit: Unit) -> String {
    match unit {
        Unit::Nanoseconds => time(value),
        Unit::Bytes => format!("{value} B"),
        Unit::Scaling => format!("{}.{:02} ×", value / 1000, value % 1000 / 10),
    }
}

pub(crate) fn time(ns: u64) -> String {
    let parts = |unit: u64| format!("{}.{:02}", ns / unit, ns % unit * 100 / unit);
    if ns < 1_000_000 { format!("{} µs", parts(1_000)) } else { format!("{} ms", parts(1_000_000)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::harness::Bar;

    #[test]
    fn a_missed_bar_is_said() {
        let spread = |median| Spread { p10: median, median, p90: median };
        let row = |bar, unit| Row {
            name: "x",
            about: "what it is",
            bar,
            rounds: 3,
            unit,
            floor: spread(1_500),
            case: spread(3_000_000),
        };
        let text =
            table(&[row(Bar::AtMost(2000.0), Unit::Nanoseconds), row(Bar::AtMost(2.0), Unit::Nanoseconds)], Some(7));
        assert!(text.contains("2000.00 | ≤ 2000 holds\n") && text.contains("≤ 2 MISSED\n"), "{text}");
        assert!(text.contains("1.50 µs") && text.contains("3.00 ms") && text.contains("7 bytes"), "{text}");
        assert!(table(&[row(Bar::AtMost(2.0), Unit::Bytes)], None).contains("3000000 B"));
        assert!(table(&[row(Bar::AtLeast(0.85), Unit::Scaling)], None).contains("1.50 × |   3000.00 × |"));
        let value = json(&[row(Bar::AtMost(2.0), Unit::Nanoseconds)], None);
        assert_eq!(value["cases"][0]["holds"], false);
        assert_eq!(value["cases"][0]["measured"]["median_ns"], 3_000_000);
    }
}

//! Names that resemble one that does not exist, for "did you mean".

/// At most this many names are offered.
const MOST: usize = 3;

/// The names closest to `wanted`, best first; none when nothing is close.
#[must_use]
pub fn nearest(wanted: &str, names: &[String]) -> Vec<String> {
    let wanted_lower = wanted.to_lowercase();
    // A third of the letters may differ: beyond that a guess is noise.
    let tolerance = (wanted_lower.chars().count() / 3).max(1);
    let mut close: Vec<(usize, &String)> = names
        .iter()
        .map(|name| (distance(&wanted_lower, &name.to_lowercase()), name))
        .filter(|(distance, _)| *distance <= tolerance)
        .collect();
    close.sort();
    close.into_iter().take(MOST).map(|(_, name)| name.clone()).collect()
}

/// Single-letter edits that lead from one name to the other; names of files are short, so the plain table will do.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn close_names_only() {
        let names: Vec<String> = ["lib.rs", "main.rs", "Makefile", "libs.rs"].map(String::from).into();
        assert_eq!(nearest("lob.rs", &names), ["lib.rs", "libs.rs"]);
        assert_eq!(nearest("makefil", &names), ["Makefile"]);
        assert_eq!(nearest("zzz", &names), [""; 0]);
    }
}

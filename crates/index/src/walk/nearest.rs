//! Finds existing names similar to a missing one, for "did you mean".

/// The most names that are suggested.
const MOST: usize = 3;

/// The names closest to `wanted`, best first; none if none is close.
#[must_use]
pub fn nearest(wanted: &str, names: &[String]) -> Vec<String> {
    let wanted_lower = wanted.to_lowercase();
    // A third of the letters may differ; beyond that a guess is noise.
    let tolerance = (wanted_lower.chars().count() / 3).max(1);
    let len = wanted_lower.len();
    let mut close: Vec<(usize, &String)> = names
        .iter()
        // A character has at most four bytes, so these cannot be close.
        .filter(|name| name.len() <= (len + tolerance) * 4 && len <= (name.len() + tolerance) * 4)
        .map(|name| (distance(&wanted_lower, &name.to_lowercase()), name))
        .filter(|(distance, _)| *distance <= tolerance)
        .collect();
    close.sort();
    close.into_iter().take(MOST).map(|(_, name)| name.clone()).collect()
}

/// The edit distance, with a swap of two neighbouring letters as one edit. Names are short, so a plain table is enough.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = [vec![0; b.len() + 1], (0..=b.len()).collect(), vec![0; b.len() + 1]];
    for i in 0..a.len() {
        let [before, last, row] = &mut rows;
        row[0] = i + 1;
        for j in 0..b.len() {
            let replaced = last[j] + usize::from(a[i] != b[j]);
            let mut least = replaced.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                least = least.min(before[j - 1] + 1);
            }
            row[j + 1] = least;
        }
        rows.rotate_left(1);
    }
    rows[1][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn close_names_only() {
        let names: Vec<String> = ["lib.rs", "main.rs", "Makefile", "libs.rs"].map(String::from).into();
        assert_eq!(nearest("lob.rs", &names), ["lib.rs", "libs.rs"]);
        assert_eq!(nearest("makefil", &names), ["Makefile"]);
        assert_eq!(nearest("Makefiel", &names), ["Makefile"]);
        assert_eq!((distance("", "ab"), distance("walk", "wlak"), distance("abc", "ca")), (2, 1, 3));
        assert_eq!(nearest("zzz", &names), [""; 0]);
    }
}

//! Files of functions that can be located without a parser: each begins with its doc comment or attribute after an empty
//! line, and ends at the first line that is only a brace.

use crate::{op::Random, world::watch::some_word};

pub(super) const FILES: [&str; 2] = ["code.rs", "more.rs"];

/// Function names; both files may define one, and a file may define one several times.
const NAMES: [&str; 5] = ["sym0", "sym1", "sym2", "sym3", "sym4"];

/// Whether a file is one of them.
pub(super) fn is_code(name: &str) -> bool {
    FILES.contains(&name)
}

/// One of the names, or almost one.
pub(super) fn some_name(random: &mut Random) -> String {
    if random.below(20) == 0 { "sym9".to_owned() } else { NAMES[random.below(NAMES.len())].to_owned() }
}

/// A new file.
pub(super) fn text(random: &mut Random) -> String {
    let functions: Vec<String> = (0..1 + random.below(4)).map(|_| function(random)).collect();
    functions.join("\n")
}

fn function(random: &mut Random) -> String {
    let mut text = String::new();
    for line in 0..random.below(3) {
        text.push_str(&format!("/// Line {line} of what it does, {}.\n", random.below(3)));
    }
    if random.below(3) == 0 {
        text.push_str("#[inline]\n");
    }
    let most = if random.below(6) == 0 { 60 } else { 6 };
    text.push_str(&format!("fn {}() {{\n", NAMES[random.below(NAMES.len())]));
    for _ in 0..random.below(most) {
        // Looks like a definition, but is not.
        let line = ["a();", "let f = \"fn sym0() {\";", "// fn sym1() {}", "b(3);"].get(random.below(5));
        let line = line.map_or_else(|| format!("c({});", some_word(random)), |line| (*line).to_owned());
        text.push_str(&format!("    {line}\n"));
    }
    text.push_str("}\n");
    text
}

/// The same file with a function changed, moved, duplicated or removed, or with other line endings.
pub(super) fn changed(old: &str, random: &mut Random) -> String {
    match random.below(12) {
        0 if old.contains("\r\n") => return old.replace("\r\n", "\n"),
        0 => return old.replace('\n', "\r\n"),
        1 if old.ends_with('\n') => return old.trim_end().to_owned(),
        2 if random.below(4) == 0 => return String::new(),
        _ => {}
    }
    let end = if old.contains("\r\n") { "\r\n" } else { "\n" };
    let plain = old.replace("\r\n", "\n");
    let mut parts: Vec<String> = plain
        .split("\n\n")
        .filter(|part| !part.trim().is_empty())
        .map(|part| format!("{}\n", part.trim_end()))
        .collect();
    let at = random.below(parts.len() + 1);
    match random.below(5) {
        0 if at < parts.len() => drop(parts.remove(at)),
        1 if at < parts.len() => parts.swap(0, at),
        2 if at < parts.len() => parts[at] = function(random),
        _ => parts.insert(at, function(random)),
    }
    parts.truncate(6);
    parts.join("\n").replace('\n', end)
}

/// Where a text defines a name: first and last lines, counted from 1.
pub(super) fn places(text: &str, name: &str) -> Vec<(u64, u64)> {
    let lines: Vec<&str> = text.lines().collect();
    let opens = format!("fn {name}() {{");
    let mut found = Vec::new();
    for (at, _) in lines.iter().enumerate().filter(|(_, line)| **line == opens) {
        let above =
            lines[..at].iter().rev().take_while(|line| line.starts_with("///") || line.starts_with("#[")).count();
        let below = lines[at..].iter().take_while(|line| **line != "}").count();
        found.push(((at - above + 1) as u64, (at + below + 1) as u64));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_where_they_are() {
        let text =
            "/// a\n#[inline]\nfn sym1() {\n    a();\n}\n\nfn sym0() {\n    // fn sym1() {}\n}\n\nfn sym1() {\n}\n";
        assert_eq!(places(text, "sym1"), [(1, 5), (11, 12)]);
        assert_eq!(places(&text.replace('\n', "\r\n"), "sym0"), [(7, 9)]);
        assert_eq!(places(text.trim_end(), "sym1"), [(1, 5), (11, 12)]);
        assert_eq!(places(text, "sym2"), []);
    }
}

//! The `charset` that `.editorconfig` files declare for a file: the nearest file wins, in it the last section, and none above the
//! workspace counts. The files may come from a stranger, so how much of them is read and how many sections are tried is
//! bounded, and sections are matched in linear time.

use std::collections::BTreeMap;

use globset::{GlobBuilder, GlobSetBuilder};

use crate::{locate::FileRef, root::Root, snapshot::Small};

/// The largest file that is read; a larger one is ignored.
const FILE_BYTES: u64 = 64 << 10;

/// The most bytes of all files on the way to the root; what is above counts as undeclared.
const ALL_BYTES: usize = 256 << 10;

/// The most sections that are tried for one file.
const SECTIONS: usize = 1000;

/// The longest name of a section, which is also the format's own limit.
const SECTION_BYTES: usize = 1024;

/// The most numbers that a `{1..9}` stands for, and the longest glob they may lead to.
const NUMBERS: u64 = 100;
const GLOB_BYTES: usize = 16 << 10;

impl Root {
    /// The charset declared for a file, as written; `None` also for `unset`. A file that is not regular, too large or behind a
    /// link out of the workspace is ignored.
    pub(super) fn charset(&self, file: &FileRef) -> Option<String> {
        let name = file.name();
        let (mut bytes, mut sections) = (ALL_BYTES, SECTIONS);
        for folder in name.rmatch_indices('/').map(|(at, _)| &name[..=at]).chain([""]) {
            let Small::Bytes(text) = self.small(&format!("{folder}.editorconfig"), FILE_BYTES) else { continue };
            bytes = bytes.checked_sub(text.len())?;
            let declared = Declarations::parse(&String::from_utf8_lossy(&text));
            if let Some(charset) = declared.charset(&name[folder.len()..], &mut sections) {
                return Some(charset).filter(|charset| !charset.eq_ignore_ascii_case("unset"));
            }
            if declared.is_root {
                return None;
            }
        }
        None
    }
}

/// What one file says about charsets.
#[derive(Debug, Default, PartialEq, Eq)]
struct Declarations {
    /// Whether files further up do not count.
    is_root: bool,
    /// Sections that declare a charset, in order.
    charsets: Vec<(String, String)>,
}

impl Declarations {
    /// Lines that are not understood are skipped, as the format asks.
    fn parse(text: &str) -> Self {
        let mut found = Self::default();
        let mut section = None;
        for line in text.strip_prefix('\u{feff}').unwrap_or(text).lines().map(str::trim) {
            if line.starts_with(['#', ';']) {
                continue;
            }
            if let Some((head, _)) = line.strip_prefix('[').and_then(|head| head.rsplit_once(']')) {
                section = Some(head);
                continue;
            }
            let Some((key, value)) = line.split_once('=') else { continue };
            let key = key.trim_end().to_ascii_lowercase();
            // A comment may follow.
            let value = value.split_whitespace().next().unwrap_or_default();
            match (section, key.as_str()) {
                (None, "root") => found.is_root = value.eq_ignore_ascii_case("true"),
                (Some(section), "charset") if !value.is_empty() => {
                    found.charsets.push((section.to_owned(), value.to_owned()));
                }
                (None | Some(_), _) => {}
            }
        }
        found
    }

    /// The charset for a name relative to the file's folder. `left` is the number of sections that may still be tried.
    fn charset(&self, name: &str, left: &mut usize) -> Option<String> {
        for (section, charset) in self.charsets.iter().rev() {
            *left = left.checked_sub(1)?;
            if applies(section, name) {
                return Some(charset.clone());
            }
        }
        None
    }
}

/// Whether a section is for a file. One that is malformed or too large is for none.
fn applies(section: &str, name: &str) -> bool {
    let Some(glob) = Some(section).filter(|section| section.len() <= SECTION_BYTES).and_then(translated) else {
        return false;
    };
    let mut builder = GlobBuilder::new(&glob);
    builder.literal_separator(true).backslash_escape(true).empty_alternates(true).allow_unclosed_class(true);
    let Ok(glob) = builder.build() else { return false };
    // Unlike a single matcher, a set says when the expression is too large.
    GlobSetBuilder::new().add(glob).build().is_ok_and(|set| set.is_match(name))
}

/// The glob of a section as `globset` takes it. There `**` counts only as a whole part of a path, braces always mean
/// alternatives, and there are no ranges of numbers.
fn translated(section: &str) -> Option<String> {
    let chars: Vec<char> = section.chars().collect();
    let braces = braces(&chars);
    let mut glob = String::from(if section.contains('/') { "" } else { "**/" });
    let mut at = if chars.first() == Some(&'/') { 1 } else { 0 };
    while let Some(c) = chars.get(at) {
        match (c, braces.get(&at)) {
            ('\\', _) => {
                glob.push('\\');
                // At the end it stands for itself.
                glob.push(*chars.get(at + 1).unwrap_or(&'\\'));
                at += 1;
            }
            ('{', Some(Brace::Plain { end })) => match numbers(&chars[at + 1..*end]) {
                Some(numbers) => {
                    glob.push_str(&numbers?);
                    at = *end;
                }
                None => glob.push_str("\\{"),
            },
            ('{' | '}', None | Some(Brace::Plain { .. })) => glob.extend(['\\', *c]),
            ('*', _) => {
                let stars = chars[at..].iter().take_while(|c| **c == '*').count();
                let starts = at == 0 || chars[at - 1] == '/';
                let ends = chars.get(at + stars).is_none_or(|next| *next == '/');
                glob.push_str(match (stars, starts, ends) {
                    (1, _, _) => "*",
                    (_, true, true) => "**",
                    (_, true, false) => "**/*",
                    (_, false, true) => "*/**",
                    (_, false, false) => "{*,*/**/*}",
                });
                at += stars - 1;
            }
            (c, _) => glob.push(*c),
        }
        at += 1;
    }
    Some(glob).filter(|glob| glob.len() <= GLOB_BYTES)
}

/// What a brace is.
enum Brace {
    /// It begins or ends alternatives.
    Alternatives,
    /// It has no comma in it, and ends at `end`.
    Plain { end: usize },
}

/// The braces that have a partner.
fn braces(glob: &[char]) -> BTreeMap<usize, Brace> {
    let (mut open, mut found): (Vec<(usize, bool)>, _) = (Vec::new(), BTreeMap::new());
    let mut at = 0;
    while let Some(c) = glob.get(at) {
        match c {
            '\\' => at += 1,
            '{' => open.push((at, false)),
            ',' => {
                if let Some((_, has_comma)) = open.last_mut() {
                    *has_comma = true;
                }
            }
            '}' => match open.pop() {
                Some((start, true)) => found.extend([(start, Brace::Alternatives), (at, Brace::Alternatives)]),
                Some((start, false)) => found.extend([(start, Brace::Plain { end: at })]),
                None => {}
            },
            _ => {}
        }
        at += 1;
    }
    found
}

/// Alternatives for `1..9`; `None` if it is something else, `Some(None)` if they are too many.
fn numbers(range: &[char]) -> Option<Option<String>> {
    let range: String = range.iter().collect();
    let (first, last) = range.split_once("..")?;
    let (first, last) = (first.parse::<i64>().ok()?, last.parse::<i64>().ok()?);
    let (first, last) = (first.min(last), first.max(last));
    let all = || (first..=last).map(|number| number.to_string()).collect::<Vec<_>>().join(",");
    Some((first.abs_diff(last) < NUMBERS).then(|| format!("{{{}}}", all())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        fs,
        os::unix::fs::symlink,
        path::Path,
        time::{Duration, Instant},
    };

    fn charset(folder: &Path, name: &str) -> Option<String> {
        let root = Root::open(folder).unwrap();
        let file = root.locate(&[root.absolute(name)]).unwrap();
        root.charset(&file)
    }

    /// A workspace `w` with these files, beside which there is room.
    fn workspace(files: &[(&str, &str)]) -> (tempfile::TempDir, std::path::PathBuf) {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("w");
        for (name, text) in files {
            let path = path.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        (temp, path)
    }

    #[test]
    fn sections_apply_by_their_globs() {
        for (section, fits, fits_not) in [
            ("*", &["a", "d/a.txt"][..], &[][..]),
            ("*.txt", &["a.txt", "d/e/a.txt"], &["a.md", "txt"]),
            ("**.txt", &["a.txt", "d/a.txt"], &["a.md"]),
            ("/a.txt", &["a.txt"], &["d/a.txt"]),
            ("d/*.txt", &["d/a.txt"], &["a.txt", "d/e/a.txt", "x/d/a.txt"]),
            ("d/**", &["d/a", "d/e/a"], &["a", "dd/a"]),
            ("d/**/a", &["d/a", "d/e/f/a"], &["d/b"]),
            ("d/**.txt", &["d/a.txt", "d/e/a.txt"], &["a.txt"]),
            ("d**/a", &["dx/a", "d/e/a"], &["e/a"]),
            ("/d**e/a", &["de/a", "d/x/e/a", "dxe/a"], &["d/a"]),
            ("?.{c,h}", &["a.c", "d/b.h"], &["ab.c", "a.cc"]),
            ("{*.txt,d/*.md}", &["a.txt", "d/a.md"], &["d/a.txt"]),
            ("{a{1,2},b}.c", &["a1.c", "b.c"], &["a.c"]),
            ("{a*c,b*c}", &["axc", "bxc"], &["cxc"]),
            ("{a}.c", &["{a}.c"], &["a.c"]),
            ("a{1..3}", &["a1", "a3"], &["a4", "a", "a{1..3}"]),
            ("a{-1..1}", &["a-1", "a0"], &["a2"]),
            ("a{1..1000000000000}", &[], &["a1"]),
            ("[ab].c", &["a.c"], &["c.c"]),
            ("[!ab].c", &["c.c"], &["a.c"]),
            (r"\*.c", &["*.c"], &["a.c"]),
            (r"a\{b,c\}", &["a{b,c}"], &["ab"]),
            ("a{b,c", &["a{b,c"], &["ab"]),
            ("a}b", &["a}b"], &["ab"]),
            ("[ab", &["[ab"], &["a"]),
            ("{a,}b", &["ab", "b"], &["cb"]),
        ] {
            for name in fits {
                assert!(applies(section, name), "[{section}] is for {name}");
            }
            for name in fits_not {
                assert!(!applies(section, name), "[{section}] is not for {name}");
            }
        }
    }

    #[test]
    fn lines_as_editors_read_them() {
        let text = "\u{feff}# a = b\nROOT = True\ncharset = never\n\nno line\nempty =\n[*.txt]\n; x\nindent_size=4\n\
                    Charset=latin1 # as ever\n[*.bat] ; dos\r\ncharset = UTF-16LE\r\n[x]\ncharset =\n";
        let pair = |glob: &str, charset: &str| (glob.to_owned(), charset.to_owned());
        let charsets = vec![pair("*.txt", "latin1"), pair("*.bat", "UTF-16LE")];
        assert_eq!(Declarations::parse(text), Declarations { is_root: true, charsets });
        assert_eq!(Declarations::parse("[*]\nroot = true\n"), Declarations::default());
        assert_eq!(Declarations::parse("\0[\n]\n=\n[]\n"), Declarations::default());
    }

    #[test]
    fn the_nearest_file_wins_and_none_above_the_root_counts() {
        let (temp, path) = workspace(&[
            (".editorconfig", "[*]\ncharset = latin1\n[*.le]\ncharset = utf-16le\n"),
            ("d/.editorconfig", "[*.le]\ncharset = utf-16be\n[u]\ncharset = unset\n"),
            ("d/e/.editorconfig", "root = true\n[x]\ncharset = utf-8\n"),
            ("d/e/f/.editorconfig", "[g/*]\ncharset = utf-8-bom\n"),
            ("a.le", ""),
            ("a", ""),
            ("d/a.le", ""),
            ("d/a", ""),
            ("d/u", ""),
            ("d/e/a.le", ""),
            ("d/e/f/g/a", ""),
            ("d/e/f/x", ""),
        ]);
        fs::write(temp.path().join(".editorconfig"), "[*]\ncharset = utf-16be\n").unwrap();
        for (name, expected) in [
            ("a.le", Some("utf-16le")),
            ("a", Some("latin1")),
            ("d/a.le", Some("utf-16be")),
            ("d/a", Some("latin1")),
            ("d/u", None),
            ("d/e/a.le", None),
            ("d/e/f/g/a", Some("utf-8-bom")),
            ("d/e/f/x", Some("utf-8")),
        ] {
            assert_eq!(charset(&path, name).as_deref(), expected, "{name}");
        }
        fs::remove_file(path.join(".editorconfig")).unwrap();
        assert_eq!(charset(&path, "a"), None, "only outside");
    }

    #[test]
    fn hostile_files_are_ignored_soon() {
        let (temp, path) = workspace(&[(".editorconfig", "[*]\ncharset = latin1\n"), ("d/a", ""), ("x/in", "")]);
        fs::write(temp.path().join("out"), "[*]\ncharset = utf-16be\n").unwrap();
        fs::write(path.join("in"), "[*]\ncharset = utf-16le\n").unwrap();
        let own = path.join("d/.editorconfig");
        let begin = Instant::now();
        let now = || charset(&path, "d/a");
        rustix::fs::mkfifoat(rustix::fs::CWD, &own, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR).unwrap();
        assert_eq!(now().as_deref(), Some("latin1"), "a pipe");
        fs::remove_file(&own).unwrap();
        fs::create_dir(&own).unwrap();
        assert_eq!(now().as_deref(), Some("latin1"), "a folder");
        fs::remove_dir(&own).unwrap();
        for (target, expected) in
            [("../../out", "latin1"), ("/dev/zero", "latin1"), (".editorconfig", "latin1"), ("../in", "utf-16le")]
        {
            symlink(target, &own).unwrap();
            assert_eq!(now().as_deref(), Some(expected), "a link to {target}");
            fs::remove_file(&own).unwrap();
        }
        fs::File::create(&own).unwrap().set_len(5 << 30).unwrap();
        assert_eq!(now().as_deref(), Some("latin1"), "too large");
        for (section, times) in [("[a]\n", 100_000), ("[a*]\ncharset=utf-16le\n", 2900), ("[{a,aa}", 1)] {
            fs::write(&own, section.repeat(times)).unwrap();
            assert!(matches!(now().as_deref(), Some("latin1" | "utf-16le")), "{section}");
        }
        // Globs that take exponential time by backtracking, and ones that are large or deep.
        for glob in ["{a,aa}".repeat(160), "*a".repeat(500), "{a,".repeat(340) + &"}".repeat(4), "{0..99}".repeat(140)]
        {
            fs::write(&own, format!("[{glob}b]\ncharset=utf-16le\n").repeat(60)).unwrap();
            assert_eq!(now().as_deref(), Some("latin1"), "{glob}");
        }
        // Many sections: those beyond the limit do not count.
        fs::write(&own, "[none]\ncharset=x\n".repeat(3000)).unwrap();
        assert_eq!(now(), None);
        // Large files in many folders.
        let deep = "e/".repeat(20);
        fs::create_dir_all(path.join("d").join(&deep)).unwrap();
        fs::write(path.join("d").join(&deep).join("a"), "").unwrap();
        for depth in 0..20 {
            let folder = path.join("d").join("e/".repeat(depth + 1));
            fs::write(folder.join(".editorconfig"), "[none]\ncharset=x\n".repeat(30) + &"#\n".repeat(30_000)).unwrap();
        }
        assert_eq!(charset(&path, &format!("d/{deep}a")), None);
        assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
    }
}

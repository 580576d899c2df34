//! Random states of small repositories. For each baseline, `git apply` applies our diff and git's, and ours is also
//! applied by our own code: all must give the bytes that git itself would store.

use readproof_words::notice::notice;
use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    time::{Duration, UNIX_EPOCH},
};

use readproof_core::{diff::apply, text::Text};
use readproof_engine::{Compared, operation::Against};

use crate::repo::{Head, Index, Repo, WorkTree, ask, done, fed, git_in, without_ids};

const STATES: u64 = 300;

/// A seeded generator, so that a failure can be reproduced.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % sides
    }

    fn one<'a, T: ?Sized>(&mut self, of: &[&'a T]) -> &'a T {
        of[self.roll(of.len())]
    }

    fn text(&mut self) -> String {
        let lines = [0, 1, 3, 12, 30][self.roll(5)];
        let mut text: String = (0..lines).map(|_| self.line()).collect();
        if self.roll(4) == 0 {
            text.push_str(self.one(&["end", "end\r", "$Id: 1234 $"]));
        }
        text
    }

    fn line(&mut self) -> String {
        let words = ["a", "b", "c ", "--- x", "+++ y", "@@ -1 +1 @@", "\\", "é", "", "$Id$", "$Id: kept $", "\t"];
        format!("{}{}", self.one(&words), if self.roll(3) == 0 { "\r\n" } else { "\n" })
    }

    /// Adds, removes or changes a few lines, and sometimes line endings.
    fn edited(&mut self, text: &str) -> String {
        let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
        for _ in 0..self.roll(4) {
            let at = self.roll(lines.len() + 1);
            if self.roll(2) == 0 || at == lines.len() {
                let line = self.line();
                lines.insert(at, line);
            } else {
                lines.remove(at);
            }
        }
        let text = lines.concat();
        match self.roll(8) {
            0 => text.replace("\r\n", "\n"),
            1 => text.replace("\r\n", "\n").replace('\n', "\r\n"),
            2 => text.trim_end().to_owned(),
            3 => format!("{text}\0binary"),
            _ => text,
        }
    }
}

const NAMES: [&str; 12] = [
    "a.txt",
    "with space.txt",
    "ä/ö.txt",
    "quote\".txt",
    "tab\there.dat",
    "back\\slash",
    "trailing ",
    "-dash.dat",
    "a b/c d/deep.crlf",
    "new\nline.txt",
    "\u{1}\u{7}\u{8}\u{b}.dat",
    "'single'.sh",
];

const ATTRIBUTES: [&str; 10] = [
    "* text=auto",
    "*.txt text",
    "*.txt -text",
    "*.crlf eol=crlf",
    "*.dat text=auto eol=lf",
    "* ident",
    "*.dat -diff",
    "*.dat binary",
    "*.sh text eol=lf",
    "*.txt crlf=input",
];

/// A repository after some commits, stagings and edits, and content to compare instead of a working file.
fn state(dice: &mut Dice) -> (Repo, BTreeMap<String, Option<String>>) {
    let repo = Repo::unborn();
    let mut config = String::from("[core]\n\tsafecrlf = false\n\tfilemode = ");
    config.push_str(dice.one(&["true\n", "true\n", "false\n"]));
    config.push_str(dice.one(&["", "\tautocrlf = true\n", "\tautocrlf = input\n", "\teol = crlf\n"]));
    let attributes: String = (0..dice.roll(4)).map(|_| format!("{}\n", dice.one(&ATTRIBUTES))).collect();
    let early = dice.roll(2) == 0;
    if early {
        fs::write(repo.path.join(".git/config"), &config).unwrap();
        repo.write(".gitattributes", &attributes);
    }
    let mut names: Vec<&str> = (0..4).map(|_| dice.one(&NAMES)).collect();
    names.sort_unstable();
    names.dedup();
    let mut texts = BTreeMap::new();
    for name in &names {
        if dice.roll(5) > 0 {
            let text = dice.text();
            repo.write(name, &text);
            repo.mode(name, if dice.roll(5) == 0 { 0o755 } else { 0o644 });
            texts.insert(*name, text);
        }
    }
    if dice.roll(12) > 0 {
        repo.commit();
    }
    if !early {
        fs::write(repo.path.join(".git/config"), &config).unwrap();
        repo.write(".gitattributes", &attributes);
    }
    let mut staged = vec!["add", "-A", "--"];
    for name in &names {
        if dice.roll(3) == 0 {
            change(dice, &repo, name, texts.get(name));
            staged.push(name);
        }
    }
    let there = |name: &&str| fs::symlink_metadata(repo.path.join(name)).is_ok() || texts.contains_key(name);
    let staged: Vec<&str> =
        staged.into_iter().enumerate().filter(|(n, name)| *n < 3 || there(name)).map(|(_, name)| name).collect();
    if staged.len() > 3 {
        // A name may be neither in the index nor on disk.
        let _ = git_in(&repo.path).args(&staged).output().unwrap();
    }
    if dice.roll(6) == 0 {
        let _ = git_in(&repo.path).args(["rm", "--cached", "-q", "--ignore-unmatch", "--", names[0]]).output().unwrap();
    }
    let mut asked = BTreeMap::new();
    for name in names {
        if dice.roll(2) == 0 {
            change(dice, &repo, name, texts.get(name));
        }
        let is_link = fs::symlink_metadata(repo.path.join(name)).is_ok_and(|found| found.is_symlink());
        let content = (!is_link && dice.roll(4) == 0).then(|| dice.edited(texts.get(name).map_or("", String::as_str)));
        asked.insert(name.to_owned(), content);
    }
    (repo, asked)
}

fn change(dice: &mut Dice, repo: &Repo, name: &str, text: Option<&String>) {
    let path = repo.path.join(name);
    let there = fs::symlink_metadata(&path);
    match dice.roll(10) {
        0 if there.is_ok() => fs::remove_file(&path).unwrap(),
        1 => {
            let _ = fs::remove_file(&path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            repo.link(dice.one(&["a.txt", "no/where", "é"]), name);
        }
        2 if there.is_ok_and(|found| found.is_file()) => repo.mode(name, dice.one(&[&0o755, &0o644]).to_owned()),
        _ => {
            let _ = fs::remove_file(&path);
            let text = dice.edited(text.map_or("", String::as_str));
            repo.write(name, text);
        }
    }
}

/// Kind and bytes of every file in a folder.
type Tree = BTreeMap<String, (String, Vec<u8>)>;

fn tree(root: &Path, names: &BTreeMap<String, Option<String>>) -> Tree {
    let file = |name: &String| {
        let path = root.join(name);
        let found = fs::symlink_metadata(&path).ok()?;
        let (kind, bytes) = if found.is_symlink() {
            ("120000", fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes())
        } else {
            (if found.permissions().mode() & 0o100 == 0 { "100644" } else { "100755" }, fs::read(&path).unwrap())
        };
        Some((name.clone(), (kind.to_owned(), bytes)))
    };
    names.keys().filter_map(file).collect()
}

fn lay_out(root: &Path, tree: &Tree) {
    fs::create_dir_all(root).unwrap();
    for (name, (kind, bytes)) in tree {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        if kind == "120000" {
            std::os::unix::fs::symlink(String::from_utf8(bytes.clone()).unwrap(), path).unwrap();
        } else {
            fs::write(&path, bytes).unwrap();
            let mode = if kind == "100755" { 0o755 } else { 0o644 };
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        }
    }
}

/// What git has of these files: in the commit and in the index.
fn kept(repo: &Repo, names: &BTreeMap<String, Option<String>>) -> (Tree, Tree) {
    let head = git_in(&repo.path).args(["ls-tree", "-rz", "HEAD"]).output().unwrap().stdout;
    let index = repo.bytes(&["ls-files", "-sz"]);
    let listed = |list: &[u8]| -> Vec<(String, String, String)> {
        let entries = list.split(|byte| *byte == 0).filter(|entry| !entry.is_empty());
        let entries = entries.map(|entry| {
            let entry = std::str::from_utf8(entry).unwrap();
            let (about, name) = entry.split_once('\t').unwrap();
            let id = about.split(' ').find(|word| word.len() == 40).unwrap();
            (name.to_owned(), about[..6].to_owned(), id.to_owned())
        });
        entries.filter(|(name, _, _)| names.contains_key(name)).collect()
    };
    let (head, index) = (listed(&head), listed(&index));
    let ids: String = head.iter().chain(&index).map(|(_, _, id)| format!("{id}\n")).collect();
    let mut batch = git_in(&repo.path);
    batch.args(["cat-file", "--batch"]);
    let out = done(&fed(batch, ids.as_bytes()));
    let mut rest = &out[..];
    let mut next = |entry: &(String, String, String)| {
        let end = rest.iter().position(|byte| *byte == b'\n').unwrap();
        let len: usize = std::str::from_utf8(&rest[..end]).unwrap().rsplit(' ').next().unwrap().parse().unwrap();
        let bytes = rest[end + 1..end + 1 + len].to_vec();
        rest = &rest[end + len + 2..];
        (entry.0.clone(), (entry.1.clone(), bytes))
    };
    (head.iter().map(&mut next).collect(), index.iter().map(&mut next).collect())
}

/// Everything before the first hunk of each diff, without the object ids, in order.
fn heads(text: &[u8]) -> Vec<String> {
    let (mut heads, mut in_hunk) = (Vec::new(), true);
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        // No line of a hunk begins like this.
        let starts = line.starts_with(b"diff --git ");
        if starts {
            heads.push(String::new());
        }
        in_hunk = !starts && (in_hunk || line.starts_with(b"@@ "));
        if let Some(head) = heads.last_mut().filter(|_| !in_hunk) {
            let line = without_ids(std::str::from_utf8(line).unwrap());
            // Git leaves a space at the end of a name as it is; `patch` would cut it off.
            let line = ["a/", "b/"].iter().fold(line, |line, side| {
                line.replace(&format!("{side}trailing \t"), &format!("{side}trailing "))
                    .replace(&format!("\"{side}trailing \""), &format!("{side}trailing "))
            });
            head.push_str(&line);
        }
    }
    heads.sort();
    heads
}

fn patched(folder: &Path, base: &Tree, patch: &[u8], names: &BTreeMap<String, Option<String>>) -> Tree {
    lay_out(folder, base);
    if !patch.is_empty() {
        let mut git = git_in(folder);
        git.env("GIT_CEILING_DIRECTORIES", folder.parent().unwrap());
        git.args(["apply", "--whitespace=nowarn", "-"]);
        let output = fed(git, patch);
        assert!(
            output.status.success(),
            "{}\n{}",
            String::from_utf8_lossy(&output.stderr),
            String::from_utf8_lossy(patch)
        );
    }
    tree(folder, names)
}

fn ours(repo: &Repo, against: Against, asked: &BTreeMap<String, Option<String>>) -> BTreeMap<String, Compared> {
    let engine = repo.engine();
    let mut all = BTreeMap::new();
    for (name, content) in asked {
        // A relative name may look like another form, or be trimmed; an absolute path is unambiguous.
        let path = repo.path.join(name);
        match ask(&engine, path.to_str().unwrap(), against, content.as_deref()) {
            Ok(found) => drop(all.insert(name.clone(), found)),
            Err(error) => assert_eq!(error.code(), "NOT_FOUND", "{name:?}: {error}"),
        }
    }
    all
}

/// Applied by our own code, if it is a diff of one text.
fn check_own_rules(found: &BTreeMap<String, Compared>, base: &Tree, after: &Tree) {
    for (name, found) in found.iter().filter(|(_, found)| found.hunks.1 > 0 && found.status.as_str() != "type_changed")
    {
        let before = base.get(name).map_or(String::new(), |(_, bytes)| String::from_utf8(bytes.clone()).unwrap());
        let body = &found.text[found.text.find("\n--- ").unwrap() + 1..];
        let expected = after.get(name).map_or("", |(_, bytes)| std::str::from_utf8(bytes).unwrap());
        assert_eq!(apply(body, &Text::new(before)).as_deref(), Ok(expected), "{name:?}\n{}", found.text);
    }
}

fn one_state(seed: u64, seen: &mut BTreeMap<&'static str, u32>) {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let (repo, asked) = state(&mut dice);
    let answers = [Head, Index].map(|against| ours(&repo, against, &asked));
    let beside = asked.iter().filter(|(_, content)| content.is_some()).map(|(n, c)| (n.clone(), c.clone())).collect();
    worktree(&repo, &beside);

    // From here on the given content is written to the file.
    for (number, (name, content)) in asked.iter().enumerate() {
        if let Some(content) = content {
            repo.write(name, content);
        }
        if fs::symlink_metadata(repo.path.join(name)).is_ok_and(|found| found.is_file()) {
            // Git reads the bytes only if the time differs.
            let file = fs::File::options().append(true).open(repo.path.join(name)).unwrap();
            file.set_modified(UNIX_EPOCH + Duration::from_secs(1_000_000_000 + number as u64)).unwrap();
        }
    }
    let (head, index) = kept(&repo, &asked);
    let unborn = !repo.path.join(".git/refs/heads/main").exists();
    let empty_tree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
    let base = if unborn { empty_tree } else { "HEAD" };
    let kinds = [vec![base], Vec::new()];
    let theirs: Vec<_> = answers.iter().zip(kinds).map(|(found, args)| gits(&repo, &args, found)).collect();
    repo.git(&["add", "-A"]);
    let (_, after) = kept(&repo, &asked);
    for ((found, base), theirs) in answers.iter().zip([&head, &index]).zip(theirs) {
        for found in found.values() {
            let flags = [
                (found.binary, "binary"),
                (found.notices.iter().any(|said| notice(said).contains("line ends")), "cleaned"),
            ];
            let flags = flags.into_iter().filter(|(on, _)| *on).map(|(_, word)| word);
            for word in flags.chain([found.status.as_str()]) {
                *seen.entry(word).or_default() += 1;
            }
        }
        check(seed, &repo, &asked, (found, base, &after), &theirs);
    }
}

/// Git's own diffs: of texts, and of files that it calls binary. It leaves out what is not in the index.
fn gits(repo: &Repo, args: &[&str], found: &BTreeMap<String, Compared>) -> (Vec<u8>, String) {
    let diff = |binary: bool| {
        let named = found.iter().filter(|(_, found)| found.binary == binary && is_tracked(found));
        let names: Vec<&str> = named.map(|(name, _)| name.as_str()).collect();
        let mut git = git_in(&repo.path);
        git.env("GIT_LITERAL_PATHSPECS", "1").args(["diff", "--no-renames"]).args(args).arg("--").args(&names);
        if names.is_empty() { Vec::new() } else { done(&git.output().unwrap()) }
    };
    (diff(false), String::from_utf8(diff(true)).unwrap())
}

fn check(
    seed: u64,
    repo: &Repo,
    asked: &BTreeMap<String, Option<String>>,
    (found, base, after): (&BTreeMap<String, Compared>, &Tree, &Tree),
    (gits_text, gits_binary): &(Vec<u8>, String),
) {
    let texts = |binary: bool, tracked: bool| -> String {
        let found = found.values().filter(|found| found.binary == binary);
        found.filter(|found| !tracked || is_tracked(found)).map(|found| found.text.as_str()).collect()
    };
    // Ours produce what git would store.
    let text = texts(false, false);
    let folder =
        |who: &str| repo.beside(&format!("{who}-{}", found.values().next().map_or("none", |f| f.against.as_str())));
    let applied = patched(&folder("ours"), base, text.as_bytes(), asked);
    let is_text = |name: &&String| found.get(*name).is_none_or(|found| !found.binary);
    for name in asked.keys().filter(is_text) {
        assert_eq!(applied.get(name), after.get(name), "seed {seed}: {name:?} {:?}\n{text}", found.get(name));
    }
    check_own_rules(found, base, after);

    // So do git's own, and their headers are the same.
    let ours = texts(false, true);
    assert_eq!(heads(ours.as_bytes()), heads(gits_text), "seed {seed}");
    let ours = texts(true, true);
    let heads_of = |text: &str| heads(text.as_bytes());
    assert_eq!(heads_of(&ours), heads_of(gits_binary), "seed {seed}");
    let applied = patched(&folder("gits"), base, gits_text, asked);
    for found in found.values().filter(|found| !found.binary && is_tracked(found)) {
        assert_eq!(applied.get(&found.name), after.get(&found.name), "seed {seed}: git's own of {:?}", found.name);
    }
}

/// Judged by its notices.
fn is_tracked(found: &Compared) -> bool {
    let told = ["git does not track it", "no longer in the index"];
    let unborn = found.status.as_str() == "untracked";
    !unborn && !found.notices.iter().any(|said| told.iter().any(|words| notice(said).contains(words)))
}

/// The working file compared with other text: nothing is cleaned.
fn worktree(repo: &Repo, asked: &BTreeMap<String, Option<String>>) {
    if asked.is_empty() {
        return;
    }
    let before = tree(&repo.path, asked);
    let kind = |name: &String| before.get(name).map_or("100644".to_owned(), |(kind, _)| kind.clone());
    let content = |content: &Option<String>| content.clone().unwrap_or_default().into_bytes();
    let after: Tree = asked.iter().map(|(name, text)| (name.clone(), (kind(name), content(text)))).collect();
    let found = ours(repo, WorkTree, asked);
    let texts = found.values().filter(|found| !found.binary).map(|found| found.text.as_str());
    let applied = patched(&repo.beside("ours-worktree"), &before, texts.collect::<String>().as_bytes(), asked);

    let both = repo.beside("both");
    lay_out(&both.join("a"), &before);
    lay_out(&both.join("b"), &after);
    let mut git = git_in(&both);
    git.env("GIT_CEILING_DIRECTORIES", both.parent().unwrap());
    let output =
        git.args(["diff", "--no-index", "--binary", "--no-renames", "--no-prefix", "a", "b"]).output().unwrap();
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", String::from_utf8_lossy(&output.stderr));
    let theirs = patched(&repo.beside("gits-worktree"), &before, &output.stdout, asked);
    for (name, found) in found.iter().filter(|(_, found)| !found.binary) {
        assert_eq!(applied.get(name), after.get(name), "{name:?}\n{}", found.text);
        assert_eq!(applied.get(name), theirs.get(name), "{name:?}\n{}", found.text);
    }
    check_own_rules(&found, &before, &after);
}

fn states(part: u64) {
    let mut seen = BTreeMap::new();
    for seed in (0..STATES).filter(|seed| seed % 3 == part) {
        one_state(seed, &mut seen);
    }
    // Each case must have come up.
    let words =
        ["modified", "added", "deleted", "untracked", "unchanged", "mode_changed", "type_changed", "binary", "cleaned"];
    for word in words {
        assert!(seen.get(word).is_some_and(|count| *count >= 3), "{word}: {seen:?}");
    }
}

#[test]
fn random_states_first_third() {
    states(0);
}

#[test]
fn random_states_second_third() {
    states(1);
}

#[test]
fn random_states_last_third() {
    states(2);
}

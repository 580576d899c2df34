//! Every form of every dialect that is read, and what is refused with its line.

use super::*;
use alloc::{format, string::ToString, vec};

#[test]
fn the_first_line_of_a_dialect_tells_it() {
    let dialect = |text: &str| parse_patch(text).map(|(dialect, _)| dialect);
    assert_eq!(dialect("@@\n-*** Begin Patch\n+<<<<<<< SEARCH\n"), Ok(Dialect::Unified));
    assert_eq!(dialect("so:\n*** Begin Patch\n*** Delete File: a\n*** End Patch\n"), Ok(Dialect::BeginPatch));
    assert_eq!(dialect("a.rs\n<<<<<<< SEARCH\n@@\n=======\n@@ x\n>>>>>>> REPLACE\n"), Ok(Dialect::Blocks));
    for none in ["", "hello\n", "--- a\n", "-a\n+b\n", "<<<<<<< HEAD\n=======\n>>>>>>> x\n"] {
        assert_eq!(dialect(none), Err(BadPatch { line: 1, why: BadPatchWhy::Unknown }), "{none}");
    }
}

#[test]
fn edits_of_one_file_are_joined() {
    let hunk = "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n";
    let (_, files) = parse_patch(&[hunk, "--- a/g\n+++ b/g\n@@ -1 +1 @@\n-a\n+b\n", hunk].concat()).unwrap();
    let counts: Vec<usize> = files
        .iter()
        .map(|file| match &file.change {
            FileChange::Edit(pieces) => pieces.len(),
            FileChange::Create(_) | FileChange::Delete | FileChange::Move { .. } => 0,
        })
        .collect();
    assert_eq!(counts, vec![2, 1]);
    let twice = "*** Begin Patch\n*** Add File: a\n+x\n*** Delete File: a\n*** End Patch\n";
    assert_eq!(parse_patch(twice), Err(BadPatch { line: 4, why: BadPatchWhy::Twice }));
}

#[test]
fn a_carriage_return_of_the_transport_belongs_to_no_line() {
    let piece = |text: &str| match parse_patch(text).unwrap().1.remove(0).change {
        FileChange::Edit(mut pieces) => pieces.remove(0),
        other @ (FileChange::Create(_) | FileChange::Delete | FileChange::Move { .. }) => panic!("{other:?}"),
    };
    let sent = piece("--- a/f\r\n+++ b/f\r\n@@ -1 +1 @@\r\n-a\r\n+b\r\n");
    assert_eq!((sent.old.as_str(), sent.new.as_str()), ("a\n", "b\n"));
    let own = piece("--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\r\n+b\r\n");
    assert_eq!((own.old.as_str(), own.new.as_str()), ("a\r\n", "b\r\n"));
}

/// A patch as `path: old => new; old => new`, one line for each file.
fn shown(text: &str) -> String {
    let (_, files) = parse_patch(text).unwrap_or_else(|error| panic!("{error:?}: {text}"));
    let pieces = |pieces: &[Piece]| {
        let shown: Vec<String> = pieces
            .iter()
            .map(|piece| {
                let line = piece.line.map_or(String::new(), |line| format!("{line}: "));
                let after: String = piece.after.iter().map(|line| format!("@{line} ")).collect();
                let end = if piece.at_end { " $" } else { "" };
                format!("{line}{after}{:?} => {:?}{end}", piece.old, piece.new)
            })
            .collect();
        shown.join("; ")
    };
    let file = |file: &FilePatch| {
        let change = match &file.change {
            FileChange::Edit(edits) => pieces(edits),
            FileChange::Create(text) => format!("new {text:?}"),
            FileChange::Delete => "gone".to_string(),
            FileChange::Move { to, pieces: edits } => format!("to {to} {}", pieces(edits)),
        };
        format!("{}: {change}\n", file.path.as_deref().unwrap_or("?"))
    };
    files.iter().map(file).collect()
}

fn refused(text: &str, line: u32, why: BadPatchWhy) {
    assert_eq!(parse_patch(text), Err(BadPatch { line, why }), "{text}");
}

#[test]
fn unified_diffs() {
    let check = |text: &str, expected: &str| assert_eq!(shown(text), expected, "{text}");
    let names = "--- a/f\n+++ b/f\n";
    let edit = "f: 2: \"a\\nb\\n\" => \"a\\nc\\n\"\n";
    check(&format!("{names}@@ -2,2 +2,2 @@ fn x()\n a\n-b\n+c\n"), edit);
    check(&format!("diff --git a/f b/f\nindex 1..2 100644\n{names}@@ -2,2 +2,2 @@\n a\n-b\n+c\n-- \n2.47.3\n\n"), edit);
    check(&format!("Here it is:\n```diff\n{names}@@ -2,2 +2,2 @@\n a\n-b\n+c\n```\n- done\n"), edit);
    check("--- f\t2024-01-01\n+++ f\t2025-01-01\n@@ -2,2 +2,2 @@\n a\n-b\n+c", edit);
    check("@@ -2,2 +2,2 @@\n a\n-b\n+c\n", &edit.replace("f:", "?:"));
    // Numbers that are wrong, or do not agree, are none.
    let bare = edit.replace("2: ", "");
    for head in ["@@ -2,9 +2,9 @@", "@@ -2,2 +3,2 @@", "@@", "@@ ... @@", "@@ @@", "@@ -x +y @@", "@@ -2,1 +2,1 @@"] {
        check(&format!("{names}{head}\n a\n-b\n+c\n"), &bare);
    }
    check(&format!("{names}@@ def f():\n a\n-b\n+c\n"), &bare.replace("f: ", "f: @def f(): "));
    let second = "@@ -9 +10 @@\n-y\n+z\n";
    check(
        &format!("{names}@@ -1,1 +1,2 @@\n-a\n+b\n+c\n{second}"),
        "f: 1: \"a\\n\" => \"b\\nc\\n\"; 9: \"y\\n\" => \"z\\n\"\n",
    );
    // Empty lines that lost their space, and those that only separate.
    check(&format!("{names}@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n"), "f: 1: \"a\\n\\nb\\n\" => \"a\\n\\nc\\n\"\n");
    check(&format!("{names}@@\n-b\n+c\n\n\n@@\n-d\n+e\n"), "f: \"b\\n\" => \"c\\n\"; \"d\\n\" => \"e\\n\"\n");
    let no = "\\ No newline at end of file\n";
    check(&format!("{names}@@ -1 +1 @@\n-b\n{no}+c\n{no}"), "f: 1: \"b\" => \"c\"\n");
    check(&format!("{names}@@ -1,0 +2 @@\n+c\n"), "f: 2: \"\" => \"c\\n\"\n");
    // Lines that look like a header, in a hunk whose numbers are right.
    check(
        &format!("{names}@@ -1 +1 @@\n--- x\n+++ y\n{second}"),
        "f: 1: \"-- x\\n\" => \"++ y\\n\"; \"y\\n\" => \"z\\n\"\n",
    );
}

#[test]
fn files_of_unified_diffs() {
    let check = |text: &str, expected: &str| assert_eq!(shown(text), expected, "{text}");
    check("--- /dev/null\n+++ b/n\n@@ -0,0 +1,2 @@\n+a\n+b\n", "n: new \"a\\nb\\n\"\n");
    check("--- a/n\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", "n: gone\n");
    check("diff --git a/e b/e\nnew file mode 100644\nindex 0..1\n", "e: new \"\"\n");
    check("diff --git a/e b/e\ndeleted file mode 100644\n", "e: gone\n");
    check(
        "diff --git a/x y b/z\nsimilarity index 90%\nrename from x y\nrename to z\n--- a/x y\t\n+++ b/z\n@@ -1 +1 @@\n-a\n+b\n",
        "x y: to z 1: \"a\\n\" => \"b\\n\"\n",
    );
    check(
        "--- \"a/\\303\\251\\t\"\n+++ \"b/\\303\\251\\t\"\n@@ -1 +1 @@\n-a\n+b\n",
        "\u{e9}\t: 1: \"a\\n\" => \"b\\n\"\n",
    );
    check("--- a/x\n+++ a/x\n@@ -1 +1 @@\n-a\n+b\n", "a/x: 1: \"a\\n\" => \"b\\n\"\n");
    let two = "--- a/x\n+++ b/x\n@@\n-a\n+b\n--- a/y\n+++ b/y\n@@\n-a\n+b\n";
    check(two, "x: \"a\\n\" => \"b\\n\"\ny: \"a\\n\" => \"b\\n\"\n");
}

#[test]
fn bad_unified_diffs() {
    let names = "--- a/f\n+++ b/f\n";
    refused(&format!("{names}@@ -1,3 +1,3 @@\n a\nb\n-c\n"), 5, BadPatchWhy::Line);
    refused(&format!("{names}@@ -1 +1 @@\n-a\n+b\ntext\n-c\n"), 7, BadPatchWhy::Line);
    refused(&format!("{names}@@ -1 +1 @@\n"), 3, BadPatchWhy::Nothing);
    refused("--- a/f\n+++ b/g\n@@\n-a\n+b\n", 1, BadPatchWhy::TwoNames);
    refused("--- \n+++ b/g\n@@\n-a\n+b\n", 1, BadPatchWhy::Name);
    refused(names, 1, BadPatchWhy::Nothing);
    refused("diff --git a/f b/f\nold mode 100644\nnew mode 100755\n", 1, BadPatchWhy::Nothing);
    refused("diff --git a/f b/f\nBinary files a/f and b/f differ\n", 2, BadPatchWhy::Binary);
    refused("diff --git a/f b/g\ncopy from f\ncopy to g\n", 2, BadPatchWhy::Unsupported);
    refused(&format!("{names}@@@ -1 -1 +1 @@@\n"), 3, BadPatchWhy::Unsupported);
    refused(&format!("{names}@@ -1 +1,2 @@\n-a\n+b\n\\ No newline\n+c\n"), 7, BadPatchWhy::Newline);
    refused("--- /dev/null\n+++ b/n\n@@ -1 +1 @@\n-a\n+b\n", 1, BadPatchWhy::Line);
}

#[test]
fn begin_patches() {
    let check = |text: &str, expected: &str| assert_eq!(shown(text), expected, "{text}");
    let all = "*** Begin Patch\n*** Add File: n\n+a\n+\n*** Delete File: d\n*** Update File: f\n*** Move to: g\n@@ class A\n@@ def f():\n a\n-b\n+c\n\n+d\n\n@@\n-x\n*** End of File\n*** End Patch";
    let expected = "n: new \"a\\n\\n\"\nd: gone\nf: to g @class A @def f(): \"a\\nb\\n\\n\" => \"a\\nc\\n\\nd\\n\"; \"x\\n\" => \"\" $\n";
    check(all, expected);
    check(&format!("apply_patch <<'EOF'\n{all}\nEOF\n"), expected);
    check(&all.replace("*** End Patch", ""), expected);
    check(&format!("```\n{}```\n", all.replace("*** End Patch", "")), expected);
    check("*** Update File: f\n-a\n+b\n", "f: \"a\\n\" => \"b\\n\"\n");
    check("*** Begin Patch\n*** Update File: f\n@@ -1,2 +3,4 @@\n-a\n+b\n*** End Patch", "f: \"a\\n\" => \"b\\n\"\n");
    let start = "*** Begin Patch\n*** Update File: f\n";
    refused(&format!("{start}-a\n+b"), 4, BadPatchWhy::Unclosed);
    refused(&format!("{start}-a\nb\n*** End Patch"), 4, BadPatchWhy::Line);
    refused(&format!("{start}*** End Patch"), 2, BadPatchWhy::Nothing);
    refused(&format!("{start}@@ x\n*** End Patch"), 3, BadPatchWhy::Nothing);
    refused("*** Begin Patch\n*** Add File: \n+a\n*** End Patch", 2, BadPatchWhy::Name);
    refused("*** Begin Patch\n*** Add File: n\n+a\nb\n*** End Patch", 4, BadPatchWhy::Line);
    refused("*** Begin Patch\n", 1, BadPatchWhy::Nothing);
    refused("*** Begin Patch\n*** End Patch", 2, BadPatchWhy::Nothing);
    refused(&format!("{start}-a\n+b\n*** End Patch\n*** Begin Patch\n"), 6, BadPatchWhy::Line);
}

#[test]
fn search_and_replace_blocks() {
    let check = |text: &str, expected: &str| assert_eq!(shown(text), expected, "{text}");
    let block = "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n";
    let edit = "\"a\\n\" => \"b\\n\"";
    check(block, &format!("?: {edit}\n"));
    check("------- SEARCH\na\n=======\nb\n+++++++ REPLACE", &format!("?: {edit}\n"));
    check("<<<<< SEARCH\na\n=====\nb\n>>>>> REPLACE\n", &format!("?: {edit}\n"));
    for name in ["src/f.rs\n", "**src/f.rs**\n```rust\n", "```rust\nsrc/f.rs\n", "# src/f.rs:\n\n"] {
        check(&format!("{name}{block}"), &format!("src/f.rs: {edit}\n"));
    }
    check(&format!("x.c\n{block}{block}```\n\ny.c\n{block}"), &format!("x.c: {edit}; {edit}\ny.c: {edit}\n"));
    check("I change this:\n<<<<<<< SEARCH\n=======\nb\n>>>>>>> REPLACE\n", "?: \"\" => \"b\\n\"\n");
    refused("<<<<<<< SEARCH\na\n=======\nb\n=======\nc\n>>>>>>> REPLACE\n", 5, BadPatchWhy::Separator);
    refused("<<<<<<< SEARCH\na\n<<<<<<< SEARCH\n=======\n>>>>>>> REPLACE\n", 3, BadPatchWhy::Separator);
    refused("<<<<<<< SEARCH\na\n>>>>>>> REPLACE\n", 3, BadPatchWhy::Separator);
    refused("<<<<<<< SEARCH\na\n=======\nb\n", 1, BadPatchWhy::Unclosed);
    refused(&format!("x.c\n{block}my file.c\n{block}"), 7, BadPatchWhy::Name);
}

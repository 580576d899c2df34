//! Patches of every dialect. Input: parts separated by bytes 0xff: any patch, a text, another. The diff printed between the two texts
//! is read and placed in the first; it must give the second.

use readproof_core::{
    diff::unified,
    edit::{BadPatch, Dialect, FileChange, Numbers, Piece, parse_patch, place},
    text::Text,
};
use readproof_testkit::op::Random;

use super::{Seen, Target};

pub(super) const TARGET: Target = Target {
    name: "patch",
    accepts: "the patch can be read",
    check,
    start,
    words: &[
        "--- a/f\n+++ b/f\n",
        "--- /dev/null\n",
        "+++ /dev/null\n",
        "diff --git a/f b/f\n",
        "new file mode 100644\n",
        "deleted file mode 100644\n",
        "rename from f\nrename to g\n",
        "@@ -1,2 +1,2 @@\n",
        "@@ -0,0 +1 @@\n",
        "@@\n",
        "@@ ... @@\n",
        "@@ fn f() @@\n",
        "@@@ -1 -1 +1 @@@\n",
        "\\ No newline at end of file\n",
        "-- \n2.47.3\n",
        "*** Begin Patch\n",
        "*** Update File: f\n",
        "*** Add File: g\n",
        "*** Delete File: h\n",
        "*** Move to: i\n",
        "*** End of File\n",
        "*** End Patch\n",
        "<<<<<<< SEARCH\n",
        "------- SEARCH\n",
        "=======\n",
        ">>>>>>> REPLACE\n",
        "+++++++ REPLACE\n",
        "```\n",
        "EOF\n",
        "\r\n",
        "\n",
        " a\n",
        "-a\n",
        "+b\n",
        "\"a/\\303\\251\"",
    ],
    most: 2000,
};

const BREAK: u8 = 0xff;

fn start(random: &mut Random) -> Vec<u8> {
    let words = ["a\n", "b\n", "\n", " \n", "c", "-\n", "+\n", "@@\n", "-- x\n", "++ y\n", "\\\n", "d\r\n"];
    let lines = |random: &mut Random| -> String {
        (0..random.below(12)).map(|_| *random.pick(&words).unwrap_or(&"")).collect()
    };
    let (before, after) = (lines(random), lines(random));
    let printed = unified(&Text::new(before.clone()), &Text::new(after.clone()), "f").body;
    let patch = match random.below(4) {
        0 => printed,
        1 => "f\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n".to_owned(),
        2 => "*** Begin Patch\n*** Update File: f\n@@ x\n a\n-b\n+c\n*** Add File: g\n+a\n*** End Patch\n".to_owned(),
        _ => "diff --git a/f b/g\nrename from f\nrename to g\n--- a/f\n+++ b/g\n@@\n-a\n+b\n\n".to_owned(),
    };
    [patch.as_bytes(), before.as_bytes(), after.as_bytes()].join(&BREAK)
}

fn check(input: &[u8]) -> Seen {
    let mut parts = input.split(|byte| *byte == BREAK).map(|part| String::from_utf8_lossy(part).into_owned());
    let patch = parts.next().unwrap_or_default();
    let texts = parts.next().zip(parts.next());
    if let Some((before, after)) = texts {
        printed(&Text::new(before), &Text::new(after));
    }
    match parse_patch(&patch) {
        Ok((dialect, files)) => {
            assert!(!files.is_empty(), "{patch:?}");
            let mut size = 0;
            let mut kinds = 0_u64;
            for file in &files {
                let (kind, pieces): (u64, &[Piece]) = match &file.change {
                    FileChange::Edit(pieces) => {
                        assert!(!pieces.is_empty());
                        (1, pieces)
                    }
                    FileChange::Create(text) => {
                        size += text.len();
                        (2, &[])
                    }
                    FileChange::Delete => (4, &[]),
                    FileChange::Move { pieces, .. } => (8, pieces),
                };
                kinds |= kind;
                size += pieces.iter().map(|piece| piece.old.len() + piece.new.len()).sum::<usize>();
            }
            // Context stands on both sides, and a lost line end counts one byte.
            assert!(size <= 2 * patch.len() + 2, "{patch:?}");
            let dialect = match dialect {
                Dialect::Unified => 0,
                Dialect::BeginPatch => 16,
                Dialect::Blocks => 32,
            };
            Seen { accepted: true, kind: kinds | dialect | (files.len().min(7) as u64) << 8 }
        }
        Err(BadPatch { line, why }) => {
            assert!(line >= 1 && line as usize <= patch.split_inclusive('\n').count().max(1), "{patch:?}");
            Seen { accepted: false, kind: why as u64 | u64::from(line.min(15)) << 8 }
        }
    }
}

/// A printed diff, read and placed, leads to the second text; where its lines fit elsewhere too, the numbers decide.
fn printed(before: &Text, after: &Text) {
    if before == after || before.as_str().contains('\0') || after.as_str().contains('\0') {
        return;
    }
    let body = unified(before, after, "f").body;
    let (dialect, mut files) = parse_patch(&body).unwrap_or_else(|error| panic!("{error:?}: {body:?}"));
    assert_eq!((dialect, files.len()), (Dialect::Unified, 1), "{body:?}");
    match files.remove(0).change {
        FileChange::Edit(pieces) => {
            let made = place(before, &pieces, Numbers::BreakTies);
            if let Ok(edit) = made {
                assert_eq!(edit.after.as_str(), after.as_str(), "{body:?}");
            }
        }
        other @ (FileChange::Create(_) | FileChange::Delete | FileChange::Move { .. }) => panic!("{other:?}: {body:?}"),
    }
}

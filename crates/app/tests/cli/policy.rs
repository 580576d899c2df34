//! Rules of access on the command line, and the console examples of `docs/policy.md`. `UPDATE_DOCS=1` writes their output anew.

use crate::workspace::Workspace;
use std::{fs, path::Path};

#[test]
fn docs_policy_md_shows_what_the_command_says() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/policy.md");
    let written = fs::read_to_string(&file).unwrap();
    let parts: Vec<&str> = written.split("```").collect();
    let files: Vec<(&str, &str)> =
        parts.iter().filter_map(|p| p.strip_prefix("text file=")?.split_once('\n')).collect();
    let ws = Workspace::with(&files);
    let mut said = 0;
    let answer = |part: &&str| {
        let Some(words) = part.strip_prefix("console\n$ readproof ").and_then(|rest| rest.lines().next()) else {
            return (*part).to_owned();
        };
        let done = ws.run(words);
        assert!(done.code == Some(0) && done.err.is_empty(), "{words}: {done:?}");
        format!("console\n$ readproof {words}\n{}", done.out)
    };
    let page: Vec<String> =
        parts.iter().inspect(|part| said += usize::from(part.starts_with("console"))).map(answer).collect();
    let page = page.join("```");
    assert!(said >= 5, "{said}");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&file, &page).unwrap();
    }
    assert!(fs::read_to_string(&file).unwrap() == page, "docs/policy.md is not what the command says:\n{page}");
}

#[test]
fn a_policy_that_cannot_be_used_ends_every_answer() {
    for (policy, line) in [
        ("[policy]\ndeny = [\n", "readproof.toml:"),
        ("[policy]\ncolour = 1\n", "readproof.toml:2"),
        ("[policy]\ndefault = \"perhaps\"\n", "readproof.toml:2"),
        ("[[policy.rule]]\neffect = \"deny\"\nacts = [\"fly\"]\n", "readproof.toml:3"),
    ] {
        let ws = Workspace::with(&[("a.txt", "text\n"), ("readproof.toml", policy)]);
        for words in ["read a.txt", "list", "search text", "policy check a.txt"] {
            let done = ws.run(words);
            assert!(done.code == Some(1) && done.out.is_empty() && done.err.contains("readproof.toml"), "{done:?}");
        }
        assert!(ws.run("read a.txt").err.contains(line.trim_end_matches(':')), "{line}");
        assert!(ws.run("doctor").out.contains("problem"), "{policy}");
    }
}

#[test]
fn rules_that_have_no_effect_are_told() {
    let ws = Workspace::with(&[
        ("a.txt", "text\n"),
        ("readproof.toml", "[policy]\nallow = [\"src/\"]\ndeny = [\"../x\"]\n"),
    ]);
    let said = ws.run("policy check a.txt").noticed(&["readproof.toml:2: `allow` has no effect", "leads out"]);
    assert!(said.starts_with("a.txt\nread    allow\n"), "{said}");
    assert!(ws.run("doctor").out.contains("2 rules or keys have no effect"));
}

#[test]
fn a_workspace_can_only_restrict() {
    let ws = Workspace::with(&[("a.txt", "one\n"), ("readproof.toml", "[policy]\npreset = \"open\"\n")]);
    ws.run("read a.txt --session s").text();
    ws.run("delete a.txt --session s").refused(1, &["a person must approve this first"]);
    ws.put("readproof.toml", "[policy]\npreset = \"locked\"\n");
    ws.run("edit a.txt --session s --old one --new two").refused(1, &["does not allow that for `a.txt`"]);
    ws.run("edit a.txt --session s --old one --new two --set policy_preset=open").refused(1, &["does not allow that"]);
    ws.put("readproof.toml", "[policy]\ndefault = \"deny\"\nallow = [\"b.txt\"]\n");
    ws.run("read a.txt").refused(1, &["does not allow that for `a.txt`"]);
    ws.put("b.txt", "two\n");
    ws.run("read b.txt").gives("two\n");
    ws.run("list").noticed(&["1 file"]);
}

#[test]
fn what_becomes_denied_is_erased_by_gc() {
    let ws = Workspace::with(&[("a.txt", "the old text\n"), ("b.txt", "another\n")]);
    ws.read("a.txt");
    ws.read("b.txt");
    ws.put("readproof.toml", "[policy]\ndeny = [\"a.txt\"]\n");
    ws.run("read a.txt --session s").refused(1, &["does not allow that"]);
    assert!(!ws.run("status --session s").text().contains("a.txt"));
    assert!(!ws.run("session show --session s").text().contains("a.txt"));
    assert_eq!(ws.run("gc").code, Some(0));
    let kept = ws.run("status --json").json()["store"]["objects"].clone();
    assert_eq!(kept, 1, "only the other text is left");
}

#[test]
fn a_rule_can_name_the_local_user() {
    let ws = Workspace::with(&[("a.txt", "one\n"), ("b.txt", "two\n")]);
    let rule = |user: &str, path: &str| {
        format!("[[policy.rule]]\neffect = \"deny\"\npaths = [\"{path}\"]\ncallers = [\"user:{user}\"]\n")
    };
    let me = readproof_disk::user_name();
    ws.put("readproof.toml", rule(&me, "a.txt") + &rule("nobody-of-this-name", "b.txt"));
    ws.run("read a.txt").refused(1, &["a rule of this workspace does not allow that"]);
    ws.run("read b.txt").gives("two\n");
    let verdict = |words: &str| ws.run(&format!("policy check --op read {words}")).text();
    assert!(verdict("b.txt --as mcp,user:nobody-of-this-name").contains("read    deny"));
    assert!(verdict("b.txt --as mcp").contains("read    allow"));
    assert!(verdict("a.txt --as mcp").contains("read    deny"), "who asks is the same user");
    assert!(verdict("a.txt --as mcp,user:nobody-of-this-name").contains("read    allow"));
    ws.run("policy check a.txt --as users:x").refused(2, &["client:NAME, user:NAME or token:NAME"]);
    // Whose call it was is in the log of versions.
    ws.run("edit b.txt --session s --old two --new three").text();
    let log = std::fs::read_to_string(ws.path(".readproof/log/versions")).unwrap();
    assert!(log.contains(&format!("\"by\":{{\"surface\":\"cli\",\"user\":\"{me}\"")), "{log}");
}

#[test]
fn a_denied_name_is_not_suggested_behind_a_link_to_its_folder() {
    let ws = Workspace::with(&[("src/Alpha.ts", "x\n"), ("src/beta.ts", "y\n"), (".rooignore", "/src/Alpha.ts\n")]);
    std::os::unix::fs::symlink("src", ws.path("link")).unwrap();
    let missing = ws.run("read link/alpha.rs");
    assert!(missing.code == Some(1) && !missing.err.contains("Alpha"), "{missing:?}");
    ws.run("read link/bet.ts").refused(1, &["did you mean link/beta.ts"]);
}

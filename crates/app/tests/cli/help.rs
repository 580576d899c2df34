//! What the program says about itself: help, version, completions.

use crate::workspace::{Workspace, finish_with};

#[test]
fn every_command_explains_itself_and_its_flags() {
    let ws = Workspace::new();
    let read = &["PATH[:A-B]", "--offset", "--limit", "--session", "--fresh"][..];
    for (command, flags) in [
        (
            "",
            &[
                "read",
                "head",
                "tail",
                "grep",
                "stat",
                "search",
                "diff",
                "refresh",
                "write",
                "edit",
                "approvals",
                "status",
                "session",
                "held",
                "pi-session",
                "bench",
                "replay",
                "gc",
                "forget",
                "doctor",
                "init",
                "config",
                "demo",
                "completions",
            ][..],
        ),
        ("read", read),
        ("head", &["PATH", "-n", "--lines"]),
        ("tail", &["PATH", "-n", "--lines"]),
        ("grep", &["QUERY", "PATH", "--regex", "--max-matches", "--before", "--after"]),
        ("stat", &["PATH"]),
        ("search", &["QUERY", "--mode", "text", "regex", "path", "references", "--glob", "--limit", "--context"]),
        ("diff", &["PATH", "--against", "--content", "Examples:", "Runs neither git"]),
        ("refresh", &["PATH[:A-B]", "--offset", "--limit", "--session"]),
        ("write", &["PATH", "--session", "standard input"]),
        ("edit", &["PATH", "--session", "--old", "--new", "exactly once"]),
        ("status", &["--session"]),
        ("approvals", &["list", "show", "approve", "deny"]),
        ("approvals list", &["--all"]),
        ("approvals show", &["ID"]),
        ("approvals approve", &["ID", "--once", "--session", "--always", "READPROOF_APPROVER_KEY"]),
        ("approvals deny", &["ID", "terminal"]),
        ("session", &["list", "show", "branch", "fork", "compact", "switch"]),
        ("session list", &[]),
        ("session show", &["--session"]),
        ("session branch", &["ENTRY", "--session", "root"]),
        ("session fork", &["ENTRY", "--as", "--session"]),
        ("session compact", &["--summary", "--session"]),
        ("session switch", &["ENTRY", "--session"]),
        ("replay", &["SESSION", "--verify"]),
        ("gc", &["--older-than", "--max-bytes", "--dry-run", "--force"]),
        ("forget", &["PATH", "--before", "--dry-run"]),
        ("doctor", &[]),
        ("held", &["PATH", "--session", "--host", "--leaf", "Examples:"]),
        ("pi-session", &["FILE", "--leaf"]),
        ("bench", &["traces"]),
        ("bench traces", &["DIR", "--sessions", "--least", "--anew", "--features tokens"]),
        ("init", &["claude-code", "zed", "pi", "--scope", "--yes", "--print", "--entry-only"]),
        ("config", &[]),
        ("demo", &[]),
        ("completions", &["bash", "zsh", "fish"]),
    ] {
        let text = ws.run(&format!("{command} --help")).text();
        for flag in flags.iter().chain(&["--workspace", "--json", "--set", "Usage: readproof"]) {
            assert!(text.contains(flag), "`{command} --help` does not name {flag}:\n{text}");
        }
        assert_eq!(ws.run(&format!("help {command}")).text(), text, "help {command}");
    }
    assert_eq!(ws.names(), [""; 0]);
}

#[test]
fn the_version() {
    let ws = Workspace::new();
    ws.run("--version").gives(&format!("readproof {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn an_unknown_command() {
    let ws = Workspace::new();
    ws.run("raed a.txt").refused(2, &["unrecognized subcommand 'raed'", "'read'"]);
    ws.run("completions tcsh").refused(2, &["invalid value 'tcsh'", "bash"]);
}

#[test]
fn completions_for_every_shell() {
    let ws = Workspace::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = ws.run(&format!("completions {shell}")).text();
        for word in ["readproof", "refresh", "compact", "offset"] {
            assert!(script.contains(word), "{shell} does not know {word}");
        }
    }
}

#[test]
fn bash_takes_its_completions() {
    let ws = Workspace::new();
    let script = ws.run("completions bash").text();
    finish_with(ws.command("bash").arg("-n"), script.as_bytes()).gives("");
    let asked = format!("{script}\ncomplete -p readproof");
    assert!(finish_with(ws.command("bash").args(["--norc", "-s"]), asked.as_bytes()).text().contains("-F _readproof"));
}

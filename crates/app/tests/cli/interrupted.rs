//! Writes that the system or a signal interrupts: the failure is reported, the file is unchanged, and nothing is left
//! behind.

use crate::workspace::{Workspace, numbered};

/// As `ulimit -f`: no file may become larger than this many blocks of 512 bytes.
const LIMITED: &str = "ulimit -f 8; exec \"$@\"";

#[test]
fn a_write_beyond_the_limit_is_told() {
    let long = numbered(4000);
    let ws = Workspace::with(&[("a.txt", &long), (".env", &long)]);
    // The text of one is stored before the file is touched; the other is sensitive, so only the file is written.
    for name in ["a.txt", ".env"] {
        let edit = format!("edit {name} --session s --old 4000 --new x --set policy_preset=open");
        ws.shell(LIMITED, &edit).refused(1, &["there is no space left", "free some"]);
        assert_eq!(ws.get(name), long, "{name}");
    }
    assert_eq!(ws.names(), [".env", ".readproof", "a.txt"]);
    ws.run("edit .env --session s --old 4000 --new x --set policy_preset=open").text();
}

#[test]
fn a_server_beyond_the_limit_goes_on() {
    let long = numbered(4000);
    let ws = Workspace::with(&[("a.txt", &long)]);
    let request = |id: u32, method: &str, params: &str| {
        format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{params}}}\n")
    };
    let read = "{\"name\":\"read\",\"arguments\":{\"mode\":\"file\",\"target\":\"a.txt\"}}";
    let client =
        "{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}";
    let initialized = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";
    let asked = [
        request(1, "initialize", client),
        initialized.to_owned(),
        request(2, "tools/call", read),
        request(3, "ping", "{}"),
    ];
    let said = ws.shell_fed(LIMITED, "mcp", asked.concat()).text();
    let answered =
        |id: u32| said.lines().any(|line| line.contains(&format!("\"id\":{id}")) && line.contains("\"result\""));
    assert!(answered(2) && answered(3), "{said}");
}

/// The temporary file of a killed write is neither read nor found, and the next write to its folder removes it.
#[test]
fn temporary_files_of_ours_are_nobodys() {
    let temporary = ".readproof-999999999-0.tmp";
    let ws = Workspace::with(&[("a.txt", "text\n"), (temporary, "KEY=1\n")]);
    for command in ["read", "head", "tail", "stat", "outline"] {
        ws.run(&format!("{command} {temporary}")).refused(1, &["is a temporary file of readproof"]);
    }
    ws.run(&format!("grep KEY {temporary}")).refused(1, &["is a temporary file of readproof"]);
    ws.run(&format!("edit {temporary} --session s --old 1 --new 2")).refused(1, &["is a temporary file of readproof"]);
    ws.feed(&format!("write {temporary} --session s"), "x\n").refused(1, &["is a temporary file of readproof"]);
    ws.feed("write .readproof-turn --session s", "x\n")
        .refused(1, &["readproof's temporary files", "use another name"]);
    assert!(!ws.run("search KEY --glob **").text().contains("KEY=1"));
    assert_eq!(ws.get(temporary), "KEY=1\n");
    ws.run("edit a.txt --session s --old text --new other").text();
    assert_eq!(ws.names(), [".readproof", "a.txt"]);
}

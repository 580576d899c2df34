//! `readproof init`: the line that lets a host use the tools. What it is in each host, that it is only written after a yes, and
//! that nothing else changes; and what the command says the host gets.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, chown},
    path::Path,
};

use serde_json::{Value, json};

use crate::{
    init::World,
    workspace::{READPROOF, finish, names_in},
};

const ALLOW: &str = "{\n  \"permissions\": {\n    \"allow\": [\"mcp__readproof__read\", \"mcp__readproof__search\", \"mcp__readproof__list\", \"mcp__readproof__outline\"]\n  }\n}\n";
const DIRECT: &str = "[features.code_mode]\ndirect_only_tool_namespaces = [\"mcp__readproof\"]\n";
const TRUST: &str = "\"trust\": true";

/// Each host and scope, the file of its line, and what a new file holds of it.
const LINES: &[(&str, &str, &str)] = &[
    ("claude-code-tools", "ws/.claude/settings.local.json", ALLOW),
    ("claude-code-tools --scope user", "home/.claude/settings.json", ALLOW),
    ("codex", "ws/.codex/config.toml", DIRECT),
    ("codex --scope user", "home/.codex/config.toml", DIRECT),
    ("gemini", "ws/.gemini/settings.json", TRUST),
    ("gemini --scope user", "home/.gemini/settings.json", TRUST),
];

#[test]
fn a_yes_writes_the_line_once() {
    for (words, file, line) in LINES {
        let world = World::new();
        let preview = world.run(&format!("init {words}")).text();
        assert!(preview.contains(line.trim_end()) && preview.contains("without it, "), "{preview}");
        assert!(!world.at(file).exists(), "{words}");
        let done = world.run(&format!("init {words} --yes")).text();
        assert!(done.contains(&format!("written to {}", world.at(file).display())), "{done}");
        let text = world.get(file);
        assert_eq!(text.matches(line.trim_end()).count(), 1, "{words}: {text}");
        let again = world.run(&format!("init {words} --yes")).text();
        assert!(again.contains("already there, nothing changed"), "{again}");
        assert_eq!(world.get(file), text, "{words}");
    }
}

#[test]
fn without_the_line_it_is_said_what_is_missing_and_how_to_add_it() {
    for (words, file, line) in LINES {
        let world = World::new();
        let done = world.run(&format!("init {words} --yes --entry-only")).text();
        assert!(!world.at(file).exists() || !world.get(file).contains(line.trim_end()), "{words}");
        let file = world.at(file).display().to_string();
        let how = format!("left out: the line for {file}; to add it: readproof init {words} --yes\n");
        assert!(done.contains(&how), "{done}");
        let json = world.run(&format!("init {words} --yes --entry-only --json")).json();
        let permission = &json["permission"];
        assert_eq!((&json["state"], &permission["state"]), (&json!("same"), &json!("absent")));
        assert_eq!((&permission["written"], &permission["file"]), (&json!(false), &json!(file)));
        assert!(permission["left_out"].as_str().unwrap().contains("to add it"), "{permission}");
        // The entry stays, and a later yes adds the line alone.
        let json = world.run(&format!("init {words} --yes --json")).json();
        assert_eq!((&json["written"], &json["permission"]["written"]), (&json!(false), &json!(true)));
        assert_eq!(json["permission"]["left_out"], Value::Null);
    }
}

#[test]
fn other_hosts_need_no_line() {
    for host in ["opencode", "cursor", "vscode", "zed"] {
        let world = World::new();
        let json = world.run(&format!("init {host} --json")).json();
        assert_eq!(json["permission"], Value::Null);
        assert!(!world.run(&format!("init {host} --yes")).text().contains("left out"), "{host}");
    }
}

#[test]
fn a_person_is_asked_about_each() {
    let world = World::new();
    let (entry, line) = (world.at("ws/.mcp.json"), world.at("ws/.claude/settings.local.json"));
    let said = world.typed("init claude-code-tools", "y\nn\n");
    let question = format!("write this to {} too? [y/N] ", line.display());
    assert!(said.contains(&question) && said.contains("left out: the line for"), "{said}");
    assert!(said.contains("claude-code-tools gets ") && said.contains("it does not get "), "{said}");
    assert!(entry.exists() && !line.exists());
    // Only what is missing is asked about.
    let said = world.typed("init claude-code-tools", "y\n");
    assert!(said.contains(&question) && !said.contains(&format!("write this to {}? ", entry.display())), "{said}");
    assert_eq!(world.get("ws/.claude/settings.local.json"), ALLOW);

    let world = World::new();
    assert!(world.typed("init gemini", "y\ny\n").contains("written to"));
    let there: Value = serde_json::from_str(&world.get("ws/.gemini/settings.json")).unwrap();
    let ours = json!({"command": "readproof", "args": ["mcp"], "trust": true});
    assert_eq!(there["mcpServers"]["readproof"], ours);
}

/// Realistic files; the place of the addition is marked by `<HERE>`.
const REAL: &[(&str, &str, &str, &str)] = &[
    (
        "claude-code-tools",
        "ws/.claude/settings.local.json",
        "// mine\r\n{\r\n\t\"permissions\": {\r\n\t\t\"allow\": [\r\n\t\t\t\"Bash(ls:*)\", // listing\r\n\t\t\t\"WebSearch\"<HERE>\r\n\t\t],\r\n\t\t\
         \"deny\": [ \"mcp__readproof__dry_run_diff\", \"Read(.env)\" ]\r\n\t},\r\n\t\"model\": \"opus\"\r\n}",
        ",\r\n\t\t\t\"mcp__readproof__read\",\r\n\t\t\t\"mcp__readproof__search\",\r\n\t\t\t\"mcp__readproof__list\",\r\n\t\t\t\"mcp__readproof__outline\"",
    ),
    (
        "claude-code-tools --scope user",
        "home/.claude/settings.json",
        "{\"model\":\"opus\",\"permissions\":{\"deny\":[\"Bash\"]<HERE>}}\n",
        ", \"allow\": [\"mcp__readproof__read\", \"mcp__readproof__search\", \"mcp__readproof__list\", \"mcp__readproof__outline\"]",
    ),
    (
        "codex",
        "ws/.codex/config.toml",
        "[features.code_mode] # direct\n# more\ndirect_only_tool_namespaces = [\"multi_agent_v1\"<HERE>] # these\n\n[mcp_servers.readproof]\n\
         command = \"readproof\"\nargs = [\"mcp\"]\nenv = { A = \"1\" }",
        ", \"mcp__readproof\"",
    ),
    (
        "gemini",
        "ws/.gemini/settings.json",
        "{\n  // servers\n  \"mcpServers\": {\n    \"readproof\": {\n      \"command\": \"readproof\",\n      \"args\": [\"mcp\"],\n      \
         \"env\": {\"A\": \"1\"} // mine<HERE>\n    }\n  }\n}\n",
        "\n      \"trust\": true",
    ),
];

#[test]
fn only_the_line_is_added() {
    for (words, file, marked, added) in REAL {
        let world = World::new();
        world.put(file, &marked.replace("<HERE>", ""));
        let expected = marked.replace("<HERE>", added);
        // A comma goes before the comment of the last field.
        let expected =
            expected.replace("{\"A\": \"1\"} // mine\n      \"trust\"", "{\"A\": \"1\"}, // mine\n      \"trust\"");
        world.run(&format!("init {words} --yes")).text();
        assert_eq!(world.get(file), expected, "{words}");
        world.run(&format!("init {words} --yes")).text();
        assert_eq!(world.get(file), expected, "{words}");
    }
}

/// What a user forbids stays forbidden, and the command says so.
#[test]
fn what_is_forbidden_stays_so() {
    let entry =
        "{\"mcpServers\": {\"readproof\": {\"command\": \"readproof\", \"args\": [\"mcp\"], \"trust\": false}}}";
    let codex = "[features.code_mode]\nexcluded_tool_namespaces = [\"mcp__readproof\"]\n";
    for (words, file, text, rule) in [
        (
            "claude-code-tools",
            "ws/.claude/settings.local.json",
            r#"{"permissions": {"deny": ["mcp__readproof"]}}"#,
            "permissions.deny",
        ),
        (
            "claude-code-tools",
            "ws/.claude/settings.local.json",
            r#"{"permissions": {"ask": ["mcp__*"]}}"#,
            "permissions.ask",
        ),
        ("gemini", "ws/.gemini/settings.json", entry, "mcpServers.readproof.trust"),
        ("codex", "ws/.codex/config.toml", codex, "excluded_tool_namespaces"),
    ] {
        let world = World::new();
        world.put(file, text);
        let done = world.run(&format!("init {words} --yes")).text();
        assert!(done.contains("left out: ") && done.contains(&format!("{rule} says the opposite")), "{done}");
        assert!(world.get(file).starts_with(text), "{words}");
        assert!(!world.get(file).contains("direct_only") && !world.get(file).contains("allow"), "{words}");
        let json = world.run(&format!("init {words} --json")).json();
        assert_eq!((&json["permission"]["state"], &json["permission"]["written"]), (&json!("refused"), &json!(false)));
    }
}

#[test]
fn a_file_that_cannot_take_the_line_keeps_everything_unwritten() {
    for (words, file, text, says) in [
        ("claude-code-tools", "ws/.claude/settings.local.json", "{\"permissions\": {", "it cannot be parsed"),
        (
            "claude-code-tools",
            "ws/.claude/settings.local.json",
            "{\"permissions\": {\"allow\": \"all\"}}",
            "is not a list",
        ),
        ("codex", "ws/.codex/config.toml", "[features]\ncode_mode = true\n", "more than the entry"),
        ("codex", "ws/.codex/config.toml", "[features\n", "it cannot be parsed"),
        ("gemini", "ws/.gemini/settings.json", "{\"mcpServers\": {},", "it cannot be parsed"),
    ] {
        let world = World::new();
        world.put(file, text);
        let names = names_in(&world.at("ws"));
        let done = world.run(&format!("init {words} --yes"));
        done.refused(1, &["is left unchanged", says, "by hand:\n"]);
        assert_eq!((world.get(file), names_in(&world.at("ws"))), (text.to_owned(), names), "{words}");
    }
    // The entry can still be written alone.
    let world = World::new();
    world.put("ws/.claude/settings.local.json", "{");
    assert!(world.run("init claude-code-tools --yes --entry-only").text().contains("left out: "));
    assert!(world.at("ws/.mcp.json").exists());
}

/// Permissions do not apply to root, so root runs it as `nobody`.
#[test]
fn a_read_only_file_is_left_and_what_was_written_is_named() {
    let world = World::new();
    let file = "ws/.claude/settings.local.json";
    world.put(file, "{}\n");
    fs::set_permissions(world.at(file), fs::Permissions::from_mode(0o444)).unwrap();
    let mut command = world.command("");
    if world.ws.is_root() {
        let program = world.at("bin/readproof");
        fs::remove_file(&program).unwrap();
        fs::copy(READPROOF, &program).unwrap();
        let top = world.ws.top();
        for path in ["", "ws", "ws/.claude", file, "home", "bin", "bin/readproof"] {
            chown(top.join(path), Some(65534), Some(65534)).unwrap();
        }
        if !Path::new("/usr/bin/setpriv").exists() {
            return;
        }
        command = world.ws.command("/usr/bin/setpriv");
        command.env("PATH", world.at("bin")).args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(program);
    }
    let done = finish(command.args(["init", "claude-code-tools", "--yes"]));
    done.refused(1, &["settings.local.json is left unchanged", "mcp__readproof", "the entry was written to"]);
    assert_eq!(world.get(file), "{}\n");
    assert!(world.at("ws/.mcp.json").exists());
}

#[test]
fn every_host_says_what_it_gets() {
    let world = World::new();
    for host in ["claude-code-tools", "codex", "opencode", "gemini", "cursor", "vscode", "zed"] {
        let json = world.run(&format!("init {host} --json")).json();
        assert!(json["gets"].as_str().unwrap().contains("search"), "{json}");
        let text = world.run(&format!("init {host} --yes")).text();
        let lines: Vec<&str> = text.lines().collect();
        let about: Vec<&&str> =
            lines.iter().filter(|line| line.contains(" gets ") || line.contains("not get ")).collect();
        assert!((2..=3).contains(&about.len()) && lines.last() == about.last().copied(), "{text}");
        assert_eq!(json["does_not_get"].as_array().unwrap().len() + 1, about.len());
    }
    let claude = world.run("init claude-code-tools").text();
    assert!(claude.contains("Claude Code wants the file read by its own `Read` first"), "{claude}");
}

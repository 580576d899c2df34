//! `readproof doctor` about hosts: what is set up, what is missing, and that a host nobody uses is never a problem.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use serde_json::{Value, json};

use crate::{
    init::World,
    init_pi::Clone,
    workspace::{Done, READPROOF, finish},
};

/// A world in which `readproof` on `PATH` is the program itself.
fn real() -> World {
    let world = World::new();
    fs::remove_file(world.at("bin/readproof")).unwrap();
    std::os::unix::fs::symlink(Path::new(READPROOF).canonicalize().unwrap(), world.at("bin/readproof")).unwrap();
    world
}

/// Health, message and advice of every check of a host.
fn checks(done: &Done, host: &str) -> Vec<(String, String, String)> {
    let json: Value = serde_json::from_str(&done.out).unwrap_or_else(|error| panic!("{error}: {done:?}"));
    assert_eq!(json["ok"] == true, done.code == Some(0), "{json}");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let of = |check: &Value| (text(&check["health"]), text(&check["message"]), text(&check["advice"]));
    json["checks"].as_array().unwrap().iter().filter(|check| check["host"] == host).map(of).collect()
}

/// Asserts the one check of a host, its words and its advice.
#[track_caller]
fn finds(world: &World, host: &str, health: &str, words: &[&str], advice: &str) {
    let done = world.run("doctor --json");
    let found = checks(&done, host);
    let [(found_health, says, found_advice)] = &found[..] else { panic!("{found:?}") };
    assert_eq!((found_health.as_str(), done.code), (health, Some(i32::from(health == "problem"))), "{found:?}");
    assert!(words.iter().all(|word| says.contains(word)), "{found:?}");
    assert!(found_advice.contains(advice) && found_advice.is_empty() == advice.is_empty(), "{found:?}");
}

const HOSTS: [&str; 9] =
    ["claude-code", "claude-code-tools", "codex", "opencode", "gemini", "cursor", "vscode", "zed", "pi"];

#[test]
fn a_host_that_is_not_used_is_one_quiet_line() {
    let world = real();
    for host in HOSTS {
        finds(&world, host, "ok", &[&format!("{host}: not found")], "");
    }
    let text = world.run("doctor").text();
    assert_eq!(text.matches(": not found\n").count(), HOSTS.len(), "{text}");
    // In use, but not set up: still nothing to worry about.
    world.put("bin/codex", "");
    fs::set_permissions(world.at("bin/codex"), fs::Permissions::from_mode(0o755)).unwrap();
    world.put("ws/.vscode/settings.json", "{}");
    world.put("home/.pi/agent/settings.json", "{}");
    finds(&world, "codex", "ok", &["found (`codex` on PATH), not set up; `readproof init codex`"], "");
    finds(&world, "vscode", "ok", &["found (.vscode), not set up"], "");
    finds(&world, "pi", "ok", &["not set up"], "");
}

#[test]
fn what_init_wrote_is_well() {
    let world = real();
    for host in &HOSTS[1..8] {
        for scope in ["project", "user"] {
            world.run(&format!("init {host} --scope {scope} --yes")).text();
        }
        let done = world.run("doctor --json");
        let found = checks(&done, host);
        assert!(done.code == Some(0) && found.len() == 2, "{found:?}");
        for (health, says, advice) in found {
            assert_eq!((health.as_str(), advice.as_str()), ("ok", ""), "{says}");
            assert!(says.starts_with(&format!("{host}: set up in ")) && says.contains("starts this program"), "{says}");
            assert!(says.contains(&format!("\n{host} gets ")) && says.contains("\nit does not get "), "{says}");
        }
    }
    assert!(world.run("doctor").text().contains("the tools may be used ("));
}

#[test]
fn a_missing_line_is_named_with_its_command() {
    for (words, host, line) in [
        (
            "claude-code-tools",
            "claude-code-tools",
            "`permissions.allow`: [\"mcp__readproof__read\",\"mcp__readproof__search\",\"mcp__readproof__list\",\"mcp__readproof__outline\"]",
        ),
        ("codex --scope user", "codex", "direct_only_tool_namespaces"),
        ("gemini", "gemini", "`mcpServers.readproof.trust`: true"),
    ] {
        let world = real();
        world.run(&format!("init {words} --yes --entry-only")).text();
        let done = world.run("doctor --json");
        let found = checks(&done, host);
        let healths: Vec<&str> = found.iter().map(|(health, ..)| health.as_str()).collect();
        assert_eq!((healths, done.code), (vec!["ok", "warning"], Some(0)), "{found:?}");
        assert!(found[1].1.contains(line) && found[1].2.contains(&format!("readproof init {words}`")), "{found:?}");
    }
    // A line in other settings of the same host counts.
    let world = real();
    world.run("init claude-code-tools --yes --entry-only").text();
    world.put("home/.claude/settings.json", r#"{"permissions": {"allow": ["mcp__readproof__*"]}} // mine"#);
    finds(&world, "claude-code-tools", "ok", &["the tools may be used (", "home/.claude/settings.json"], "");
    world.put("ws/.claude/settings.json", r#"{"permissions": {"deny": ["mcp__readproof"]}}"#);
    let found = checks(&world.run("doctor --json"), "claude-code-tools");
    assert!(found[1].0 == "warning" && found[1].1.contains("permissions.deny in"), "{found:?}");
}

#[test]
fn an_entry_that_leads_elsewhere() {
    let world = real();
    let entry = |command: &str, more: &str| {
        format!("{{\"mcpServers\": {{\"readproof\": {{\"command\": \"{command}\", \"args\": [\"mcp\"]{more}}}}}}}")
    };
    let put = |text: &str| world.put("ws/.cursor/mcp.json", text);
    let init = "readproof init cursor";
    put(&entry("/no/such/readproof", ""));
    finds(&world, "cursor", "problem", &["`/no/such/readproof`, which does not exist"], init);
    put(&entry("readprooof", ""));
    finds(&world, "cursor", "problem", &["`readprooof`, which does not exist"], init);
    world.put("other/readproof", "");
    fs::set_permissions(world.at("other/readproof"), fs::Permissions::from_mode(0o755)).unwrap();
    put(&entry(world.at("other/readproof").to_str().unwrap(), ""));
    finds(&world, "cursor", "warning", &["other/readproof, which is not this program"], init);
    put(&entry("readproof", "").replace("[\"mcp\"]", "[\"pi\"]"));
    finds(&world, "cursor", "warning", &["does not start `readproof mcp`"], init);
    put(&entry("readproof", ", \"disabled\": true"));
    finds(&world, "cursor", "warning", &["is switched off"], "switch it on");
    // More arguments are the user's business.
    put(&entry("readproof", "").replace("[\"mcp\"]", "[\"mcp\", \"--tools\", \"all\"]"));
    finds(&world, "cursor", "ok", &["starts this program"], "");
    world.put(
        "ws/opencode.json",
        r#"{"mcp": {"readproof": {"type": "local", "command": ["/gone", "mcp"], "enabled": true}}}"#,
    );
    finds(&world, "opencode", "problem", &["`/gone`, which does not exist"], "readproof init opencode");
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let world = real();
    for (host, file, text) in [
        ("claude-code-tools", "ws/.mcp.json", "{\"mcpServers\": {"),
        ("codex", "home/.codex/config.toml", "a = \n"),
        ("gemini", "ws/.gemini/settings.json", "{}\0"),
        ("zed", "home/.config/zed/settings.json", "{,}"),
        ("pi", "home/.pi/agent/settings.json", "{\"packages\": ["),
    ] {
        world.put(file, text);
        finds(&world, host, "warning", &[world.at(file).to_str().unwrap(), "cannot be checked"], "correct it");
    }
    fs::create_dir_all(world.at("ws/.cursor/mcp.json")).unwrap();
    finds(&world, "cursor", "warning", &["cursor/mcp.json cannot be checked", "is a directory"], "correct it");
    std::os::unix::fs::symlink("/no/where", world.at("ws/opencode.json")).unwrap();
    finds(&world, "opencode", "warning", &["opencode.json cannot be checked"], "correct it");
    // The line's file alone.
    let world = real();
    world.run("init claude-code-tools --yes").text();
    world.put("ws/.claude/settings.local.json", "{");
    let found = checks(&world.run("doctor --json"), "claude-code-tools");
    assert!(found.iter().any(|(health, says, _)| health == "warning" && says.contains("settings.local.json cannot")));
}

#[test]
fn the_package_of_pi() {
    let clone = Clone::new();
    let doctor = |clone: &Clone| {
        let done = finish(&mut clone.command("doctor --json"));
        let mut found = checks(&done, "pi");
        assert_eq!(found.len(), 1, "{found:?}");
        (done.code, found.remove(0))
    };
    clone.run("init pi --yes").text();
    let (code, (health, says, _)) = doctor(&clone);
    assert_eq!((code, health.as_str()), (Some(0), "ok"), "{says}");
    assert!(says.contains("by the extension in") && says.contains("of this version\npi gets "), "{says}");
    let settings = "home/.pi/agent/settings.json";
    let list = |source: &str| clone.world.put(settings, &json!({"packages": [source]}).to_string());
    clone.package("old", "0.0.9");
    list("../../old/integrations/pi");
    let (code, (health, says, _)) = doctor(&clone);
    assert_eq!((code, health.as_str()), (Some(0), "warning"), "{says}");
    assert!(says.contains("has version 0.0.9, this program "), "{says}");
    list("../../gone/integrations/pi");
    let (code, (health, says, advice)) = doctor(&clone);
    assert_eq!((code, health.as_str()), (Some(1), "problem"), "{says}");
    assert!(says.contains("which does not exist") && advice.contains("readproof init pi"), "{says} {advice}");
    list("npm:readproof-pi");
    assert_eq!(doctor(&clone).1.0, "ok");
    // The extension must find a program.
    list("../../old/integrations/pi");
    fs::remove_file(clone.world.at("bin/readproof")).unwrap();
    let (_, (health, says, advice)) = doctor(&clone);
    assert_eq!(health, "warning");
    assert!(says.contains("finds no readproof beside it") && advice.contains("cargo build --release"), "{says}");
}

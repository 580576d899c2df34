//! `readproof init`: the entry of each host, in realistic files; what is asked, what is written, what stays unchanged.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Value, json};

use crate::workspace::{Done, READPROOF, Workspace, finish, finish_with, names_in};

/// A workspace with `readproof` on `PATH`.
pub(crate) struct World {
    pub(crate) ws: Workspace,
}

impl World {
    pub(crate) fn new() -> Self {
        let world = Self { ws: Workspace::new() };
        fs::create_dir(world.at("bin")).unwrap();
        fs::write(world.at("bin/readproof"), "").unwrap();
        fs::set_permissions(world.at("bin/readproof"), fs::Permissions::from_mode(0o755)).unwrap();
        world
    }

    /// A path beside the workspace: `ws/…`, `home/…`.
    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.ws.top().join(name)
    }

    pub(crate) fn put(&self, name: &str, text: &str) {
        fs::create_dir_all(self.at(name).parent().unwrap()).unwrap();
        fs::write(self.at(name), text).unwrap();
    }

    pub(crate) fn get(&self, name: &str) -> String {
        fs::read_to_string(self.at(name)).unwrap()
    }

    pub(crate) fn command(&self, words: &str) -> Command {
        let mut command = self.ws.command(READPROOF);
        command.env("PATH", self.at("bin")).args(words.split_whitespace());
        command
    }

    pub(crate) fn run(&self, words: &str) -> Done {
        finish(&mut self.command(words))
    }

    /// Runs it on a terminal with this input.
    pub(crate) fn typed(&self, words: &str, keys: &str) -> String {
        let mut command = self.ws.command("script");
        command.env("PATH", format!("{}:/usr/bin:/bin", self.at("bin").display()));
        command.args(["-qec", &format!("{READPROOF} {words}"), "/dev/null"]);
        finish_with(&mut command, keys.as_bytes()).noticed(&[]).replace("\r\n", "\n")
    }
}

const COMMAND: &str = "\"command\": \"readproof\",\n      \"args\": [\"mcp\"]";

fn wrapped(key: &str, fields: &str) -> String {
    format!("{{\n  \"{key}\": {{\n    \"readproof\": {{\n      {fields}\n    }}\n  }}\n}}\n")
}

/// Each host and scope, its file, and the content of a new file without the line that permits the tools.
fn table() -> Vec<(&'static str, &'static str, &'static str, String)> {
    let stdio = format!("\"type\": \"stdio\",\n      {COMMAND}");
    let local = "\"type\": \"local\",\n      \"command\": [\"readproof\", \"mcp\"],\n      \"enabled\": true";
    let codex = "[mcp_servers.readproof]\ncommand = \"readproof\"\nargs = [\"mcp\"]\n";
    vec![
        ("claude-code-tools", "project", "ws/.mcp.json", wrapped("mcpServers", &stdio)),
        ("claude-code-tools", "user", "home/.claude.json", wrapped("mcpServers", &stdio)),
        ("codex", "project", "ws/.codex/config.toml", codex.to_owned()),
        ("codex", "user", "home/.codex/config.toml", codex.to_owned()),
        ("opencode", "project", "ws/opencode.json", wrapped("mcp", local)),
        ("opencode", "user", "home/.config/opencode/opencode.json", wrapped("mcp", local)),
        ("gemini", "project", "ws/.gemini/settings.json", wrapped("mcpServers", COMMAND)),
        ("gemini", "user", "home/.gemini/settings.json", wrapped("mcpServers", COMMAND)),
        ("cursor", "project", "ws/.cursor/mcp.json", wrapped("mcpServers", &stdio)),
        ("cursor", "user", "home/.cursor/mcp.json", wrapped("mcpServers", &stdio)),
        ("vscode", "project", "ws/.vscode/mcp.json", wrapped("servers", &stdio)),
        ("vscode", "user", "home/.config/Code/User/mcp.json", wrapped("servers", &stdio)),
        ("zed", "project", "ws/.zed/settings.json", wrapped("context_servers", COMMAND)),
        ("zed", "user", "home/.config/zed/settings.json", wrapped("context_servers", COMMAND)),
    ]
}

#[test]
fn a_missing_file_is_made_and_the_second_run_changes_nothing() {
    for (host, scope, file, expected) in table() {
        let world = World::new();
        let words = format!("init {host} --scope {scope}");
        let printed = world.run(&words).text();
        assert!(printed.starts_with(&format!("{host} ({scope}): {}\n", world.at(file).display())), "{printed}");
        assert!(printed.contains(expected.trim_end()), "{printed}");
        let how = format!("readproof init {host}{} --yes", if scope == "user" { " --scope user" } else { "" });
        assert!(printed.contains(&how), "{printed}");
        assert!(!world.at(file).exists(), "{host} {scope}");

        let written = world.run(&format!("{words} --yes --entry-only")).text();
        assert!(written.contains(&format!("\nwritten to {}\n", world.at(file).display())), "{written}");
        assert_eq!(world.get(file), expected, "{host} {scope}");
        world.run(&format!("{words} --yes")).text();
        let before = fs::metadata(world.at(file)).unwrap().modified().unwrap();
        for again in [&words, &format!("{words} --yes")] {
            assert!(world.run(again).text().contains("\nalready there, nothing changed\n"), "{host} {scope}");
        }
        assert_eq!(fs::metadata(world.at(file)).unwrap().modified().unwrap(), before);
        let folder = world.at(file).parent().unwrap().to_path_buf();
        assert!(names_in(&folder).iter().all(|name| !name.contains("tmp")), "{host} {scope}");
    }
}

#[test]
fn the_project_is_the_default() {
    let world = World::new();
    world.run("init zed --yes").text();
    assert_eq!(names_in(&world.at("ws")), [".zed"]);
    assert_eq!(names_in(&world.at("home")), [""; 0]);
}

/// Realistic files, each with the place of the entry marked by `<HERE>`.
const REAL: &[(&str, &str, &str)] = &[
    (
        "zed --scope user",
        "home/.config/zed/settings.json",
        "// Zed settings\n//\n// \"context_servers\": { \"readproof\": {} }\n{\n  \"theme\": {\n    \"mode\": \"system\", // {\n    \
         \"light\": \"One Light\",\n  },\n  \"agent\": { \"profiles\": { \"x\": { \"context_servers\": { \"readproof\": {} } } } \
         },\n  // \"context_servers\": {\n  \"vim_mode\": false,<HERE>\n}\n",
    ),
    (
        "vscode",
        "ws/.vscode/mcp.json",
        "{\r\n\t// inputs first\r\n\t\"inputs\": [\r\n\t\t{ \"id\": \"servers\", \"type\": \"promptString\" }\r\n\t],\r\n\t\
         \"servers\": {\r\n\t\t\"github\": {\r\n\t\t\t\"type\": \"http\",\r\n\t\t\t\"url\": \"https://x/mcp/\"\r\n\t\t}<HERE>\r\n\t}\r\n}",
    ),
    (
        "opencode",
        "ws/opencode.jsonc",
        "\u{feff}{\n  \"$schema\": \"https://opencode.ai/config.json\",\n  /* servers */\n  \"mcp\": {\n    \"jira\": {\n      \
         \"type\": \"remote\",\n      \"url\": \"https://x\",\n    },<HERE>\n  },\n}\n",
    ),
    (
        "opencode --scope user",
        "home/.config/opencode/opencode.json",
        "{\n  \"mcp\": {\n    \"servers\": {\n      \"a\": {\n        \"type\": \"local\",\n        \"command\": [\"a\"]\n      \
         }<HERE>\n    }\n  }\n}\n",
    ),
    (
        "gemini",
        "ws/.gemini/settings.json",
        "{\n    \"theme\": \"mcpServers\",\n    \"mcpServers\": {\n        \"git\": {\n            \"command\": \"uvx\", \"args\": \
         [\"mcp-server-git\"]\n        }<HERE>\n    }\n}",
    ),
    ("cursor", "ws/.cursor/mcp.json", "{\"mcpServers\":{\"a\":{\"url\":\"https://x\"}<HERE>}}"),
    (
        "claude-code-tools --scope user",
        "home/.claude.json",
        "{\n  \"numStartups\": 12,\n  \"projects\": {\n    \"/w\": {\n      \"mcpServers\": {\n        \"readproof\": {}\n      \
         }\n    }\n  },\n  \"userID\": \"x\"<HERE>\n}",
    ),
    (
        "codex --scope user",
        "home/.codex/config.toml",
        "model = \"gpt-5\" # \"[mcp_servers.readproof]\"\r\n\r\n[mcp_servers.docs]\r\ncommand = \"npx\"\r\n<HERE>",
    ),
    (
        "codex",
        "ws/.codex/config.toml",
        "[mcp_servers.docs]\nurl = \"https://x\"\n\n[mcp_servers.docs.http_headers]\nA = \"b\"<HERE>",
    ),
];

/// Every byte before and after the place is unchanged; the insertion begins with a comma if one is missing.
#[test]
fn nothing_but_the_entry_is_touched() {
    for (words, file, marked) in REAL {
        let world = World::new();
        let text = marked.replace("<HERE>", "");
        world.put(file, &text);
        fs::set_permissions(world.at(file), fs::Permissions::from_mode(0o640)).unwrap();
        world.run(&format!("init {words} --yes --entry-only")).text();
        let after = world.get(file);
        let (start, end) = marked.split_once("<HERE>").unwrap();
        assert!(after.starts_with(start) && after.ends_with(end), "{words}:\n{after}");
        let added = &after[start.len()..after.len() - end.len()];
        assert!(added.contains("readproof") && added.contains("mcp"), "{words}: {added}");
        let (lines, crlf) = (added.matches('\n').count(), added.matches("\r\n").count());
        assert_eq!(crlf, if text.contains("\r\n") { lines } else { 0 }, "{words}: {added}");
        assert_eq!(fs::metadata(world.at(file)).unwrap().permissions().mode() & 0o777, 0o640);
        world.run(&format!("init {words} --yes --entry-only")).text();
        assert_eq!(world.get(file), after, "{words}");
    }
}

#[test]
fn opencode_keeps_the_way_its_file_has() {
    let world = World::new();
    let nested = REAL.iter().find(|(words, ..)| *words == "opencode --scope user").unwrap();
    world.put(nested.1, &nested.2.replace("<HERE>", ""));
    world.run("init opencode --scope user --yes").text();
    let there: Value = serde_json::from_str(&world.get(nested.1)).unwrap();
    let ours = json!({"type": "local", "command": ["readproof", "mcp"]});
    assert_eq!(there["mcp"]["servers"]["readproof"], ours);
    assert_eq!(there["mcp"].as_object().unwrap().len(), 1);

    // A server with that name is not a list of servers.
    world.put("ws/opencode.json", r#"{"mcp": {"servers": {"type": "remote", "url": "https://x"}}}"#);
    world.run("init opencode --yes").text();
    let there: Value = serde_json::from_str(&world.get("ws/opencode.json")).unwrap();
    assert_eq!(there["mcp"]["readproof"]["enabled"], json!(true));
}

#[test]
fn an_entry_that_differs_is_shown_and_replaced_only_after_a_yes() {
    let world = World::new();
    let old =
        "{\n  \"mcpServers\": {\n    \"readproof\": { \"command\": \"/old/readproof\", \"args\": [\"mcp\"] }\n  }\n}\n";
    world.put("ws/.mcp.json", old);
    let text = world.run("init claude-code-tools").text();
    for part in ["the existing entry:", "\"/old/readproof\"", "would become:", COMMAND, "nothing changed; to write"] {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
    let json = world.run("init claude-code-tools --json").json();
    let old_entry = json!({"command": "/old/readproof", "args": ["mcp"]});
    assert_eq!((&json["state"], &json["written"], &json["old"]), (&json!("different"), &json!(false), &old_entry));
    assert_eq!(world.get("ws/.mcp.json"), old);
    let json = world.run("init claude-code-tools --json --yes").json();
    assert_eq!(json["written"], json!(true));
    assert_eq!(world.get("ws/.mcp.json"), table()[0].3);
    // Fields that the user added do not count as a difference.
    let more = world.get("ws/.mcp.json").replace("[\"mcp\"]", "[\"mcp\"],\n      \"env\": {\"A\": \"1\"}");
    world.put("ws/.mcp.json", &more);
    assert_eq!(world.run("init claude-code-tools --json --yes").json()["state"], "same");
    assert_eq!(world.get("ws/.mcp.json"), more);
}

#[test]
fn a_person_is_asked() {
    let world = World::new();
    let question = format!("write this to {}? [y/N] ", world.at("ws/.mcp.json").display());
    for no in ["n\n", "\n", "nay\n"] {
        let said = world.typed("init claude-code-tools", no);
        assert!(said.contains(&question) && said.contains("nothing changed"), "{said}");
        assert!(!world.at("ws/.mcp.json").exists());
    }
    let said = world.typed("init claude-code-tools --print", "");
    assert!(said.contains(COMMAND) && !said.contains("[y/N]"), "{said}");
    let said = world.typed("init claude-code-tools --entry-only", "y\n");
    assert!(said.contains("written to"), "{said}");
    assert_eq!(world.get("ws/.mcp.json"), table()[0].3);
    world.put("ws/.mcp.json", "{\"mcpServers\": {\"readproof\": 1}}");
    assert!(world.typed("init claude-code-tools --entry-only", "yes\n").contains("replace the entry in"));
    assert!(world.get("ws/.mcp.json").contains("stdio"));
}

#[test]
fn a_file_that_cannot_take_it_is_left_and_the_entry_is_shown() {
    for (words, file, text, says) in [
        ("claude-code-tools", "ws/.mcp.json", "{\"mcpServers\": {", &["it cannot be parsed", "by hand:\n{"][..]),
        (
            "cursor",
            "ws/.cursor/mcp.json",
            "{\"mcpServers\": []}",
            &["is not an object", "by hand:\n{\n  \"mcpServers\""],
        ),
        ("gemini", "ws/.gemini/settings.json", "[]", &["is not an object", "\"command\": \"readproof\""]),
        ("codex", "ws/.codex/config.toml", "a = \n", &["it cannot be parsed"]),
        ("codex", "ws/.codex/config.toml", "mcp_servers = {}\n", &["more than the entry", "[mcp_servers.readproof]"]),
        ("opencode", "ws/opencode.json", "{", &["it cannot be parsed", "init opencode --print"]),
        ("zed", "ws/.zed/settings.json", "{}\0", &["not text"]),
    ] {
        for more in ["", " --yes"] {
            let world = World::new();
            world.put(file, text);
            world.run(&format!("init {words}{more}")).refused(1, &[&["is left unchanged"], says].concat());
            let json = world.run(&format!("init {words} --json{more}"));
            assert!(json.code == Some(1) && json.out.contains("\"HOST_FILE\""), "{json:?}");
            assert_eq!(world.get(file), text);
            assert!(world.run(&format!("init {words} --print")).text().contains("readproof"));
        }
    }
}

#[test]
fn what_is_no_file_is_left() {
    let world = World::new();
    fs::create_dir(world.at("ws/.mcp.json")).unwrap();
    world.run("init claude-code-tools --yes").refused(1, &["is a directory"]);
    world.put("ws/.cursor", "a file");
    world.run("init cursor --yes").refused(1, &["is left unchanged", "by hand"]);
    fs::hard_link(world.at("ws/.cursor"), world.at("ws/other")).unwrap();
    world.put("ws/.zed/settings.json", "{}");
    fs::hard_link(world.at("ws/.zed/settings.json"), world.at("ws/linked")).unwrap();
    world.run("init zed --yes").refused(1, &["several hard links", "context_servers"]);
    assert_eq!(world.get("ws/linked"), "{}");
}

/// A repository may come from a stranger: its links must not redirect a write to a place outside.
#[test]
fn a_link_in_a_project_never_leads_out() {
    let world = World::new();
    world.put("home/.bashrc", "{}");
    for target in [world.at("home/.bashrc"), PathBuf::from("../home/.bashrc")] {
        symlink(&target, world.at("ws/.mcp.json")).unwrap();
        world.run("init claude-code-tools --yes").refused(1, &["is left unchanged", "a link out of the workspace"]);
        fs::remove_file(world.at("ws/.mcp.json")).unwrap();
    }
    symlink(world.at("home"), world.at("ws/.vscode")).unwrap();
    world.run("init vscode --yes").refused(1, &["is left unchanged"]);
    assert_eq!((world.get("home/.bashrc"), names_in(&world.at("home"))), ("{}".to_owned(), vec![".bashrc".to_owned()]));
    // A link that stays inside is kept, and its target is written.
    world.put("ws/conf/mcp.json", "{}\n");
    symlink("conf/mcp.json", world.at("ws/.mcp.json")).unwrap();
    world.run("init claude-code-tools --yes").text();
    assert_eq!(fs::read_link(world.at("ws/.mcp.json")).unwrap(), Path::new("conf/mcp.json"));
    assert_eq!(world.get("ws/conf/mcp.json"), table()[0].3);
}

/// Users keep their settings in a repository and link to them.
#[test]
fn a_link_in_a_home_stays_and_its_target_is_written() {
    let world = World::new();
    world.put("dotfiles/zed.json", "{} // mine\n");
    fs::create_dir_all(world.at("home/.config/zed")).unwrap();
    let link = world.at("home/.config/zed/settings.json");
    symlink(world.at("dotfiles/zed.json"), &link).unwrap();
    world.run("init zed --scope user --yes").text();
    assert_eq!(fs::read_link(&link).unwrap(), world.at("dotfiles/zed.json"));
    assert!(world.get("dotfiles/zed.json").contains("context_servers"));
    assert!(world.get("dotfiles/zed.json").ends_with("} // mine\n"));
    fs::remove_file(world.at("dotfiles/zed.json")).unwrap();
    world.run("init zed --scope user --yes").refused(1, &["is a link to a file that does not exist"]);
    if world.ws.is_root() {
        world.put("dotfiles/zed.json", "{}");
        std::os::unix::fs::chown(world.at("dotfiles/zed.json"), Some(12345), None).unwrap();
        world.run("init zed --scope user --yes").refused(1, &["belongs to another user"]);
        assert_eq!(world.get("dotfiles/zed.json"), "{}");
    }
}

#[test]
fn folders_told_by_the_environment() {
    let world = World::new();
    for (host, variable, file) in [
        ("codex", "CODEX_HOME", "config.toml"),
        ("claude-code-tools", "CLAUDE_CONFIG_DIR", ".claude.json"),
        ("zed", "XDG_CONFIG_HOME", "zed/settings.json"),
        ("opencode", "XDG_CONFIG_HOME", "opencode/opencode.json"),
        ("vscode", "XDG_CONFIG_HOME", "Code/User/mcp.json"),
    ] {
        let folder = world.at(&format!("told-{host}"));
        let words = format!("init {host} --scope user --yes --json");
        let done = finish(world.command(&words).env(variable, &folder)).json();
        assert_eq!(done["file"], json!(folder.join(file).to_str().unwrap()));
        assert!(folder.join(file).exists());
    }
    let done = finish(world.command("init codex --scope user --yes").env_remove("HOME"));
    done.refused(1, &["HOME is not set"]);
    assert_eq!(names_in(&world.at("home")), [""; 0]);
}

#[test]
fn without_a_readproof_on_the_path_the_entry_names_this_one() {
    let world = World::new();
    let command = |path: &str| {
        let done = finish(world.command("init gemini --json").env("PATH", path));
        done.json()["entry"]["command"].clone()
    };
    let empty = world.at("home").display().to_string();
    let this = json!(Path::new(READPROOF).canonicalize().unwrap().to_str().unwrap());
    assert_eq!(command(&empty), this);
    assert_eq!(command(""), this);
    assert_eq!(command(&format!("{empty}:{}", world.at("bin").display())), json!("readproof"));
    let text = finish(world.command("init gemini").env("PATH", &empty)).text();
    assert!(text.contains("there is no readproof on PATH, so the entry has the path"), "{text}");
    assert!(!world.run("init gemini").text().contains("on PATH"));
    // A relative folder on `PATH` and a file that is not executable do not count.
    assert_eq!(command("../bin"), this);
    fs::set_permissions(world.at("bin/readproof"), fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(command(world.at("bin").to_str().unwrap()), this);
}

#[test]
fn the_hosts_that_are_found() {
    let world = World::new();
    let none = world.run("init").text();
    assert!(
        none.starts_with("claude-code       not found\nclaude-code-tools not found\ncodex             not found\n"),
        "{none}"
    );
    assert!(
        none.ends_with("`readproof init HOST` shows the entry for one of them and asks before it writes\n"),
        "{none}"
    );
    world.put("ws/.vscode/settings.json", "{}");
    fs::create_dir(world.at("home/.codex")).unwrap();
    let some = world.run("init").text();
    assert!(some.contains(&format!("codex             found: {}\n", world.at("home/.codex").display())), "{some}");
    assert!(some.contains("vscode            found: .vscode\n") && some.contains("`readproof init codex`"), "{some}");
    let json = world.run("init --json").json();
    assert_eq!(json["hosts"].as_array().unwrap().len(), 9);
    assert_eq!(json["hosts"][6]["found"], json!([".vscode"]));
    assert_eq!(json["hosts"][6]["project_file"], json!(world.at("ws/.vscode/mcp.json").to_str().unwrap()));
    assert_eq!(json["hosts"][2]["user_file"], json!(world.at("home/.codex/config.toml").to_str().unwrap()));
    assert_eq!(names_in(&world.at("ws")), [".vscode"]);
}

#[test]
fn what_cannot_be_meant_is_a_usage_error() {
    let world = World::new();
    world.run("init emacs").refused(2, &["invalid value 'emacs'", "claude-code-tools"]);
    world.run("init codex --scope system").refused(2, &["project", "user"]);
    world.run("init codex --yes --print").refused(2, &["cannot be used with"]);
    for flag in ["--yes", "--print", "--scope user"] {
        world.run(&format!("init {flag}")).refused(2, &["required"]);
    }
    assert_eq!(names_in(&world.at("ws")), [""; 0]);
}

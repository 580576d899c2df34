//! What Claude Code's hooks ask, by tools that are not listed, with a transcript as the program writes it.

use readproof_core::text::ContentHash;
use serde_json::{Value, json};
use std::{fs, path::Path};

use crate::client::Server;

const TEXT: &str = "the first line of the file\nthe second line of the file\nthe third\n";
const NUMBERED: &str = "1\tthe first line of the file\n2\tthe second line of the file\n3\tthe third\n4\t";

/// The hash by which a request names a message. Objects are sorted by their names.
fn hash(message: &Value) -> String {
    let named = json!({"content": message["content"], "role": message["role"]});
    ContentHash::of(named.to_string().as_bytes()).to_string()
}

/// A session in which the file was read as `t1`, and is read again as `t2`.
fn transcript(file: &Path) -> String {
    let user = json!({"role": "user", "content": [{"type": "text", "text": "go"}]});
    let call = |id: &str| json!([{"type": "tool_use", "id": id, "name": "Read", "input": {"file_path": file}}]);
    let first = json!({"role": "assistant", "content": call("t1")});
    let result =
        json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": NUMBERED}]});
    let made = json!({"type": "text", "file": {"startLine": 1, "numLines": 4, "totalLines": 4}});
    let lines = [
        json!({"type": "user", "uuid": "u1", "parentUuid": null, "message": user}),
        json!({"type": "api-request-blob", "hash": hash(&user), "message": user}),
        json!({"type": "api-request", "id": "r1", "params": {}, "keep": 0, "tail": [hash(&user)]}),
        json!({"type": "assistant", "uuid": "u2", "parentUuid": "u1", "requestRef": "r1", "message": {"id": "m1", "role": "assistant", "content": call("t1")}}),
        json!({"type": "user", "uuid": "u3", "parentUuid": "u2", "message": result, "toolUseResult": made}),
        json!({"type": "api-request-blob", "hash": hash(&result), "message": result}),
        json!({"type": "api-request", "id": "r2", "params": {}, "base": "r1", "keep": 1, "tail": [hash(&first), hash(&result)]}),
        json!({"type": "assistant", "uuid": "u4", "parentUuid": "u3", "requestRef": "r2", "message": {"id": "m2", "role": "assistant", "content": call("t2")}}),
    ];
    lines.iter().map(|line| format!("{line}\n")).collect()
}

struct World {
    client: Server,
    home: tempfile::TempDir,
}

impl World {
    fn new(files: &[(&str, &str)]) -> Self {
        let client = Server::start(files, &["--tools", "none"]);
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("s.jsonl"), transcript(&client.path("a.txt"))).unwrap();
        Self { client, home }
    }

    fn after_read(&mut self, id: &str, name: &str, content: &str) -> Value {
        let path = self.client.path(name);
        let lines = content.split('\n').count().to_string();
        let given = json!({
            "kind": "text", "path": path, "id": id, "transcript": self.home.path().join("s.jsonl"), "agent": "", "limit": "",
            "content": content, "first": "1", "lines": lines, "total": lines,
        });
        self.ask("claude_code_after_read", &given)
    }

    fn ask(&mut self, tool: &str, given: &Value) -> Value {
        let said = self.client.request("tools/call", json!({"name": tool, "arguments": given}));
        let content = &said["result"]["content"];
        assert_eq!(content.as_array().map(Vec::len), Some(1), "{said}");
        serde_json::from_str(content[0]["text"].as_str().unwrap()).unwrap()
    }
}

#[test]
fn a_re_read_is_a_marker_if_the_request_had_the_text() {
    let mut world = World::new(&[("a.txt", TEXT)]);
    let output = world.after_read("t2", "a.txt", TEXT);
    let file = &output["hookSpecificOutput"]["updatedToolOutput"]["file"];
    assert_eq!(file["content"], "[readcache: unchanged, 4 lines]");
    assert_eq!((&file["startLine"], &file["numLines"], &file["totalLines"]), (&json!(0), &json!(1), &json!(4)));
    let nothing = json!({});
    assert_eq!(world.after_read("t1", "a.txt", TEXT), nothing, "the first read");
    assert_eq!(world.after_read("t9", "a.txt", TEXT), nothing, "a call that is not recorded");
    let mut world = World::new(&[("a.txt", TEXT)]);
    assert_eq!(world.after_read("t2", "a.txt", &TEXT.replace("third", "THIRD")), nothing, "another text");
    assert_eq!(world.after_read("t2", "a.txt", TEXT), nothing, "beside an answer about another text");
}

#[test]
fn files_that_are_not_ours() {
    let mut world = World::new(&[("a.txt", TEXT), (".env", "KEY=1\n")]);
    assert_eq!(world.after_read("t2", ".env", "KEY=1\n"), json!({}));
    assert_eq!(world.after_read("t2", "gone.txt", TEXT), json!({}));
    fs::remove_file(world.home.path().join("s.jsonl")).unwrap();
    assert_eq!(world.after_read("t2", "a.txt", TEXT), json!({}), "no transcript");
    assert_eq!(world.ask("claude_code_after_read", &json!({"kind": "image"})), json!({}));
}

#[test]
fn what_a_rule_denies_is_denied_before_the_call() {
    let mut world = World::new(&[("a.txt", TEXT), ("secret/b.txt", TEXT), (".aiignore", "secret/\n")]);
    let mut asked = |tool: &str, key: &str, name: &str| {
        let path = world.client.path(name);
        world.ask("claude_code_before_call", &json!({"tool": tool, key: path}))
    };
    for tool in ["Read", "Edit", "Write"] {
        let said = asked(tool, "path", "secret/b.txt");
        assert_eq!(said["hookSpecificOutput"]["permissionDecision"], "deny", "{tool}");
        assert_eq!(asked(tool, "path", "a.txt"), json!({}), "{tool}");
    }
    for tool in ["Grep", "Glob"] {
        assert_eq!(asked(tool, "folder", "secret")["hookSpecificOutput"]["permissionDecision"], "deny", "{tool}");
        assert_eq!(asked(tool, "folder", ""), json!({}), "{tool}");
    }
    assert_eq!(asked("Bash", "path", "secret/b.txt"), json!({}));
}

#[test]
fn names_that_lead_in_from_elsewhere_and_fields_that_a_call_does_not_have() {
    let mut world = World::new(&[("a.txt", TEXT), ("secret/b.txt", TEXT), (".aiignore", "secret/\n")]);
    let (cwd, elsewhere) = (world.client.path(""), tempfile::tempdir().unwrap());
    let link = elsewhere.path().join("link");
    std::os::unix::fs::symlink(&cwd, &link).unwrap();
    let mut decision = |tool: &str, path: &str, folder: &str| {
        let given = json!({"tool": tool, "path": path, "folder": folder, "notebook": "${tool_input.notebook_path}", "cwd": cwd});
        let said = world.ask("claude_code_before_call", &given);
        said["hookSpecificOutput"]["permissionDecision"].as_str().unwrap_or("none").to_owned()
    };
    let (none, no_folder) = ("${tool_input.file_path}", "${tool_input.path}");
    let by_link = |name: &str| link.join(name).display().to_string();
    assert_eq!(decision("Read", &by_link("secret/b.txt"), no_folder), "deny");
    assert_eq!(decision("Write", &by_link("secret/new.txt"), no_folder), "deny");
    assert_eq!(decision("Read", "/proc/self/cwd/secret/b.txt", no_folder), "deny");
    assert_eq!(decision("Read", &by_link("a.txt"), no_folder), "none");
    assert_eq!(decision("Grep", none, "secret"), "deny");
    assert_eq!(decision("Grep", none, "secret "), "deny");
    assert_eq!(decision("Glob", none, &by_link("secret")), "deny");
    assert_eq!(decision("Glob", none, no_folder), "none");
}

#[test]
fn no_tool_is_listed() {
    let mut world = World::new(&[("a.txt", TEXT)]);
    assert_eq!(world.client.request("tools/list", json!({}))["result"]["tools"], json!([]));
}

#[test]
fn searches_do_not_show_what_a_rule_denies() {
    let files = [("a.txt", TEXT), ("secret/b.txt", TEXT), ("sub/c.txt", TEXT), (".aiignore", "secret/\nc.txt\n")];
    let mut world = World::new(&files);
    let cwd = world.client.path("");
    let mut searched = |input: Value, response: Value| {
        let given = json!({"input": input.to_string(), "response": response.to_string(), "cwd": cwd});
        world.ask("claude_code_after_search", &given)["hookSpecificOutput"]["updatedToolOutput"].clone()
    };
    let names = json!({"filenames": ["a.txt", "secret/b.txt", cwd.join("sub/c.txt")], "numFiles": 3});
    assert_eq!(searched(json!({"pattern": "**"}), names), json!({"filenames": ["a.txt"], "numFiles": 1}));
    let found = |content: &str| json!({"mode": "content", "filenames": [], "content": content, "numLines": 2});
    let left = searched(json!({"pattern": "t"}), found("secret/b.txt:1:the first\na.txt:3:the third"));
    assert_eq!((&left["content"], &left["numLines"]), (&json!("a.txt:3:the third"), &json!(1)));
    assert_eq!(searched(json!({"pattern": "t"}), found("a.txt:1:the first\na.txt:3:the third")), Value::Null);
    // In one file, lines have no name.
    let one = json!({"pattern": "t", "path": cwd.join("a.txt"), "-n": false});
    assert_eq!(searched(one, found("secret/b.txt: is said\nthere")), Value::Null);
    assert_eq!(searched(json!({"pattern": "t"}), json!("nothing")), Value::Null);
}

#[test]
fn rules_about_one_act_about_sizes_and_those_that_ask() {
    let rules = "[policy]\n[[policy.rule]]\neffect = \"deny\"\npaths = [\"a.txt\"]\nacts = [\"edit\"]\n[[policy.rule]]\neffect = \"deny\"\n\
                 larger_than = 900\nacts = [\"read\"]\n[[policy.rule]]\neffect = \"deny\"\npaths = [\"sub/\"]\nacts = [\"list\"]\n";
    let large = TEXT.repeat(20);
    let files = [("a.txt", TEXT), ("large.txt", &large), ("sub/c.txt", TEXT), ("readproof.toml", rules)];
    let mut world = World::new(&files);
    let cwd = world.client.path("");
    let mut decision = |tool: &str, key: &str, name: &str| {
        let said = world.ask("claude_code_before_call", &json!({"tool": tool, key: name, "cwd": cwd}));
        said["hookSpecificOutput"]["permissionDecision"].as_str().unwrap_or("none").to_owned()
    };
    for (tool, key, name, expected) in [
        ("Read", "path", "a.txt", "none"),
        ("Edit", "path", "a.txt", "deny"),
        ("Write", "path", "a.txt", "deny"),
        ("Read", "path", "large.txt", "deny"),
        ("Edit", "path", "readproof.toml", "ask"),
        ("Glob", "folder", "sub", "deny"),
        // The host takes blanks away, and resolves names.
        ("Glob", "folder", "sub ", "deny"),
        ("Glob", "folder", "${x}/../sub", "deny"),
        ("Grep", "folder", "sub", "none"),
    ] {
        assert_eq!(decision(tool, key, name), expected, "{tool} {name}");
    }
}

//! Settings: where they come from, which one wins, and errors for invalid ones.

use serde_json::json;

use crate::workspace::{Done, READPROOF, Workspace, finish, numbered};

fn ten_lines() -> Workspace {
    Workspace::with(&[("a.txt", &numbered(10))])
}

/// Runs `readproof` with a variable set.
fn with_variable(ws: &Workspace, name: &str, value: &str, words: &str) -> Done {
    finish(ws.command(READPROOF).env(name, value).args(words.split_whitespace()))
}

/// The user's settings file.
fn own_file(ws: &Workspace, text: &str) {
    let folder = ws.top().join("home/.config/readproof");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("config.toml"), text).unwrap();
}

/// A read of a file of ten lines that shows this many.
#[track_caller]
fn shows(done: Done, lines: u32) {
    assert_eq!(done.noticed(&[&format!("lines 1-{lines} of 10;")]), numbered(lines));
}

#[test]
fn a_flag_beats_the_environment_beats_the_file_beats_the_default() {
    let ws = ten_lines();
    let variable = "READPROOF_ANSWER_LINES";
    ws.run("read a.txt").gives(&numbered(10));
    ws.put("readproof.toml", "answer_lines = 5\n");
    shows(ws.run("read a.txt"), 5);
    shows(with_variable(&ws, variable, "4", "read a.txt"), 4);
    shows(with_variable(&ws, variable, "4", "read a.txt --set answer_lines=3"), 3);
    shows(ws.run("read a.txt --set answer_lines=3 --set answer_lines=2"), 2);
}

#[test]
fn config_names_the_origin_of_every_value() {
    let ws = ten_lines();
    own_file(&ws, "handle_bytes = 77\nanswer_bytes = 50000\n");
    ws.put("readproof.toml", "answers = \"seed\"\nsensitive = [\"*.secret\", \"keys/*\"]\nanswer_bytes = 45000\n");
    let words = "config --json --set diff_lines=7";
    let config = with_variable(&ws, "READPROOF_FILE_BYTES", "1000", words).json();
    assert_eq!((&config["ok"], &config["workspace"]), (&json!(true), &json!(ws.path("").to_str().unwrap())));
    let of = |key: &str| (config["settings"][key]["value"].clone(), config["settings"][key]["source"].clone());
    assert_eq!(of("answers"), (json!("seed"), json!("readproof.toml")));
    let (sensitive, origin) = of("sensitive");
    let sensitive = sensitive.as_array().unwrap().clone();
    assert!(sensitive.len() > 10 && sensitive.ends_with(&[json!("*.secret"), json!("keys/*")]), "{sensitive:?}");
    assert_eq!(origin, json!("readproof.toml"));
    assert_eq!(of("handle_bytes"), (json!(77), json!("readproof/config.toml")));
    assert_eq!(config["not_taken"], json!([]));
    assert_eq!(of("file_bytes"), (json!(1000), json!("environment")));
    assert_eq!(of("diff_lines"), (json!(7), json!("--set")));
    assert_eq!(of("answer_lines"), (json!(2000), json!("default")));
    assert_eq!(of("answer_bytes"), (json!(45_000), json!("readproof.toml")));
    assert_eq!(of("diff_bytes"), (json!(2_097_152), json!("default")));
    assert_eq!(of("hard_links"), (json!("allow"), json!("default")));
    assert_eq!(of("markers"), (json!("always"), json!("environment")));
    assert_eq!(of("window_lines"), (json!(300), json!("default")));
    assert_eq!(of("window_chars"), (json!(12_000), json!("default")));
    assert_eq!(of("handles"), (json!("reported"), json!("default")));
    assert_eq!(of("codex_home").1, json!("default"));
    assert_eq!(of("args"), (json!("loose"), json!("default")));
    assert_eq!(config["settings"].as_object().unwrap().len(), 38);
    assert_eq!(of("watch"), (json!(true), json!("default")));
    assert_eq!(config["settings"]["answers"]["variable"], "READPROOF_ANSWERS");
}

#[test]
fn what_config_prints_is_a_settings_file() {
    let ws = ten_lines();
    let text = ws.run("config --set answer_lines=3").text();
    let (first, rest) = text.split_once('\n').unwrap();
    assert_eq!(first, format!("workspace = {}", ws.path("").display()));
    assert!(rest.contains("\n# the most lines one answer shows (READPROOF_ANSWER_LINES)\nanswer_lines = 3  # --set\n"));
    ws.put("readproof.toml", rest);
    shows(ws.run("read a.txt"), 3);
}

#[test]
fn a_setting_counts_wherever_it_stands() {
    let ws = ten_lines();
    shows(ws.run("--set answer_lines=3 read a.txt"), 3);
    shows(ws.run("--set answer_lines=3 read a.txt --set file_bytes=1000"), 3);
    shows(ws.run("read a.txt --set=answer_lines=3"), 3);
    shows(ws.run("--set=answer_lines=3 --set window_lines=7 read a.txt --set answer_lines=4"), 4);
    ws.run("--set answer_lines=x read a.txt --set file_bytes=1000").refused(2, &["answer_lines"]);
    ws.run("--set nonsense session --set answer_lines=3 list").refused(2, &["--set nonsense"]);
    ws.run("session --set nonsense list --set answer_lines=3").refused(2, &["--set nonsense"]);
    ws.run("read a.txt --set").refused(2, &["--set"]);
    ws.run("--set").refused(2, &["--set"]);
}

#[test]
fn every_setting_does_something() {
    let ws = ten_lines();
    let out = ws.run("read a.txt --set answer_bytes=6").noticed(&["lines 1-3 of 10;"]);
    assert_eq!(out, numbered(3));
    ws.run("read a.txt --set file_bytes=5").refused(1, &["more than the 5"]);
    ws.put("a.txt", numbered(100));
    ws.read("a.txt");
    for setting in ["diff_bytes=10", "diff_lines=10"] {
        ws.put("a.txt", numbered(100).replace("\n50\n", &format!("\n{setting}\n")));
        assert_eq!(ws.run(&format!("read a.txt --session s --set {setting}")).text(), ws.get("a.txt"));
    }
    ws.run("read a.txt --session s --set sensitive=*.txt").gives(&ws.get("a.txt"));
    ws.run("read a.txt --session s").gives(&ws.get("a.txt"));
}

#[test]
fn a_list_may_be_written_with_commas() {
    let ws = ten_lines();
    let config = ws.run_args(&["config", "--json", "--set", "sensitive= *.a , *.b,"]).json();
    assert_eq!(config["settings"]["sensitive"]["value"], json!(["*.a", "*.b"]));
    let config = with_variable(&ws, "READPROOF_SENSITIVE", "[\"x,y\"]", "config --json").json();
    assert_eq!(config["settings"]["sensitive"]["value"], json!(["x,y"]));
}

#[test]
fn a_flag_that_cannot_be_meant_is_a_usage_error() {
    let ws = ten_lines();
    for (flag, words) in [
        ("answer_line=2", &["there is no setting `answer_line`", "answer_lines, answer_bytes"][..]),
        ("=2", &["there is no setting ``"]),
        ("answer_lines", &["expected KEY=VALUE", "answer_lines=500"]),
        ("", &["expected KEY=VALUE"]),
        ("answer_lines=", &["answer_lines = \"\" will not do", "a whole number above 0"]),
        ("answer_lines=ten", &["answer_lines = \"ten\" will not do"]),
        ("answer_lines=0", &["answer_lines = 0 will not do"]),
        ("answer_lines=-1", &["answer_lines = -1 will not do"]),
        ("answer_lines=1.5", &["answer_lines = 1.5 will not do"]),
        ("answers=lean", &["answers = \"lean\" will not do", "\"seed\" or \"held\""]),
        ("hard_links=maybe", &["\"allow\" or \"refuse\""]),
        ("sensitive=3", &["a list of patterns"]),
    ] {
        let origin = format!("--set {flag}");
        ws.run_args(&["read", "a.txt", "--set", flag]).refused(2, &[&[origin.as_str()], words].concat());
        let json = ws.run_args(&["read", "a.txt", "--json", "--set", flag]);
        assert_eq!(json.code, Some(2), "{json:?}");
        assert!(json.out.contains("\"USAGE\""), "{json:?}");
    }
}

#[test]
fn a_variable_that_cannot_be_meant_is_a_usage_error() {
    let ws = ten_lines();
    for value in ["", "x", "0", "[1]"] {
        let done = with_variable(&ws, "READPROOF_ANSWER_LINES", value, "read a.txt");
        done.refused(2, &["READPROOF_ANSWER_LINES: answer_lines = ", "will not do"]);
    }
}

#[test]
fn a_file_that_cannot_be_meant_is_refused() {
    let ws = ten_lines();
    for (text, words) in [
        ("answer_lines = \n", &["readproof.toml is not valid TOML", "line 1, column 16"][..]),
        ("answer_lines = 1\nanswer_lines = 2\n", &["readproof.toml is not valid TOML", "duplicate key"]),
        ("colour = 1\n", &["readproof.toml: there is no setting `colour`", "answer_lines"]),
        ("[limits]\nanswer_lines = 1\n", &["readproof.toml: there is no setting `limits`"]),
        ("answer_lines = \"5\"\n", &["readproof.toml: answer_lines = \"5\" will not do"]),
        ("sensitive = [1]\n", &["readproof.toml: sensitive = [1] will not do"]),
        ("sensitive = [\"a[\"]\n", &["the sensitive pattern `a[` is not a valid glob", "correct it"]),
        ("a\0b", &["`readproof.toml` is not text"]),
    ] {
        ws.put("readproof.toml", text);
        ws.run("read a.txt").refused(1, words);
        ws.run("status").refused(1, words);
        ws.run("read a.txt --set answer_lines=3").refused(1, words);
        let json = ws.run("read a.txt --json");
        assert_eq!((json.code, json.err.as_str()), (Some(1), ""));
        assert!(json.out.contains("\"ok\":false"), "{json:?}");
    }
    assert_eq!(ws.names(), ["a.txt", "readproof.toml"]);
}

#[test]
fn a_settings_file_that_is_no_file_is_refused() {
    let ws = ten_lines();
    std::fs::create_dir(ws.path("readproof.toml")).unwrap();
    ws.run("read a.txt").refused(1, &["`readproof.toml` is a directory"]);
}

#[test]
fn an_empty_settings_file_is_fine() {
    let ws = ten_lines();
    ws.put("readproof.toml", "# nothing yet\n");
    ws.run("read a.txt").gives(&numbered(10));
}

#[test]
fn a_workspace_only_narrows() {
    let ws = ten_lines();
    for (text, key) in [
        ("answers = \"held\"", ""),
        ("answers = \"seed\"", ""),
        ("markers = \"always\"", ""),
        ("hard_links = \"refuse\"", ""),
        ("handles = \"never\"", ""),
        ("handles = \"always\"", "handles"),
        ("answer_lines = 2000", ""),
        ("answer_lines = 2001", "answer_lines"),
        ("answer_bytes = 40001", "answer_bytes"),
        ("window_lines = 301", "window_lines"),
        ("window_chars = 12001", "window_chars"),
        ("file_bytes = 1073741824", "file_bytes"),
        ("diff_bytes = 99999999", "diff_bytes"),
        ("diff_lines = 99999999", "diff_lines"),
        ("handle_bytes = 90000", "handle_bytes"),
        ("sensitive = []", "sensitive"),
        ("sensitive = [\"x\"]", ""),
        (&*format!("sensitive = [{}]", "\"x\",".repeat(501)), "sensitive"),
        (&*format!("sensitive = [\"{}\"]", "?*".repeat(200)), "sensitive"),
        ("pi_sessions = [\"sessions\"]", ""),
        ("pi_sessions = [\"/etc\"]", "pi_sessions"),
        ("pi_sessions = [\"~/x\"]", "pi_sessions"),
        ("pi_sessions = [\"a/../../x\"]", "pi_sessions"),
        ("codex_home = \"/tmp\"", "codex_home"),
        ("state_dir = \"/tmp\"", "state_dir"),
        ("approval_minutes = 60", ""),
        ("approval_minutes = 61", "approval_minutes"),
    ] {
        ws.put("readproof.toml", text);
        let done = ws.run("read a.txt");
        if key.is_empty() {
            done.gives(&numbered(10));
            continue;
        }
        let said = [
            &format!("readproof.toml may only narrow: {key} = "),
            "is not taken",
            &format!("readproof/config.toml of your own, READPROOF_{} or --set", key.to_uppercase()),
        ];
        assert_eq!(done.noticed(&said), numbered(10));
        let plain = ws.run("config --json").json();
        assert_eq!(
            plain["settings"][key]["source"],
            json!(if key == "sensitive" || key == "pi_sessions" { "readproof.toml" } else { "default" })
        );
        assert!(plain["not_taken"][0].as_str().unwrap().contains(key), "{plain}");
        assert!(ws.run("config").text().contains("\n# not taken: readproof.toml may only narrow: "));
        assert!(ws.run("doctor").out.contains("is not taken"));
    }
    // Less than the user allows, though more than the default.
    own_file(&ws, "answer_lines = 5\nfile_bytes = 1000000000\n");
    ws.put("readproof.toml", "answer_lines = 7\nfile_bytes = 900000000\n");
    shows_noticed(ws.run("read a.txt"), 5, "answer_lines = 7 is not taken");
    assert_eq!(ws.run("config --json").json()["settings"]["file_bytes"]["value"], json!(900_000_000));
    own_file(&ws, "answer_lines = [\n");
    ws.run("read a.txt").refused(1, &["readproof/config.toml is not valid TOML"]);
}

/// What is recorded of calls is for the user: a workspace cannot switch off what the user has switched on.
#[test]
fn a_workspace_does_not_switch_logs_off() {
    let ws = ten_lines();
    let of = |key: &str, done: Done| {
        let config = done.json();
        (config["settings"][key]["value"].clone(), config["not_taken"].as_array().unwrap().len())
    };
    for (key, on, off) in [("call_log", "true", "false"), ("audit", "\"on\"", "\"off\"")] {
        let value = |text: &str| -> serde_json::Value { text.parse().unwrap() };
        own_file(&ws, "");
        for said in [off, on] {
            ws.put("readproof.toml", format!("{key} = {said}\n"));
            assert_eq!(of(key, ws.run("config --json")), (value(said), 0), "it may switch {key} on");
        }
        ws.put("readproof.toml", format!("{key} = {off}\n"));
        let variable = format!("READPROOF_{}", key.to_uppercase());
        let by_variable = with_variable(&ws, &variable, on.trim_matches('"'), "config --json");
        assert_eq!(of(key, by_variable).0, value(on));
        assert_eq!(of(key, ws.run(&format!("config --json --set {key}={}", on.trim_matches('"')))).0, value(on));
        own_file(&ws, &format!("{key} = {on}\n"));
        assert_eq!(of(key, ws.run("config --json")), (value(on), 1), "{key}");
        ws.run("read a.txt").noticed(&[&format!("{key} = {off} is not taken")]);
    }
    assert!(ws.path(".readproof/audit/tail").exists(), "and calls leave lines");
    // What is kept beside the audit may be less, unless the user wants it.
    ws.put("readproof.toml", "audit_texts = false\n");
    assert_eq!(of("audit_texts", ws.run("config --json")), (json!(false), 0));
    own_file(&ws, "audit_texts = true\n");
    assert_eq!(of("audit_texts", ws.run("config --json")), (json!(true), 1));
}

fn shows_noticed(done: Done, lines: u32, word: &str) {
    assert_eq!(done.noticed(&[word]), numbered(lines));
}

#[test]
fn sensitive_names_stay_so_whatever_the_workspace_says() {
    let ws = Workspace::with(&[(".env", "KEY=hidden-word\n"), ("readproof.toml", "sensitive = [\"other\"]\n")]);
    ws.run("read .env --session s").gives("KEY=hidden-word\n");
    let stored = std::process::Command::new("grep").args(["-r", "hidden-word"]).arg(ws.path(".readproof")).output();
    assert_eq!(String::from_utf8_lossy(&stored.unwrap().stdout), "");
}

#[test]
fn settings_of_the_person_that_lie_in_the_workspace_are_not_the_persons() {
    let ws = ten_lines();
    ws.put("home/.config/readproof/config.toml", "answer_lines = 3\n");
    let home = ws.path("home");
    let done = finish(ws.command(READPROOF).env("HOME", &home).args(["read", "a.txt"]));
    done.gives(&numbered(10));
}

/// A workspace's file may leave the watch out, and may not ask for it.
#[test]
fn a_workspace_can_only_end_the_watch() {
    let ws = ten_lines();
    ws.put("readproof.toml", "watch = false\n");
    let of = |config: &serde_json::Value| config["settings"]["watch"]["value"].clone();
    assert_eq!(of(&ws.run("config --json").json()), json!(false));
    ws.put("readproof.toml", "watch = true\n");
    let config = with_variable(&ws, "READPROOF_WATCH", "true", "config --json").json();
    assert_eq!(of(&config), json!(true));
    own_file(&ws, "watch = false\n");
    let config = ws.run("config --json").json();
    assert_eq!(of(&config), json!(false));
    assert!(config["not_taken"].to_string().contains("watch = true is not taken"), "{config}");
    ws.run("config --set watch=maybe").refused(2, &["watch = \"maybe\" will not do; expected true or false"]);
}

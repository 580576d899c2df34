//! `readproof init pi`: what `pi install` would record, in pi's settings; nothing is copied or run.

use std::{fs, path::PathBuf, process::Command};

use serde_json::{Value, json};

use crate::{
    init::World,
    workspace::{Done, READPROOF, finish, names_in},
};

/// A clone of this version with the program built in it.
pub(crate) struct Clone {
    pub(crate) world: World,
}

impl Clone {
    pub(crate) fn new() -> Self {
        let clone = Self { world: World::new() };
        clone.package("src/readproof", env!("CARGO_PKG_VERSION"));
        let program = clone.program();
        fs::create_dir_all(program.parent().unwrap()).unwrap();
        place_program(&program);
        clone
    }

    /// Makes a package of a version in another clone.
    pub(crate) fn package(&self, clone: &str, version: &str) {
        let manifest = json!({"name": "readproof-pi", "version": version}).to_string();
        self.world.put(&format!("home/{clone}/integrations/pi/package.json"), &manifest);
    }

    fn program(&self) -> PathBuf {
        self.world.at("home/src/readproof/target/release/readproof")
    }

    pub(crate) fn command(&self, words: &str) -> Command {
        let mut command = self.world.ws.command(self.program());
        command.env("PATH", self.world.at("bin")).args(words.split_whitespace());
        command
    }

    pub(crate) fn run(&self, words: &str) -> Done {
        finish(&mut self.command(words))
    }
}

fn place_program(at: &std::path::Path) {
    if fs::hard_link(READPROOF, at).is_err() {
        fs::copy(READPROOF, at).unwrap();
    }
}

const SETTINGS: &str = "home/.pi/agent/settings.json";
const LISTED: &str = "{\n  \"packages\": [\"../../src/readproof/integrations/pi\"]\n}\n";

#[test]
fn the_package_is_recorded_once() {
    let clone = Clone::new();
    let preview = clone.run("init pi").text();
    let file = clone.world.at(SETTINGS);
    assert!(preview.starts_with(&format!("pi (user): {}\n", file.display())), "{preview}");
    assert!(preview.contains(LISTED.trim_end()) && preview.contains("readproof init pi --yes"), "{preview}");
    assert!(!file.exists());
    let json = clone.run("init pi --yes --json").json();
    assert_eq!((&json["state"], &json["written"], &json["permission"]), (&json!("absent"), &json!(true), &Value::Null));
    assert_eq!(clone.world.get(SETTINGS), LISTED);
    let again = clone.run("init pi --yes").text();
    assert!(again.contains("already there, nothing changed"), "{again}");
    assert!(again.contains("pi gets ") && again.contains("only pi's `read` is replaced"), "{again}");
    assert_eq!(clone.world.get(SETTINGS), LISTED);
    assert_eq!(names_in(&clone.world.at("ws")), [""; 0]);
}

#[test]
fn other_settings_stay() {
    let clone = Clone::new();
    let with = |more: &str| {
        format!(
            "{{\r\n\t// mine\r\n\t\"theme\": \"dark\",\r\n\t\"packages\": [\r\n\t\t\"npm:other\"{more}\r\n\t],\r\n}}"
        )
    };
    clone.world.put(SETTINGS, &with(""));
    clone.run("init pi --yes").text();
    assert_eq!(clone.world.get(SETTINGS), with(",\r\n\t\t\"../../src/readproof/integrations/pi\""));
    // However it is named, it is there.
    for source in [json!("~/src/readproof/integrations/pi"), json!({"source": "../../src/readproof/integrations/pi/"})]
    {
        clone.world.put(SETTINGS, &json!({"packages": [source]}).to_string());
        assert_eq!(clone.run("init pi --yes --json").json()["state"], "same", "{source}");
    }
    let told = clone.world.at("told");
    let done = finish(clone.command("init pi --yes --json").env("PI_CODING_AGENT_DIR", &told)).json();
    assert_eq!(done["file"], json!(told.join("settings.json").to_str().unwrap()));
    clone.run("init pi --scope project --yes").text();
    assert!(clone.world.get("ws/.pi/settings.json").contains("\"../../home/src/readproof/integrations/pi\""));
}

#[test]
fn another_copy_is_named_and_left() {
    let clone = Clone::new();
    clone.package("old", "0.0.9");
    let old = clone.world.at("home/old/integrations/pi").display().to_string();
    for (source, says) in [
        ("../../old/integrations/pi", format!("pi remove {old}")),
        ("../../gone/integrations/pi", "pi remove ".to_owned()),
        ("npm:readproof-pi@0.1.0", "pi remove npm:readproof-pi@0.1.0".to_owned()),
    ] {
        let text = json!({"packages": [source]}).to_string();
        clone.world.put(SETTINGS, &text);
        clone.run("init pi --yes").refused(1, &["is left unchanged", "another copy", source, &says]);
        assert_eq!(clone.world.get(SETTINGS), text);
    }
}

#[test]
fn what_cannot_be_changed_is_left() {
    let clone = Clone::new();
    for (text, says) in [("{\"packages\": [", "it cannot be parsed"), ("{\"packages\": {}}", "is not a list")] {
        clone.world.put(SETTINGS, text);
        clone.run("init pi --yes").refused(1, &["is left unchanged", says, "by hand:\n", "integrations/pi"]);
        assert_eq!(clone.world.get(SETTINGS), text);
    }
}

#[test]
fn without_the_package_the_command_is_named() {
    let world = World::new();
    let program = world.at("home/program");
    place_program(&program);
    // A package in the workspace may be a stranger's.
    world.put("ws/integrations/pi/package.json", r#"{"name": "readproof-pi", "version": "9"}"#);
    for (words, command) in
        [("pi", "pi install ./integrations/pi"), ("pi --scope project", "pi install -l ./integrations/pi")]
    {
        let mut run = world.ws.command(&program);
        finish(run.arg("init").args(words.split(' ')).arg("--yes"))
            .refused(1, &["is not beside this program", command]);
    }
    assert!(!world.at(SETTINGS).exists());
}

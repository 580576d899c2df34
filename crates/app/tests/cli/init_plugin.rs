//! `readproof init claude-code`: the plugin in the host's settings, and out again.

use crate::init::World;

#[test]
fn the_plugin_is_written_once_and_taken_out_again() {
    let world = World::new();
    let file = "home/.claude/settings.json";
    world.put(file, "{\n  \"model\": \"opus\"\n}\n");
    let said = world.run("init claude-code --yes").text();
    assert!(said.contains("written to ") && said.contains("one line"), "{said}");
    let text = world.get(file);
    assert!(text.contains("integrations/claude-code\"") && text.contains("\"readproof@readproof\": true"), "{text}");
    assert!(world.run("init claude-code --yes").text().contains("already there"));
    assert!(world.run("doctor").text().contains("claude-code: set up in "), "{}", world.run("doctor").text());
    let said = world.run("init claude-code --remove --yes").text();
    assert!(said.starts_with("taken out of "), "{said}");
    assert_eq!(world.get(file), "{\n  \"model\": \"opus\"\n}\n");
    assert!(world.run("init claude-code --remove --yes").text().contains("nothing changed"));
    world.run("init codex --remove --yes").refused(2, &["--remove works for claude-code"]);
}

#[test]
fn in_a_project_the_file_is_the_one_that_is_not_shared() {
    let world = World::new();
    world.run("init claude-code --scope project --yes").text();
    assert!(world.get("ws/.claude/settings.local.json").contains("readproof@readproof"));
}

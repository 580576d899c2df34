//! Rules of a workspace, from the files to the verdict, and how soon a change of a file counts.
#![allow(clippy::unwrap_used, reason = "tests and their helpers")]

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use readproof_core::{
    operation::Caller,
    policy::{Act, Asked, Dialect, Effect, Layer, NameKind, Preset, Ruling, Verdict},
};
use readproof_disk::{NoEffect, Policy, PolicyError, PolicySources, Root, Rules};

struct World {
    temp: tempfile::TempDir,
    root: Root,
    policy: Policy,
    caller: Caller,
}

impl World {
    fn new(files: &[(&str, &str)]) -> Self {
        Self::with(files, PolicySources { preset: Some(Preset::Open), ..PolicySources::default() })
    }

    fn with(files: &[(&str, &str)], sources: PolicySources) -> Self {
        let temp = tempfile::tempdir().unwrap();
        let root = Root::open(temp.path()).unwrap();
        let world = Self { temp, root, policy: Policy::new(sources), caller: Caller::of("cli") };
        for (name, text) in files {
            world.put(name, text);
        }
        world
    }

    fn at(&self, name: &str) -> PathBuf {
        self.temp.path().join(name)
    }

    fn put(&self, name: &str, text: &str) {
        fs::create_dir_all(self.at(name).parent().unwrap()).unwrap();
        fs::write(self.at(name), text).unwrap();
    }

    fn look(&self) -> Arc<Rules> {
        self.policy.look(&self.root).unwrap()
    }

    fn asked<'a>(&'a self, act: Act, name: &'a str) -> Asked<'a> {
        Asked { caller: &self.caller, act, name, kind: NameKind::File, sensitive: false }
    }

    fn judge(&self, act: Act, name: &str) -> Ruling {
        self.look().judge(&self.root, &self.asked(act, name)).unwrap()
    }

    /// `EFFECT FILE:LINE TEXT`.
    fn read(&self, name: &str) -> String {
        shown(&self.judge(Act::Read, name).verdict)
    }

    fn error(&self) -> PolicyError {
        self.policy.look(&self.root).unwrap_err()
    }
}

fn shown(verdict: &Verdict) -> String {
    match verdict.rule() {
        None => "allow".to_owned(),
        Some(rule) => format!("{} {}:{} {}", verdict.effect().as_str(), rule.file, rule.line, rule.text),
    }
}

#[test]
fn every_source_is_a_layer_and_the_most_restrictive_wins() {
    let world = World::new(&[
        ("readproof.toml", "[policy]\ndeny = [\"secrets/\"]\nask = [\"infra/**\"]\n"),
        (".cursorignore", "# ours\n*.sqlite\n!keep.sqlite\n"),
        (".aiexclude", "keep.sqlite\n"),
        (".claude/settings.json", "{\"permissions\": {\"deny\": [\n\"Read(private/**)\", \"Edit(docs/)\"]}}"),
        (".claude/settings.local.json", "{\"permissions\": {\"ask\": [\"Read(notes.md)\"]}}"),
        (".gitignore", "*\n"),
    ]);
    for (name, expected) in [
        ("src/a.rs", "allow"),
        ("secrets/x", "deny readproof.toml:2 secrets/"),
        ("secrets/deep/x", "deny readproof.toml:2 secrets/"),
        // A pattern for folders, and nothing says that this is one.
        ("secrets", "allow"),
        ("infra/a", "ask readproof.toml:3 infra/**"),
        ("a/b.sqlite", "deny .cursorignore:2 *.sqlite"),
        // Excepted in one file, excluded by another.
        ("keep.sqlite", "deny .aiexclude:1 keep.sqlite"),
        ("private/x", "deny .claude/settings.json:2 Read(private/**)"),
        ("docs/x", "allow"),
        ("notes.md", "ask .claude/settings.local.json:1 Read(notes.md)"),
        ("infra/x.sqlite", "deny .cursorignore:2 *.sqlite"),
    ] {
        assert_eq!(world.read(name), expected, "{name}");
    }
    assert_eq!(shown(&world.judge(Act::Write, "docs/x").verdict), "deny .claude/settings.json:2 Edit(docs/)");
    assert_eq!(shown(&world.judge(Act::Write, "private/x").verdict), "allow");
    // Each layer is told.
    let rules = world.look();
    let explained = rules.explain(&world.root, &world.asked(Act::Read, "keep.sqlite")).unwrap();
    let of = |layer: Layer| explained.iter().find(|one| one.layer == layer).unwrap();
    let cursor = of(Layer::Ignore(Dialect::Cursor));
    assert_eq!(cursor.ruling, Ruling::ALLOWED);
    assert_eq!(cursor.rule.as_ref().map(|rule| (rule.line, &*rule.text)), Some((3, "!keep.sqlite")));
    assert_eq!(of(Layer::Ignore(Dialect::AiExclude)).ruling.verdict.effect(), Effect::Deny);
    assert_eq!(of(Layer::Workspace).rule, None);
}

#[test]
fn a_name_is_judged_the_same_whether_it_is_there_or_not() {
    let world = World::new(&[(".aiignore", "hidden/\nx.key\n"), ("sub/.aiignore", "!x.key\ny\n")]);
    let names = ["hidden/a", "x.key", "sub/x.key", "sub/y", "sub/z", "none/x.key", "sub/deep/y"];
    let before = names.map(|name| world.read(name));
    assert_eq!(
        before,
        [
            "deny .aiignore:1 hidden/",
            "deny .aiignore:2 x.key",
            "allow",
            "deny sub/.aiignore:2 y",
            "allow",
            "deny .aiignore:2 x.key",
            "deny sub/.aiignore:2 y",
        ]
    );
    for name in names {
        world.put(name, "");
    }
    assert_eq!(names.map(|name| world.read(name)), before);
}

#[test]
fn rules_are_about_acts_callers_and_sizes() {
    let mut world = World::new(&[(
        "readproof.toml",
        "[[policy.rule]]\neffect = \"deny\"\npaths = [\"vendor/**\", \"!vendor/README.md\"]\nacts = [\"edit\"]\n\
         reason = \"generated\"\n\
         [[policy.rule]]\neffect = \"ask\"\ncallers = [\"mcp\", \"token:ci\"]\nacts = [\"read\"]\n\
         [[policy.rule]]\neffect = \"deny\"\npaths = [\"*.log\"]\nlarger_than = 1000\n\
         [[policy.rule]]\neffect = \"ask\"\npaths = [\"*.log\"]\nlarger_than = 10\n",
    )]);
    let denied = world.judge(Act::Edit, "vendor/a").verdict;
    assert_eq!(shown(&denied), "deny readproof.toml:3 vendor/**");
    assert_eq!(denied.rule().unwrap().reason.as_deref(), Some("generated"));
    assert_eq!(world.judge(Act::Edit, "vendor/README.md"), Ruling::ALLOWED);
    assert_eq!(world.judge(Act::Read, "vendor/a"), Ruling::ALLOWED);
    let log = world.judge(Act::Read, "a.log");
    assert_eq!(log.verdict, Verdict::Allow);
    let sizes = [10, 11, 1000, 1001].map(|bytes| log.at_size(bytes).effect());
    assert_eq!(sizes, [Effect::Allow, Effect::Ask, Effect::Ask, Effect::Deny]);
    world.caller = Caller { identity: Some("ci".into()), ..Caller::of("http") };
    assert_eq!(world.read("a"), "ask readproof.toml:7 effect = \"ask\"");
    world.caller = Caller::of("mcp");
    assert_eq!(world.read("a"), "ask readproof.toml:7 effect = \"ask\"");
    assert_eq!(world.judge(Act::List, "a"), Ruling::ALLOWED);
}

#[test]
fn with_a_denying_default_only_what_is_allowed_can_be_used_and_the_way_to_it_passed() {
    let world = World::new(&[(
        "readproof.toml",
        "[policy]\ndefault = \"deny\"\nallow = [\"src/lib/**\", \"/docs/*.md\"]\ndeny = [\"src/lib/gen/\"]\n\
         [[policy.rule]]\neffect = \"allow\"\npaths = [\"out/x\"]\nacts = [\"write\"]\n",
    )]);
    for (name, expected) in [
        ("src/lib/a/b", "allow"),
        ("docs/a.md", "allow"),
        ("docs/a.txt", "deny readproof.toml:2 default = \"deny\""),
        ("src/main.rs", "deny readproof.toml:2 default = \"deny\""),
        ("src/lib/gen/a", "deny readproof.toml:4 src/lib/gen/"),
        ("out/x", "deny readproof.toml:2 default = \"deny\""),
    ] {
        assert_eq!(world.read(name), expected, "{name}");
    }
    assert_eq!(world.judge(Act::Write, "out/x"), Ruling::ALLOWED);
    let rules = world.look();
    let passes = |act: Act, name: &str| shown(&rules.passes(&world.root, &world.asked(act, name)).unwrap().verdict);
    let default = "deny readproof.toml:2 default = \"deny\"";
    for (name, expected) in [
        (".", "allow"),
        ("src", "allow"),
        ("src/lib", "allow"),
        ("src/lib/x/y", "allow"),
        ("docs", "allow"),
        ("docs/deep", default),
        ("src/bin", default),
        ("other", default),
        ("src/lib/gen", "deny readproof.toml:4 src/lib/gen/"),
        ("out", default),
    ] {
        assert_eq!(passes(Act::List, name), expected, "{name}");
    }
    assert_eq!(passes(Act::Write, "out"), "allow");
    assert_eq!(shown(&world.judge(Act::List, "src").verdict), default);
}

#[test]
fn what_holds_rules_asks_before_it_is_changed() {
    let world = World::with(&[], PolicySources { off: vec![Dialect::Cursor], ..PolicySources::default() });
    let asks = |act: Act, name: &str| world.judge(act, name).verdict.effect();
    for name in ["readproof.toml", ".aiignore", "a/.rooignore", ".claude/settings.json", ".claude/settings.local.json"]
    {
        assert_eq!([Act::Edit, Act::Write, Act::Delete].map(|act| asks(act, name)), [Effect::Ask; 3], "{name}");
        assert_eq!(asks(Act::Read, name), Effect::Allow);
    }
    // Switched off, so it holds no rules.
    for name in [".cursorignore", "a/.claude/settings.json", "aiignore", "settings.json", ".gitignore"] {
        assert_eq!(asks(Act::Write, name), Effect::Allow, "{name}");
    }
    assert_eq!(asks(Act::Delete, "any"), Effect::Ask);
    let rules = world.look();
    let sensitive = Asked { sensitive: true, ..world.asked(Act::Edit, "k") };
    assert_eq!(rules.judge(&world.root, &sensitive).unwrap().verdict.effect(), Effect::Ask);
}

#[test]
fn a_workspace_can_only_narrow() {
    let toml = "[policy]\npreset = \"open\"\noff = [\".aiignore\"]\n";
    let world = World::with(&[("readproof.toml", toml), (".aiignore", "x\n")], PolicySources::default());
    assert_eq!(world.read("x"), "deny .aiignore:1 x");
    assert_eq!(world.judge(Act::Delete, "y").verdict.effect(), Effect::Ask);
    let warnings: Vec<_> = world.look().warnings().iter().map(|one| (one.line, one.text.clone(), one.why)).collect();
    assert_eq!(
        warnings,
        [
            (3, "off: .aiignore".to_owned(), NoEffect::NotFromWorkspace),
            (2, "preset = \"open\"".to_owned(), NoEffect::PresetInForce)
        ]
    );
    world.put("readproof.toml", "[policy]\npreset = \"locked\"\n");
    let denied = world.judge(Act::Write, "y").verdict;
    assert_eq!(denied.rule().unwrap().layer, Layer::WorkspacePreset(Preset::Locked));
    assert_eq!(world.look().warnings(), []);
}

#[test]
fn the_person_decides_outside_the_workspace() {
    let home = tempfile::tempdir().unwrap();
    let user_file = home.path().join("config.toml");
    let given = ("--policy".to_owned(), "policy.deny = [\"given\"]".to_owned());
    let sources = PolicySources {
        user_file: Some(user_file.clone()),
        home: Some(home.path().to_path_buf()),
        given: vec![given],
        ..PolicySources::default()
    };
    let world = World::with(&[(".aiignore", "x\n"), ("readproof.toml", "[policy]\nallow = [\"mine\"]\n")], sources);
    assert_eq!(world.read("x"), "deny .aiignore:1 x");
    assert_eq!(world.read("given"), "deny --policy:1 given");
    assert_eq!(world.judge(Act::Delete, "y").verdict.effect(), Effect::Ask);
    fs::write(&user_file, "[policy]\npreset = \"open\"\noff = [\".aiignore\"]\ndeny = [\"mine\"]\n").unwrap();
    assert_eq!(world.read("x"), "allow");
    assert_eq!(world.read("mine"), format!("deny {}:4 mine", user_file.display()));
    assert_eq!(world.judge(Act::Delete, "y"), Ruling::ALLOWED);
    fs::write(&user_file, "[policy]\npresets = \"open\"\n").unwrap();
    assert!(matches!(world.error(), PolicyError::Syntax { line: 2, .. }));
    fs::remove_file(&user_file).unwrap();
    symlink("nowhere", &user_file).unwrap();
    assert!(matches!(world.error(), PolicyError::Unreadable { .. }));
    // One that an agent could write is not the person's.
    let world = World::new(&[("mine.toml", "[policy]\npreset = \"open\"\n")]);
    let user_file = Some(world.at("mine.toml"));
    let inside = Policy::new(PolicySources { user_file, ..PolicySources::default() });
    let rules = inside.look(&world.root).unwrap();
    let verdict = rules.judge(&world.root, &world.asked(Act::Delete, "y")).unwrap().verdict;
    assert_eq!(verdict.rule().unwrap().layer, Layer::Preset(Preset::Standard));
}

#[test]
fn absolute_denies_count_where_they_lead_inside() {
    let world = World::new(&[]);
    let top = world.root.path().to_str().unwrap().to_owned();
    let entries = format!(
        "{{\"permissions\": {{\"deny\": [\"Read(/{top}/abs/**)\", \"Read(//etc/**)\", \"Read(~/h/*)\", \"Edit(//**/any)\"]}}}}"
    );
    world.put(".claude/settings.json", &entries);
    let home = world.root.path().to_path_buf();
    let policy =
        Policy::new(PolicySources { home: Some(home), preset: Some(Preset::Open), ..PolicySources::default() });
    let rules = policy.look(&world.root).unwrap();
    let effect = |act, name| rules.judge(&world.root, &world.asked(act, name)).unwrap().verdict.effect();
    for (act, name, expected) in [
        (Act::Read, "abs/x", Effect::Deny),
        (Act::Read, "abs", Effect::Allow),
        (Act::Read, "etc/x", Effect::Allow),
        (Act::Read, "h/x", Effect::Deny),
        (Act::Read, "h", Effect::Allow),
        (Act::Edit, "deep/any", Effect::Deny),
        (Act::Edit, "deep/any/x", Effect::Deny),
        (Act::Edit, "deep/other", Effect::Allow),
    ] {
        assert_eq!(effect(act, name), expected, "{name}");
    }
    let folder = world.root.path().file_name().unwrap().to_str().unwrap();
    world.put(".claude/settings.json", &format!("{{\"permissions\": {{\"deny\": [\"Read(//**/{folder})\"]}}}}"));
    assert_eq!(world.read("anything").split(' ').next(), Some("deny"));
}

/// A change, and what is then said about `a` and `sub/deep/a`.
type Step<'s> = (&'s dyn Fn(&World), [&'s str; 2]);

/// Each change follows a look, by which the files before it are known.
#[test]
fn every_change_counts_at_the_next_look() {
    let remove = |world: &World, name: &str| fs::remove_file(world.at(name)).unwrap();
    let rename = |world: &World, from: &str, to: &str| fs::rename(world.at(from), world.at(to)).unwrap();
    let steps: &[Step<'_>] = &[
        (&|_| {}, ["allow"; 2]),
        (&|world| world.put("readproof.toml", "policy.deny = [\"a\"]"), ["deny readproof.toml:1 a"; 2]),
        (&|world| world.put("readproof.toml", "policy.deny = [\"b\"]"), ["allow"; 2]),
        (&|world| remove(world, "readproof.toml"), ["allow"; 2]),
        (&|world| world.put(".aiignore", "/a"), ["deny .aiignore:1 /a", "allow"]),
        (&|world| world.put("sub/.aiignore", "a"), ["deny .aiignore:1 /a", "deny sub/.aiignore:1 a"]),
        (&|world| world.put("sub/deep/.aiignore", "!a"), ["deny .aiignore:1 /a", "allow"]),
        (&|world| world.put("sub/.aiignore", "deep/"), ["deny .aiignore:1 /a", "deny sub/.aiignore:1 deep/"]),
        (&|world| world.put("sub/.aiignore", "d*"), ["deny .aiignore:1 /a", "deny sub/.aiignore:1 d*"]),
        (&|world| rename(world, "sub", "gone"), ["deny .aiignore:1 /a", "allow"]),
        (&|world| rename(world, "gone", "sub"), ["deny .aiignore:1 /a", "deny sub/.aiignore:1 d*"]),
        (&|world| remove(world, "sub/.aiignore"), ["deny .aiignore:1 /a", "allow"]),
        (&|world| remove(world, "sub/deep/.aiignore"), ["deny .aiignore:1 /a", "allow"]),
        (&|world| remove(world, ".aiignore"), ["allow"; 2]),
        (
            &|world| world.put(".claude/settings.json", "{\"permissions\":{\"deny\":[\"Read(/a)\"]}}"),
            ["deny .claude/settings.json:1 Read(/a)", "allow"],
        ),
        (&|world| remove(world, ".claude/settings.json"), ["allow"; 2]),
        (
            &|world| world.put(".claude/settings.local.json", "{\"permissions\":{\"ask\":[\"Read(a)\"]}}"),
            ["ask .claude/settings.local.json:1 Read(a)"; 2],
        ),
        (&|world| fs::remove_dir_all(world.at(".claude")).unwrap(), ["allow"; 2]),
    ];
    let said = |world: &World| ["a", "sub/deep/a"].map(|name| world.read(name));
    let world = World::new(&[("sub/deep/x", "")]);
    for (at, (change, expected)) in steps.iter().enumerate() {
        change(&world);
        for _ in 0..2 {
            assert_eq!(said(&world), *expected, "step {at}");
        }
    }
    // The same where the stamps of everything before the change are old enough to tell: one workspace for each step.
    let worlds: Vec<World> = (0..steps.len())
        .map(|at| {
            let world = World::new(&[("sub/deep/x", "")]);
            steps[..at].iter().for_each(|(change, _)| change(&world));
            world
        })
        .collect();
    std::thread::sleep(Duration::from_millis(2100));
    for (at, (world, (change, expected))) in worlds.iter().zip(steps).enumerate() {
        let before = said(world);
        let rules = world.look();
        assert_eq!(said(world), before);
        assert!(Arc::ptr_eq(&rules, &world.look()));
        change(world);
        assert_eq!(said(world), *expected, "aged step {at}");
    }
}

/// A file that is rewritten within a tick of the clock, with the same length, is read again all the same.
#[test]
fn a_rewrite_in_the_same_moment_is_seen() {
    let world = World::new(&[("sub/x", "")]);
    for round in 0..300 {
        let denied = ["a", "b"][round % 2];
        world.put("readproof.toml", &format!("policy.deny = [\"{denied}\"]"));
        assert_eq!(world.read(denied), format!("deny readproof.toml:1 {denied}"), "{round}");
        fs::write(world.at("sub/.aiignore"), format!("sub-{denied}")).unwrap();
        assert_eq!(world.read(&format!("sub/sub-{denied}")), format!("deny sub/.aiignore:1 sub-{denied}"), "{round}");
    }
}

#[test]
fn the_rules_are_the_same_object_until_something_changes() {
    let world = World::new(&[("readproof.toml", "policy.deny = [\"a\"]"), ("sub/.aiignore", "x\n")]);
    let first = world.look();
    let folder = |rules: &Rules| rules.in_folder(&world.root, "sub").unwrap().id();
    let of_folder = folder(&first);
    // Young files are read again, and found to be the same.
    assert!(Arc::ptr_eq(&first, &world.look()));
    world.put("other", "");
    assert!(Arc::ptr_eq(&first, &world.look()));
    assert_eq!(folder(&world.look()), of_folder);
    world.put("sub/.aiignore", "y\n");
    assert!(Arc::ptr_eq(&first, &world.look()));
    assert_ne!(folder(&first), of_folder);
    world.put("readproof.toml", "policy.deny = [\"b\"]");
    let second = world.look();
    assert!(first.id() != second.id() && !Arc::ptr_eq(&first, &second));
    world.put("readproof.toml", "policy.deny = [\"a\"]");
    assert_eq!(world.look().id(), first.id());
}

#[test]
fn what_cannot_be_read_is_no_permission() {
    let world = World::new(&[]);
    let again = |name: &str| {
        drop(fs::remove_file(world.at(name)));
        assert!(world.policy.look(&world.root).is_ok(), "{name}");
    };
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("f"), "x").unwrap();
    for name in ["readproof.toml", ".aiignore", ".claude/settings.json"] {
        world.put(name, "");
        assert!(world.policy.look(&world.root).is_ok());
        fs::write(world.at(name), "x\n\n\u{e9}").unwrap();
        fs::write(world.at(name), b"# \n\n\xff").unwrap();
        assert!(matches!(world.error(), PolicyError::NotUtf8 { line: 3, file } if file == name));
        fs::write(world.at(name), " ".repeat((128 << 10) + 1)).unwrap();
        assert!(matches!(world.error(), PolicyError::TooLarge { file, .. } if file == name));
        again(name);
        symlink(outside.path().join("f"), world.at(name)).unwrap();
        assert!(matches!(world.error(), PolicyError::LinkOut { file } if file == name), "{:?}", world.error());
        again(name);
        symlink("nowhere", world.at(name)).unwrap();
        assert!(matches!(world.error(), PolicyError::Unreadable { file, .. } if file == name));
        again(name);
        let made = std::process::Command::new("mkfifo").arg(world.at(name)).status().unwrap();
        assert!(made.success());
        assert!(matches!(world.error(), PolicyError::NotAFile { file } if file == name), "{:?}", world.error());
        again(name);
        // A folder of that name holds no rules.
        fs::create_dir(world.at(name)).unwrap();
        assert!(world.policy.look(&world.root).is_ok());
        fs::remove_dir(world.at(name)).unwrap();
    }
    // In a folder, only names in it are concerned.
    world.put("sub/.rooignore", "");
    fs::write(world.at("sub/.rooignore"), b"\xff").unwrap();
    let rules = world.look();
    let error = rules.judge(&world.root, &world.asked(Act::Read, "sub/x")).unwrap_err();
    assert!(matches!(error, PolicyError::NotUtf8 { line: 1, file } if file == "sub/.rooignore"));
    assert_eq!(world.read("x"), "allow");
    // Permissions do not bind root.
    fs::write(world.at("readproof.toml"), "").unwrap();
    fs::set_permissions(world.at("readproof.toml"), fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read(world.at("readproof.toml")).is_err() {
        assert!(matches!(world.error(), PolicyError::Unreadable { .. }));
    }
}

#[test]
fn links_to_rules_inside_are_followed_and_links_on_the_way_are_not() {
    let world = World::new(&[("rules/mine.toml", "policy.deny = [\"a\"]"), ("real/.aiignore", "x\n")]);
    symlink("rules/mine.toml", world.at("readproof.toml")).unwrap();
    symlink("real", world.at("link")).unwrap();
    assert_eq!(world.read("a"), "deny readproof.toml:1 a");
    world.put("rules/mine.toml", "policy.deny = [\"b\"]");
    assert_eq!(world.read("a"), "allow");
    assert_eq!(world.read("real/x"), "deny real/.aiignore:1 x");
    // The caller judges where a link leads as a name of its own.
    assert_eq!(world.read("link/x"), "allow");
    fs::remove_file(world.at("link")).unwrap();
    fs::rename(world.at("real"), world.at("link")).unwrap();
    assert_eq!(world.read("link/x"), "deny link/.aiignore:1 x");
}

#[test]
fn what_has_no_effect_is_named_with_its_file() {
    let world = World::new(&[
        (
            "readproof.toml",
            "[policy]\ndeny = [\"../x\", \"\", \"/\", \"ok\", \"a[\", \"./y\"]\n\
             [[policy.rule]]\neffect = \"ask\"\npaths = [\"!only\"]\n\
             [[policy.rule]]\neffect = \"ask\"\npaths = []\n",
        ),
        (".aiignore", "fine\n../no\n"),
    ]);
    let rules = world.look();
    let found: Vec<_> = rules.warnings().iter().map(|one| (&*one.file, one.line, &*one.text, one.why)).collect();
    assert_eq!(
        found,
        [
            ("readproof.toml", 2, "../x", NoEffect::Outside),
            ("readproof.toml", 2, "", NoEffect::Blank),
            ("readproof.toml", 2, "/", NoEffect::Blank),
            ("readproof.toml", 2, "a[", NoEffect::Malformed),
            ("readproof.toml", 2, "./y", NoEffect::Blank),
            ("readproof.toml", 5, "!only", NoEffect::NothingToExcept),
            ("readproof.toml", 7, "effect = \"ask\"", NoEffect::NoPaths),
            (".aiignore", 2, "../no", NoEffect::Outside),
        ]
    );
}

#[test]
fn every_rule_is_listed_by_layer() {
    let world = World::new(&[
        ("readproof.toml", "[policy]\nread_only = true\ndefault = \"deny\"\nallow = [\"a\", \"b\"]\n"),
        (".aiignore", "x\n!y\n"),
        (".claude/settings.json", "{\"permissions\":{\"deny\":[\"Edit\"]}}"),
    ]);
    let listed: Vec<String> = world
        .look()
        .list()
        .iter()
        .map(|one| format!("{} {}:{} {}", one.effect.as_str(), one.rule.file, one.rule.line, one.rule.text))
        .collect();
    assert_eq!(
        listed,
        [
            "ask :0 ask edit,write,delete: policy files",
            "deny readproof.toml:2 read_only = true",
            "allow readproof.toml:4 a",
            "allow readproof.toml:4 b",
            "deny readproof.toml:3 default = \"deny\"",
            "deny .aiignore:1 x",
            "allow .aiignore:2 !y",
            "deny .claude/settings.json:1 Edit",
        ]
    );
}

#[test]
fn threads_share_a_policy_while_it_changes() {
    let world = World::new(&[("readproof.toml", "policy.deny = [\"always\", \"sub/x\"]"), ("sub/deep/y", "")]);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..300 {
                    assert_eq!(world.judge(Act::Read, "sub/deep/always").verdict.effect(), Effect::Deny);
                    assert_eq!(world.judge(Act::Read, "sub/x").verdict.effect(), Effect::Deny);
                }
            });
        }
        for round in 0..100 {
            let text = format!("policy.deny = [\"always\", \"sub/x\", \"r{round}\"]");
            fs::write(world.at("new"), text).unwrap();
            fs::rename(world.at("new"), world.at("readproof.toml")).unwrap();
            world.put("sub/.aiignore", &format!("r{round}"));
        }
    });
}

#[test]
fn the_root_itself_is_matched_by_no_pattern() {
    let world = World::new(&[(".aiignore", "*\n.*\n"), ("readproof.toml", "[policy]\nask = [\"*\"]\n")]);
    let root = Asked { kind: NameKind::Folder, ..world.asked(Act::List, ".") };
    assert_eq!(world.look().judge(&world.root, &root).unwrap(), Ruling::ALLOWED);
    assert_eq!(world.read("a"), "deny .aiignore:1 *");
    world.put("readproof.toml", "[policy]\ndefault = \"deny\"\n");
    assert_eq!(world.look().judge(&world.root, &root).unwrap().verdict.effect(), Effect::Deny);
}

/// More folders with rules than are kept are judged all the same.
#[test]
fn folders_that_are_no_longer_kept_are_looked_at_again() {
    let world = World::new(&[]);
    let long = format!("# {}\nx\n", "-".repeat(100_000));
    for at in 0..25 {
        world.put(&format!("d{at}/.aiignore"), &long);
    }
    for _ in 0..2 {
        for at in 0..25 {
            assert_eq!(world.read(&format!("d{at}/deep/x")), format!("deny d{at}/.aiignore:2 x"));
            assert_eq!(world.read(&format!("d{at}/y")), "allow");
        }
    }
}

/// A walk judges the entries of a folder without looking at the disk again, with the same outcome.
#[test]
fn a_walk_and_a_single_look_agree() {
    let world = World::new(&[
        ("readproof.toml", "policy.deny = [\"b/\", \"/a/x\"]"),
        (".rooignore", "*.k\n"),
        ("a/.rooignore", "!s.k\n"),
        ("a/b/z", ""),
        ("c/b", ""),
    ]);
    let rules = world.look();
    let top = rules.in_folder(&world.root, ".").unwrap();
    for folder in ["a", "a/b", "c", "none", "none/deep"] {
        let mut walked = top.clone();
        for (end, _) in folder.match_indices('/').chain([(folder.len(), "")]) {
            walked = walked.inside(&world.root, &folder[..end]).unwrap();
        }
        for base in ["x", "b", "s.k", "t.k", "z"] {
            for kind in [NameKind::File, NameKind::Folder] {
                let name = format!("{folder}/{base}");
                let asked = Asked { kind, ..world.asked(Act::Search, &name) };
                assert_eq!(walked.judge(&asked), rules.judge(&world.root, &asked).unwrap(), "{name}");
            }
        }
    }
}

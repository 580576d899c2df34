//! `readproof` killed while it makes an approved call: the file is deleted once, or it is there and the call is asked about anew or
//! made by the next try. The longer form is `cargo xtask contended approved`.

use serde_json::Value;
use std::{process::Child, thread, time::Duration};

use crate::{
    approvals::{DELETE, KEY, asking, waits, with_key},
    workspace::{READPROOF, Workspace},
};

const TEXT: &str = "one\n\u{1b}[2Jtwo\n";

fn state_of(ws: &Workspace, id: &str) -> String {
    let shown: Value = ws.run(&format!("approvals show {id} --json")).json();
    shown["state"].as_str().unwrap().to_owned()
}

/// One approved call, which `victim` starts and kills. Gives what became of it.
fn round(ws: &Workspace, victim: impl FnOnce() -> Child) -> &'static str {
    ws.put("ask.txt", TEXT);
    let id = waits(ws, DELETE);
    with_key(ws, KEY, &format!("approvals approve {id}")).text();
    let ended = victim().wait_with_output().unwrap();
    assert!(ended.status.code().is_none_or(|code| code == 0), "{ended:?}");
    // Any command finishes or takes back what was left.
    let _ = ws.run("stat ask.txt");
    let there = ws.path("ask.txt").exists();
    let became = match (there, state_of(ws, &id).as_str()) {
        (false, "used") => "deleted",
        (true, "used") => {
            assert_ne!(waits(ws, DELETE), id);
            "asked anew"
        }
        (true, "approved") => {
            ws.put("ask.txt", "what a person wrote\n");
            assert_ne!(waits(ws, DELETE), id, "nobody approved this text");
            ws.put("ask.txt", TEXT);
            ws.run(DELETE).gives("deleted ask.txt\n");
            assert_eq!(state_of(ws, &id), "used");
            "deleted later"
        }
        (there, state) => panic!("there: {there}, approval: {state}"),
    };
    assert!(became == "asked anew" || !ended.status.success() || became == "deleted", "{ended:?} {became}");
    ws.put("ask.txt", TEXT);
    assert_ne!(waits(ws, DELETE), id, "it was for one call");
    became
}

#[test]
fn at_any_time() {
    let ws = asking();
    for delay in [0, 2, 4, 6, 8, 11, 15, 20] {
        round(&ws, || {
            let mut child = ws.command(READPROOF).args(DELETE.split_whitespace()).spawn().unwrap();
            thread::sleep(Duration::from_millis(delay));
            child.kill().unwrap();
            child
        });
    }
}

/// The kernel kills the process at its first call of each of these.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
fn at_each_step() {
    use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};

    let mut became = std::collections::BTreeMap::new();
    let steps = [("fsync", 74), ("fdatasync", 75), ("renameat2", 316), ("renameat", 264), ("unlinkat", 263)];
    for (name, number) in steps {
        let ws = asking();
        let rules = [(number, Vec::new())].into_iter().collect();
        let arch = std::env::consts::ARCH.try_into().unwrap();
        let filter = SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::KillProcess, arch).unwrap();
        let program: BpfProgram = filter.try_into().unwrap();
        let victim = || {
            // The filter holds for this thread, and for what it starts.
            thread::scope(|scope| {
                let start = scope.spawn(|| {
                    seccompiler::apply_filter(&program).unwrap();
                    ws.command(READPROOF).args(DELETE.split_whitespace()).spawn().unwrap()
                });
                start.join().unwrap()
            })
        };
        became.insert(name, round(&ws, victim));
    }
    assert!(became.values().any(|what| *what == "asked anew"), "{became:?}");
    assert!(became.values().any(|what| *what == "deleted"), "{became:?}");
}

//! `cargo xtask hosts`: the published agents that use `readproof mcp`, fetched from the npm registry and then run without a
//! network, against a scripted model. What each sends its model because of us is compared with a golden file. With `--plugin`,
//! Claude Code with our plugin: every short answer is judged by the request that has it.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use crate::{
    Failure,
    fetch::{Downloads, only_names},
    process,
};

const HOSTS: &str = "integrations/hosts";
/// The plugin for Claude Code, as a person installs it.
const PLUGIN: &str = "integrations/claude-code/plugins/readproof";
/// How a network namespace is made: by the superuser, or by anyone where user namespaces are allowed.
const NAMESPACES: [&str; 2] = ["-n", "-rn"];
/// A new namespace has loopback, but it is down.
const LOOPBACK_UP: &str = "ip link set lo up && exec \"$@\"";

/// Runs every host, or those named after `--only`; `--update` writes the golden files instead of comparing with them.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<(), Failure> {
    let plugin = arguments.iter().any(|word| word == "--plugin");
    let (names, update) = if plugin { (Vec::new(), false) } else { choice(arguments)? };
    let downloads = Downloads::open(root, "hosts")?;
    downloads.require(&["npm", "--version"], "npm", "the hosts are fetched with it")?;
    downloads.require(&["ip", "-V"], "iproute2", "it enables loopback in the network namespace of the hosts")?;
    let namespace = namespace()?;
    let program = downloads.program()?;
    let node = downloads.node()?;
    let source = root.join(HOSTS);
    let packages = downloads.npm_locked("hosts", &source)?;
    let mut tests = isolated(namespace);
    if plugin {
        tests.arg(&node).arg(source.join("plugin/run.mjs")).args(arguments.iter().filter(|word| *word != "--plugin"));
        tests.env("READPROOF_PLUGIN", root.join(PLUGIN)).env("READPROOF_JUDGE", process::built(root, "requests"));
    } else {
        tests.arg(&node).arg(source.join("run.mjs")).args(names.iter().flat_map(|name| ["--only", name]));
        tests.args(update.then_some("--update"));
    }
    tests.current_dir(root);
    tests.env("READPROOF_BIN", &program).env("READPROOF_HOSTS_PACKAGES", packages.join("node_modules"));
    downloads.step("real hosts", &mut tests)
}

/// The names after `--only`, and whether `--update` was given, before or after them.
fn choice(arguments: &[String]) -> Result<(Vec<String>, bool), Failure> {
    let (update, rest): (Vec<String>, Vec<String>) = arguments.iter().cloned().partition(|word| word == "--update");
    Ok((only_names(&rest)?, !update.is_empty()))
}

/// A command that runs the program named after it where there is only loopback.
fn isolated(namespace: &str) -> Command {
    let mut command = Command::new("unshare");
    command.args([namespace, "sh", "-c", LOOPBACK_UP, "sh"]);
    command
}

/// The first way that works here. Nothing is run with a network instead: a host would call home, and might update itself.
fn namespace() -> Result<&'static str, Failure> {
    let works = |namespace: &&str| {
        let mut command = isolated(namespace);
        command.arg("true").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    NAMESPACES.into_iter().find(works).ok_or_else(|| {
        Failure::failed(
            "no network namespace can be made here (`unshare -n` and `unshare -rn` are refused): run this as root, or allow \
             user namespaces (`sysctl kernel.unprivileged_userns_clone=1`, or a container with CAP_SYS_ADMIN); the hosts are \
             not run with a network",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn golden_files_are_written_for_all_hosts_or_for_those_named() {
        assert_eq!(choice(&[]).unwrap(), (Vec::new(), false));
        assert_eq!(choice(&words("--update")).unwrap(), (Vec::new(), true));
        assert_eq!(choice(&words("--only codex --update")).unwrap(), (words("codex"), true));
        assert_eq!(choice(&words("--update --only codex gemini")).unwrap(), (words("codex gemini"), true));
        for bad in ["--only", "codex", "--update codex", "--fast"] {
            assert_eq!(choice(&words(bad)).unwrap_err().code, 2, "{bad}");
        }
    }
}

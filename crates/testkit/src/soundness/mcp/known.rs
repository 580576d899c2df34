//! Which handle a call passes: a valid one, or one of the many that are not.

use crate::op::Random;

use super::{Kind, Run};

impl Run {
    /// A handle for a read of `name`, as the kind of operation requires. `None`: there is none of that kind.
    pub(super) fn handle_of(&self, kind: Kind, name: &str, random: &mut Random) -> Option<String> {
        match kind {
            Kind::Older => self.older(name, random),
            Kind::OtherFile => self.of_another_file(name, random),
            Kind::CutPart => self.cut(name, random),
            Kind::Guess => Some(self.guess(name, random)),
            Kind::Quoted => preferred(&self.agents[self.current].quoted, name, random),
            Kind::HandedOver => self.handed_over(name, random),
            Kind::Read
            | Kind::ReadAgain
            | Kind::Walk
            | Kind::Symbol
            | Kind::ReadFresh
            | Kind::ReadForProgram
            | Kind::Search
            | Kind::Preview
            | Kind::Outline
            | Kind::List
            | Kind::Several
            | Kind::View
            | Kind::Write
            | Kind::Edit
            | Kind::FailedEdit
            | Kind::Pieces
            | Kind::Loose
            | Kind::Stale
            | Kind::Patch
            | Kind::Rename
            | Kind::Versions
            | Kind::LookBack
            | Kind::Told
            | Kind::Shell
            | Kind::Rewind
            | Kind::Resolve
            | Kind::Batch
            | Kind::Between
            | Kind::Race
            | Kind::Aborted
            | Kind::Lost
            | Kind::Outside
            | Kind::Revert
            | Kind::Policy
            | Kind::Refresh
            | Kind::Compact
            | Kind::Fork
            | Kind::OtherAgent
            | Kind::Restart
            | Kind::DropObject
            | Kind::AlterObject
            | Kind::Gc => match random.below(12) {
                0 | 1 => None,
                2 => self.older(name, random),
                3 => self.newest(name).map(|handle| spaced(&handle)),
                _ => self.newest(name),
            },
        }
    }

    /// The visible handles of a file, oldest first, each once.
    fn in_sight(&self, name: &str) -> Vec<&str> {
        let mut found: Vec<&str> = Vec::new();
        for (path, handle) in self.agents[self.current].sight.handles() {
            if path == name {
                found.retain(|other| *other != handle);
                found.push(handle);
            }
        }
        found
    }

    pub(super) fn newest(&self, name: &str) -> Option<String> {
        self.in_sight(name).last().map(|handle| (*handle).to_owned())
    }

    fn older(&self, name: &str, random: &mut Random) -> Option<String> {
        let mut found = self.in_sight(name);
        found.pop();
        random.pick(&found).map(|handle| (*handle).to_owned())
    }

    fn of_another_file(&self, name: &str, random: &mut Random) -> Option<String> {
        let sight = &self.agents[self.current].sight;
        let found: Vec<&str> = sight.handles().filter(|(path, _)| *path != name).map(|(_, handle)| handle).collect();
        random.pick(&found).map(|handle| (*handle).to_owned())
    }

    /// A handle of several answers, without one of them.
    fn cut(&self, name: &str, random: &mut Random) -> Option<String> {
        let found: Vec<&str> = self.in_sight(name).into_iter().filter(|handle| handle.contains('+')).collect();
        let mut parts: Vec<&str> = random.pick(&found)?.split('+').collect();
        match random.below(4) {
            0 => return parts.last().map(|part| (*part).to_owned()),
            1 => drop(parts.remove(0)),
            2 => parts.swap(0, 1),
            _ => drop(parts.remove(random.below(parts.len()))),
        }
        Some(parts.join("+"))
    }

    fn guess(&self, name: &str, random: &mut Random) -> String {
        let near = self.newest(name).unwrap_or_else(|| "h2-0123456789abcdef".to_owned());
        let number = 2 + random.below(12);
        match random.below(8) {
            0 => ["", "h", "+", "h2", "known", "h-1", "h18446744073709551615-0"][random.below(7)].to_owned(),
            1 => near[..near.len() - 1].to_owned(),
            2 => near.to_uppercase(),
            3 => format!("{near}+h{number}-0123456789abcdef"),
            4 => format!("{near}+{near}"),
            5 => {
                let digit = if near.ends_with('0') { '1' } else { '0' };
                format!("{}{digit}", &near[..near.len() - 1])
            }
            _ => format!("h{number}-{:016x}", random.bits()),
        }
    }

    /// A handle that another agent sees, or that a program got.
    fn handed_over(&self, name: &str, random: &mut Random) -> Option<String> {
        let others = self.agents.iter().enumerate().filter(|(at, _)| *at != self.current);
        let seen = others.flat_map(|(_, agent)| agent.sight.handles());
        let mut found: Vec<(String, String)> =
            seen.map(|(path, handle)| (path.to_owned(), handle.to_owned())).collect();
        found.extend(self.agents.iter().flat_map(|agent| agent.heard.clone()));
        preferred(&found, name, random)
    }
}

/// One of these handles, mostly of this file.
fn preferred(all: &[(String, String)], name: &str, random: &mut Random) -> Option<String> {
    let same: Vec<&(String, String)> = all.iter().filter(|(path, _)| path == name).collect();
    match random.pick(&same) {
        Some((_, handle)) if random.below(6) > 0 => Some(handle.clone()),
        _ => random.pick(all).map(|(_, handle)| handle.clone()),
    }
}

/// The same handle, spelled as models sometimes do.
fn spaced(handle: &str) -> String {
    format!(" {} ", handle.replace('+', " +\n"))
}

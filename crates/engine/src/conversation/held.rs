//! What the model of a conversation holds now: which lines of which files, which entry proves it, and what of it is no longer so on
//! disk. Records nothing. A file that the rules hide from the caller is not named.

use readproof_core::{
    decide::Mode,
    knowledge::Held,
    path::meant,
    scope::Lines,
    text::{ContentHash, Form, Text},
};
use readproof_disk::Loaded;

use super::{Conversation, text_for_host};
use crate::{Engine, Error, history::Present};

/// What a conversation says it holds, before anyone asks whether it may be named.
#[derive(Clone, Debug, Default)]
pub struct Holding {
    /// Who keeps the record: a host, or this program.
    pub host: &'static str,
    /// The name of the session, or its file.
    pub session: String,
    /// The folder in which it ran, if the record says so.
    pub folder: Option<String>,
    /// The entry at which it was looked; `None` if there are no entries.
    pub leaf: Option<String>,
    /// The latest compaction on its branch.
    pub barrier: Option<String>,
    /// Number of entries on the branch since then.
    pub window: usize,
    /// Number of entries in the record.
    pub entries: usize,
    /// Number of lines of the record that mean nothing here.
    pub skipped: usize,
    /// Number of compactions on all branches.
    pub compactions: usize,
    /// Why nothing counts as held, if so.
    pub distrusted: Option<&'static str>,
    /// The files, with the path as the record has it.
    pub files: Vec<HoldingFile>,
    /// Calls without a result: tool and file.
    pub pending: Vec<(&'static str, Option<String>)>,
}

/// One file of which something is held.
#[derive(Clone, Debug)]
pub struct HoldingFile {
    /// Absolute, or relative to the workspace root.
    pub path: String,
    /// Whether all of one text is held.
    pub whole: bool,
    /// The runs of lines, in order, each with what proves it.
    pub spans: Vec<(Held, Proof)>,
}

/// The entry because of which lines are held.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proof {
    /// As its record names it.
    pub entry: String,
    /// What was called: a tool, or an operation.
    pub tool: &'static str,
    /// How a read was answered.
    pub mode: Option<Mode>,
}

/// What is held now, as far as the caller may know.
#[derive(Clone, Debug)]
pub struct HeldNow {
    /// Without its files.
    pub of: Holding,
    /// The workspace with whose files it was compared.
    pub workspace: String,
    /// In order of paths.
    pub files: Vec<HeldFile>,
}

/// One file of which something is held.
#[derive(Clone, Debug)]
pub struct HeldFile {
    /// Relative to the workspace root; absolute if it is outside.
    pub path: String,
    /// Whether all of one text is held.
    pub whole: bool,
    /// What became of the file.
    pub disk: OnDisk,
    /// The runs of lines, in order.
    pub spans: Vec<HeldSpan>,
}

/// What there is under a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDisk {
    /// A text that can be compared.
    Text,
    /// No file.
    Gone,
    /// Something that is not compared: outside the workspace, sensitive, no text, too large.
    NotCompared,
}

/// Lines of one text, and what proves that they are held.
#[derive(Clone, Debug)]
pub struct HeldSpan {
    /// The lines; `None` if only the end of the file is held.
    pub lines: Option<Lines>,
    /// Whether the end of the file is held.
    pub end: bool,
    /// The text they belong to.
    pub hash: ContentHash,
    /// How many lines it has.
    pub total: u32,
    /// How the file was read.
    pub form: Form,
    /// What proves it.
    pub proof: Proof,
    /// How the file is there now.
    pub now: Now,
}

/// How the present text compares with held lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Now {
    /// It has the same lines under the same numbers.
    Same,
    /// It does not.
    Stale {
        /// These lines are others now, or are not there.
        lines: Vec<Lines>,
        /// Whether the file ends elsewhere now.
        end: bool,
    },
    /// It has changed, and the held text is not stored, so nobody can tell where.
    Changed,
    /// Nothing was compared.
    Unknown,
}

impl Engine {
    /// What the conversation holds, of all files or of one.
    pub(crate) fn held_now<C: Conversation>(&self, conversation: &mut C, path: Option<&str>) -> Result<HeldNow, Error> {
        let mut of = conversation.holding(self)?;
        let (asked, top) = (path.map(|path| meant(path, &self.shared.bearings)), self.root.absolute(""));
        let is_asked = |absolute: &str| asked.as_deref().is_none_or(|asked| asked == absolute);
        let mut files = Vec::new();
        for file in std::mem::take(&mut of.files) {
            let absolute = if file.path.starts_with('/') { file.path } else { self.root.absolute(&file.path) };
            if !is_asked(&absolute) || !self.may_name(&absolute) {
                continue;
            }
            let inside = absolute.strip_prefix(&top).map(|name| name.trim_start_matches('/').to_owned());
            let present = inside.as_deref().map_or(Present::Hidden, |name| self.present_text(name));
            let spans =
                file.spans.into_iter().map(|(held, proof)| compared(self, conversation, (held, proof), &present));
            let spans = spans.collect();
            let disk = match present {
                Present::Text(_) => OnDisk::Text,
                Present::Gone => OnDisk::Gone,
                Present::Hidden => OnDisk::NotCompared,
            };
            files.push(HeldFile { path: inside.unwrap_or(absolute), whole: file.whole, disk, spans });
        }
        files.sort_by(|a, b| a.path.cmp(&b.path));
        let may_tell = |path: &Option<String>| path.as_deref().is_none_or(|path| is_asked(path) && self.may_name(path));
        of.pending.retain(|(_, path)| may_tell(path));
        Ok(HeldNow { of, workspace: self.root.path().display().to_string(), files })
    }
}

fn compared<C: Conversation>(
    engine: &Engine,
    conversation: &C,
    (held, proof): (Held, Proof),
    present: &Present,
) -> HeldSpan {
    let version = held.version();
    let now = match present {
        Present::Hidden => Now::Unknown,
        Present::Gone => stale_in(&held, None, &Text::in_form(String::new(), version.form)),
        Present::Text(text) => {
            let text = in_form(text, version.form);
            if held.versions().any(|version| version.id() == text.id()) {
                Now::Same
            } else {
                match conversation.load(engine, version.hash) {
                    Loaded::Text(base) => stale_in(&held, Some(&base), &text),
                    Loaded::Missing | Loaded::Damaged => Now::Changed,
                }
            }
        }
    };
    let (lines, end) = (held.lines(), held.end());
    HeldSpan { lines, end, hash: version.hash, total: version.total, form: version.form, proof, now }
}

/// The file as its text was given to the model.
fn in_form(text: &Text, form: Form) -> Text {
    match form {
        Form::Disk => text.clone(),
        Form::Stripped => text_for_host(text),
    }
}

/// Which held lines are not those of `now`. Without a base there is no file, and all of them are.
fn stale_in(held: &Held, base: Option<&Text>, now: &Text) -> Now {
    let mut lines: Vec<Lines> = Vec::new();
    for number in held.lines().into_iter().flat_map(|lines| lines.first()..=lines.last()) {
        let same = number <= now.total()
            && base.is_some_and(|base| number <= base.total() && base.line(number) == now.line(number));
        if same {
            continue;
        }
        let longer =
            lines.last().filter(|run| run.last() + 1 == number).and_then(|run| Lines::new(run.first(), number));
        if longer.is_some() {
            lines.pop();
        }
        lines.extend(longer.or_else(|| Lines::new(number, number)));
    }
    let open = |text: &Text| !text.as_str().ends_with('\n');
    let same_end = base.is_some_and(|base| base.total() == now.total() && open(base) == open(now));
    let end = held.end() && !same_end;
    if lines.is_empty() && !end { Now::Same } else { Now::Stale { lines, end } }
}

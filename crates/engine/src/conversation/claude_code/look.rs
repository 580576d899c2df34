//! A transcript that is only looked at: a conversation in which nothing is read or recorded, and which says what it holds.

use readproof_core::{
    decide::Reason,
    limits::Answers,
    operation::Read,
    path::PathKey,
    scope::Scope,
    text::{ContentHash, Form, Text},
};
use readproof_disk::{Appended, FileRef, Loaded, Snapshot, TranscriptFile};
use readproof_hosts::claude_code::{Known, Transcript, text_of_read};
use std::{collections::BTreeMap, path::Path};

use super::{
    super::{Conversation, ConversationStatus, Holding, HoldingFile, Proof},
    Lines, MOST,
};
use crate::{
    Engine, Error,
    door::Refreshed,
    read::{CallContext, KnowledgeAtCall, PendingAnswer, Recorded},
};

/// What a transcript holds, and the texts of it.
pub struct LookedAt {
    holding: Holding,
    texts: BTreeMap<ContentHash, Text>,
}

impl LookedAt {
    /// A transcript of Claude Code, after its last line. It may be a copy of a session that ran in the folder `ran_in`, which then
    /// stands for this workspace. With `leaf`, it is looked at where that call was made.
    ///
    /// # Errors
    /// When the file cannot be read, or has no such call.
    pub fn open(engine: &Engine, file: &Path, (ran_in, leaf): (Option<&Path>, Option<&str>)) -> Result<Self, Error> {
        let mut lines = Lines(TranscriptFile::open(file, MOST)?);
        let mut transcript = Transcript::new(Answers::Held);
        let here = engine.root.path();
        if let Some((from, to)) = engine.root.alias() {
            transcript.rename(from, to);
        } else if let Some(there) = ran_in.filter(|there| !there.starts_with(here) && !here.starts_with(there)) {
            transcript.rename(&there.display().to_string(), &here.display().to_string());
        }
        loop {
            match lines.0.appended()? {
                Appended::Nothing => break,
                Appended::More(lines) => transcript.append(&lines),
                Appended::Anew(lines) => {
                    transcript = transcript.anew();
                    transcript.append(&lines);
                }
            }
        }
        if let Some(call) = leaf.filter(|call| !transcript.has_call(call)) {
            return Err(Error::NoHostEntry { file: file.to_path_buf(), entry: call.to_owned() });
        }
        let counts = transcript.counts();
        let mut looked = Self {
            holding: Holding {
                host: "claude-code",
                session: file.display().to_string(),
                folder: ran_in.map(|folder| folder.display().to_string()),
                leaf: leaf.or_else(|| transcript.last_call()).map(str::to_owned),
                entries: counts.entries,
                skipped: counts.skipped,
                compactions: counts.compactions,
                ..Holding::default()
            },
            texts: BTreeMap::new(),
        };
        let known = match leaf {
            Some(call) => transcript.known_at_call(call, &lines),
            None => transcript.known_last(&lines),
        };
        match known {
            Ok(known) => looked.take(known),
            // Without a last request nothing was ever sent.
            Err(_) if counts.requests == 0 && counts.entries == 0 => {}
            Err(_) => looked.holding.distrusted = Some(DISTRUSTED),
        }
        Ok(looked)
    }

    fn take(&mut self, known: Known<'_>) {
        self.holding.window = known.window();
        let knowledge = known.knowledge();
        for (path, held) in knowledge.paths() {
            let proof = |at| {
                let message = known.why(at).map(|why| why.message.to_string()).unwrap_or_default();
                Proof { entry: message, tool: "message", mode: None }
            };
            let spans = held.iter().map(|held| (held.clone(), proof(held.at()))).collect();
            for version in held.iter().map(readproof_core::knowledge::Held::version) {
                self.texts.extend(known.text(version.hash).map(|text| (version.hash, text.clone())));
            }
            let whole = knowledge.holds_whole(path, Form::Stripped, Answers::Held).is_some();
            self.holding.files.push(HoldingFile { path: path.to_string(), whole, spans });
        }
    }
}

/// A file as this host shows it: without a byte order mark and CR, counted as it counts lines.
pub(crate) fn text_for_host(text: &Text) -> Text {
    let text = text.as_str();
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n");
    let lines = u32::try_from(text.split('\n').count()).unwrap_or(u32::MAX);
    text_of_read(&text, 1, lines).unwrap_or_else(|| Text::in_form(text, Form::Stripped))
}

/// Why nothing of a transcript counts.
const DISTRUSTED: &str =
    "the record of what was sent is missing, does not verify, or has results that were changed or cleared";

impl Conversation for LookedAt {
    type Given = ();

    fn holding(&mut self, _engine: &Engine) -> Result<Holding, Error> {
        Ok(self.holding.clone())
    }

    fn load(&self, _engine: &Engine, hash: ContentHash) -> Loaded {
        self.texts.get(&hash).map_or(Loaded::Missing, |text| Loaded::Text(text.clone()))
    }

    fn context(&mut self, engine: &Engine, read: &Read, file: &FileRef, snapshot: &Snapshot) -> CallContext {
        CallContext { plain: Some(Reason::NoTranscript), ..CallContext::of(engine, read, file, snapshot) }
    }

    fn held(&mut self, engine: &Engine, _context: &CallContext, _path: &PathKey) -> KnowledgeAtCall {
        KnowledgeAtCall::at(Err(Reason::NoTranscript), engine.settings().answers)
    }

    fn record(&mut self, _engine: &Engine, _context: &mut CallContext, _pending: &PendingAnswer<'_>) -> Recorded<()> {
        Recorded::Done(())
    }

    fn known_files(&mut self, _engine: &Engine) -> Result<Vec<PathKey>, Error> {
        Ok(Vec::new())
    }

    fn refresh(&mut self, _engine: &Engine, _names: Vec<PathKey>, _scope: Scope) -> Result<Refreshed, Error> {
        Err(Error::NoConversation)
    }

    fn status(&mut self, _engine: &Engine) -> Result<Option<ConversationStatus>, Error> {
        Ok(None)
    }
}

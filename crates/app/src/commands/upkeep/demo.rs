//! `readproof demo`: a scripted agent on a scratch workspace, every answer through the real engine, shown as a table.

use readproof_core::{
    edit::Places,
    operation::{Change, Operation, Over, Read, Refresh, Write},
    path::Bearings,
};
use readproof_disk::{Root, Scratch, SessionName};
use readproof_engine::{Answer, Engine, EntryId, Error, LoggedSession, Outcome, Receipt, Refreshed, Settings, Written};
use serde_json::{Value, json};

use crate::commands::Terminal;
use crate::{
    config,
    output::{self, Failure},
    report::tokens,
};

/// The file the scripted agent works on.
const SAMPLE: &str = include_str!("inventory.py");

/// One line of the table.
struct Row {
    step: &'static str,
    answer: String,
    sent: u64,
    plain: u64,
    why: &'static str,
}

struct Agent {
    terminal: Terminal,
    session: SessionName,
    rows: Vec<Row>,
    excerpts: Vec<(&'static str, String)>,
    /// The entry of the newest read.
    last: Option<EntryId>,
}

pub(crate) fn run(json: bool) -> Result<(), Failure> {
    let scratch = Scratch::new(&config::temp_dir(), "readproof-demo").map_err(Error::Root)?;
    let root = Root::open(scratch.path()).map_err(Error::Root)?;
    let bearings = Bearings { cwd: root.path().display().to_string(), home: None };
    let engine = Engine::new(root, bearings, Settings::default(), Box::new(|| 0))?;
    let session = SessionName::parse("demo").map_err(Error::from)?;
    let terminal = Terminal::of(engine, json);
    let mut agent = Agent { terminal, session, rows: Vec::new(), excerpts: Vec::new(), last: None };
    script(&mut agent, &scratch)?;
    let text = if json { agent.as_json().to_string() } else { agent.table() };
    Ok(output::line(&text)?)
}

fn script(agent: &mut Agent, scratch: &Scratch) -> Result<(), Failure> {
    let put = |text: &str| scratch.put("inventory.py", text).map_err(Error::Root);
    put(SAMPLE)?;
    agent.read("first read of inventory.py", "inventory.py")?;
    let first = agent.last;
    agent.read("the same read again", "inventory.py")?;
    agent.read("only lines 10-30", "inventory.py:10-30")?;

    let edited = SAMPLE.replacen("LOW_STOCK = 5", "LOW_STOCK = 12", 1);
    put(&edited)?;
    agent.excerpt("a person changes one line; read again", "inventory.py")?;
    agent.read("only lines 30-50, which did not change", "inventory.py:30-50")?;

    agent.edit(
        "the agent edits a function itself",
        "    return sorted(low)",
        "    return sorted(low, key=str.lower)",
    )?;
    agent.read("read after its own edit", "inventory.py")?;

    agent.tell::<Option<EntryId>>(Operation::Branch { at: first.map(|EntryId(number)| number) })?;
    agent.note("back to just after the first read");
    agent.read("there the model holds the first text", "inventory.py")?;

    agent.tell::<EntryId>(Operation::Compact { summary: None })?;
    agent.note("the host compacts the conversation");
    agent.read("first read after the compaction", "inventory.py")?;
    agent.read("and again", "inventory.py")?;

    agent.tell::<Refreshed>(Operation::Refresh(Refresh { path: "inventory.py".to_owned(), ..Refresh::default() }))?;
    agent.note("the model asks for fresh text");
    agent.read("read after the refresh", "inventory.py")
}

impl Agent {
    fn ask(&mut self, path: &str) -> Result<Answer<Option<Receipt>>, Failure> {
        let read = Operation::Read(Read { path: path.to_owned(), ..Read::default() });
        let mut session = LoggedSession::new(self.session.clone());
        let answer = self.terminal.ask(&mut session, read)?.into_answer()?;
        if let Some(receipt) = &answer.given {
            self.terminal.engine.delivered(receipt)?;
            self.last = Some(receipt.entry);
        }
        Ok(answer)
    }

    fn tell<T>(&self, operation: Operation) -> Result<T, Failure>
    where
        T: TryFrom<Outcome<Option<Receipt>>, Error = Error>,
    {
        self.terminal.ask_in(Some(self.session.as_str()), operation)
    }

    fn read(&mut self, step: &'static str, path: &str) -> Result<(), Failure> {
        let answer = self.ask(path)?;
        self.row(step, &answer);
        Ok(())
    }

    /// As `read`, but shows the whole answer below the table.
    fn excerpt(&mut self, step: &'static str, path: &str) -> Result<(), Failure> {
        let answer = self.ask(path)?;
        self.row(step, &answer);
        self.excerpts.push((step, answer.text));
        Ok(())
    }

    fn row(&mut self, step: &'static str, answer: &Answer<Option<Receipt>>) {
        let short = if answer.mode.is_derived() && !answer.text.contains('\n') {
            answer.text.clone()
        } else {
            format!("{}, {} lines of text", answer.mode.as_str(), answer.text.lines().count())
        };
        let (sent, plain) = (answer.text.len() as u64, answer.plain_bytes);
        self.rows.push(Row {
            step,
            answer: short,
            sent: tokens(sent),
            plain: tokens(plain),
            why: answer.reason.sentence(),
        });
    }

    fn edit(&mut self, step: &'static str, old: &str, new: &str) -> Result<(), Failure> {
        let change = Change::Replace { old: old.to_owned(), new: new.to_owned(), places: Places::One };
        let written: Written =
            self.tell(Operation::Write(Write { path: "inventory.py".to_owned(), change, over: Over::Held }))?;
        for receipt in &written.receipts {
            self.terminal.engine.delivered(receipt)?;
        }
        self.note(step);
        Ok(())
    }

    /// A step that is not a read.
    fn note(&mut self, step: &'static str) {
        self.rows.push(Row { step, answer: String::new(), sent: 0, plain: 0, why: "" });
    }

    fn table(&self) -> String {
        let mut out = format!("{:<40} {:>6} {:>6}  answer\n", "step", "sent", "plain");
        for row in &self.rows {
            if row.answer.is_empty() {
                out.push_str(&format!("-- {}\n", row.step));
                continue;
            }
            out.push_str(&format!("{:<40} {:>6} {:>6}  {}\n", row.step, row.sent, row.plain, row.answer));
            out.push_str(&format!("    because {}\n", row.why));
        }
        let (sent, plain) = self.totals();
        let saved = plain - sent;
        out.push_str(&format!("{:<40} {sent:>6} {plain:>6}  ~{saved} tokens saved (estimated as bytes/4)\n", "total"));
        for (step, text) in &self.excerpts {
            out.push_str(&format!("\nThe answer to \"{step}\":\n\n{text}"));
        }
        out.trim_end().to_owned()
    }

    fn totals(&self) -> (u64, u64) {
        (self.rows.iter().map(|row| row.sent).sum(), self.rows.iter().map(|row| row.plain).sum())
    }

    fn as_json(&self) -> Value {
        let rows: Vec<Value> = self
            .rows
            .iter()
            .map(|row| json!({"step": row.step, "answer": row.answer, "sent": row.sent, "plain": row.plain, "why": row.why}))
            .collect();
        let (sent, plain) = self.totals();
        json!({"ok": true, "rows": rows, "tokens": {"estimate": "bytes/4", "sent": sent, "plain": plain}})
    }
}

//! Calls that change files, as models write them: pieces, patches in three dialects, whole files, names. Each is drafted from
//! a text that its model may hold, and knows what it intends, so that the file can be compared with that afterwards.

mod in_turn;

use readproof_core::{
    edit::{Piece, Places},
    text::ContentHash,
};
use readproof_engine::{
    Error,
    operation::{Change as Asked, Operation, Over, Patch, Write},
};
use readproof_reader::{Change, Complaint, Replaces, What};
use std::{fs, process::Command};

use self::in_turn::{Begins, made_in_turn};
use crate::{
    glimpse::Shown,
    op::Random,
    run::{Step, violation},
    world::{Broken, Shape, World, changed, lines, watch::is_by_rule},
};

/// Names that a run may create files under, or move them to.
pub const FRESH: [&str; 3] = ["made.txt", "sub/made.rs", "new/one.txt"];

/// How an edit is written that does not match to the byte.
const LOOSENESS: usize = 5;

/// Lines of a text that get others in their place.
#[derive(Clone, Debug)]
struct Swap {
    first: usize,
    count: usize,
    new: String,
    /// Lines of context before and behind.
    around: (usize, usize),
}

/// A wanted change of one file, made for a text.
#[derive(Clone, Debug)]
pub struct Draft {
    pub path: &'static str,
    /// The text it is made for.
    pub base: String,
    swaps: Vec<Swap>,
    /// Old and new text of each place, to the byte.
    pieces: Vec<(String, String)>,
    /// The same as they are sent.
    sent: Vec<(String, String)>,
    /// Whether the call says at which lines they are.
    numbered: bool,
}

/// What a call and its answer say about the places of pieces.
#[derive(Clone, Copy)]
struct Said {
    over: Over,
    begins: Begins,
    /// A piece of one of the files stands in what those before it made.
    in_turn: bool,
}

impl Draft {
    /// Changes of up to `places` places of whole lines; `None` if the text has too few.
    pub fn new(path: &'static str, base: &str, places: usize, (shape, random): (Shape, &mut Random)) -> Option<Self> {
        let all: Vec<&str> = base.split_inclusive('\n').collect();
        // A last line without an end needs other words in each dialect.
        let usable = all.len() - usize::from(!base.is_empty() && !base.ends_with('\n'));
        let mut swaps: Vec<Swap> = Vec::new();
        let mut next = 0;
        for left in (0..places).rev() {
            let room = usable.saturating_sub(next + 3 * left);
            if room == 0 {
                break;
            }
            let first = next + random.below(room.min(if left == 0 { usable } else { 8 }));
            let count = (1 + random.below(2)).min(usable - first);
            let around = (random.below(3).min(first - next), random.below(3).min(usable - first - count));
            let end = if all[first].ends_with("\r\n") { "\r\n" } else { "\n" };
            let new = match random.below(4) {
                0 if count < usable => String::new(),
                1 => all[first..first + count].concat() + &lines(1, shape, random, end),
                _ => lines(1 + random.below(2), shape, random, end),
            };
            swaps.push(Swap { first, count, new, around });
            next = first + count + around.1 + 1;
        }
        let text = |from: usize, to: usize| all[from..to].concat();
        let piece = |swap: &Swap| {
            let (from, to) = (swap.first - swap.around.0, swap.first + swap.count + swap.around.1);
            let (head, tail) = (text(from, swap.first), text(swap.first + swap.count, to));
            (text(from, to), [head.as_str(), &swap.new, &tail].concat())
        };
        let pieces: Vec<(String, String)> = swaps.iter().map(piece).collect();
        let empty = pieces.is_empty() || pieces.iter().any(|(old, _)| old.is_empty());
        (!empty).then(|| Self { path, base: base.to_owned(), swaps, sent: pieces.clone(), pieces, numbered: false })
    }

    /// The same as a call of someone who gives the file this name.
    pub fn asked_of(&self, path: String, over: Over) -> Operation {
        let pieces = self.pieces.iter().map(|(old, new)| Piece::replace(old, new, Places::One)).collect();
        Operation::Write(Write { path, change: Asked::Edit(pieces), over })
    }

    /// What the base becomes.
    fn intended(&self) -> String {
        let all: Vec<&str> = self.base.split_inclusive('\n').collect();
        let (mut text, mut next) = (String::new(), 0);
        for swap in &self.swaps {
            text.push_str(&all[next..swap.first].concat());
            text.push_str(&swap.new);
            next = swap.first + swap.count;
        }
        text + &all[next..].concat()
    }

    /// The base after someone else changed it: at the same place, beside it, above it, everywhere.
    pub fn disturbed(&self, shape: Shape, random: &mut Random) -> String {
        let mut all: Vec<String> = self.base.split_inclusive('\n').map(str::to_owned).collect();
        let at = random.pick(&self.swaps).map_or(0, |swap| swap.first).min(all.len().saturating_sub(1));
        let new = lines(1, shape, random, "\n");
        match random.below(10) {
            0 | 1 => all[at] = new,
            2 => all.insert(at, new),
            3 | 4 => all.insert(0, new),
            5 => {
                let far = (at + 4 + random.below(4)).min(all.len() - 1);
                all[far] = new;
            }
            6 => {
                let line = all.remove(at);
                all.insert(random.below(all.len() + 1), line);
            }
            // One of several pieces could stand in a part of a line then.
            7 | 8 if self.swaps.len() > 1 => all.push(new),
            7 => return all.iter().map(|line| format!("  {line}")).collect(),
            8 => return all.iter().map(|line| format!("{}\n", line.trim())).collect(),
            9 if random.below(3) == 0 => all.push(lines(130, shape, random, "\n")),
            _ => return changed(&self.base, shape, random),
        }
        all.concat()
    }

    /// A piece that is almost in the file.
    pub fn missed(&self, random: &mut Random) -> (String, String) {
        let (old, new) = random.pick(&self.pieces).cloned().unwrap_or_default();
        let mut all: Vec<&str> = old.split_inclusive('\n').collect();
        let at = random.below(all.len());
        all.insert(at, "what no file has\n");
        (all.concat(), new)
    }

    /// What another text becomes, if every piece stands in it once.
    fn made_in(&self, text: &str) -> Option<String> {
        let only = |old: &String| text.find(old).filter(|at| text.rfind(old) == Some(*at));
        let places: Option<Vec<usize>> = self.pieces.iter().map(|(old, _)| only(old)).collect();
        self.made_at(text, &places?)
    }

    /// The same where the lines around one piece are also those around another: only what changes must be apart.
    fn made_beside(&self, text: &str) -> Option<String> {
        let only = |old: &String| text.find(old).filter(|at| text.rfind(old) == Some(*at));
        let mut cores = Vec::new();
        for (old, new) in &self.pieces {
            let same = |a: &str, b: &str| {
                a.split_inclusive('\n').zip(b.split_inclusive('\n')).take_while(|(a, b)| a == b).count()
            };
            let head: usize = old.split_inclusive('\n').take(same(old, new)).map(str::len).sum();
            let (rest, instead) = (&old[head..], &new[head..]);
            let tails = rest.split_inclusive('\n').rev().zip(instead.split_inclusive('\n').rev());
            let tail: usize = tails.take_while(|(a, b)| a == b).map(|(a, _)| a.len()).sum();
            let core = |text: &str| text[..text.len() - tail].to_owned();
            cores.push((only(old)? + head, (core(rest), core(instead))));
        }
        let places: Vec<usize> = cores.iter().map(|(at, _)| *at).collect();
        Self { pieces: cores.into_iter().map(|(_, core)| core).collect(), ..self.clone() }.made_at(text, &places)
    }

    /// The same for whole lines, wherever they stand.
    fn made_in_lines(&self, text: &str) -> Option<String> {
        let starts = || text.split_inclusive('\n').scan(0, |at, line| Some(std::mem::replace(at, *at + line.len())));
        let only = |old: &String| {
            let mut found = starts().filter(|at| text[*at..].starts_with(old.as_str()));
            found.next().filter(|_| found.next().is_none())
        };
        let places: Option<Vec<usize>> = self.pieces.iter().map(|(old, _)| only(old)).collect();
        self.made_at(text, &places?)
    }

    /// The same for whole lines in their order, if there is one way to place them.
    fn made_in_order(&self, text: &str) -> Option<String> {
        match &self.ways(text, 0, &self.pieces)[..] {
            [places] => self.made_at(text, places),
            _ => None,
        }
    }

    /// The same where the numbers of the call say.
    fn made_by_number(&self, text: &str) -> Option<String> {
        let start = |line: usize| text.split_inclusive('\n').take(line).map(str::len).sum::<usize>();
        let places: Vec<usize> = self.swaps.iter().map(|swap| start(swap.first - swap.around.0)).collect();
        let there = places.iter().zip(&self.pieces).all(|(at, (old, _))| text[*at..].starts_with(old.as_str()));
        if there { self.made_at(text, &places) } else { None }
    }

    /// The same, where a piece stands only in what those before it made.
    fn made_in_turn(&self, text: &str, said: Said) -> Option<String> {
        if said.in_turn { made_in_turn(text, &self.pieces, said.begins) } else { None }
    }

    /// Whether lines that the call states can be lines of this text: it must be known that the call is for it.
    fn may_count_in(&self, text: &str, over: Over) -> bool {
        let is_it = match over {
            Over::Hash(hash) => hash == ContentHash::of(text.as_bytes()),
            Over::Held => true,
            Over::Anything => false,
        };
        self.numbered && is_it
    }

    /// What a text can become, if it is the one that is meant.
    fn made(&self, text: &str, said: Said) -> [Option<String>; 4] {
        let by_number = if self.may_count_in(text, said.over) { self.made_by_number(text) } else { None };
        [self.made_in(text), self.made_in_order(text), by_number, self.made_in_turn(text, said)]
    }

    fn ways(&self, text: &str, from: usize, pieces: &[(String, String)]) -> Vec<Vec<usize>> {
        let Some(((old, _), rest)) = pieces.split_first() else { return vec![Vec::new()] };
        let starts = |at: &usize| *at == 0 || text.as_bytes()[at - 1] == b'\n';
        let lines = text.split_inclusive('\n').scan(0, |at, line| Some(std::mem::replace(at, *at + line.len())));
        let here = lines.filter(|at| *at >= from && starts(at) && text[*at..].starts_with(old.as_str()));
        let behind = |at: usize| {
            let ways = self.ways(text, at + old.len(), rest);
            ways.into_iter().map(move |way| [vec![at], way].concat())
        };
        here.flat_map(behind).take(2).collect()
    }

    fn made_at(&self, text: &str, places: &[usize]) -> Option<String> {
        let mut all: Vec<(usize, &(String, String))> = places.iter().copied().zip(&self.pieces).collect();
        all.sort_by_key(|(at, _)| *at);
        let (mut made, mut next) = (String::new(), 0);
        for (at, (old, new)) in all {
            made.push_str(text.get(next..at)?);
            made.push_str(new);
            next = at + old.len();
        }
        Some(made + &text[next..])
    }

    /// Whether the draft was made where its lines stand with other blanks, and only new lines have other bytes.
    fn made_loosely(&self, before: &str, after: &str, said: Said) -> bool {
        let bare = |text: &str| text.lines().map(|line| format!("{}\n", line.trim())).collect::<String>();
        let pieces: Vec<(String, String)> = self.pieces.iter().map(|(old, new)| (bare(old), bare(new))).collect();
        let (loose, text) = (Self { pieces, ..self.clone() }, bare(before));
        let by_number = if self.may_count_in(before, said.over) { loose.made_by_number(&text) } else { None };
        let in_turn = loose.made_in_turn(&text, said);
        // What does not stand there to the byte is looked for as whole lines.
        let made = [loose.made_in_lines(&text), loose.made_in_order(&text), by_number, in_turn];
        made.contains(&Some(bare(after))) && self.brings_no_more(before, after)
    }

    /// The same where its lines stand with other line ends, which is nearer than any other difference.
    fn made_by_line_ends(&self, before: &str, after: &str, said: Said) -> bool {
        let bare = |text: &str| text.replace("\r\n", "\n");
        let pieces = self.pieces.iter().map(|(old, new)| (bare(old), bare(new))).collect();
        let (loose, text) = (Self { pieces, ..self.clone() }, bare(before));
        let made = [loose.made_in_lines(&text), loose.made_in_order(&text), loose.made_in_turn(&text, said)];
        made.contains(&Some(bare(after))) && self.brings_no_more(before, after)
    }

    /// The same where some of several pieces stand in the file to the byte as they were sent, perhaps within a line end.
    fn made_partly_loosely(&self, before: &str, after: &str, said: Said) -> bool {
        let is_exact = |at: &usize| before.matches(self.sent[*at].0.as_str()).count() == 1;
        let (exact, loose): (Vec<usize>, Vec<usize>) = (0..self.sent.len()).partition(is_exact);
        if exact.is_empty() || loose.is_empty() {
            return false;
        }
        let exact = Self { pieces: exact.iter().map(|at| self.sent[*at].clone()).collect(), ..self.clone() };
        let pieces = loose.iter().map(|at| self.pieces[*at].clone()).collect();
        let loose = Self { pieces, swaps: loose.iter().map(|at| self.swaps[*at].clone()).collect(), ..self.clone() };
        exact.made_in(before).is_some_and(|made| loose.made_loosely(&made, after, said))
    }

    /// Whether no more lines have other bytes than the draft can have brought.
    fn brings_no_more(&self, before: &str, after: &str) -> bool {
        let known: Vec<&str> = before.split_inclusive('\n').collect();
        let new: usize = self.pieces.iter().map(|(_, new)| new.lines().count()).sum();
        after.split_inclusive('\n').filter(|line| !known.contains(line)).count() <= new
    }

    /// Whether this text can be what became of `before`: the draft made in it, or made in an earlier text and merged.
    fn allows(&self, (before, after): (&str, &str), earlier: &[String], said: Said) -> Result<bool, Broken> {
        // What is meant loosely may stand in the file to the byte, even within a line end.
        let as_sent = Self { pieces: self.sent.clone(), ..self.clone() };
        let exactly = as_sent.made_in(before);
        let is_named = matches!(said.over, Over::Hash(hash) if hash == ContentHash::of(before.as_bytes()));
        let beside = if is_named { as_sent.made_beside(before) } else { None };
        if [exactly, beside].iter().flatten().any(|made| made == after) || self.made_partly_loosely(before, after, said)
        {
            return Ok(true);
        }
        if self.made(before, said).iter().flatten().any(|made| made == after)
            || self.made_loosely(before, after, said)
            || self.made_by_line_ends(before, after, said)
        {
            return Ok(true);
        }
        let drafted = (self.base.clone(), self.intended());
        let others =
            earlier.iter().flat_map(|text| self.made(text, said).map(|made| Some((text.clone(), made?)))).flatten();
        let sent =
            [&self.base].into_iter().chain(earlier).filter_map(|text| Some((text.clone(), as_sent.made_in(text)?)));
        // Hunks may share context in a text that the agent held.
        let beside = earlier.iter().filter_map(|text| Some((text.clone(), as_sent.made_beside(text)?)));
        // Lines that do not match to the byte end as those around them.
        let ends = |text: &str| text.replace("\r\n", "\n");
        for (base, ours) in [drafted].into_iter().chain(others).chain(sent).chain(beside) {
            let made = merged(&base, &ours, before)?;
            if made
                .is_some_and(|made| made == after || (ends(&made) == ends(after) && self.brings_no_more(before, after)))
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn what(&self, sent: &[(String, String)]) -> What {
        match sent {
            [(old, new)] => What::Edit { old: old.clone(), new: new.clone(), replaces: Replaces::One },
            _ => What::Edit { old: String::new(), new: String::new(), replaces: Replaces::Several },
        }
    }

    fn change(&self) -> Change {
        Change { path: self.path.to_owned(), what: self.what(&self.pieces) }
    }

    /// The hunks of a patch; headers of unified diffs name lines, others name none.
    fn hunks(&self, numbered: bool) -> String {
        let all: Vec<&str> = self.base.split_inclusive('\n').collect();
        let (mut text, mut grown) = (String::new(), 0_isize);
        for swap in &self.swaps {
            let (from, to) = (swap.first - swap.around.0, swap.first + swap.count + swap.around.1);
            let added = swap.new.split_inclusive('\n').count();
            let (old, new) = (to - from, to - from - swap.count + added);
            let start = |count: usize, from: usize| from + usize::from(count > 0);
            if numbered {
                let now = start(new, from.saturating_add_signed(grown));
                text.push_str(&format!("@@ -{},{old} +{now},{new} @@\n", start(old, from)));
            } else {
                text.push_str("@@\n");
            }
            let signed =
                |sign: char, lines: &[&str]| lines.iter().map(|line| format!("{sign}{line}")).collect::<String>();
            text.push_str(&signed(' ', &all[from..swap.first]));
            text.push_str(&signed('-', &all[swap.first..swap.first + swap.count]));
            text.push_str(&signed('+', &swap.new.split_inclusive('\n').collect::<Vec<_>>()));
            text.push_str(&signed(' ', &all[swap.first + swap.count..to]));
            grown += added.cast_signed() - swap.count.cast_signed();
        }
        text
    }
}

/// What a file must be afterwards.
#[derive(Clone, Debug)]
enum Due {
    Draft(Draft),
    Text(String),
    Behind(String),
    Nothing,
    /// Not known.
    Anything,
    /// What stood under this name, with changes.
    From(&'static str, Option<Draft>),
}

/// A call, and what it intends.
#[derive(Clone, Debug)]
pub struct Wanted {
    pub operation: Operation,
    /// As a reader sees the call.
    pub files: Vec<Change>,
    /// For which text it is said to be.
    over: Over,
    due: Vec<(&'static str, Due)>,
}

impl Wanted {
    /// One file, changed by one call.
    fn one(path: &'static str, change: Asked, over: Over, what: What, due: Due) -> Self {
        let operation = Operation::Write(Write { path: path.to_owned(), change, over });
        Self { operation, files: vec![Change { path: path.to_owned(), what }], over, due: vec![(path, due)] }
    }

    /// The pieces of a draft, to the byte.
    pub fn pieces(draft: Draft, over: Over, random: &mut Random) -> Self {
        let sent = draft.pieces.clone();
        Self::sent(draft, &sent, over, random)
    }

    fn sent(draft: Draft, sent: &[(String, String)], over: Over, random: &mut Random) -> Self {
        let piece = |(old, new): &(String, String)| Piece::replace(old, new, Places::One);
        let change = match sent {
            [(old, new)] if random.below(2) == 0 => {
                Asked::Replace { old: old.clone(), new: new.clone(), places: Places::One }
            }
            all => Asked::Edit(all.iter().map(piece).collect()),
        };
        let what = draft.what(sent);
        Self::one(draft.path, change, over, what, Due::Draft(Draft { sent: sent.to_vec(), ..draft }))
    }

    /// The pieces of a draft, not quite as they stand in the file.
    pub fn loosely(draft: Draft, over: Over, random: &mut Random) -> Self {
        let how = random.below(LOOSENESS);
        let first = |swap: &Swap| swap.first - swap.around.0 + 1;
        let numbers: Vec<usize> = draft.swaps.iter().map(first).collect();
        let sent: Vec<(String, String)> = numbers
            .iter()
            .zip(&draft.pieces)
            .map(|(number, (old, new))| match how {
                0 => (each(old, false, |_, line| format!("{}  ", line.trim_end())), new.clone()),
                1 => {
                    (each(old, true, |_, line| format!("    {line}")), each(new, true, |_, line| format!("    {line}")))
                }
                2 if old.contains("\r\n") => (old.replace("\r\n", "\n"), new.replace("\r\n", "\n")),
                2 => (old.replace('\n', "\r\n"), new.replace('\n', "\r\n")),
                3 => (each(old, false, |at, line| format!("{}\t{line}", number + at)), new.clone()),
                _ => (each(old, false, |_, line| line.replace(' ', "\u{a0}")), new.clone()),
            })
            .collect();
        Self::sent(Draft { numbered: how == 3, ..draft }, &sent, over, random)
    }

    /// An edit that is to be refused. Whatever it does is compared with nothing but what its answer says.
    pub fn unlikely(path: &'static str, sent: &[(String, String)], over: Over) -> Self {
        let piece = |(old, new): &(String, String)| Piece::replace(old, new, Places::One);
        let what = What::Edit { old: String::new(), new: String::new(), replaces: Replaces::Several };
        let what = if let [(old, new)] = sent {
            What::Edit { old: old.clone(), new: new.clone(), replaces: Replaces::One }
        } else {
            what
        };
        Self::one(path, Asked::Edit(sent.iter().map(piece).collect()), over, what, Due::Anything)
    }

    pub fn append(path: &'static str, content: String, over: Over) -> Self {
        let what = What::Append(content.clone());
        Self::one(path, Asked::Append(content.clone()), over, what, Due::Behind(content))
    }

    pub fn whole(path: &'static str, content: String, over: Over) -> Self {
        let what = What::Whole(content.clone());
        Self::one(path, Asked::Whole(content.clone()), over, what, Due::Text(content))
    }

    pub fn create(path: &'static str, content: String) -> Self {
        let what = What::Create(content.clone());
        Self::one(path, Asked::Create(content.clone()), Over::Held, what, Due::Text(content))
    }

    pub fn delete(path: &'static str, over: Over) -> Self {
        Self::one(path, Asked::Delete, over, What::Delete, Due::Nothing)
    }

    pub fn rename(path: &'static str, to: &'static str, over: Over) -> Self {
        let operation =
            Operation::Write(Write { path: path.to_owned(), change: Asked::Move { to: to.to_owned() }, over });
        let what = What::Move { from: path.to_owned() };
        let due = vec![(to, Due::From(path, None)), (path, Due::Nothing)];
        Self { operation, files: vec![Change { path: to.to_owned(), what }], over, due }
    }

    /// A patch of these drafts in some dialect, perhaps with a new file, or one that goes or gets another name.
    pub fn patch(mut drafts: Vec<Draft>, over: Over, more: Option<More>, random: &mut Random) -> Self {
        let dialect = random.below(3);
        let mut files: Vec<Change> = drafts.iter().map(Draft::change).collect();
        let mut text = match dialect {
            0 => drafts.iter_mut().map(|draft| unified(draft, random)).collect::<String>(),
            1 => {
                drafts.iter().map(|draft| format!("*** Update File: {}\n{}", draft.path, draft.hunks(false))).collect()
            }
            _ => drafts.iter().map(blocks).collect(),
        };
        let alone = (drafts.len() == 1 && more.is_none()).then(|| drafts[0].path.to_owned());
        let mut due: Vec<(&'static str, Due)> =
            drafts.into_iter().map(|draft| (draft.path, Due::Draft(draft))).collect();
        if let Some(more) = more.filter(|more| dialect < 2 || matches!(more, More::Create(..))) {
            text.push_str(&more.written(dialect));
            files.push(more.change(dialect));
            due.extend(more.due());
        }
        if dialect == 1 {
            text = format!("*** Begin Patch\n{text}*** End Patch\n");
        }
        let path = alone.filter(|_| random.below(2) == 0);
        Self { operation: Operation::Patch(Patch { patch: text, path, over }), files, over, due }
    }

    /// The files that it is about.
    pub fn paths(&self) -> impl Iterator<Item = &'static str> {
        self.due.iter().map(|(path, _)| *path)
    }

    /// The file that may only go if its model holds all of it.
    #[must_use]
    pub fn replaces(&self) -> Option<&'static str> {
        let whole = |change: &Asked| matches!(change, Asked::Whole(_) | Asked::Delete);
        let Operation::Write(Write { change, over: Over::Held, .. }) = &self.operation else { return None };
        self.paths().next().filter(|_| whole(change))
    }

    /// What stands in these files now.
    pub fn texts(&self, world: &World) -> Vec<Option<String>> {
        self.paths().map(|path| world.truth(path)).collect()
    }

    /// The lines that a refusal of the call shows in these words. Nothing may have changed, and the reason must be one that such
    /// calls can have.
    pub(crate) fn refused(&self, world: &World, before: &[Option<String>], error: &Error, words: &str) -> Step<Shown> {
        if self.texts(world) != before {
            return violation(format!("files changed by a call that was refused: {words}"));
        }
        if !may_be_refused(error) {
            return violation(format!("refused without a reason: {error:?}"));
        }
        shown_by(words, &self.files).or_else(|complaint| violation(format!("a refusal cannot be right: {complaint}")))
    }

    /// What is wrong with the files after a success, if anything.
    ///
    /// # Errors
    /// If git cannot be asked.
    pub fn wrong(&self, world: &World, before: &[Option<String>], answer: &str) -> Result<Option<String>, Broken> {
        let in_turn = |line: &str| line.starts_with("change ") && line.ends_with(" after the changes before it");
        let begins = if matches!(self.operation, Operation::Patch(_)) { Begins::AtLines } else { Begins::Anywhere };
        let said = Said { over: self.over, begins, in_turn: answer.lines().any(in_turn) };
        for ((path, due), was) in self.due.iter().zip(before) {
            let now = world.truth(path);
            let made = |draft: &Draft, was: &Option<String>| match (was, &now) {
                (Some(was), Some(now)) => draft.allows((was, now), &world.earlier(draft.path), said),
                (_, _) => Ok(false),
            };
            let fits = match due {
                Due::Draft(draft) => made(draft, was)?,
                Due::Text(text) => now.as_ref() == Some(text),
                Due::Behind(text) => now == Some(was.clone().unwrap_or_default() + text),
                Due::Nothing => now.is_none(),
                Due::Anything => true,
                Due::From(from, draft) => {
                    let there = self.due.iter().position(|(path, _)| path == from).and_then(|at| before[at].clone());
                    match draft {
                        Some(draft) => made(draft, &there)?,
                        None => now == there,
                    }
                }
            };
            if !fits {
                return Ok(Some(format!("{path} was {was:?} and is {now:?}, wanted was {due:?}")));
            }
        }
        Ok(None)
    }
}

/// What a patch does besides editing files.
#[derive(Clone, Debug)]
pub enum More {
    Create(&'static str, String),
    Delete(&'static str, String),
    Move(&'static str, &'static str, Option<Draft>),
}

impl More {
    fn written(&self, dialect: usize) -> String {
        let signed =
            |sign: char, text: &str| text.split_inclusive('\n').map(|line| format!("{sign}{line}")).collect::<String>();
        let count = |text: &str| text.split_inclusive('\n').count();
        match (self, dialect) {
            (Self::Create(path, text), 0) => {
                format!("--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,{} @@\n{}", count(text), signed('+', text))
            }
            (Self::Create(path, text), 1) => format!("*** Add File: {path}\n{}", signed('+', text)),
            (Self::Create(path, text), _) => {
                format!("{path}\n<<<<<<< SEARCH\n=======\n{text}>>>>>>> REPLACE\n")
            }
            (Self::Delete(path, text), 0) => {
                format!("--- a/{path}\n+++ /dev/null\n@@ -1,{} +0,0 @@\n{}", count(text), signed('-', text))
            }
            (Self::Delete(path, _), _) => format!("*** Delete File: {path}\n"),
            (Self::Move(from, to, draft), 0) => {
                let hunks = draft.as_ref().map(|draft| format!("--- a/{from}\n+++ b/{to}\n{}", draft.hunks(true)));
                let rename = format!("diff --git a/{from} b/{to}\nrename from {from}\nrename to {to}\n");
                rename + &hunks.unwrap_or_default()
            }
            (Self::Move(from, to, draft), _) => {
                let hunks = draft.as_ref().map(|draft| draft.hunks(false)).unwrap_or_default();
                format!("*** Update File: {from}\n*** Move to: {to}\n{hunks}")
            }
        }
    }

    fn change(&self, dialect: usize) -> Change {
        match self {
            // A block that replaces nothing is for a new file or for one that is there and empty: only the answer says which.
            Self::Create(path, text) if dialect == 2 => {
                Change { path: (*path).to_owned(), what: What::Append(text.clone()) }
            }
            Self::Create(path, text) => Change { path: (*path).to_owned(), what: What::Create(text.clone()) },
            Self::Delete(path, _) => Change { path: (*path).to_owned(), what: What::Delete },
            Self::Move(from, to, _) => Change { path: (*to).to_owned(), what: What::Move { from: (*from).to_owned() } },
        }
    }

    fn due(self) -> Vec<(&'static str, Due)> {
        match self {
            Self::Create(path, text) => vec![(path, Due::Text(text))],
            Self::Delete(path, _) => vec![(path, Due::Nothing)],
            Self::Move(from, to, draft) => vec![(to, Due::From(from, draft)), (from, Due::Nothing)],
        }
    }
}

fn unified(draft: &mut Draft, random: &mut Random) -> String {
    let path = draft.path;
    draft.numbered = random.below(4) > 0;
    format!("--- a/{path}\n+++ b/{path}\n{}", draft.hunks(draft.numbered))
}

fn blocks(draft: &Draft) -> String {
    let block = |(old, new): &(String, String)| format!("<<<<<<< SEARCH\n{old}=======\n{new}>>>>>>> REPLACE\n");
    format!("{}\n{}", draft.path, draft.pieces.iter().map(block).collect::<String>())
}

/// Every line of a text changed, or of those only that are not blank; it keeps its end.
fn each(text: &str, except_blank: bool, change: impl Fn(usize, &str) -> String) -> String {
    let line = |(at, line): (usize, &str)| {
        let body = line.trim_end_matches(['\r', '\n']);
        if except_blank && body.trim().is_empty() { line.to_owned() } else { change(at, body) + &line[body.len()..] }
    };
    text.split_inclusive('\n').enumerate().map(line).collect()
}

/// What git makes of two changes of one text; `None` if they conflict.
fn merged(base: &str, ours: &str, theirs: &str) -> Result<Option<String>, Broken> {
    if ours == theirs || theirs == base {
        return Ok(Some(ours.to_owned()));
    }
    let folder = tempfile::tempdir()?;
    let named = [("ours", ours), ("base", base), ("theirs", theirs)];
    for (name, text) in named {
        fs::write(folder.path().join(name), text)?;
    }
    let mut git = Command::new("git");
    let done = git.args(["merge-file", "-p", "-q", "ours", "base", "theirs"]).current_dir(folder.path()).output()?;
    Ok(done.status.success().then(|| String::from_utf8(done.stdout)).transpose()?)
}

/// The lines that a refusal shows in these words, of one of these files.
fn shown_by(words: &str, files: &[Change]) -> Result<Shown, Complaint> {
    let lines = readproof_reader::refusal(words)?;
    let mut paths = files.iter().flat_map(Change::paths);
    match paths.find(|path| words.starts_with(&format!("{}: ", readproof_reader::labelled(path)))) {
        Some(path) => Ok(vec![(path.to_owned(), lines)]),
        None if lines.is_empty() => Ok(Vec::new()),
        None => Err(Complaint(format!("lines are shown of no file of the call: {words:?}"))),
    }
}

/// Whether a call may be refused so.
fn may_be_refused(error: &Error) -> bool {
    is_by_rule(error)
        || matches!(
            error,
            Error::Edit { .. }
                | Error::Conflict { .. }
                | Error::Precondition { .. }
                | Error::Exists { .. }
                | Error::Missing { .. }
                | Error::Snapshot(_)
                | Error::Twice { .. }
                | Error::BadPatch { .. }
                | Error::EmptyPath
                | Error::SensitiveTogether { .. }
                | Error::Replace(_)
                | Error::ReplaceAll(_)
        )
}

/// For which text a call is said to be.
pub fn some_over(world: &World, path: &str, random: &mut Random) -> Over {
    let hash = |text: &String| Over::Hash(ContentHash::of(text.as_bytes()));
    match random.below(10) {
        0..=6 => Over::Held,
        7 => Over::Anything,
        8 => world.truth(path).as_ref().map_or(Over::Held, hash),
        _ => random.pick(&world.earlier(path)).map_or(Over::Held, hash),
    }
}

//! The rules that an answer was made by, each with an id that is written into every record. A rule that would give other bytes
//! for the same text and question gets another id; the vectors of `testkit/tests/queries.rs` fail otherwise.

use super::{Again, Operation};

/// The id of a rule.
pub type RuleId = &'static str;

/// How text is divided into lines.
pub const LINES: RuleId = crate::text::LINE_RULE;
/// What counts as text, and what other encodings are read as.
pub const DECODING: RuleId = "utf8-1";
/// Which lines match: ripgrep's engine over bytes, with the Unicode tables of its version.
pub const SEARCH: RuleId = "rg-1+unicode-16";
/// How diffs are made and printed.
pub const DIFF: RuleId = "diff-1";
/// Where an answer is cut, and what stands in for held lines.
pub const CUT: RuleId = "cut-1";
/// Which held lines are named in a partial answer, and how.
pub const PARTIAL: RuleId = "partial-1";
/// How many tokens a text is taken for.
pub const TOKENS: RuleId = "bytes4-1";
/// What a caller may see and do.
pub const POLICY: RuleId = "policy-1";
/// Where a name is defined.
pub const SYMBOLS: RuleId = "symbols-1";
/// What is shown of a file's definitions.
pub const OUTLINE: RuleId = "outline-1";
/// The order of names, and which are left out.
pub const LIST: RuleId = "list-1";
/// Where an edit belongs, exactly or looser.
pub const EDIT: RuleId = "edit-1";
/// How two changes of one text are merged.
pub const MERGE: RuleId = "merge-1";
/// The canonical text of an outcome.
pub const CANONICAL: RuleId = "canonical-1";

/// Every rule, in the order in which records name them.
pub const ALL: [RuleId; 14] =
    [LINES, DECODING, SEARCH, DIFF, CUT, PARTIAL, TOKENS, POLICY, SYMBOLS, OUTLINE, LIST, EDIT, MERGE, CANONICAL];

/// An estimate, by [`TOKENS`]: four bytes are one token.
#[must_use]
pub fn tokens(bytes: u64) -> u64 {
    bytes.div_ceil(4)
}

/// Of what only tells of names, numbers and settings.
const PLAIN: &[RuleId] = &[TOKENS, POLICY, CANONICAL];
const DIFFS: &[RuleId] = &[LINES, DECODING, DIFF, CUT, TOKENS, POLICY, CANONICAL];
const EDITS: &[RuleId] = &[LINES, DECODING, DIFF, TOKENS, POLICY, EDIT, MERGE, CANONICAL];
const NAMES: &[RuleId] = &[LINES, TOKENS, POLICY, LIST, CANONICAL];

impl Operation {
    /// The rules that decide what the answer to this operation is, in the order of [`ALL`].
    #[must_use]
    pub fn rules(&self) -> &'static [RuleId] {
        match self.again() {
            Again::Read(_) => &[LINES, DECODING, DIFF, CUT, PARTIAL, TOKENS, POLICY, CANONICAL],
            Again::Compare(_) | Again::CompareVersions(_) | Again::Version(_) | Again::Blame(_) => DIFFS,
            Again::Symbol(_) => &[LINES, DECODING, DIFF, CUT, TOKENS, POLICY, SYMBOLS, CANONICAL],
            Again::End(_) => &[LINES, DECODING, CUT, TOKENS, POLICY, CANONICAL],
            Again::InFile(_) | Again::Search(_) => &[LINES, DECODING, SEARCH, CUT, TOKENS, POLICY, CANONICAL],
            Again::Outline(_) => &[LINES, DECODING, CUT, TOKENS, POLICY, SYMBOLS, OUTLINE, CANONICAL],
            Again::List(_) => NAMES,
            Again::Write(_) | Again::Patch(_) | Again::Rewind(_) => EDITS,
            Again::History(_) | Again::Stat => PLAIN,
            Again::Nothing => {
                let of: [(bool, &[RuleId]); 4] = [
                    (matches!(self, Self::ListSymbols(_)), &[LINES, DECODING, TOKENS, POLICY, SYMBOLS, CANONICAL]),
                    (matches!(self, Self::ListFiles(_)), NAMES),
                    (matches!(self, Self::Changes(_) | Self::Tell), DIFFS),
                    (matches!(self, Self::Resolve { .. }), EDITS),
                ];
                of.into_iter().find_map(|(is_it, rules)| is_it.then_some(rules)).unwrap_or(PLAIN)
            }
        }
    }
}

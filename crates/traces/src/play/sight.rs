//! What the model could see of the lines that a read asks for, before it was answered. Told by the reader, so it does not depend
//! on what the engine knows.

use readproof_reader::Reader;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sight {
    /// Nothing of the file.
    First,
    /// Other lines of the file.
    Elsewhere,
    /// Some of the lines, as they are now or as they were.
    Partly,
    /// All of them, and some have changed.
    Changed,
    /// All of them, as they are now.
    Whole,
}

impl Sight {
    pub(crate) fn of(reader: &Reader, path: &str, lines: &str, first: u64) -> Self {
        let shown = |number| reader.line(path, number).map(str::to_owned);
        Self::by(reader.knows(path), lines.split_inclusive('\n'), first, shown)
    }

    /// The lines from `first` on, of a file of which anything is in sight or not, where `shown` says what is in sight of a line.
    pub(crate) fn by<'l>(
        knows: bool,
        lines: impl Iterator<Item = &'l str>,
        first: u64,
        shown: impl Fn(u64) -> Option<String>,
    ) -> Self {
        if !knows {
            return Self::First;
        }
        let (mut seen, mut same, mut all) = (0_u64, 0_u64, 0_u64);
        for (number, line) in (first..).zip(lines) {
            let shown = shown(number);
            all += 1;
            seen += u64::from(shown.is_some());
            same += u64::from(shown.as_deref() == Some(line));
        }
        match (seen, same) {
            (0, _) if all > 0 => Self::Elsewhere,
            (_, same) if same == all => Self::Whole,
            (seen, _) if seen == all => Self::Changed,
            _ => Self::Partly,
        }
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::First => "first read of the file",
            Self::Elsewhere => "other lines of the file in sight",
            Self::Partly => "some of the lines in sight",
            Self::Changed => "all lines in sight, some changed",
            Self::Whole => "all lines in sight, as they are",
        }
    }
}

//! Which files a command may print. The rule is in docs/hosts.md: a command that only names, counts, moves or removes files prints none;
//! any other may print those that it names and those that its patterns match; one that works with what another command says, or whose output can
//! have lost the names, may print any.

/// What a command may print.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// No text of a file.
    Nothing,
    /// Files that it or its output names, and files whose last part one of these matches.
    Named(Vec<Pattern>),
    /// Any file.
    All,
}

/// A part of a word: a character, or something that may stand for any text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece {
    Is(char),
    Any,
}

/// The last part of a name, with gaps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern(Vec<Piece>);

type Word = Vec<Piece>;

/// One program and its arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Simple {
    words: Vec<Word>,
    /// Whether the next one reads what it prints.
    piped: bool,
}

impl Reach {
    pub(super) fn of(command: &str) -> Self {
        let Some(all) = split(command) else { return Self::All };
        if all.iter().enumerate().any(|(at, one)| one.hands_on() || one.hides_names(&all[at + 1..])) {
            return Self::All;
        }
        if all.iter().all(Simple::prints_no_text) {
            return Self::Nothing;
        }
        let words = all.iter().flat_map(|one| &one.words).filter(|word| word.contains(&Piece::Any));
        // These only choose among files that the output names.
        let chooses = |word: &Word| ["--include", "--exclude", "--glob"].iter().any(|start| begins(word, start));
        Self::Named(words.filter(|word| !chooses(word)).map(|word| Pattern::of(word)).collect())
    }
}

impl Pattern {
    fn of(word: &[Piece]) -> Self {
        let from = word.iter().rposition(|piece| matches!(piece, Piece::Is('/' | '=' | ':' | ',')));
        Self(word[from.map_or(0, |at| at + 1)..].to_vec())
    }

    pub(super) fn matches(&self, name: &str) -> bool {
        fits(&self.0, &name.chars().collect::<Vec<_>>())
    }
}

/// From left to right; after a failure the last gap takes one character more.
fn fits(pattern: &[Piece], name: &[char]) -> bool {
    let (mut at, mut next, mut gap) = (0, 0, None);
    while next < name.len() {
        match (pattern.get(at), gap) {
            (Some(Piece::Is(c)), _) if *c == name[next] => (at, next) = (at + 1, next + 1),
            (Some(Piece::Any), _) => {
                gap = Some((at, next));
                at += 1;
            }
            (_, Some((from, taken))) => {
                gap = Some((from, taken + 1));
                (at, next) = (from + 1, taken + 1);
            }
            (_, None) => return false,
        }
    }
    pattern[at..].iter().all(|piece| *piece == Piece::Any)
}

fn begins(word: &Word, start: &str) -> bool {
    start.chars().enumerate().all(|(at, c)| word.get(at) == Some(&Piece::Is(c)))
}

/// Programs that print names, numbers or nothing.
const WITHOUT_TEXT: [&str; 22] = [
    "ls", "pwd", "cd", "mkdir", "rmdir", "rm", "touch", "chmod", "wc", "du", "df", "which", "true", "false", "test",
    "[", "sleep", "date", "tree", "basename", "dirname", "stat",
];

/// Commands of git that do so.
const GIT_WITHOUT_TEXT: [&str; 7] = ["status", "branch", "rev-parse", "remote", "ls-files", "add", "init"];

impl Simple {
    /// The words that have no gaps.
    fn plain(&self) -> Vec<String> {
        let plain =
            |word: &Word| word.iter().map(|piece| if let Piece::Is(c) = piece { *c } else { '*' }).collect::<String>();
        self.words.iter().map(plain).collect()
    }

    fn prints_no_text(&self) -> bool {
        let words = self.plain();
        let Some((program, rest)) = words.split_first() else { return true };
        let has = |word: &str| rest.iter().any(|other| other == word);
        match program.as_str() {
            "echo" | "printf" => !self.words.iter().any(|word| word.contains(&Piece::Any)),
            "find" => !rest.iter().any(|word| word.starts_with("-exec") || word.starts_with("-ok")),
            "cp" | "mv" | "ln" => !rest.iter().any(|word| word.contains("/dev")),
            "git" => {
                let known = rest.first().is_some_and(|word| GIT_WITHOUT_TEXT.contains(&word.as_str()));
                known && !["-p", "--patch", "-v", "-vv", "--verbose", "-i", "-e"].into_iter().any(has)
            }
            program => WITHOUT_TEXT.contains(&program),
        }
    }

    /// Whether it runs other commands, or files are named by what another one prints.
    fn hands_on(&self) -> bool {
        let words = self.plain();
        let first = words.first().map(String::as_str);
        let runs = |word: &String| {
            let name = word.rsplit('/').next().unwrap_or_default();
            ["xargs", "parallel"].contains(&name) || word.starts_with("-exec") || word.starts_with("-ok")
        };
        if first.is_some_and(|first| ["eval", "source", "."].contains(&first)) {
            return true;
        }
        let shell = words
            .iter()
            .any(|word| ["sh", "bash", "zsh", "dash"].contains(&word.rsplit('/').next().unwrap_or_default()));
        words.iter().any(runs) || (shell && words.iter().any(|word| word.starts_with('-') && word.ends_with('c')))
    }

    /// Whether it prints lines of many files, and their names may not be beside them.
    fn hides_names(&self, after: &[Self]) -> bool {
        let words = self.plain();
        let Some((program, rest)) = words.split_first() else { return false };
        let short = |flag: char| {
            rest.iter().any(|word| word.starts_with('-') && !word.starts_with("--") && word.contains(flag))
        };
        let git = program == "git" && !self.prints_no_text();
        let many = match program.as_str() {
            "grep" | "egrep" | "fgrep" | "zgrep" => {
                short('r') || short('R') || rest.iter().any(|word| word == "--recursive")
            }
            "rg" | "ag" | "ack" => true,
            "diff" => short('r'),
            _ => git,
        };
        if !many {
            return false;
        }
        let filters: &[&str] =
            if git || program == "diff" { &["head", "wc"] } else { &["head", "tail", "sort", "uniq", "wc"] };
        let next = std::iter::once(self).chain(after).zip(after).take_while(|(one, _)| one.piped);
        let cut = |one: &Self| !one.plain().first().is_some_and(|program| filters.contains(&program.as_str()));
        let lists_no_names = rest.iter().any(|word| ["--no-filename", "cat-file", "archive"].contains(&word.as_str()));
        lists_no_names || (!git && (short('h') || short('I'))) || next.map(|(_, next)| next).any(cut)
    }
}

/// The programs of a command line; `None` if what it does cannot be told from it.
fn split(command: &str) -> Option<Vec<Simple>> {
    let mut lexer = Lexer { rest: command, all: Vec::new(), words: Vec::new(), word: None, double: false };
    while let Some(c) = lexer.next() {
        lexer.take(c)?;
    }
    if lexer.double {
        return None;
    }
    lexer.end_command(false);
    Some(lexer.all)
}

struct Lexer<'c> {
    rest: &'c str,
    all: Vec<Simple>,
    words: Vec<Word>,
    word: Option<Word>,
    /// Whether it is between double quotes.
    double: bool,
}

impl Lexer<'_> {
    fn next(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    fn push(&mut self, piece: Piece) {
        self.word.get_or_insert_default().push(piece);
    }

    fn end_word(&mut self) {
        self.words.extend(self.word.take());
    }

    fn end_command(&mut self, piped: bool) {
        self.end_word();
        let words = std::mem::take(&mut self.words);
        if !words.is_empty() {
            self.all.push(Simple { words, piped });
        }
    }

    fn take(&mut self, c: char) -> Option<()> {
        match c {
            '\\' => {
                if let Some(next) = self.next().filter(|next| *next != '\n') {
                    self.push(Piece::Is(next));
                }
            }
            '`' => return None,
            '$' => return self.dollar(),
            '"' => {
                self.double = !self.double;
                self.word.get_or_insert_default();
            }
            '*' | '?' => self.push(Piece::Any),
            '[' | '{' => self.bracket(c),
            other if self.double => self.push(Piece::Is(other)),
            '\'' => {
                let (inside, rest) = self.rest.split_once('\'')?;
                self.rest = rest;
                let piece = |c| if matches!(c, '*' | '?') { Piece::Any } else { Piece::Is(c) };
                self.word.get_or_insert_default().extend(inside.chars().map(piece));
            }
            '<' if self.rest.starts_with('(') => return None,
            '<' | '>' => self.end_word(),
            '|' => {
                let or = self.rest.starts_with('|');
                self.end_command(!or);
            }
            ';' | '&' | '\n' | '(' | ')' => self.end_command(false),
            blank if blank.is_whitespace() => self.end_word(),
            other => self.push(Piece::Is(other)),
        }
        Some(())
    }

    fn dollar(&mut self) -> Option<()> {
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        match self.rest.chars().next() {
            // What it stands for is in the command itself.
            Some('(') if self.rest.starts_with("(cat <<") => self.push(Piece::Is('$')),
            Some('(' | '\'') => return None,
            Some('{') => {
                let (inside, rest) = self.rest.split_once('}')?;
                if inside.contains(['$', '`', '(']) {
                    return None;
                }
                self.rest = rest;
                self.push(Piece::Any);
            }
            // Numbers.
            Some('?' | '$' | '#' | '!') => {
                self.next();
                self.push(Piece::Is('0'));
            }
            Some('@' | '*') => self.push(Piece::Any),
            Some(c) if is_name(c) => {
                self.rest = self.rest.trim_start_matches(is_name);
                self.push(Piece::Any);
            }
            _ => self.push(Piece::Is('$')),
        }
        Some(())
    }

    /// A choice of characters or of texts, or only the character.
    fn bracket(&mut self, open: char) {
        let close = if open == '[' { ']' } else { '}' };
        let word = self.rest.split(char::is_whitespace).next().unwrap_or_default();
        let chooses = |inside: &str| open == '[' || inside.contains(',') || inside.contains("..");
        match word.find(close).filter(|at| *at > 0 && chooses(&word[..*at])) {
            Some(at) => {
                self.rest = &self.rest[at + 1..];
                self.push(Piece::Any);
            }
            None => self.push(Piece::Is(open)),
        }
    }
}

/// A command without quotes and backslashes, in which names can be looked for.
pub(super) fn unquoted(command: &str) -> String {
    command.chars().filter(|c| !matches!(c, '"' | '\'' | '\\')).collect()
}

/// The words of a command that is one program without any gap, pipe or redirection.
pub(super) fn one_program(command: &str) -> Option<Vec<String>> {
    if command.contains(['<', '>', '|', '\n', ';', '&', '(', ')']) {
        return None;
    }
    match split(command)?.as_slice() {
        [one] if !one.words.iter().any(|word| word.contains(&Piece::Any)) => Some(one.plain()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_that_print_no_text() {
        for command in [
            "ls -la src/*.rs",
            "cd /w && pwd",
            "git status --short",
            "find . -name '*.rs' | wc -l",
            "rm -f *.o; echo done $?",
            "git add a.rs && git branch",
        ] {
            assert_eq!(Reach::of(command), Reach::Nothing, "{command}");
        }
        for command in ["git add -p", "git status -v", "cp a.txt /dev/stdout", "cat a.txt", "echo $X", "cargo test"] {
            assert!(matches!(Reach::of(command), Reach::Named(_)), "{command}");
        }
    }

    #[test]
    fn commands_that_may_print_any_file() {
        for command in [
            "cat $(ls)",
            "cat `ls`",
            "ls | xargs cat",
            "find . -exec cat {} +",
            "bash -c 'x'",
            "diff <(a) b",
            "grep -rh x .",
            "git diff | grep '^+'",
            "git diff | tail -5",
            "rg x | cut -d: -f3",
            "git cat-file -p abc",
            "echo \"open",
            "cat $'a'",
        ] {
            assert_eq!(Reach::of(command), Reach::All, "{command}");
        }
        for command in [
            "grep -rn x . | head",
            "git diff | head -9",
            "git commit -m \"$(cat <<'EOF'\nfix\nEOF\n)\"",
            "awk '{print $1}' x",
        ] {
            assert!(matches!(Reach::of(command), Reach::Named(_)), "{command}");
        }
    }

    #[test]
    fn patterns_of_names() {
        let reaches = |command: &str, name: &str| match Reach::of(command) {
            Reach::Named(patterns) => patterns.iter().any(|pattern| pattern.matches(name)),
            other @ (Reach::Nothing | Reach::All) => panic!("{other:?}"),
        };
        for command in
            ["head *.txt", "cat {a,b}.txt", "cat src/$F", "cat [a]*", "cat ${X}.txt", "git show HEAD:*", "X=$Y cat"]
        {
            assert!(reaches(command, "a.txt"), "{command}");
        }
        for command in
            ["head *.rs", "cat {a,b}.md", "awk '{print $1}'", "grep -rn --include=*.txt x .", "sed -n 5p b.txt"]
        {
            assert!(!reaches(command, "a.txt"), "{command}");
        }
        assert_eq!(one_program("cat 'my file'").unwrap(), ["cat", "my file"]);
        assert!(one_program("cat a | b").is_none() && one_program("cat *").is_none());
    }
}

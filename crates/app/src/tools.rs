//! The table of tools: names, parameters, descriptions and examples. Schemas, argument checks, errors and `docs/tools.md` are
//! made from it. What a tool does is in the files below.

pub(crate) mod args;
pub(crate) mod call;
pub(crate) mod conversation;
mod diffs;
mod finding;
mod ranges;
mod symbols;
mod unified;

use serde_json::{Map, Value, json};

/// The type of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A name, words or a pattern; at most 8,000 bytes.
    Text,
    /// The text of a file.
    Content,
    /// A whole number with this minimum.
    Number(u64),
    Flag,
    /// One of these words.
    Word(&'static [&'static str]),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Param {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) required: bool,
    /// The description; empty if the name says enough.
    pub(crate) about: &'static str,
    /// Other names that callers use for it.
    pub(crate) aliases: &'static [&'static str],
    /// Whether it is in the schema. A parameter that is not is accepted all the same.
    pub(crate) listed: bool,
}

const fn required(name: &'static str, kind: Kind, about: &'static str, aliases: &'static [&'static str]) -> Param {
    Param { name, kind, required: true, about, aliases, listed: true }
}

const fn optional(name: &'static str, kind: Kind, about: &'static str, aliases: &'static [&'static str]) -> Param {
    Param { name, kind, required: false, about, aliases, listed: true }
}

/// A parameter that tools of the same name have elsewhere.
const fn unlisted(name: &'static str, kind: Kind) -> Param {
    Param { name, kind, required: false, about: "", aliases: &[], listed: false }
}

/// Which tools are listed together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    Unified,
    Bounded,
    Cache,
    /// Deprecated: listed only by name, but still works.
    Legacy,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) group: Group,
    pub(crate) about: &'static str,
    pub(crate) params: &'static [Param],
    /// The arguments of a valid call, with `FILE` for an existing file.
    pub(crate) example: &'static str,
}

const FILE_NAMES: &[&str] = &["file_path", "file", "filename", "file_name", "filepath", "target", "uri"];
const QUERY_NAMES: &[&str] = &["q", "pattern", "text", "search", "regex", "needle"];
const START_NAMES: &[&str] = &["start", "from", "from_line", "first_line", "line_start"];
const END_NAMES: &[&str] = &["end", "to", "to_line", "last_line", "line_end"];
const LINES_NAMES: &[&str] = &["lines", "n", "limit", "count", "num_lines"];

const PATH: Param = required("path", Kind::Text, "", FILE_NAMES);
const KNOWN: Param = optional("known", Kind::Text, "handle of an answer you still see", &["handle", "if_known"]);
const FRESH: Param = optional("fresh", Kind::Flag, "always send the text", &["bypass_cache", "force"]);

/// Every tool, in the order they are listed.
pub(crate) const TOOLS: &[Tool] = &[
    Tool {
        name: "read",
        title: "Read",
        group: Group::Unified,
        about: "Read a file (mode=file: 300 lines or 12,000 characters from offset) or a part of it (mode=snippet: start_line..end_line, \
                or the best match for query), or one definition (mode=symbol: target=Type::method). Search first, then read the lines you need. The last block says which lines these \
                are and how to continue. If it gives known=HANDLE and you still see that text, pass it: unchanged text is not sent again.",
        params: &[
            required("mode", Kind::Word(&["file", "symbol", "snippet", "diff_preview"]), "", &[]),
            required(
                "target",
                Kind::Text,
                "file path; for mode=symbol its name",
                &["file_path", "file", "filename", "file_name", "filepath", "uri"],
            ),
            optional("offset", Kind::Number(1), "first line, from 1", &["start_offset"]),
            optional("limit", Kind::Number(1), "number of lines", &["max_lines", "num_lines", "lines"]),
            optional("preview_mode", Kind::Word(&["none", "snippet"]), "none: location only", &[]),
            optional("max_preview_chars", Kind::Number(1), "", &["max_chars"]),
            optional("path", Kind::Text, "mode=symbol: its file", &[]),
            optional("include_context", Kind::Flag, "mode=symbol: with imports", &[]),
            optional("start_line", Kind::Number(1), "mode=snippet", START_NAMES),
            optional("end_line", Kind::Number(1), "mode=snippet", END_NAMES),
            optional("context_lines", Kind::Number(0), "mode=snippet: lines around", &["context"]),
            optional("query", Kind::Text, "mode=snippet: words to find", QUERY_NAMES),
            optional(
                "against",
                Kind::Word(&["HEAD", "INDEX", "WORKTREE"]),
                "mode=diff_preview: git baseline (HEAD)",
                &[],
            ),
            optional("content", Kind::Content, "mode=diff_preview: text instead of the file's", &[]),
            KNOWN,
            FRESH,
        ],
        example: r#"{"mode":"file","target":"FILE"}"#,
    },
    Tool {
        name: "search",
        title: "Search",
        group: Group::Unified,
        about: "Find files and lines before reading. mode=text (default): files ranked by how well the words fit, with lines; mode=regex: \
                every matching line; mode=path: files by name; mode=symbol: where a name is defined. Ignored files are left out.",
        params: &[
            required("query", Kind::Text, "", QUERY_NAMES),
            optional("mode", Kind::Word(&["text", "regex", "path", "symbol"]), "", &["type"]),
            optional("glob", Kind::Text, "only files like *.rs", &["include", "file_pattern", "files"]),
            optional(
                "limit",
                Kind::Number(1),
                "max files, or lines with mode=regex",
                &["max_results", "head_limit", "max", "top_k", "count"],
            ),
            optional("context_lines", Kind::Number(0), "lines around", &["context"]),
        ],
        example: r#"{"query":"fn main"}"#,
    },
    Tool {
        name: "stat_file",
        title: "Stat file",
        group: Group::Bounded,
        about: "1st: does it exist, what is it, how large. Then search_in_file, read_file_range.",
        params: &[PATH],
        example: r#"{"path":"FILE"}"#,
    },
    Tool {
        name: "search_in_file",
        title: "Search in file",
        group: Group::Bounded,
        about: "2nd: find the lines of one file that match, with their numbers.",
        params: &[
            PATH,
            required("query", Kind::Text, "", QUERY_NAMES),
            optional("is_regex", Kind::Flag, "", &["use_regex"]),
            optional("max_matches", Kind::Number(1), "", &["limit", "max_results", "count"]),
            optional("before_lines", Kind::Number(0), "", &["before", "context_before"]),
            optional("after_lines", Kind::Number(0), "", &["after", "context_after"]),
        ],
        example: r#"{"path":"FILE","query":"the","is_regex":false}"#,
    },
    Tool {
        name: "read_file_range",
        title: "Read lines",
        group: Group::Bounded,
        about: "3rd: exactly the lines start_line to end_line, from 1, both included.",
        params: &[
            PATH,
            required("start_line", Kind::Number(1), "", START_NAMES),
            required("end_line", Kind::Number(1), "", END_NAMES),
            KNOWN,
            FRESH,
        ],
        example: r#"{"path":"FILE","start_line":1,"end_line":20}"#,
    },
    Tool {
        name: "read_file_head",
        title: "First lines",
        group: Group::Bounded,
        about: "The first max_lines lines, of a file of any size.",
        params: &[PATH, required("max_lines", Kind::Number(1), "", LINES_NAMES), KNOWN, FRESH],
        example: r#"{"path":"FILE","max_lines":20}"#,
    },
    Tool {
        name: "read_file_tail",
        title: "Last lines",
        group: Group::Bounded,
        about: "The last max_lines lines, of a file of any size.",
        params: &[PATH, required("max_lines", Kind::Number(1), "", LINES_NAMES), KNOWN, FRESH],
        example: r#"{"path":"FILE","max_lines":20}"#,
    },
    Tool {
        name: "read_file",
        title: "Read file",
        group: Group::Bounded,
        about: "Last resort: the whole file, as much as fits into one answer. Prefer the tools above.",
        params: &[PATH, KNOWN, FRESH, unlisted("offset", Kind::Number(1)), unlisted("limit", Kind::Number(1))],
        example: r#"{"path":"FILE"}"#,
    },
    Tool {
        name: "readcache_refresh",
        title: "Forget what is known",
        group: Group::Cache,
        about: "Make the next read of this file, or of some of its lines, return the text, whatever handle is passed.",
        params: &[
            PATH,
            optional("offset", Kind::Number(1), "first line, from 1", &["start_line"]),
            optional("limit", Kind::Number(1), "number of lines", &["max_lines", "lines"]),
        ],
        example: r#"{"path":"FILE"}"#,
    },
    Tool {
        name: "readcache_status",
        title: "What was read",
        group: Group::Cache,
        about: "How reads of this conversation were answered, what that saved, and the size of the store.",
        params: &[],
        example: "{}",
    },
    Tool {
        name: "get_snippet",
        title: "Read a part (deprecated)",
        group: Group::Legacy,
        about: "Deprecated: use read with mode=snippet.",
        params: &[
            PATH,
            optional("start_line", Kind::Number(1), "", START_NAMES),
            optional("end_line", Kind::Number(1), "", END_NAMES),
            optional("context_lines", Kind::Number(0), "", &["context"]),
            optional("query", Kind::Text, "", QUERY_NAMES),
            KNOWN,
            FRESH,
        ],
        example: r#"{"path":"FILE","start_line":1,"end_line":20}"#,
    },
    Tool {
        name: "read_symbol",
        title: "Read a symbol (deprecated)",
        group: Group::Legacy,
        about: "Deprecated: use read with mode=symbol.",
        params: &[
            required("symbol", Kind::Text, "", &["name", "target"]),
            optional("path", Kind::Text, "", &["file_path", "file"]),
            optional("include_context", Kind::Flag, "", &[]),
            KNOWN,
            FRESH,
        ],
        example: r#"{"symbol":"main"}"#,
    },
    Tool {
        name: "dry_run_diff",
        title: "Compare with git (deprecated)",
        group: Group::Legacy,
        about: "Deprecated: use read with mode=diff_preview.",
        params: &[
            PATH,
            optional("against", Kind::Word(&["HEAD", "INDEX", "WORKTREE"]), "", &[]),
            optional("content", Kind::Content, "", &[]),
        ],
        example: r#"{"path":"FILE","against":"HEAD"}"#,
    },
];

pub(crate) fn tool(name: &str) -> Option<&'static Tool> {
    TOOLS.iter().find(|tool| tool.name == name)
}

/// Which tools are listed; all can be called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ToolList {
    Unified,
    Bounded,
    All,
    Named(Vec<&'static str>),
}

impl ToolList {
    /// Parses `unified`, `bounded`, `all`, or names separated by commas. The error says what is wrong.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        match text {
            "unified" => return Ok(Self::Unified),
            "bounded" => return Ok(Self::Bounded),
            "all" => return Ok(Self::All),
            _ => {}
        }
        let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
        let names: Result<Vec<&str>, String> = names
            .map(|name| tool(name).map(|tool| tool.name).ok_or_else(|| format!("there is no tool `{name}`")))
            .collect();
        match names {
            Ok(names) if names.is_empty() => Err("no tool is named".to_owned()),
            names => names.map(Self::Named),
        }
    }

    /// The tools, in the order of the table.
    pub(crate) fn tools(&self) -> Vec<&'static Tool> {
        let listed = |tool: &&Tool| match (self, tool.group) {
            (Self::Named(names), _) => names.contains(&tool.name),
            (_, Group::Legacy) => false,
            (Self::All, _) | (Self::Unified, Group::Unified) | (Self::Bounded, Group::Bounded) => true,
            (Self::Unified | Self::Bounded, Group::Unified | Group::Bounded | Group::Cache) => false,
        };
        TOOLS.iter().filter(listed).collect()
    }
}

impl Tool {
    /// The JSON schema of the arguments.
    pub(crate) fn schema(&self) -> Map<String, Value> {
        let properties: Map<String, Value> = self
            .params
            .iter()
            .filter(|param| param.listed)
            .map(|param| (param.name.to_owned(), param.schema()))
            .collect();
        let needed: Vec<&str> = self.params.iter().filter(|param| param.required).map(|param| param.name).collect();
        let mut schema = Map::new();
        schema.insert("type".to_owned(), json!("object"));
        schema.insert("properties".to_owned(), Value::Object(properties));
        if !needed.is_empty() {
            schema.insert("required".to_owned(), json!(needed));
        }
        schema
    }

    /// The parameters on one line; `?` marks optional ones.
    pub(crate) fn usage(&self) -> String {
        let param = |param: &Param| format!("{}{}", param.name, if param.required { "" } else { "?" });
        let params: Vec<String> = self.params.iter().filter(|param| param.listed).map(param).collect();
        format!("{} {{{}}}", self.name, params.join(", "))
    }

    /// The arguments of a valid call for that file.
    pub(crate) fn example(&self, file: &str) -> Value {
        let mut example: Value = serde_json::from_str(self.example).unwrap_or_default();
        if let Some(fields) = example.as_object_mut() {
            for value in fields.values_mut().filter(|value| value.as_str() == Some("FILE")) {
                *value = json!(file);
            }
        }
        example
    }
}

impl Param {
    fn schema(&self) -> Value {
        let mut schema = match self.kind {
            Kind::Text | Kind::Content => json!({"type": "string"}),
            Kind::Number(least) => json!({"type": "integer", "minimum": least}),
            Kind::Flag => json!({"type": "boolean"}),
            Kind::Word(words) => json!({"type": "string", "enum": words}),
        };
        if let Some(fields) = schema.as_object_mut().filter(|_| !self.about.is_empty()) {
            fields.insert("description".to_owned(), json!(self.about));
        }
        schema
    }

    /// What it accepts, for error messages.
    pub(crate) fn expects(&self) -> String {
        match self.kind {
            Kind::Text => "text of no more than 8,000 bytes".to_owned(),
            Kind::Content => "text".to_owned(),
            Kind::Number(least) => format!("a whole number from {least} on"),
            Kind::Flag => "true or false".to_owned(),
            Kind::Word(words) => format!("one of {}", words.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists() {
        let names =
            |text: &str| -> Vec<&str> { ToolList::parse(text).unwrap().tools().iter().map(|tool| tool.name).collect() };
        assert_eq!(names("unified"), ["read", "search"]);
        assert_eq!(names("bounded").len(), 6);
        assert_eq!(names("all").len(), 10);
        assert_eq!(names("get_snippet, read"), ["read", "get_snippet"]);
        assert!(ToolList::parse("red").unwrap_err().contains("`red`"));
        assert!(ToolList::parse(" , ").is_err());
    }

    #[test]
    fn names_are_told_apart() {
        for tool in TOOLS {
            let mut names: Vec<&str> =
                tool.params.iter().flat_map(|p| [p.name].into_iter().chain(p.aliases.iter().copied())).collect();
            let count = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), count, "{}", tool.name);
            assert!(serde_json::from_str::<Value>(tool.example).is_ok());
        }
    }
}

//! The table of tools: names, parameters, descriptions and examples. Schemas, argument checks, errors and `docs/tools.md` are
//! made from it. What a tool does is in the files below.

pub(crate) mod args;
pub(crate) mod call;
pub(crate) mod context;
pub(crate) mod conversation;
mod diffs;
mod editing;
mod finding;
pub(crate) mod habits;
pub(crate) mod history;
mod listing;
mod ranges;
mod several;
mod symbols;
mod unified;

pub(crate) use editing::{compared, contract};

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
    /// Several files: each a path, or an object with the arguments of its own read.
    List,
    /// Several changes of one file: objects with `old`, `new` and perhaps `all`.
    Edits,
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

/// A parameter that is rarely used, or that tools of the same name have elsewhere.
const fn unlisted(name: &'static str, kind: Kind) -> Param {
    Param { name, kind, required: false, about: "", aliases: &[], listed: false }
}

impl Param {
    /// The same with other names.
    const fn or(self, aliases: &'static [&'static str]) -> Self {
        Self { aliases, ..self }
    }
}

/// Which tools are listed together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    Unified,
    Bounded,
    /// Writing, and what goes with it.
    Files,
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
/// Other names of the file of `read`, which has a `target` of its own.
const READ_NAMES: &[&str] = &[
    "file_path",
    "file",
    "filename",
    "file_name",
    "filepath",
    "uri",
    "target_file",
    "absolute_path",
    "relative_path",
    "relative_workspace_path",
    "full_path",
    "source",
    "document",
];
/// Other names of a folder or file to look in.
const PLACE_NAMES: &[&str] = &[
    "directory",
    "dir",
    "folder",
    "dir_path",
    "directory_path",
    "absolute_path",
    "relative_path",
    "relative_workspace_path",
    "root",
    "file_path",
    "file",
    "filepath",
    "cwd",
    "target_directory",
    "target_directories",
    "target",
    "in",
    "uri",
];
const OUTLINE_NAMES: &[&str] = &[
    "file_path",
    "file",
    "filename",
    "file_name",
    "filepath",
    "target",
    "uri",
    "target_file",
    "absolute_path",
    "relative_path",
    "directory",
    "dir",
    "folder",
];
const QUERY_NAMES: &[&str] =
    &["q", "pattern", "text", "search", "regex", "needle", "keyword", "keywords", "search_term"];
const START_NAMES: &[&str] = &[
    "start",
    "from",
    "from_line",
    "first_line",
    "line_start",
    "start_line_one_indexed",
    "start_line_number",
    "begin_line",
];
const END_NAMES: &[&str] =
    &["end", "to", "to_line", "last_line", "line_end", "end_line_one_indexed_inclusive", "end_line_number"];
const LINES_NAMES: &[&str] = &["lines", "n", "limit", "count", "num_lines"];

const OLD_NAMES: &[&str] = &["old_string", "old_text", "old_str", "search", "find", "oldtext", "before", "original"];
const NEW_NAMES: &[&str] =
    &["new_string", "new_text", "new_str", "replace", "replacement", "newtext", "replace_with", "after"];
const HASH_NAMES: &[&str] = &["hash", "expected_sha256", "sha256", "if_hash", "base_hash"];
/// Other names of the file of the tools that call it `filepath`.
const FILEPATH_NAMES: &[&str] = &["path", "file_path", "file", "filename", "file_name", "target_file", "uri"];
const MOVE_NAMES: &[&str] = &["path", "file_path", "file", "from", "source", "src", "old_path", "from_path"];

const HASH: Param = unlisted("expected_hash", Kind::Text).or(HASH_NAMES);
const PATH: Param = required("path", Kind::Text, "", FILE_NAMES);
/// The text that a continuation belongs to, as the answer before it names it.
const OF: Param = unlisted("of", Kind::Text).or(&["snapshot"]);
const KNOWN: Param = optional("known", Kind::Text, "handle of an answer you still see", &["handle", "if_known"]);
const FRESH: Param = optional("fresh", Kind::Flag, "always send the text", &["bypass_cache", "force"]);

/// Every tool, in the order they are listed.
pub(crate) const TOOLS: &[Tool] = &[
    Tool {
        name: "read",
        title: "Read",
        group: Group::Unified,
        about: "Read a file, from start_line to end_line or 300 lines at once; mode=symbol: the definition named target (Type::method); \
                mode=snippet: around query. The last block says which lines these are and how to continue.",
        params: &[
            optional("path", Kind::Text, "", READ_NAMES),
            optional("target", Kind::Text, "symbol, or file", &["name", "symbol", "symbol_name", "identifier"]),
            optional("mode", Kind::Word(&["file", "symbol", "snippet", "diff_preview"]), "", &[]),
            optional("start_line", Kind::Number(1), "", START_NAMES),
            optional("end_line", Kind::Number(1), "", END_NAMES),
            unlisted("offset", Kind::Number(1)).or(&["start_offset"]),
            optional("limit", Kind::Number(1), "lines", &["max_lines", "num_lines", "lines"]),
            optional("query", Kind::Text, "", QUERY_NAMES),
            unlisted("context_lines", Kind::Number(0)).or(&["context"]),
            unlisted("include_context", Kind::Flag),
            optional("targets", Kind::List, "several files", &["paths", "files", "file_paths"]),
            optional("against", Kind::Word(&["HEAD", "INDEX", "WORKTREE"]), "diff_preview: git", &[]),
            unlisted("content", Kind::Content),
            unlisted("tail", Kind::Number(1)),
            unlisted("preview_mode", Kind::Word(&["none", "snippet"])),
            unlisted("max_preview_chars", Kind::Number(1)).or(&["max_chars"]),
            KNOWN,
            FRESH,
            OF,
        ],
        example: r#"{"mode":"file","target":"FILE"}"#,
    },
    Tool {
        name: "search",
        title: "Search",
        group: Group::Unified,
        about: "Find before reading. mode=text (default): files ranked by words, with lines; regex: every matching line; \
                path: files by name or glob; symbol: where a name is defined; references: its uses.",
        params: &[
            required("query", Kind::Text, "", QUERY_NAMES),
            optional("mode", Kind::Word(&["text", "regex", "path", "symbol", "references"]), "", &["type"]),
            optional("path", Kind::Text, "file or folder", PLACE_NAMES),
            optional(
                "glob",
                Kind::Text,
                "",
                &["include", "include_pattern", "includes", "file_pattern", "files", "glob_pattern", "file_glob"],
            ),
            optional(
                "limit",
                Kind::Number(1),
                "",
                &["max_results", "head_limit", "max", "top_k", "count", "max_matches", "n"],
            ),
            optional("kind", Kind::Text, "function, class…", &["symbol_kind", "symbol_type"]),
            optional("context_lines", Kind::Number(0), "", &["context"]),
            optional("case", Kind::Word(&["smart", "sensitive", "insensitive"]), "", &[]),
            optional("hidden", Kind::Flag, "", &["include_hidden", "show_hidden"]),
            optional("ignored", Kind::Flag, "", &["include_ignored", "no_ignore"]),
        ],
        example: r#"{"query":"fn main"}"#,
    },
    Tool {
        name: "list",
        title: "List",
        group: Group::Unified,
        about: "What is in a folder: a tree with line counts and sizes, without ignored files.",
        params: &[
            optional("path", Kind::Text, "", PLACE_NAMES),
            optional("glob", Kind::Text, "", &["pattern", "include", "file_pattern", "query"]),
            optional("depth", Kind::Number(1), "", &["max_depth", "levels", "level"]),
            unlisted("limit", Kind::Number(1)).or(&["max_results", "head_limit", "max"]),
            unlisted("hidden", Kind::Flag).or(&["include_hidden", "show_hidden", "all"]),
            unlisted("ignored", Kind::Flag).or(&["include_ignored", "no_ignore"]),
        ],
        example: "{}",
    },
    Tool {
        name: "outline",
        title: "Outline",
        group: Group::Unified,
        about: "What a file or folder defines: signatures with line ranges.",
        params: &[required("path", Kind::Text, "", OUTLINE_NAMES)],
        example: r#"{"path":"FILE"}"#,
    },
    Tool {
        name: "edit",
        title: "Edit",
        group: Group::Unified,
        about: "Replace old by new in a file; old must occur once, unless all=true. edits: several at once. The answer says where the \
                lines are now: no need to read again.",
        params: &[
            PATH,
            optional("old", Kind::Content, "", OLD_NAMES),
            optional("new", Kind::Content, "", NEW_NAMES),
            optional("all", Kind::Flag, "", &["replace_all", "global", "all_occurrences", "replace_all_occurrences"]),
            optional("edits", Kind::Edits, "", &["changes", "replacements", "edit_list"]),
            HASH,
            unlisted("known", Kind::Text),
        ],
        example: r#"{"path":"FILE","old":"text that is there","new":"text instead"}"#,
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
            OF,
        ],
        example: r#"{"path":"FILE","start_line":1,"end_line":20}"#,
    },
    Tool {
        name: "read_file_head",
        title: "First lines",
        group: Group::Bounded,
        about: "The first max_lines lines, of a file of any size.",
        params: &[PATH, required("max_lines", Kind::Number(1), "", LINES_NAMES), KNOWN, FRESH, OF],
        example: r#"{"path":"FILE","max_lines":20}"#,
    },
    Tool {
        name: "read_file_tail",
        title: "Last lines",
        group: Group::Bounded,
        about: "The last max_lines lines, of a file of any size.",
        params: &[PATH, required("max_lines", Kind::Number(1), "", LINES_NAMES), KNOWN, FRESH, OF],
        example: r#"{"path":"FILE","max_lines":20}"#,
    },
    Tool {
        name: "read_file",
        title: "Read file",
        group: Group::Bounded,
        about: "Last resort: the whole file, as much as fits into one answer. Prefer the tools above.",
        params: &[PATH, KNOWN, FRESH, OF, unlisted("offset", Kind::Number(1)), unlisted("limit", Kind::Number(1))],
        example: r#"{"path":"FILE"}"#,
    },
    Tool {
        name: "read_lines",
        title: "Read lines",
        group: Group::Files,
        about: "Exactly the lines start to end, from 1, both included.",
        params: &[
            required("filepath", Kind::Text, "", FILEPATH_NAMES),
            required("start", Kind::Number(1), "", &["start_line", "from", "first_line"]),
            required("end", Kind::Number(1), "", &["end_line", "to", "last_line"]),
            KNOWN,
            FRESH,
            OF,
        ],
        example: r#"{"filepath":"FILE","start":1,"end":20}"#,
    },
    Tool {
        name: "write_file",
        title: "Write file",
        group: Group::Files,
        about: "Write a whole file. mode=truncate replaces one whose text you have seen whole or name by expected_hash; append adds; \
                create makes a new one.",
        params: &[
            required("filepath", Kind::Text, "", FILEPATH_NAMES),
            required("content", Kind::Content, "", &["contents", "text", "file_text", "data", "body"]),
            optional("mode", Kind::Word(&["truncate", "append", "create"]), "", &[]),
            optional("expected_hash", Kind::Text, "", HASH_NAMES),
            unlisted("known", Kind::Text),
        ],
        example: r#"{"filepath":"new-file.txt","content":"text\n","mode":"create"}"#,
    },
    Tool {
        name: "apply_patch",
        title: "Apply patch",
        group: Group::Files,
        about: "Apply a patch to one file or several, all or nothing: unified diff, *** Begin Patch, or SEARCH/REPLACE blocks.",
        params: &[
            required("patch", Kind::Content, "", &["diff", "input", "patch_text", "content", "text"]),
            optional("filepath", Kind::Text, "", FILEPATH_NAMES),
            optional("expected_hash", Kind::Text, "", HASH_NAMES),
            unlisted("known", Kind::Text),
        ],
        example: r#"{"patch":"*** Begin Patch\n*** Add File: new-file.txt\n+text\n*** End Patch\n"}"#,
    },
    Tool {
        name: "get_diff",
        title: "Compare versions",
        group: Group::Files,
        about: "How a file differs between two versions (v12), or from the last version kept to now.",
        params: &[
            required("filepath", Kind::Text, "", FILEPATH_NAMES),
            optional("version1", Kind::Text, "", &["from", "old_version", "v1"]),
            optional("version2", Kind::Text, "", &["to", "new_version", "v2"]),
        ],
        example: r#"{"filepath":"FILE"}"#,
    },
    Tool {
        name: "delete_file",
        title: "Delete file",
        group: Group::Files,
        about: "Delete a file whose text you have seen whole, or name by expected_hash. A version of it is kept.",
        params: &[
            required("filepath", Kind::Text, "", FILEPATH_NAMES),
            optional("expected_hash", Kind::Text, "", HASH_NAMES),
            unlisted("known", Kind::Text),
        ],
        example: r#"{"filepath":"FILE"}"#,
    },
    Tool {
        name: "move_file",
        title: "Move file",
        group: Group::Files,
        about: "Give a file another name; nothing may have that name.",
        params: &[
            required("filepath", Kind::Text, "", MOVE_NAMES),
            required("to", Kind::Text, "", &["destination", "new_path", "target", "dest", "new_name", "to_path"]),
            optional("expected_hash", Kind::Text, "", HASH_NAMES),
        ],
        example: r#"{"filepath":"FILE","to":"other-name.txt"}"#,
    },
    Tool {
        name: "list_files",
        title: "List files",
        group: Group::Files,
        about: "All files with line counts, what each is for (test, doc, config, code) and its newest version.",
        params: &[
            optional("globs", Kind::Text, "as *.rs,src/**", &["glob", "pattern", "patterns", "include"]),
            optional("tags", Kind::Text, "as test,doc", &["tag"]),
            optional("changed", Kind::Flag, "only files with recorded changes", &[]),
            optional("limit", Kind::Number(1), "", &["max_results"]),
        ],
        example: r#"{"globs":"*.md"}"#,
    },
    Tool {
        name: "file_history",
        title: "File history",
        group: Group::Files,
        about: "Who changed a file when: own calls, and what other programs did. Without filepath: all files.",
        params: &[
            optional("filepath", Kind::Text, "", FILEPATH_NAMES),
            optional("limit", Kind::Number(1), "", &["max_results"]),
        ],
        example: r#"{"filepath":"FILE"}"#,
    },
    Tool {
        name: "show_version",
        title: "Show a version",
        group: Group::Files,
        about: "The text of a file after a change.",
        params: &[
            required("version", Kind::Text, "as v12", &["version_id", "id"]),
            optional("filepath", Kind::Text, "", FILEPATH_NAMES),
        ],
        example: r#"{"version":"v2","filepath":"FILE"}"#,
    },
    Tool {
        name: "blame",
        title: "Blame",
        group: Group::Files,
        about: "Which change wrote each line of a file.",
        params: &[
            required("filepath", Kind::Text, "", FILEPATH_NAMES),
            optional("offset", Kind::Number(1), "first line, from 1", &["start_line", "start"]),
            optional("limit", Kind::Number(1), "number of lines", &["max_lines", "lines"]),
        ],
        example: r#"{"filepath":"FILE"}"#,
    },
    Tool {
        name: "changes",
        title: "What others changed",
        group: Group::Files,
        about: "What a shell command, a formatter, a person or another agent changed since, as a diff.",
        params: &[optional("since", Kind::Text, "a version or checkpoint", &["version", "checkpoint", "from"])],
        example: "{}",
    },
    Tool {
        name: "context",
        title: "Where we are",
        group: Group::Files,
        about: "Recent reads and writes, files that changed since you saw them, open conflicts, uncommitted changes.",
        params: &[],
        example: "{}",
    },
    Tool {
        name: "checkpoint",
        title: "Checkpoint",
        group: Group::Files,
        about: "Mark the present state of all files, to go back to it with rollback.",
        params: &[optional("name", Kind::Text, "", &["label", "message"])],
        example: r#"{"name":"before-refactoring"}"#,
    },
    Tool {
        name: "rollback",
        title: "Roll back",
        group: Group::Files,
        about: "Back to a version or checkpoint: one file, or all that changed since. Another rollback undoes it.",
        params: &[
            optional("filepath", Kind::Text, "a file or folder", FILEPATH_NAMES),
            optional("version", Kind::Text, "as v12", &["version_id", "to"]),
            optional("checkpoint", Kind::Text, "its name", &[]),
            optional("dry_run", Kind::Flag, "only say what would be done", &[]),
            optional("everything", Kind::Flag, "what other conversations changed too", &["all"]),
            unlisted("assume", Kind::Flag),
        ],
        example: r#"{"version":"v2"}"#,
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
            OF,
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

/// The name in the interface that other tools of this kind follow, and ours.
const OTHER_NAMES: &[(&str, &str)] = &[("get_file_history", "file_history")];

pub(crate) fn tool(name: &str) -> Option<&'static Tool> {
    let name = OTHER_NAMES.iter().find(|(other, _)| *other == name).map_or(name, |(_, ours)| ours);
    TOOLS.iter().find(|tool| tool.name == name)
}

/// Which tools are listed; all can be called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ToolList {
    Unified,
    Bounded,
    Files,
    All,
    Named(Vec<&'static str>),
}

impl ToolList {
    /// Parses `unified`, `bounded`, `files`, `all`, or names separated by commas. The error says what is wrong.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        match text {
            "unified" => return Ok(Self::Unified),
            "bounded" => return Ok(Self::Bounded),
            "files" => return Ok(Self::Files),
            "all" => return Ok(Self::All),
            "none" => return Ok(Self::Named(Vec::new())),
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
            (Self::All, _)
            | (Self::Unified, Group::Unified)
            | (Self::Bounded, Group::Bounded)
            | (Self::Files, Group::Files) => true,
            // What a change is found and looked at with.
            (Self::Files, Group::Unified) => tool.name == "edit" || tool.name == "list",
            (Self::Unified | Self::Bounded, Group::Unified | Group::Bounded | Group::Files | Group::Cache)
            | (Self::Files, Group::Bounded | Group::Cache) => false,
        };
        TOOLS.iter().filter(listed).collect()
    }
}

impl Tool {
    /// Whether it changes files.
    pub(crate) fn writes(&self) -> bool {
        ["edit", "write_file", "apply_patch", "delete_file", "move_file", "rollback"].contains(&self.name)
    }

    /// The description; where handles can exist, with what to do about them.
    pub(crate) fn about_with(&self, handles: bool) -> String {
        let known = handles && self.name == "read";
        let known = if known {
            " It may give known=HANDLE: pass that while you still see the text, and unchanged text is not sent again."
        } else {
            ""
        };
        format!("{}{known}", self.about)
    }

    /// The JSON schema of the arguments.
    pub(crate) fn schema(&self, handles: bool) -> Map<String, Value> {
        let properties: Map<String, Value> = self
            .params
            .iter()
            .filter(|param| param.listed && (handles || param.name != "known"))
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
            Kind::List => json!({"type": "array", "items": {"type": "string"}}),
            Kind::Edits => json!({"type": "array", "items": {"type": "object"}}),
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
            Kind::List => format!("a list of 1 to {} paths", args::MOST_TARGETS),
            Kind::Edits => format!("a list of 1 to {} objects with old and new", args::MOST_EDITS),
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
        assert_eq!(names("unified"), ["read", "search", "list", "outline", "edit"]);
        assert_eq!(names("bounded").len(), 6);
        assert_eq!(names("all").len(), 27);
        assert!(names("none").is_empty());
        assert_eq!(tool("get_file_history").unwrap().name, "file_history");
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

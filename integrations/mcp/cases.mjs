// What is called, and what must come back: the same for every client. A check returns what is wrong, or nothing.
import { createHash } from "node:crypto";
import { FILES, lines } from "./world.mjs";

const CONTRACT = "readproof/contract";

const UNIFIED_TOOLS = ["edit", "list", "outline", "read", "search"];
const BOUNDED_TOOLS = ["read_file", "read_file_head", "read_file_range", "read_file_tail", "search_in_file", "stat_file"];
const CHANGING_TOOLS = ["apply_patch", "delete_file", "get_diff", "move_file", "read_lines", "write_file"];
const HISTORY_TOOLS = ["blame", "changes", "checkpoint", "context", "file_history", "list_files", "rollback", "show_version"];
const FILES_TOOLS = [...CHANGING_TOOLS, ...HISTORY_TOOLS, "edit", "list"].sort();
const ALL_TOOLS = [...UNIFIED_TOOLS, ...BOUNDED_TOOLS, ...CHANGING_TOOLS, ...HISTORY_TOOLS, "readcache_refresh", "readcache_status"].sort();
/** All that can be called: some clients call only what is listed. */
export const EVERY = [...ALL_TOOLS, "dry_run_diff", "get_snippet", "read_symbol"].join(",");

/** Which tools each choice of `--tools` lists. */
export const PROFILES = { unified: UNIFIED_TOOLS, bounded: BOUNDED_TOOLS, files: FILES_TOOLS, all: ALL_TOOLS, [EVERY]: EVERY.split(",") };

const shown = (value) => (typeof value === "string" && value.length > 300 ? `${JSON.stringify(value.slice(0, 300))}… (${value.length} characters)` : JSON.stringify(value));
const block = (result, i) => result.content?.[i]?.text;

/** What holds for every answer that is no error. */
function answered(result) {
	if (result.isError) return `an answer, not the error ${shown(block(result, 0))}`;
	if (result.content?.some((part) => part.type !== "text")) return "blocks of text only";
	if (!result.content?.length || result.content.some((part) => !part.text.trim())) return "no empty or blank block";
	if (result._meta?.[CONTRACT] === undefined) return `a contract in _meta["${CONTRACT}"]`;
	return undefined;
}

/** No structured content: hosts that see it drop the text. */
function textual(result) {
	return answered(result) ?? (result.structuredContent === undefined ? undefined : "no structuredContent beside text");
}

/** The first block is this text, byte for byte. */
const text = (expected) => (result) => textual(result) ?? (block(result, 0) === expected ? undefined : `the text ${shown(expected)}`);

/** The first block is the beginning of the file, whole lines of it, cut at these limits, and the second says how to go on. */
const beginning = (name, most) => (result) => {
	const wrong = textual(result);
	if (wrong !== undefined) return wrong;
	const got = block(result, 0);
	if (got === "" || !FILES[name].startsWith(got) || !got.endsWith("\n")) return `whole lines from the beginning of ${name}`;
	if (got.length > most.characters || got.split("\n").length - 1 > (most.lines ?? Infinity)) return `at most ${shown(most)}`;
	return block(result, 1)?.includes(String(got.split("\n").length)) ? undefined : "a trailer that names the line to go on with";
};

/** The first block is a piece of the file with this in it. */
const piece = (name, needle) => (result) =>
	textual(result) ?? (FILES[name].includes(block(result, 0)) && block(result, 0).includes(needle) ? undefined : `a piece of ${name} with ${shown(needle)}`);

/** The first block has each of these in it. */
const having = (...words) => (result) => textual(result) ?? lacking(block(result, 0), words);

function lacking(got, words) {
	const missing = words.filter((word) => !got?.includes(word));
	return missing.length === 0 ? undefined : `text with ${missing.map(shown).join(" and ")}`;
}

/** The tool says what is wrong, first of all with this code. */
const error = (code) => (result) => {
	if (!result.isError) return `isError with the code ${code}`;
	if (result.structuredContent !== undefined) return "no structuredContent on an error";
	if (result._meta?.[CONTRACT]?.error?.code !== code) return `the code ${code} in the contract`;
	return block(result, 0)?.startsWith(`${code}: `) ? undefined : `an error that begins with ${code}`;
};

const marker = (result) => textual(result) ?? (/^\[readcache: unchanged/.test(block(result, 0)) ? undefined : "[readcache: unchanged…");

/** What a client might trip over is tried with all of them; what is `cheap` only where a call does not cost a process. */
const cheap = { cheap: true };
const call = (name, tool, args, check, more = {}) => ({ name, tool, args, check, ...more });

const UNIFIED = [
	call("a file", "read", { mode: "file", target: "plain.txt" }, text(lines("plain.txt"))),
	call("CRLF, and no end of the last line", "read", { mode: "file", target: "crlf.txt" }, text(lines("crlf.txt"))),
	call("a BOM, quotes, planes beyond the first", "read", { mode: "file", target: "unicode.txt" }, text(lines("unicode.txt"))),
	call("an empty file", "read", { mode: "file", target: "empty.txt" }, having("empty"), cheap),
	call("lines of a large file", "read", { mode: "file", target: "src/large.rs", offset: 101, limit: 50 }, text(lines("src/large.rs", 101, 150)), cheap),
	call("a large file's window", "read", { mode: "file", target: "src/large.rs" }, beginning("src/large.rs", { lines: 300, characters: 12_000 })),
	call("no preview", "read", { mode: "file", target: "plain.txt", preview_mode: "none" }, (result) => textual(result) ?? (JSON.stringify(result.content).includes("line 1 of") ? "no text of the file" : undefined), cheap),
	call("a snippet", "read", { mode: "snippet", target: "plain.txt", start_line: 3, end_line: 5, context_lines: 1 }, text(lines("plain.txt", 2, 6))),
	call("a snippet around words", "read", { mode: "snippet", target: "src/large.rs", query: "the_needle" }, piece("src/large.rs", "fn the_needle()"), cheap),
	call("mode symbol", "read", { mode: "symbol", target: "the_needle" }, text(lines("src/large.rs", 4321, 4321))),
	call("a symbol that is not there", "read", { mode: "symbol", target: "the_neddle" }, error("NO_SYMBOL"), cheap),
	call("search symbol", "search", { query: "the_needle", mode: "symbol" }, having("src/large.rs:4321", "function the_needle")),
	call("mode diff_preview", "read", { mode: "diff_preview", target: "plain.txt", against: "WORKTREE", content: "x" }, having("--- a/plain.txt", "+x", "No newline at end of file")),
	call("a path alone", "read", { path: "plain.txt" }, text(lines("plain.txt")), cheap),
	call("several files", "read", { targets: ["plain.txt", "crlf.txt"] }, (result) => text(lines("plain.txt"))(result) ?? (block(result, 2) === lines("crlf.txt") ? undefined : "the second file in the third block")),
	call("list", "list", {}, having("plain.txt", "src/")),
	call("outline", "outline", { path: "src/large.rs" }, having("1:pub fn number_1(")),
	call("a missing file", "read", { mode: "file", target: "no-such.txt" }, error("NOT_FOUND"), cheap),
	call("a binary file", "read", { mode: "file", target: "data.bin" }, error("NOT_TEXT")),
	call("a path that leads out", "read", { mode: "file", target: "../out.txt" }, error("OUTSIDE_WORKSPACE"), cheap),
	call("no target", "read", { mode: "file" }, error("INVALID_ARGS"), cheap),
	call("search text", "search", { query: "the_needle", mode: "text" }, having("src/large.rs", "4321")),
	call("search regex", "search", { query: "^fn the_\\w+", mode: "regex" }, having("src/large.rs", "4321", "fn the_needle()")),
	call("search path", "search", { query: "crlf", mode: "path" }, having("crlf.txt")),
	call("a regex that is none", "search", { query: "(", mode: "regex" }, error("BAD_QUERY"), cheap),
	call("get_snippet", "get_snippet", { path: "crlf.txt", start_line: 2, end_line: 3, context_lines: 0 }, text(lines("crlf.txt", 2, 3))),
	call("read_symbol", "read_symbol", { symbol: "the_needle", path: "src/large.rs" }, text(lines("src/large.rs", 4321, 4321))),
	call("a diff without a repository", "read", { mode: "diff_preview", target: "plain.txt" }, error("NO_REPOSITORY"), cheap),
	call("dry_run_diff", "dry_run_diff", { path: "plain.txt", against: "WORKTREE", content: "x" }, having("--- a/plain.txt", "+x")),
];

const BOUNDED = [
	call("read_file", "read_file", { path: "crlf.txt" }, text(lines("crlf.txt"))),
	call("read_file of a large one", "read_file", { path: "src/large.rs" }, beginning("src/large.rs", { characters: 40_000 }), cheap),
	call("read_file_range", "read_file_range", { path: "src/large.rs", start_line: 4320, end_line: 4322 }, text(lines("src/large.rs", 4320, 4322))),
	call("read_file_head", "read_file_head", { path: "plain.txt", max_lines: 3 }, text(lines("plain.txt", 1, 3))),
	call("read_file_tail", "read_file_tail", { path: "crlf.txt", max_lines: 2 }, text(lines("crlf.txt", 9, 10))),
	call("search_in_file", "search_in_file", { path: "src/large.rs", query: "the_needle", is_regex: false }, having("4321", "fn the_needle()")),
	call("search_in_file by a regex", "search_in_file", { path: "plain.txt", query: "^line 1[0-2]", is_regex: true, max_matches: 2 }, having("line 10 of", "line 11 of"), cheap),
	call("a range beyond the end", "read_file_range", { path: "plain.txt", start_line: 50, end_line: 60 }, error("BAD_RANGE"), cheap),
	call("stat_file", "stat_file", { path: "plain.txt" }, (result) => answered(result) ?? lacking(JSON.stringify(result), [String(FILES["plain.txt"].length)])),
	call("stat_file of a missing one", "stat_file", { path: "no-such.txt" }, (result) => answered(result) ?? (/exists\\?"?: ?(false|no)/.test(JSON.stringify(result)) ? undefined : "exists: false"), cheap),
];

/** The change was made, and the contract says so in the words of seed 004. */
const changed = (...words) => (result) => {
	const contract = result._meta?.[CONTRACT];
	const wrong = textual(result) ?? lacking(block(result, 0), words);
	if (wrong !== undefined) return wrong;
	if (contract.success !== true || contract.conflict !== false) return "success without a conflict";
	return typeof contract.diff === "string" && /^v\d+$/.test(contract.version_id) ? undefined : "a diff and a version";
};

const hash = (content) => createHash("sha256").update(content).digest("hex");
const MADE = "one\ntwo\nthree\n";
const PATCHED = "uno\ntwo\n2.5\nthree\n";
const PATCH = "*** Begin Patch\n*** Update File: made/a.txt\n@@\n two\n+2.5\n three\n*** Add File: made/b.txt\n+beside\n*** End Patch\n";

/** One after another: they leave the workspace as it was. */
const CHANGES = [
	call("write_file", "write_file", { filepath: "made/a.txt", content: MADE, mode: "create" }, changed("created made/a.txt: 14 bytes, 3 lines")),
	call("a file that is there", "write_file", { filepath: "made/a.txt", content: "x", mode: "create" }, error("PRECONDITION_FAILED"), cheap),
	call("edit", "edit", { path: "made/a.txt", old: "one", new: "uno" }, changed("edited made/a.txt: lines 1-1 are now 1-1; 3 lines")),
	call("edit by other names", "edit", { file_path: "made/a.txt", old_string: "nothing like it", new_string: "x" }, error("NOT_FOUND"), cheap),
	call("not unique", "edit", { path: "made/a.txt", old: "o", new: "0" }, error("NOT_UNIQUE"), cheap),
	call("apply_patch", "apply_patch", { patch: PATCH }, changed("edited made/a.txt: lines 2-3 are now 2-4; 4 lines", "created made/b.txt")),
	call("no patch", "apply_patch", { patch: "nonsense" }, error("BAD_PATCH"), cheap),
	call("read_lines", "read_lines", { filepath: "made/a.txt", start: 1, end: 9 }, text(PATCHED)),
	call("get_diff", "get_diff", { filepath: "made/a.txt", version1: "first" }, having("+uno", "+2.5")),
	call("checkpoint", "checkpoint", { name: "mark" }, having("checkpoint v", "called mark")),
	call("another edit", "edit", { path: "made/a.txt", old: "uno", new: "eins" }, changed("edited made/a.txt: lines 1-1 are now 1-1; 4 lines")),
	call("blame", "blame", { filepath: "made/a.txt" }, having(" 1: eins", " 3: 2.5")),
	call("file_history", "file_history", { filepath: "made/a.txt" }, having("edit", "made/a.txt")),
	call("list_files", "list_files", { globs: "made/**" }, having("made/a.txt  4 lines")),
	call("changes", "changes", { since: "mark" }, answered),
	call("context", "context", {}, answered),
	call("show_version", "show_version", { version: "v99999", filepath: "made/a.txt" }, error("NOT_FOUND")),
	call("what a rollback would do", "rollback", { filepath: "made/a.txt", checkpoint: "mark", everything: true, dry_run: true }, having("made/a.txt: restored")),
	call("rollback", "rollback", { filepath: "made/a.txt", checkpoint: "mark", everything: true }, changed("edited made/a.txt: lines 1-1 are now 1-1; 4 lines")),
	call("move_file", "move_file", { filepath: "made/a.txt", to: "made/c.txt" }, changed("moved made/a.txt to made/c.txt")),
	call("a hash that is not the file's", "delete_file", { filepath: "made/c.txt", expected_hash: hash("x") }, error("PRECONDITION_FAILED"), cheap),
	call("delete_file", "delete_file", { filepath: "made/c.txt", expected_hash: hash(PATCHED) }, changed("deleted made/c.txt")),
	call("the other one", "delete_file", { filepath: "made/b.txt", expected_hash: hash("beside\n") }, changed("deleted made/b.txt")),
].map((one) => ({ ...one, step: true }));

/** `known` is the place of the call whose handle is passed: the first of all. */
const HANDLES = [
	call("unchanged with a handle", "read", { mode: "file", target: "plain.txt" }, marker, { known: 0 }),
	call("plain without one", "read", { mode: "file", target: "plain.txt" }, text(lines("plain.txt")), cheap),
];

const CACHE = [
	call("readcache_refresh", "readcache_refresh", { path: "plain.txt" }, answered),
	call("plain with a handle after a refresh", "read", { mode: "file", target: "plain.txt" }, text(lines("plain.txt")), { known: 0 }),
	call("readcache_status", "readcache_status", {}, answered),
];

export const CASES = [...UNIFIED, ...BOUNDED, ...CHANGES, ...HANDLES, ...CACHE];
export { shown };

const untried = EVERY.split(",").filter((tool) => !CASES.some((one) => one.tool === tool && !one.cheap && one.known === undefined));
if (untried.length > 0) throw new Error(`no call that every client makes: ${untried.join(", ")}`);

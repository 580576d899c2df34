// What can happen to a file and to a conversation, each as a script for the real program. Every read says what is expected of it:
// `full` (the text must come), `short` (a marker must come), or nothing (either, if the request allows it). The judge is the request.
import { AGENT } from "./model.mjs";
import { PROJECT } from "./session.mjs";

const rows = (count, of) => Array.from({ length: count }, (_, i) => `line ${i + 1} of ${of}\n`).join("");
/** The files of every project. */
export const FILES = {
	"a.txt": rows(24, "a"),
	"b.txt": rows(12, "b"),
	"crlf.txt": rows(9, "crlf").replaceAll("\n", "\r\n"),
	"bom.txt": `\ufeff${rows(9, "bom")}`,
	"open.txt": `${rows(9, "open")}the last, open  `,
	"empty.txt": "",
	"tag.txt": `one\n</system-reminder>\n${rows(9, "tag")}`,
	".env": "SECRET=1\n",
};
const at = (name) => `${PROJECT}/${name}`;
const read = (expected, name, more = {}) => ({ t: "Read", a: { file_path: at(name), ...more }, expected });
export const full = (name, more) => read("full", name, more);
export const short = (name, more) => read("short", name, more);
export const either = (name, more) => read(undefined, name, more);
export const edit = (name, old_string, new_string, more = {}) => ({ t: "Edit", a: { file_path: at(name), old_string, new_string, ...more } });
export const write = (name, content) => ({ t: "Write", a: { file_path: at(name), content } });
const search = (a) => ({ t: "Grep", a });
export const shell = (command) => ({ t: "Bash", a: { command, description: "Looks" } });
const agent = (prompt) => ({ t: "Agent", a: { description: "A task", prompt: `${AGENT} ${prompt}`, subagent_type: "general-purpose", run_in_background: false } });
const end = [{ say: "Done." }];
/** What another program does while the model thinks. */
const outside = (sh) => ({ sh });
/** Another hook, which makes `change` of what it is given. */
const hook = (event, matcher, change) => ({ hooks: { [event]: [{ matcher, hooks: [{ type: "command", command: `node -e '${change}'` }] }] } });
const ALTERS = 'const d=JSON.parse(require("fs").readFileSync(0));const r=d.tool_response;r.file.content="ALTERED "+r.file.content;console.log(JSON.stringify({hookSpecificOutput:{hookEventName:"PostToolUse",updatedToolOutput:r}}))';
const ALTERS_EDIT = 'const d=JSON.parse(require("fs").readFileSync(0));const i=d.tool_input;i.new_string="BY A PERSON";console.log(JSON.stringify({hookSpecificOutput:{hookEventName:"PreToolUse",permissionDecision:"allow",updatedInput:i}}))';
/** The transcript of the conversation, for a hand that changes it. */
const transcript = "$(ls $HOME/.claude/projects/*/*.jsonl | head -1)";

/** So many tokens that the program compacts before its next request. */
const MANY = { usage: 95_000 };
/** Our server, by the program that started it. */
const SERVER = "$(pgrep -P $CLAUDE_PID readproof)";

export const CASES = {
	reads: { turns: [[full("a.txt")], [short("a.txt")], [short("a.txt", { offset: 5, limit: 4 })], [full("b.txt", { offset: 3, limit: 4 })], [full("b.txt")], [short("b.txt")], [short("b.txt", { offset: 9 })], [full("a.txt", { offset: 0 })], [either("a.txt")], [either("missing.txt")], end] },
	forms: { turns: [[full("crlf.txt")], [short("crlf.txt")], [full("bom.txt")], [short("bom.txt")], [full("open.txt")], [either("open.txt")], [full("empty.txt")], [full("empty.txt")], [full("tag.txt")], [either("tag.txt")], [full(".env")], [full(".env")], end] },
	own_edits: {
		turns: [
			[full("a.txt")],
			[edit("a.txt", "line 3 of a", "THREE\nand a half")],
			[short("a.txt")],
			[edit("a.txt", "of a", "of A", { replace_all: true })],
			[short("a.txt")],
			[edit("a.txt", "line 9 of A", "")],
			[either("a.txt")],
			[edit("a.txt", "nowhere", "x")],
			[either("a.txt")],
			[write("new.txt", "n1\nn2\n")],
			[either("new.txt")],
			[write("a.txt", "over\nwritten\nby the model\nand so on\nuntil the end\n")],
			[either("a.txt")],
			[full("crlf.txt")],
			[edit("crlf.txt", "line 2 of crlf", "TWO")],
			[either("crlf.txt")],
			end,
		],
	},
	foreign: {
		turns: [
			[full("a.txt")],
			[outside("sed -i 's/line 7 of a/changed/' a.txt"), either("a.txt")],
			[either("a.txt")],
			[outside("sed -i 's/changed/line 7 of a/' a.txt"), either("a.txt")],
			[outside("sed -i 1d a.txt"), either("a.txt", { offset: 3, limit: 3 })],
			[full("b.txt")],
			[outside("sed -i 's/line 2 of b/TWO/' b.txt"), shell("cat b.txt")],
			[outside("sed -i 's/TWO/line 2 of b/' b.txt"), full("b.txt")],
			[shell("grep -n 'of b' b.txt")],
			[either("b.txt")],
			[shell("sed -i 's/line 4 of b/FOUR/' b.txt")],
			[either("b.txt")],
			end,
		],
	},
	altered_edit: { settings: hook("PreToolUse", "Edit", ALTERS_EDIT), turns: [[full("a.txt")], [edit("a.txt", "line 3 of a", "MINE")], [full("a.txt")], [either("a.txt")], end] },
	altered_result: { settings: hook("PostToolUse", "Read", ALTERS), turns: [[full("a.txt")], [full("a.txt")], [full("a.txt")], end] },
	batch: { turns: [[full("a.txt"), full("b.txt"), full("a.txt", { offset: 3, limit: 2 })], [short("a.txt"), short("b.txt")], [edit("b.txt", "line 2 of b", "TWO"), full("b.txt")], [either("b.txt")], end] },
	compaction: { turns: [[full("a.txt")], [full("b.txt", { limit: 5 })], [full("crlf.txt")], end, [either("a.txt")], [full("tag.txt")], [either("b.txt", { offset: 2, limit: 3 })], end], prompts: ["Go.", { sh: "sed -i 's/line 5 of a/FIVE/' a.txt" }, "/compact", "On."] },
	// The program compacts between a result and the request that would have it: the marker is kept, and the text that it stands for is gone.
	compacted_by_itself: {
		env: { CLAUDE_CODE_AUTO_COMPACT_WINDOW: "100000" },
		turns: [[full("a.txt")], [full("b.txt")], [MANY, short("a.txt")], [full("a.txt")], [short("a.txt")], [agent("Read files.")], [outside(`kill -KILL ${SERVER}`), either("b.txt")], [MANY, either("b.txt")], [either("b.txt")], end],
		agent: [[full("a.txt")], [full("b.txt")], [MANY, short("a.txt")], [full("a.txt")], [{ say: "Read." }]],
	},
	// The program tells of what others changed only in files that the model itself changed.
	pushed: {
		turns: [
			[full("a.txt")],
			[edit("a.txt", "line 3 of a", "THREE")],
			[outside("sleep 0.1; sed -i 's/line 9 of a/NINE/' a.txt"), full("b.txt")],
			[either("a.txt", { offset: 5, limit: 8 })],
			[full("a.txt")],
			[edit("a.txt", "line 5 of a", "FIVE")],
			[outside("sleep 0.1; sed -i 's/line 2 of a/TWO/; s/line 22 of a/TWENTY/' a.txt"), either("b.txt")],
			[full("a.txt")],
			[write("tag.txt", "one\n</System-Reminder>\nthree\n")],
			[outside("sleep 0.1; echo four >> tag.txt"), either("b.txt")],
			[full("tag.txt")],
			end,
		],
	},
	resume_fork_rewind: {
		runs: [
			{ turns: [[full("a.txt")], end, [full("b.txt")], end], prompts: ["Go.", "On."] },
			{ args: ["--resume", "@S"], turns: [[short("a.txt")], [short("b.txt")], end] },
			{ args: ["--resume", "@S", "--resume-session-at", "@U"], turns: [[short("a.txt")], [full("b.txt")], end] },
			{ args: ["--resume", "@S", "--fork-session"], turns: [[short("a.txt")], [short("b.txt")], end] },
		],
	},
	agents: {
		turns: [[full("a.txt")], [agent("Read a file.")], [either("a.txt")], end],
		agent: [[full("a.txt")], [short("a.txt")], [full("b.txt")], [edit("b.txt", "line 3 of b", "THREE\nand a half")], [short("b.txt")], [edit("a.txt", "line 3 of a", "THREE")], [short("a.txt", { offset: 2, limit: 4 })], [{ say: "Read." }]],
	},
	no_record: { runs: [{ turns: [[full("a.txt")], end] }, { args: ["--resume", "@S"], before: `f=${transcript}; grep -v '"type":"api-request' "$f" > "$f.new"; mv "$f.new" "$f"`, turns: [[either("a.txt")], [either("a.txt")], end] }] },
	cleared: {
		runs: [
			{ turns: [[full("a.txt")], [full("b.txt")], end] },
			{ args: ["--resume", "@S"], before: `f=${transcript}; sed -i '/toolUseResult/s/"content":"1\\\\tline 1 of a[^"]*"/"content":"[Old tool result content cleared]"/' "$f"`, turns: [[full("a.txt")], [full("b.txt")], [full("a.txt")], end] },
		],
	},
	// The program starts a server that ended once more; where it cannot, every read is the program's own.
	server_killed: { turns: [[full("a.txt")], [short("a.txt")], [outside(`kill -KILL ${SERVER}`), either("a.txt")], [either("a.txt")], [outside(`rm $BIN/readproof; kill -KILL ${SERVER} || true`), full("b.txt")], [full("b.txt")], end] },
	two_programs: { runs: [{ turns: [[full("a.txt")], [short("a.txt")], end] }, { turns: [[full("a.txt")], [short("a.txt")], end] }] },
	policy: { files: { ...FILES, "readproof.toml": '[policy]\ndeny = ["b.txt"]\n' }, turns: [[either("b.txt")], [full("a.txt")], [either("b.txt")], [short("a.txt")], end] },
	// Without its shell, the program has tools of its own to search with.
	searches: {
		files: { ...FILES, "s-1:2.txt": rows(3, "s"), "readproof.toml": '[policy]\ndeny = ["b.txt", "s-*"]\n' },
		args: ["--tools", "Read,Edit,Write,Grep,Glob"],
		hidden: ["of b\n", "b.txt", "s-1:2", "of s"],
		turns: [
			[search({ pattern: "line [12]" })],
			[search({ pattern: "line [12]", output_mode: "content" })],
			[search({ pattern: "line 2 ", output_mode: "content", "-C": 1, "-n": false })],
			[search({ pattern: "line [12]", output_mode: "count" })],
			[{ t: "Glob", a: { pattern: "*.txt" } }],
			[full("a.txt")],
			[outside("sed -i 's/line 7 of a/SEVEN/' a.txt"), search({ pattern: "SEVEN|line 8", output_mode: "content" })],
			[outside("sed -i 's/SEVEN/line 7 of a/' a.txt"), full("a.txt")],
			[short("a.txt")],
			end,
		],
	},
};

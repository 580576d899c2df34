// The judge: could the model rebuild the file from what stands in a request? It sees the messages of one request (tool
// calls with their arguments, tool results) and, for the newest results only, the true text of the file at that time.
// It shares no code with the extension or the program: it knows pi's plain answers, our markers and unified diffs, and
// applies them strictly. Lines are counted as pi does: split("\n").
import path from "node:path";

const MAX_LINES = 2000;
const MAX_BYTES = 51200;
const CUT = /\n\n\[Showing lines (\d+)-(\d+) of (\d+)(?: \(50\.0KB limit\))?\. Use offset=\d+ to continue\.\]$/;
const MORE = /\n\n\[(\d+) more lines in file\. Use offset=(\d+) to continue\.\]$/;
const GO_ON = "(\\n\\n\\[[^\\n]* Use offset=\\d+ to continue\\.\\])?";
const NO_TEXT = /^(\[Line \d+ is [^\n]* exceeds 50\.0KB limit\.|Offset \S+ is beyond end of file|E[A-Z]+: |Read image file \[)/;
/** pi's words for a call that has no result of its own, and the probe's for one that it took away. */
const NO_RESULT = /^(Operation aborted|No result provided|\[pruned\]|\[replaced\])$/;
/** pi's words for a text without anything in it. */
const NO_OUTPUT = "(no tool output)";
const UNCHANGED = /^\[readcache: unchanged, (\d+) lines\]$/;
const UNCHANGED_RANGE = new RegExp(`^\\[readcache: unchanged in lines (\\d+)-(\\d+) of (\\d+)\\]${GO_ON}$`);
const CHANGED_OUTSIDE = new RegExp(`^\\[readcache: unchanged in lines (\\d+)-(\\d+); changes exist outside this range\\]${GO_ON}$`);
const DIFF = /^\[readcache: (\d+) lines changed of (\d+)\]\n([\s\S]*)$/;
/** Goes with file text that looks like one of our markers: the one place where a plain answer says more than pi does. */
const FILE_TEXT_NOTICE = /\n\n\[readproof: [^\n]*file text[^\n]*\]$/;
const SUFFIX = /^(.+):(\d+)(?:-(\d+))?$/;

export const isShort = (text) => text.startsWith("[readcache: ") && !FILE_TEXT_NOTICE.test(text);

/**
 * Judges the newest tool results of one request.
 * `truths(callId)` gives every text the file had while that call ran, or nothing for a result that an earlier request
 * already held; `isFile(absolutePath)` tells a name that ends like a range from a range.
 */
export function judge({ messages, cwd, truths, isFile = () => false, plainMustBeTrue = true }) {
	const calls = new Map();
	const views = new Map();
	const newest = messages.findLastIndex((message) => message.role === "assistant");
	const verdict = { short: [], plain: 0, problems: [] };
	/** The files as they were before the batch: calls of one message run side by side, none of them knows the others. */
	let before = new Map();
	messages.forEach((message, index) => {
		if (message.role === "assistant") before = new Map([...views].map(([file, view]) => [file, view.copy()]));
		for (const call of message.tool_calls ?? []) {
			calls.set(call.id, { name: call.function.name, args: withSuffix(parse(call.function.arguments), cwd, isFile) });
		}
		if (message.role !== "tool") return;
		const call = calls.get(message.tool_call_id);
		const text = textOf(message.content);
		if (!call) return verdict.problems.push(`a result without its call: ${message.tool_call_id}`);
		const where = `${call.name} ${JSON.stringify(call.args)}`;
		const file = path.resolve(cwd, String(call.args.path ?? "").replace(/^@/, ""));
		const view = views.get(file) ?? new View();
		views.set(file, view);
		if (call.name === "read") {
			const now = index > newest ? truths(message.tool_call_id) : undefined;
			const problem = (what) => verdict.problems.push(`${where}: ${what}; the answer: ${clip(text)}`);
			seeRead({ view, base: before.get(file) ?? new View(), args: call.args, text, truths: now, problem, plainMustBeTrue });
			if (now && isShort(text)) verdict.short.push({ where, text });
			else if (now) verdict.plain += 1;
		} else if (call.name === "write") seeWrite(view, call.args, text);
		else if (call.name === "edit") seeEdit(view, call.args, text);
		else if (isShort(text) && index > newest) verdict.problems.push(`${where}: a marker in the result of another tool: ${clip(text)}`);
	});
	return verdict;
}

/** The arguments with `path:10-20` taken apart, unless a file has that name. */
export function withSuffix(args, cwd, isFile) {
	const found = SUFFIX.exec(args.path ?? "");
	if (!found || args.offset !== undefined || args.limit !== undefined || isFile(path.resolve(cwd, args.path))) return args;
	const [offset, last] = [Number(found[2]), found[3] && Number(found[3])];
	return { ...args, path: found[1], offset, ...(last && { limit: last - offset + 1 }) };
}

/** What pi's own read answers for `text`, and which lines that shows; written from pi's documented behaviour. */
export function plainAnswer(text, { offset, limit } = {}, name = "") {
	const all = text.split("\n");
	const start = offset ? Math.max(0, offset - 1) : 0;
	if (start >= all.length) return { error: `Offset ${offset} is beyond end of file (${all.length} lines total)` };
	const end = limit === undefined ? all.length : Math.min(start + limit, all.length);
	const selected = all.slice(start, end);
	const counted = selected.join("\n").endsWith("\n") || selected.join("\n") === "" ? selected.slice(0, -1) : selected;
	const bytes = Buffer.byteLength(selected.join("\n"));
	const first = Math.floor(start) + 1;
	if (counted.length > MAX_LINES || bytes > MAX_BYTES) {
		if (Buffer.byteLength(selected[0]) > MAX_BYTES) {
			const size = sizeOf(Buffer.byteLength(selected[0]));
			return { text: `[Line ${start + 1} is ${size}, exceeds 50.0KB limit. Use bash: sed -n '${start + 1}p' ${name} | head -c 51200]`, lines: [], first, total: all.length, tail: "" };
		}
		const kept = [];
		let used = 0;
		for (const line of counted.slice(0, MAX_LINES)) {
			used += Buffer.byteLength(line) + (kept.length > 0 ? 1 : 0);
			if (used > MAX_BYTES) break;
			kept.push(line);
		}
		const last = start + kept.length;
		const why = kept.length >= MAX_LINES ? "" : " (50.0KB limit)";
		const tail = `\n\n[Showing lines ${start + 1}-${last} of ${all.length}${why}. Use offset=${last + 1} to continue.]`;
		return { text: kept.join("\n") + tail, lines: kept, first, total: all.length, tail };
	}
	const left = all.length - (start + (end - start));
	const tail = limit !== undefined && left > 0 ? `\n\n[${left} more lines in file. Use offset=${end + 1} to continue.]` : "";
	return { text: selected.join("\n") + tail, lines: selected, first, total: all.length, tail };
}

/** The lines of one file that stand in the request, by number, and how many there are if that is told. */
class View {
	lines = new Map();
	total = undefined;

	copy() {
		return Object.assign(new View(), { lines: new Map(this.lines), total: this.total });
	}

	forget() {
		this.lines.clear();
		this.total = undefined;
	}

	/** Line by line, what was shown last is what the model goes by. */
	show(first, lines, total) {
		lines.forEach((line, i) => this.lines.set(first + i, line));
		if (total === undefined) return;
		this.total = total;
		for (const number of this.lines.keys()) if (number > total) this.lines.delete(number);
	}

	range(first, last) {
		const lines = [];
		for (let n = first; n <= last; n++) {
			if (!this.lines.has(n)) return { missing: n };
			lines.push(this.lines.get(n));
		}
		return { lines };
	}

	whole() {
		if (this.total === undefined) return { missing: "the number of lines" };
		return this.range(1, this.total);
	}
}

function seeRead({ view, base, args, text, truths, problem, plainMustBeTrue }) {
	if (NO_RESULT.test(text)) return;
	if (!isShort(text)) {
		if (truths?.length && plainMustBeTrue && !truths.some((truth) => isTruePlain(text, truth, args))) problem("not the plain answer for the file as it was");
		return seePlain(view, args, text.replace(FILE_TEXT_NOTICE, ""));
	}
	const claim = rebuild(base, text);
	if (claim.problem) {
		view.forget();
		return truths ? problem(claim.problem) : undefined;
	}
	// A marker for some lines does not take away what was shown of the others, though it may tell that they are old.
	view.show(claim.first, claim.lines, claim.whole ? claim.total : undefined);
	if (truths && !truths.some((truth) => holds(claim, truth, args))) {
		problem(`what can be rebuilt (${claim.lines.length} lines from ${claim.first}) is not what pi's own read would show`);
	}
}

function isTruePlain(text, truth, args) {
	const plain = plainAnswer(truth, args, args.path);
	if (text === NO_OUTPUT && plain.text?.trim() === "") return true;
	const notice = FILE_TEXT_NOTICE.exec(text);
	if (notice) return text.slice(0, notice.index) === plain.text && plain.text.includes("[readcache: ");
	return text === (plain.error ?? plain.text);
}

function seePlain(view, args, text) {
	if (NO_TEXT.test(text)) return;
	// Which blanks, nobody can see.
	if (text === NO_OUTPUT) return view.forget();
	const start = Math.floor(args.offset ? Math.max(0, args.offset - 1) : 0) + 1;
	const cut = CUT.exec(text);
	if (cut) return view.show(Number(cut[1]), text.slice(0, cut.index).split("\n"), Number(cut[3]));
	const more = MORE.exec(text);
	if (more) {
		const count = Number(more[2]) - start;
		const lines = count > 0 ? text.slice(0, more.index).split("\n") : [];
		return view.show(start, lines, start - 1 + count + Number(more[1]));
	}
	const lines = text.split("\n");
	// A limit that reaches exactly to the end of the file looks the same as one that runs past it.
	view.show(start, lines, start - 1 + lines.length);
}

/** What a short answer tells someone who holds `view`. */
function rebuild(view, text) {
	let found;
	if ((found = UNCHANGED.exec(text))) {
		const whole = view.whole();
		if (!whole.lines) return { problem: `the model cannot see ${missing(whole)} of the whole file` };
		if (whole.lines.length !== Number(found[1])) return { problem: `the model holds ${whole.lines.length} lines, the marker speaks of ${found[1]}` };
		return { first: 1, lines: whole.lines, total: whole.lines.length, whole: true };
	}
	if ((found = UNCHANGED_RANGE.exec(text))) {
		const [first, last, total] = found.slice(1, 4).map(Number);
		const range = view.range(first, last);
		if (!range.lines) return { problem: `the model cannot see ${missing(range)} of ${first}-${last}` };
		return { first, lines: range.lines, total, tail: found[4] ?? "" };
	}
	if ((found = CHANGED_OUTSIDE.exec(text))) {
		const [first, last] = found.slice(1, 3).map(Number);
		const range = view.range(first, last);
		if (!range.lines) return { problem: `the model cannot see ${missing(range)} of ${first}-${last}` };
		return { first, lines: range.lines, total: undefined, tail: found[3] ?? "" };
	}
	if ((found = DIFF.exec(text))) {
		const whole = view.whole();
		if (!whole.lines) return { problem: `a diff, but the model cannot see ${missing(whole)} of its base` };
		const patched = applyDiff(whole.lines.join("\n"), found[3]);
		if (patched.problem) return { problem: `the diff does not apply: ${patched.problem}` };
		const lines = patched.text.split("\n");
		if (lines.length !== Number(found[2])) return { problem: `the diff gives ${lines.length} lines, its head speaks of ${found[2]}` };
		return { first: 1, lines, total: lines.length, whole: true };
	}
	return { problem: "not one of the known short answers" };
}

/** A claim about the whole file gives all of it, also where pi would cut; any other is about the lines pi would show. */
function holds(claim, truth, args) {
	if (claim.whole) return claim.lines.join("\n") === truth;
	const plain = plainAnswer(truth, args, args.path);
	if (plain.error || (claim.total !== undefined && claim.total !== plain.total)) return false;
	// A range that was asked for ends where its marker says; one that pi cuts must say how to go on.
	const saysHowToGoOn = claim.tail === plain.tail || (claim.tail === "" && MORE.test(plain.tail));
	return saysHowToGoOn && claim.first === plain.first && claim.lines.length === plain.lines.length && claim.lines.every((line, i) => line === plain.lines[i]);
}

/** A strict unified diff: every number, context and removed line must fit; nothing is guessed. */
export function applyDiff(base, diff) {
	const old = terminated(base);
	const lines = diff.split("\n");
	if (lines.at(-1) === "") lines.pop();
	if (!lines[0]?.startsWith("--- ") || !lines[1]?.startsWith("+++ ")) return { problem: "no --- and +++ lines" };
	const out = [];
	let from = 0;
	let i = 2;
	if (i >= lines.length) return { problem: "no hunk" };
	while (i < lines.length) {
		const head = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(lines[i]);
		if (!head) return { problem: `not a hunk head: ${clip(lines[i])}` };
		i += 1;
		const oldCount = Number(head[2] ?? 1);
		const newCount = Number(head[4] ?? 1);
		const oldStart = oldCount === 0 ? Number(head[1]) : Number(head[1]) - 1;
		if (oldStart < from || oldStart > old.length) return { problem: `hunk at ${head[1]} is out of place` };
		out.push(...old.slice(from, oldStart));
		from = oldStart;
		if (out.length !== (newCount === 0 ? Number(head[3]) : Number(head[3]) - 1)) return { problem: `hunk says +${head[3]}, but ${out.length} lines stand before it` };
		let removed = 0;
		let added = 0;
		while (removed < oldCount || added < newCount) {
			const line = lines[i];
			if (line === undefined) return { problem: "a hunk is cut off" };
			i += 1;
			const bare = lines[i] === "\\ No newline at end of file";
			if (bare) i += 1;
			const value = line.slice(1) + (bare ? "" : "\n");
			if (line[0] === " " || line[0] === "-") {
				if (old[from] !== value) return { problem: `line ${from + 1} is ${clip(old[from] ?? "past the end")}, the diff has ${clip(value)}` };
				from += 1;
				removed += 1;
			}
			if (line[0] === " " || line[0] === "+") {
				out.push(value);
				added += 1;
			}
			if (!" -+".includes(line[0] ?? "x")) return { problem: `not a diff line: ${clip(line)}` };
		}
		if (removed !== oldCount || added !== newCount) return { problem: "a hunk's counts do not fit" };
	}
	out.push(...old.slice(from));
	if (out.slice(0, -1).some((line) => !line.endsWith("\n"))) return { problem: "an unterminated line in the middle" };
	return { text: out.join("") };
}

function seeWrite(view, args, text) {
	view.forget();
	if (text.startsWith("Successfully wrote") && typeof args.content === "string") {
		const lines = args.content.split("\n");
		view.show(1, lines, lines.length);
	}
}

/** An edit is followed only if each old text stands exactly once among neighbouring lines that are held. */
function seeEdit(view, args, text) {
	if (!text.startsWith("Successfully replaced")) return;
	const edits = args.edits ?? [{ oldText: args.oldText, newText: args.newText }];
	const runs = runsOf(view.lines);
	const changes = edits.map(({ oldText, newText }) => {
		const hits = runs.flatMap((run) => occurrences(run.text, oldText).map((at) => ({ run, at, oldText, newText })));
		return hits.length === 1 && !/\r/.test(hits[0].run.text) ? hits[0] : undefined;
	});
	const total = view.total;
	if (changes.some((change) => change === undefined)) return view.forget();
	view.forget();
	let shift = 0;
	for (const run of runs) {
		const own = changes.filter((change) => change.run === run).sort((a, b) => b.at - a.at);
		let edited = run.text;
		for (const { at, oldText, newText } of own) edited = edited.slice(0, at) + newText + edited.slice(at + oldText.length);
		const lines = edited.split("\n");
		lines.forEach((line, i) => view.lines.set(run.first + shift + i, line));
		shift += lines.length - run.text.split("\n").length;
	}
	if (total !== undefined) view.total = total + shift;
}

function runsOf(lines) {
	const runs = [];
	for (const number of [...lines.keys()].sort((a, b) => a - b)) {
		const run = runs.at(-1);
		if (run && run.last === number - 1) Object.assign(run, { last: number, text: `${run.text}\n${lines.get(number)}` });
		else runs.push({ first: number, last: number, text: lines.get(number) });
	}
	return runs;
}

function occurrences(text, part) {
	const found = [];
	for (let at = text.indexOf(part); part && at >= 0; at = text.indexOf(part, at + 1)) found.push(at);
	return found;
}

function terminated(text) {
	const lines = text.split("\n").map((line) => `${line}\n`);
	const last = lines.pop().slice(0, -1);
	return last === "" ? lines : [...lines, last];
}

export function textOf(content) {
	return typeof content === "string" ? content : (content ?? []).map((part) => part.text ?? "").join("");
}

const sizeOf = (bytes) => (bytes < 1024 * 1024 ? `${(bytes / 1024).toFixed(1)}KB` : `${(bytes / 1024 / 1024).toFixed(1)}MB`);
const missing = (view) => (typeof view.missing === "number" ? `line ${view.missing}` : view.missing);
const clip = (text) => JSON.stringify(text.length > 160 ? `${text.slice(0, 160)}…` : text);

function parse(json) {
	try {
		return JSON.parse(json);
	} catch {
		return {};
	}
}

// The judge itself: true logs pass, forged ones do not.
import assert from "node:assert/strict";
import test from "node:test";
import { applyDiff, judge, plainAnswer } from "../harness/judge.mjs";

const CWD = "/w";
const FILE = "one\ntwo\nthree\nfour\nfive\n";

/** A log is a list of batches; a batch is a list of [name, arguments, result]. `now` is the file when the last batch ran. */
function judged(batches, now) {
	let id = 0;
	const messages = batches.flatMap((batch) => {
		const calls = batch.map(([name, args, result]) => ({ id: `c${++id}`, name, args, result }));
		return [
			{ role: "assistant", tool_calls: calls.map((call) => ({ id: call.id, function: { name: call.name, arguments: JSON.stringify(call.args) } })) },
			...calls.map((call) => ({ role: "tool", tool_call_id: call.id, content: call.result })),
		];
	});
	return judge({ messages, cwd: CWD, truths: () => [now].flat() });
}

const read = (result, args = {}) => ["read", { path: "a.txt", ...args }, result];
const DIFF = "[readcache: 1 lines changed of 6]\n--- a/a.txt\n+++ b/a.txt\n@@ -1,5 +1,5 @@\n one\n two\n-three\n+THREE\n four\n five\n";
const CHANGED = FILE.replace("three", "THREE");
const LONG = "x\n".repeat(2500);
const CUT = plainAnswer(LONG).text;

const SOUND = [
	["the whole file, then unchanged", [[read(FILE)], [read("[readcache: unchanged, 6 lines]")]], FILE],
	["a range of a file that was shown whole", [[read(FILE)], [read("[readcache: unchanged in lines 2-3 of 6]\n\n[3 more lines in file. Use offset=4 to continue.]", { offset: 2, limit: 2 })]], FILE],
	["a range whose marker says where it ends", [[read(FILE)], [read("[readcache: unchanged in lines 2-3 of 6]", { offset: 2, limit: 2 })]], FILE],
	["a page that pi cuts", [[read(CUT)], [read("[readcache: unchanged in lines 1-2000 of 2501]\n\n[Showing lines 1-2000 of 2501. Use offset=2001 to continue.]")]], LONG],
	["a range that is part of the path", [[read(FILE)], [["read", { path: "a.txt:2-3" }, "[readcache: unchanged in lines 2-3 of 6]"]]], FILE],
	["a diff", [[read(FILE)], [read(DIFF)]], CHANGED],
	["unchanged after a diff", [[read(FILE)], [read(DIFF)], [read("[readcache: unchanged, 6 lines]")]], CHANGED],
	["two pages add up", [[read("one\ntwo\n\n[4 more lines in file. Use offset=3 to continue.]", { limit: 2 })], [read("three\nfour\nfive\n", { offset: 3 })], [read("[readcache: unchanged, 6 lines]")]], FILE],
	["a diff beside a newer page in one batch", [[read(FILE)], [read(`new\n${CHANGED}`.split("\n").slice(4).join("\n"), { offset: 5 }), read("[readcache: 2 lines changed of 7]\n--- a/a.txt\n+++ b/a.txt\n@@ -1,5 +1,6 @@\n+new\n one\n two\n-three\n+THREE\n four\n five\n")]], `new\n${CHANGED}`],
	["a diff after a marker that tells of another number of lines", [[read(FILE)], [read("[readcache: unchanged in lines 1-1 of 5]", { limit: 1 })], [read("[readcache: 1 lines changed of 5]\n--- a/a.txt\n+++ b/a.txt\n@@ -2,4 +2,4 @@\n two\n three\n four\n-five\n+five\n\\ No newline at end of file\n")]], FILE.trimEnd()],
	["an own write", [[["write", { path: "a.txt", content: FILE }, "Successfully wrote to a.txt"]], [read("[readcache: unchanged, 6 lines]")]], FILE],
	["an own edit", [[read(FILE)], [["edit", { path: "a.txt", edits: [{ oldText: "three", newText: "THREE" }] }, "Successfully replaced 1 block(s) in a.txt."]], [read("[readcache: unchanged, 6 lines]")]], CHANGED],
	["a range unchanged though the rest is another", [[read("two\nthree\n\n[3 more lines in file. Use offset=4 to continue.]", { offset: 2, limit: 2 })], [read("[readcache: unchanged in lines 2-3; changes exist outside this range]\n\n[3 more lines in file. Use offset=4 to continue.]", { offset: 2, limit: 2 })]], FILE.replace("five", "FIVE")],
];

const FORGED = [
	["nothing was shown before", [[read("[readcache: unchanged, 6 lines]")]], FILE, /cannot see/],
	["only a page was shown", [[read("one\ntwo\n\n[4 more lines in file. Use offset=3 to continue.]", { limit: 2 })], [read("[readcache: unchanged, 6 lines]")]], FILE, /cannot see line 3/],
	["the page asked for was never shown", [[read("one\ntwo\n\n[4 more lines in file. Use offset=3 to continue.]", { limit: 2 })], [read("[readcache: unchanged in lines 3-6 of 6]", { offset: 3 })]], FILE, /cannot see line 3/],
	["the file is another one now", [[read(FILE)], [read("[readcache: unchanged, 6 lines]")]], CHANGED, /not what pi's own read would show/],
	["the result was shortened on the way", [[read("one\ntwo\n[shortened]")], [read("[readcache: unchanged, 6 lines]")]], FILE, /holds 3 lines/],
	["the result was pruned", [[read("[pruned]")], [read("[readcache: unchanged, 6 lines]")]], FILE, /cannot see/],
	["only a notice was shown", [[read("[Line 1 is 58.6KB, exceeds 50.0KB limit. Use bash: sed -n '1p' a.txt | head -c 51200]")], [read("[readcache: unchanged, 1 lines]")]], "x".repeat(60000), /cannot see/],
	["the diff has another base", [[read(FILE.replace("two", "2"))], [read(DIFF)]], CHANGED, /does not apply/],
	["the diff leaves a change out", [[read(FILE)], [read(DIFF)]], CHANGED.replace("five", "FIVE"), /not what pi's own read would show/],
	["the diff lost the blanks at its end", [[read("a\nb")], [read("[readcache: 1 lines changed of 2]\n--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n\\ No newline at end of file")]], "a\nb  ", /not what pi's own read would show/],
	["the marker covers less than was asked for", [[read(FILE)], [read("[readcache: unchanged in lines 1-2 of 6]")]], FILE, /not what pi's own read would show/],
	["the marker of a cut page does not say how to go on", [[read(CUT)], [read("[readcache: unchanged in lines 1-2000 of 2501]")]], LONG, /not what pi's own read would show/],
	["its base stands beside it in one batch", [[read(FILE), read("[readcache: unchanged, 6 lines]")]], FILE, /cannot see/],
	["a wrong number of lines", [[read(FILE)], [read("[readcache: unchanged, 5 lines]")]], FILE, /marker speaks of 5/],
	["an edit of text that stands twice", [[read("x\nx\n")], [["edit", { path: "a.txt", edits: [{ oldText: "x", newText: "y" }] }, "Successfully replaced 1 block(s) in a.txt."]], [read("[readcache: unchanged, 3 lines]")]], "y\nx\n", /cannot see/],
	["a write that failed", [[read(FILE)], [["write", { path: "a.txt", content: CHANGED }, "EACCES: permission denied"]], [read("[readcache: unchanged, 6 lines]")]], CHANGED, /cannot see/],
	["a marker that nobody knows", [[read(FILE)], [read("[readcache: trust me]")]], FILE, /not one of the known/],
	["a marker in a script's output", [[read(FILE)], [["codemode", { code: "…" }, "[readcache: unchanged, 6 lines]"]]], FILE, /result of another tool/],
	["a plain answer that is not the file", [[read(FILE)]], CHANGED, /not the plain answer/],
	["another name's text", [[["read", { path: "b.txt" }, FILE]], [read("[readcache: unchanged, 6 lines]")]], FILE, /cannot see/],
];

for (const [title, batches, now] of SOUND) {
	test(`judge: sound: ${title}`, () => {
		const { problems } = judged(batches, now);
		assert.deepEqual(problems, []);
	});
}

for (const [title, batches, now, expected] of FORGED) {
	test(`judge: forged: ${title}`, () => {
		const { problems } = judged(batches, now);
		assert.equal(problems.length, 1, problems.join("\n"));
		assert.match(problems[0], expected);
	});
}

test("judge: a result that left the context is no base", () => {
	const { problems } = judged([[read("[readcache: unchanged, 6 lines]")]], FILE);
	assert.equal(problems.length, 1);
});

test("judge: a diff must fit byte for byte", () => {
	assert.equal(applyDiff("a\r\nb\n", "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\r\n-b\n+c\n").text, "a\r\nc\n");
	assert.match(applyDiff("a\r\nb\n", "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n").problem, /line 1/);
	assert.match(applyDiff("a\nb\n", "--- a/x\n+++ b/x\n@@ -1,3 +1,2 @@\n a\n-b\n+c\n").problem, /cut off/);
	assert.match(applyDiff("a\nb\n", "--- a/x\n+++ b/x\n@@ -2,1 +1,1 @@\n-b\n+c\n").problem, /stand before it/);
});

test("judge: the plain answer counts lines as pi does", () => {
	assert.equal(plainAnswer("1\n2\n3\n", { limit: -1 }).text.endsWith("[5 more lines in file. Use offset=0 to continue.]"), true);
	assert.equal(plainAnswer("1\n2\n3\n", { limit: 0 }).text, "\n\n[4 more lines in file. Use offset=1 to continue.]");
	assert.equal(plainAnswer("1\n".repeat(2000)).tail, "");
	assert.equal(plainAnswer("1\n".repeat(2001)).tail, "\n\n[Showing lines 1-2000 of 2002. Use offset=2001 to continue.]");
});

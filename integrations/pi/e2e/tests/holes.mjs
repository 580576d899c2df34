// The ten ways in which the forerunner vouched for text that the model could not see. Each test looks at the request that
// was sent, not only at the answer.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import fs from "node:fs";
import { isShort, textOf } from "../harness/judge.mjs";
import { EXTENSION, PROBE } from "../harness/published.mjs";
import { bash, lines, read, scenario, withLine } from "../harness/world.mjs";

const sha256 = (text) => createHash("sha256").update(text).digest("hex");
const A = lines(40);
/** Cut at 2000 lines, not at 50 KB. */
const LONG = Array.from({ length: 3000 }, (_, i) => `line ${i + 1} with\n`).join("");
const UNCHANGED = "[readcache: unchanged, 41 lines]";

/** The request that carries this result as its newest. */
const requestOf = (world, { id }) => world.model.requests.find(({ messages }) => messages.some((message) => message.tool_call_id === id));

scenario("U1 a page that was cut off is never vouched for", async (world) => {
	world.write("long.txt", LONG);
	const pi = await world.start();
	const [first, rest, again] = await pi.run([[read("long.txt")], [read("long.txt", { offset: 2001 })], [read("long.txt")]]);
	assert.ok(first.text.endsWith("[Showing lines 1-2000 of 3001. Use offset=2001 to continue.]"));
	assert.ok(rest.text.startsWith("line 2001 with"), rest.text.slice(0, 100));
	assert.ok(JSON.stringify(requestOf(world, rest).messages).includes("line 2500 with"), "the model sees line 2500");
	assert.equal(again.text, "[readcache: unchanged in lines 1-2000 of 3001]\n\n[Showing lines 1-2000 of 3001. Use offset=2001 to continue.]");
});

scenario("U1 a range that was cut off is never vouched for", async (world) => {
	world.write("long.txt", LONG);
	const pi = await world.start();
	const range = { offset: 1, limit: 2500 };
	const [first, again, behind] = await pi.run([[read("long.txt", range)], [read("long.txt", range)], [read("long.txt", { offset: 2001, limit: 500 })]]);
	assert.ok(first.text.includes("line 2000 with") && !first.text.includes("line 2001 with"));
	assert.match(again.text, /^\[readcache: unchanged in lines 1-2000 of 3001\]/);
	assert.ok(behind.text.startsWith("line 2001 with"), behind.text.slice(0, 100));
});

scenario("U1 the cut at 50 KB is a cut as well", async (world) => {
	const wide = Array.from({ length: 900 }, (_, i) => `wide ${i + 1} ${"x".repeat(90)}\n`).join("");
	world.write("wide.txt", wide);
	const pi = await world.start();
	const [first, again] = await pi.run([[read("wide.txt")], [read("wide.txt")]]);
	const [, last] = /\[Showing lines 1-(\d+) of 901 \(50\.0KB limit\)/.exec(first.text);
	assert.ok(again.text.startsWith(`[readcache: unchanged in lines 1-${last} of 901]`), again.text);
	const [rest] = await pi.run([[read("wide.txt", { offset: Number(last) + 1 })]]);
	assert.ok(rest.text.startsWith(`wide ${Number(last) + 1} `));
});

scenario("U2 no diff on a base of which only a page was shown", async (world) => {
	world.write("long.txt", LONG);
	const pi = await world.start();
	await pi.run([[read("long.txt")]]);
	world.write("long.txt", withLine(withLine(LONG, 2900, "LINE 2900"), 10, "LINE 10"));
	const [again] = await pi.run([[read("long.txt")]]);
	assert.ok(!isShort(again.text), again.text.slice(0, 200));
	assert.ok(again.text.includes("\nLINE 10\n"));
	assert.ok(!again.text.includes("LINE 2900"));
});

scenario("U3 a line that is too long to show is never known", async (world) => {
	world.write("one.txt", "x".repeat(60_000));
	const pi = await world.start();
	const [first, again] = await pi.run([[read("one.txt")], [read("one.txt")]]);
	assert.match(first.text, /^\[Line 1 is 58\.6KB, exceeds 50\.0KB limit\./);
	assert.equal(again.text, first.text);
	assert.ok(!world.seen.includes("xxxxxxxxxx"), "no byte of it is in the request");
});

scenario("U4 what a context edit took out is not known", async (world) => {
	world.write("a.txt", A);
	const pi = await world.start();
	await pi.run([[read("a.txt")]]);
	const entries = await pi.entries();
	const result = entries.find((entry) => entry.message?.role === "toolResult");
	await pi.slash(`/omit ${result.parentId} ${result.id}`);
	await pi.run([[bash("true")]]);
	assert.ok((await pi.entries()).some((entry) => entry.type === "context_edit"));
	const [again, third] = await pi.run([[read("a.txt")], [read("a.txt")]]);
	const request = requestOf(world, again);
	assert.ok(!JSON.stringify(request.messages.slice(0, -2)).includes("line 7 with"), "the first read has left the request");
	assert.equal(again.text, A);
	assert.equal(third.text, UNCHANGED);
});

scenario("U4 what a context edit replaced is not known", async (world) => {
	world.write("a.txt", A);
	const pi = await world.start();
	await pi.run([[read("a.txt")]]);
	const [result] = await pi.resultEntries();
	await pi.slash(`/replace ${result.id}`);
	await pi.run([[bash("true")]]);
	const [again] = await pi.run([[read("a.txt")]]);
	assert.ok(JSON.stringify(requestOf(world, again).messages).includes("[replaced]"));
	assert.equal(again.text, A);
});

scenario("U4 a marker whose base was edited away is no base itself", async (world) => {
	world.write("a.txt", A);
	const pi = await world.start();
	await pi.run([[read("a.txt")], [read("a.txt")]]);
	const [base] = await pi.resultEntries();
	await pi.slash(`/replace ${base.id}`);
	await pi.run([[bash("true")]]);
	const [again] = await pi.run([[read("a.txt")]]);
	assert.equal(again.text, A);
});

for (const [order, extensions] of [["before", [PROBE, EXTENSION]], ["after", [EXTENSION, PROBE]]]) {
	scenario(`U5 a result that another extension shortened is not known (loaded ${order} ours)`, { plainMustBeTrue: false }, async (world) => {
		world.write("a.txt", A);
		const pi = await world.start({ extensions, env: { PROBE_PLAYS: "shorten" } });
		const results = await pi.run([[read("a.txt")], [read("a.txt")], [read("a.txt", { offset: 30, limit: 3 })]]);
		assert.ok(results[0].text.endsWith("[shortened by another extension]"));
		assert.ok(!isShort(results[1].text), results[1].text);
		assert.ok(results[2].text.startsWith("line 30 with"), results[2].text);
		assert.ok(!JSON.stringify(requestOf(world, results[1]).messages).includes("line 39 with"), "the model never saw the end of the file");
	});

	for (const [how, seen] of [["prune", "[pruned]"], ["drop", undefined]]) {
		scenario(`U6 a result that another extension ${how}s from each request is not known (loaded ${order} ours)`, async (world) => {
			world.write("a.txt", A);
			world.write("b.txt", lines(30, "other"));
			const pi = await world.start({ extensions, env: { PROBE_PLAYS: how } });
			const turns = [[read("a.txt")], [bash("true")], [bash("true")], [bash("true")], [read("a.txt")]];
			const again = (await pi.run(turns)).at(-1);
			const request = requestOf(world, again);
			if (seen) assert.ok(JSON.stringify(request.messages).includes(seen));
			assert.ok(!JSON.stringify(request.messages.slice(0, -2)).includes("line 7 with"), "the first read has left the request");
			assert.equal(again.text, A);
			const later = await pi.run([[read("b.txt")], [read("b.txt")]]);
			assert.ok(later.every((result) => !isShort(result.text)), "once seen, the session stays plain");
			const told = pi.notices().filter((notice) => /plain/.test(notice.message));
			assert.equal(told.length, 1, "the person is told once");
		});
	}
}

scenario("U7 the text that is served and the hash that is recorded come from one read", async (world) => {
	const versions = [A, CHANGED()];
	world.write("a.txt", A);
	world.model.racing = versions;
	let turn = 0;
	const writer = setInterval(() => {
		fs.writeFileSync(world.file("a.tmp"), versions[++turn % 2]);
		fs.renameSync(world.file("a.tmp"), world.file("a.txt"));
	}, 1);
	let results;
	try {
		const pi = await world.start();
		results = await pi.run(Array.from({ length: 30 }, () => [read("a.txt", { bypass_cache: true })]));
		const mixed = await pi.run(Array.from({ length: 30 }, () => [read("a.txt")]));
		let held = results.at(-1).text;
		for (const { text, meta } of mixed) {
			if (text === UNCHANGED) assert.equal(meta.servedHash, sha256(held), "unchanged speaks of the text that the model holds");
			else held = versions.find((version) => sha256(version) === meta.servedHash);
			assert.ok(!versions.includes(text) || text === held);
		}
	} finally {
		clearInterval(writer);
	}
	for (const { text, meta } of results) {
		assert.ok(versions.includes(text));
		assert.equal(meta.servedHash, sha256(text));
	}
	assert.ok(new Set(results.map((result) => result.text)).size === 2, "both versions were met");
});

function CHANGED() {
	return withLine(A, 7, "LINE SEVEN");
}

const codemode = (code) => ({ name: "codemode", arguments: { code } });
const CODEMODE = { extensions: ["builtin:codemode", EXTENSION, PROBE], args: ["--tools", "+codemode"] };

scenario("U8 a script gets the file and not a marker", async (world) => {
	world.write("a.txt", A);
	const pi = await world.start(CODEMODE);
	const twice = codemode(`const one = await tools.read({ path: "a.txt" }); const two = await tools.read({ path: "a.txt" }); return JSON.stringify([one.length, two.length, one === two]);`);
	const results = await pi.run([[twice], [read("a.txt")], [twice], [codemode(`return (await tools.read({ path: "a.txt" })).split("\\n")[38];`)]]);
	const same = JSON.stringify([A.length, A.length, true]);
	assert.ok(results[0].text.includes(same), results[0].text);
	assert.equal(results[1].text, A, "what a script was given the model has not seen");
	assert.ok(results[2].text.includes(same), "also after the model itself has read it");
	assert.ok(results[3].text.includes("line 39 with"));
});

scenario("U8 two scripts and a read in one batch", async (world) => {
	world.write("a.txt", A);
	const pi = await world.start(CODEMODE);
	const show = codemode(`return await tools.read({ path: "a.txt", offset: 1, limit: 3 });`);
	const results = await pi.run([[show, show, read("a.txt")], [show], [read("a.txt")], [read("a.txt")]]);
	for (const at of [0, 1, 3]) assert.ok(results[at].text.includes("line 2 with"), results[at].text);
	assert.equal(results[2].text, A);
	assert.equal(results[4].text, A, "a script was given the file since, and may have printed what it likes");
	assert.equal(results[5].text, UNCHANGED);
	assert.ok(world.lastRequest.messages.every((message) => message.role !== "tool" || !textOf(message.content).includes("Script completed") || !textOf(message.content).includes("[readcache:")));
});

scenario("U9 a stored text that was altered is not used", async (world) => {
	world.write("a.txt", A);
	const pi = await world.start();
	await pi.run([[read("a.txt")]]);
	const [, again] = await pi.run([[bash("grep -rlZ 'line 3 with' . | xargs -0 sed -i 's/line 3 with/LINE THREE with/'; sed -i 's/line 20 with/LINE TWENTY with/' a.txt")], [read("a.txt")]]);
	assert.ok(world.text("a.txt").includes("LINE THREE with") && world.text("a.txt").includes("LINE TWENTY with"));
	assert.ok(again.text.includes("LINE THREE with"), again.text);
	assert.ok(again.text.includes("LINE TWENTY with"));
});

scenario("U9 a stored text that was lost is not missed", async (world) => {
	world.write("a.txt", A);
	const pi = await world.start();
	await pi.run([[read("a.txt")]]);
	const store = `${world.project}/.pi/readcache`;
	fs.rmSync(store, { recursive: true });
	world.write("a.txt", CHANGED());
	const [again] = await pi.run([[read("a.txt")]]);
	assert.ok(again.text.includes("LINE SEVEN"));
	assert.equal(again.isError, false);
});

scenario("U10 a diff carries blanks at the end of the last line", async (world) => {
	world.write("a.txt", A.trimEnd());
	const pi = await world.start();
	await pi.run([[read("a.txt")]]);
	world.write("a.txt", `${A.trimEnd()}   `);
	const [diff] = await pi.run([[read("a.txt")]]);
	assert.match(diff.text, /^\[readcache: \d+ lines changed of 40\]\n/);
	assert.ok(diff.text.includes("\n+line 40 with some words to make it longer   \n\\ No newline at end of file"), JSON.stringify(diff.text));
});

for (const [what, before, after] of [
	["a carriage return", A, withLine(A, 7, "line 7 with some words to make it longer\r")],
	["blank lines at the end", A, `${A}\n\n   \n`],
	["a final newline that goes", A, A.trimEnd()],
	["a final newline that comes", A.trimEnd(), A],
	["a byte order mark", A, `\uFEFF${A}`],
	["a form feed and a line separator", A, withLine(A, 7, "line\f7\u2028with\u0085odd breaks")],
]) {
	scenario(`U10 a diff carries ${what}`, async (world) => {
		world.write("a.txt", before);
		const pi = await world.start();
		await pi.run([[read("a.txt")]]);
		world.write("a.txt", after);
		const [diff, next] = await pi.run([[read("a.txt")], [read("a.txt")]]);
		assert.ok(isShort(diff.text), diff.text);
		assert.equal(next.text, `[readcache: unchanged, ${after.split("\n").length} lines]`);
	});
}

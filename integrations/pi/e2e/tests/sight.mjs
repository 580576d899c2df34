// What the model is really sent: results that another extension prunes, whatever else in the request looks like them, and
// blank results, instead of which pi's transports say something else. Each test looks at the request that was sent.
import assert from "node:assert/strict";
import fs from "node:fs";
import { isShort, textOf } from "../harness/judge.mjs";
import { EXTENSION, PROBE } from "../harness/published.mjs";
import { bash, git, lines, read, scenario, withLine } from "../harness/world.mjs";

const A = lines(40);
const UNCHANGED = "[readcache: unchanged, 41 lines]";
const plainNotices = (pi) => pi.notices().filter((notice) => /plain/.test(notice.message));

/** What the request that led to this call shows of the first call. */
function firstShown(world, { id }) {
	const at = world.model.requests.findIndex(({ messages }) => messages.some((message) => message.tool_call_id === id));
	const { messages } = world.model.requests[at - 1];
	return textOf(messages.find((message) => message.role === "tool")?.content);
}

for (const [order, extensions] of [["before", [PROBE, EXTENSION]], ["after", [EXTENSION, PROBE]]]) {
	const pruning = { extensions, env: { PROBE_PLAYS: "prune" } };

	scenario(`a pruned result is missed though its text stands inside another result (pruner loaded ${order} ours)`, { alsoOlder: true }, async (world) => {
		world.write("a.txt", A);
		world.write("z.txt", lines(5, "other"));
		world.write("bundle.txt", `HEAD\n${A}TAIL\n`);
		const pi = await world.start(pruning);
		const again = (await pi.run([[read("a.txt")], [read("z.txt")], [read("bundle.txt")], [read("a.txt")]])).at(-1);
		assert.equal(firstShown(world, again), "[pruned]");
		assert.equal(again.text, A);
		assert.equal(plainNotices(pi).length, 1);
	});

	for (const word of ["user", "tool", "function"]) {
		scenario(`a pruned result is missed though the request holds the word ${JSON.stringify(word)} (pruner loaded ${order} ours)`, async (world) => {
			world.write("role.txt", `${word}\n`);
			const pi = await world.start(pruning);
			const again = (await pi.run([[read("role.txt")], [bash("true")], [bash("true")], [read("role.txt")]])).at(-1);
			assert.equal(firstShown(world, again), "[pruned]");
			assert.equal(again.text, `${word}\n`);
			assert.equal(plainNotices(pi).length, 1);
		});
	}
}

for (const [what, blank] of [["a newline", "\n"], ["nothing", ""], ["blanks", "   "], ["CRLF", "\r\n"], ["a page of blank lines", "\n".repeat(60)]]) {
	scenario(`a file of ${what} is read, and every other file stays known`, async (world) => {
		world.write("a.txt", A);
		world.write("__init__.py", blank);
		const pi = await world.start();
		const turns = [[read("a.txt")], [read("__init__.py")], [read("a.txt")], [read("__init__.py")], [read("a.txt")]];
		const results = await pi.run(turns);
		assert.deepEqual([0, 2, 4].map((at) => results[at].text), [A, UNCHANGED, UNCHANGED]);
		for (const at of [1, 3]) assert.equal(results[at].text, "(no tool output)", "what the model was shown, so it is not vouched for");
		const file = await pi.sessionFile();
		await pi.close();

		const resumed = await world.start({ args: ["--session", file] });
		assert.deepEqual((await resumed.run([[read("a.txt")]])).map((result) => result.text), [UNCHANGED]);
		await resumed.command({ type: "compact" });
		assert.deepEqual((await resumed.run(turns)).map((result) => result.text), [A, "(no tool output)", UNCHANGED, "(no tool output)", UNCHANGED]);
		assert.deepEqual([...plainNotices(pi), ...plainNotices(resumed)], [], "nobody is blamed");
	});
}

const CODEMODE = { extensions: ["builtin:codemode", EXTENSION, PROBE], args: ["--tools", "+codemode"] };
const codemode = (code) => ({ name: "codemode", arguments: { code } });

for (const process of ["the same process", "a resumed process"]) {
	scenario(`what a script read and may have printed is newer than what the model read before, in ${process}`, async (world) => {
		const other = withLine(A, 7, "LINE SEVEN");
		world.write("a.txt", A);
		world.write("b.txt", lines(20, "other"));
		let pi = await world.start(CODEMODE);
		await pi.run([[read("a.txt")], [read("b.txt")]]);
		world.write("a.txt", other);
		const [printed] = await pi.run([[codemode(`return (await tools.read({ path: "a.txt" })).split("\\n")[6];`)]]);
		assert.ok(printed.text.includes("LINE SEVEN"), printed.text);
		world.write("a.txt", A);
		if (process === "a resumed process") {
			const file = await pi.sessionFile();
			await pi.close();
			pi = await world.start({ ...CODEMODE, args: [...CODEMODE.args, "--session", file] });
		}
		const [again, same, kept] = await pi.run([[read("a.txt")], [read("a.txt")], [read("b.txt")]]);
		assert.equal(again.text, A, "not unchanged: line 7 was shown otherwise since");
		assert.equal(same.text, UNCHANGED);
		assert.equal(kept.text, "[readcache: unchanged, 21 lines]", "what the script did not read is still known");
	});
}

scenario("a range in the path that begins behind the last line is what offset says", async (world) => {
	world.write("a.txt", A);
	const pi = await world.start();
	const [suffix, offset, beyond] = await pi.run([[read("a.txt:41")], [read("a.txt", { offset: 41 })], [read("a.txt:42")]]);
	assert.deepEqual([suffix.isError, suffix.text, suffix.content], [false, offset.text, offset.content]);
	assert.deepEqual([beyond.isError, beyond.text], [true, "Offset 42 is beyond end of file (41 lines total)"]);
});

scenario("/readcache-refresh of a file that is not there does not promise its text", async (world) => {
	const pi = await world.start();
	await pi.slash("/readcache-refresh nope.txt");
	const said = pi.notices().map((notice) => notice.message);
	assert.deepEqual(said, ["There is no file nope.txt. If there is one later, its next read gives its text."]);
});

scenario("after git clean the store is made again, and nothing names another", async (world) => {
	world.write("a.txt", A);
	git(world.project, "add", "a.txt");
	const pi = await world.start();
	await pi.run([[read("a.txt")]]);
	git(world.project, "clean", "-fdxq");
	assert.ok(!fs.existsSync(`${world.project}/.pi`));
	const changed = withLine(A, 7, "LINE SEVEN");
	world.write("a.txt", changed);
	const [first] = await pi.run([[read("a.txt")]]);
	assert.equal(first.text, changed, "the base is gone");
	world.write("a.txt", A);
	const [second] = await pi.run([[read("a.txt")]]);
	assert.ok(isShort(second.text), second.text);
	assert.ok(fs.existsSync(`${world.project}/.pi/readcache/objects`));
	assert.deepEqual(pi.notices().map((notice) => notice.message), []);
});

// The seed's matrix 11-18: what holds depends on the branch that the model is on, and on nothing else.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { isShort } from "../harness/judge.mjs";
import { bash, lines, read, scenario, withLine } from "../harness/world.mjs";

const sha256 = (text) => createHash("sha256").update(text).digest("hex");
const A = lines(40);
const CHANGED = withLine(A, 7, "LINE SEVEN");
const UNCHANGED = "[readcache: unchanged, 41 lines]";
/** Enough for the newest prompt with its read, not for the one before. */
const KEEP_THE_NEWEST = { compaction: { enabled: true, keepRecentTokens: 450, reserveTokens: 1000 } };

const leafOf = async (pi) => (await pi.entries()).at(-1).id;

scenario("11 a read on one branch is no base on another", async (world) => {
	world.write("a.txt", A);
	const pi = await world.start();
	await pi.run([[bash("true")]]);
	const fork = await leafOf(pi);
	const [first] = await pi.run([[read("a.txt")]]);
	assert.equal(first.text, A);
	const one = await leafOf(pi);

	await pi.slash(`/goto ${fork}`);
	world.write("a.txt", CHANGED);
	const [other, again] = await pi.run([[read("a.txt")], [read("a.txt")]]);
	assert.equal(other.text, CHANGED);
	assert.equal(again.text, UNCHANGED);
	assert.ok(!world.seen.includes("line 7 with"), "the other branch's text is not in the request");

	await pi.slash(`/goto ${one}`);
	const [back] = await pi.run([[read("a.txt")]]);
	assert.match(back.text, /^\[readcache: \d+ lines changed of 41\]\n/);
	assert.ok(world.seen.includes("line 7 with"), "the base of the diff is in the request");
});

scenario("11 a move to just after the first read takes the later one back", async (world) => {
	world.write("a.txt", A);
	const pi = await world.start();
	await pi.run([[read("a.txt")]]);
	const early = await leafOf(pi);
	world.write("a.txt", CHANGED);
	const [diff] = await pi.run([[read("a.txt")]]);
	assert.match(diff.text, /lines changed of 41\]/);
	await pi.slash(`/goto ${early}`);
	const [again] = await pi.run([[read("a.txt")]]);
	assert.match(again.text, /lines changed of 41\]/, "against the old text, which is what this branch shows");
});

scenario("11 a move with a summary leaves only what stands before it", async (world) => {
	world.write("a.txt", A);
	world.write("b.txt", lines(20, "other"));
	const pi = await world.start();
	await pi.run([[read("a.txt")]]);
	const early = await leafOf(pi);
	await pi.run([[read("b.txt")]]);
	await pi.slash(`/goto ${early} summarize`);
	assert.ok((await pi.entries()).some((entry) => entry.type === "branch_summary"));
	const [b, a] = await pi.run([[read("b.txt")], [read("a.txt")]]);
	assert.equal(b.text, lines(20, "other"));
	assert.equal(a.text, UNCHANGED);
});

scenario("12 a move to before a compaction brings back what was shown there", async (world) => {
	world.write("a.txt", A);
	const pi = await world.start();
	await pi.run([[read("a.txt")]]);
	const before = await leafOf(pi);
	await pi.command({ type: "compact" });
	const [plain] = await pi.run([[read("a.txt")]]);
	assert.equal(plain.text, A);
	await pi.slash(`/goto ${before}`);
	const [short] = await pi.run([[read("a.txt")]]);
	assert.equal(short.text, UNCHANGED);
	assert.ok(world.seen.includes("line 7 with"));
});

scenario("13 nothing before the latest compaction counts, though pi keeps it in the request", async (world) => {
	world.configure(KEEP_THE_NEWEST);
	world.write("old.txt", lines(200, "old"));
	world.write("a.txt", A);
	const pi = await world.start();
	await pi.run([[read("old.txt")]]);
	await pi.run([[read("a.txt")]]);
	const { firstKeptEntryId } = await pi.command({ type: "compact" });
	const entries = await pi.entries();
	const kept = entries.findIndex((entry) => entry.id === firstKeptEntryId);
	const result = entries.findIndex((entry) => entry.message?.role === "toolResult" && entry.message.content[0].text === A);
	assert.ok(kept >= 0 && kept <= result, "the read stands among the entries that pi keeps");
	const [first, second] = await pi.run([[read("a.txt")], [read("a.txt")]]);
	const request = world.model.requests.findLast(({ messages }) => messages.some((message) => message.tool_call_id === first.id));
	assert.ok(JSON.stringify(request.messages.slice(0, -2)).includes("line 7 with"), "the model still sees the kept read");
	assert.equal(first.text, A);
	assert.ok(["full", "baseline_fallback"].includes(first.meta.mode));
	assert.equal(second.text, UNCHANGED);
});

scenario("14 of several compactions the latest is the barrier", async (world) => {
	world.write("a.txt", A);
	const pi = await world.start();
	await pi.run([[read("a.txt")]]);
	await pi.command({ type: "compact" });
	const between = await pi.run([[read("a.txt")], [read("a.txt")]]);
	assert.deepEqual(between.map((result) => result.text), [A, UNCHANGED]);
	await pi.command({ type: "compact" });
	const after = await pi.run([[read("a.txt")], [read("a.txt")]]);
	assert.deepEqual(after.map((result) => result.text), [A, UNCHANGED]);
	assert.equal((await pi.entries()).filter((entry) => entry.type === "compaction").length, 2);
});

scenario("15 the first read after a compaction is plain, for the file and for a range", { alsoOlder: true }, async (world) => {
	world.write("a.txt", A);
	world.write("b.txt", lines(30, "other"));
	const range = { offset: 5, limit: 5 };
	const turns = [[read("a.txt")], [read("b.txt", range)]];
	const pi = await world.start();
	await pi.run(turns);
	const known = await pi.run(turns);
	assert.ok(known.every((result) => isShort(result.text)));
	await pi.command({ type: "compact" });
	const first = await pi.run(turns);
	assert.ok(first.every((result) => !isShort(result.text) && ["full", "baseline_fallback"].includes(result.meta.mode)), JSON.stringify(first));
	const second = await pi.run(turns);
	assert.ok(second.every((result) => isShort(result.text)));
});

scenario("15 a compaction that pi makes by itself is a barrier as well", async (world) => {
	world.write("a.txt", A);
	const pi = await world.start();
	await pi.run([[read("a.txt")]]);
	world.model.promptTokens = 199_500;
	const compacted = pi.next((event) => event.type === "compaction_end" || event.type === "auto_compaction_end", "a compaction");
	await pi.run([[bash("true")], [bash("true")]]);
	await compacted;
	world.model.promptTokens = 100;
	assert.ok((await pi.entries()).some((entry) => entry.type === "compaction"));
	const [first, second] = await pi.run([[read("a.txt")], [read("a.txt")]]);
	assert.equal(first.text, A);
	assert.equal(second.text, UNCHANGED);
});

scenario("16 a fork knows what stands before it and nothing else", async (world) => {
	world.write("a.txt", A);
	world.write("b.txt", lines(30, "other"));
	const pi = await world.start();
	await pi.run([[read("a.txt")]]);
	await pi.run([[read("b.txt")]]);
	const original = await pi.sessionFile();
	const { messages } = await pi.command({ type: "get_fork_messages" });
	await pi.command({ type: "fork", entryId: messages.at(-1).entryId });
	assert.notEqual(await pi.sessionFile(), original);
	const [a, b] = await pi.run([[read("a.txt")], [read("b.txt")]]);
	assert.equal(a.text, UNCHANGED);
	assert.equal(b.text, lines(30, "other"));

	await pi.command({ type: "switch_session", sessionPath: original });
	const [there] = await pi.run([[read("b.txt")]]);
	assert.equal(there.text, "[readcache: unchanged, 31 lines]");
});

scenario("16 a clone knows all that it was cloned from", async (world) => {
	world.write("a.txt", A);
	const pi = await world.start();
	await pi.run([[read("a.txt")]]);
	const original = await pi.sessionFile();
	await pi.command({ type: "clone" });
	assert.notEqual(await pi.sessionFile(), original);
	const [a] = await pi.run([[read("a.txt")]]);
	assert.equal(a.text, UNCHANGED);
});

scenario("17 a restarted session knows what it knew", { alsoOlder: true }, async (world) => {
	world.write("a.txt", A);
	let pi = await world.start();
	await pi.run([[read("a.txt")]]);
	const session = await pi.sessionFile();
	await pi.close();
	pi = await world.start({ args: ["--session", session] });
	const [a] = await pi.run([[read("a.txt")]]);
	assert.equal(a.text, UNCHANGED);
	await pi.close();
	world.write("a.txt", CHANGED);
	pi = await world.start({ args: ["--continue"] });
	const [b] = await pi.run([[read("a.txt")]]);
	assert.match(b.text, /lines changed of 41\]/);
});

scenario("17 what was shown is known without the stored texts; a diff is not made without them", async (world) => {
	world.write("a.txt", A);
	let pi = await world.start();
	await pi.run([[read("a.txt")]]);
	const session = await pi.sessionFile();
	await pi.close();
	fs.rmSync(path.join(world.project, ".pi"), { recursive: true });
	pi = await world.start({ args: ["--session", session] });
	const [same] = await pi.run([[read("a.txt")]]);
	assert.equal(same.text, UNCHANGED);
	await pi.close();
	fs.rmSync(path.join(world.project, ".pi"), { recursive: true, force: true });
	world.write("a.txt", CHANGED);
	pi = await world.start({ args: ["--session", session] });
	const [changed] = await pi.run([[read("a.txt")]]);
	assert.ok(changed.text === CHANGED || changed.text.startsWith("[readcache: "), "judged: plain, or a diff that can be rebuilt");
});

scenario("17 a new session knows nothing; the one switched back to knows what it knew", async (world) => {
	world.write("a.txt", A);
	const pi = await world.start();
	await pi.run([[read("a.txt")]]);
	const session = await pi.sessionFile();
	await pi.command({ type: "new_session" });
	const [fresh] = await pi.run([[read("a.txt")]]);
	assert.equal(fresh.text, A);
	await pi.command({ type: "switch_session", sessionPath: session });
	const [back] = await pi.run([[read("a.txt")]]);
	assert.equal(back.text, UNCHANGED);
});

scenario("18 an older range does not stand against a newer read of the whole file", async (world) => {
	const range = { offset: 5, limit: 5 };
	world.write("a.txt", A);
	const pi = await world.start();
	await pi.run([[read("a.txt", range)]]);
	world.write("a.txt", CHANGED);
	const [whole, part] = await pi.run([[read("a.txt")], [read("a.txt", range)]]);
	assert.equal(whole.text, CHANGED);
	assert.ok(part.text.startsWith("[readcache: unchanged in lines 5-9 of 41]"), part.text);
	assert.equal(part.meta.baseHash, sha256(CHANGED));
	// Back to what the range read first showed: only the newest showing counts.
	world.write("a.txt", A);
	const [back] = await pi.run([[read("a.txt", range)]]);
	assert.ok(back.text.startsWith("line 5 with"), back.text);
	assert.ok(back.text.includes("line 7 with"));
});

// pi's ways to run, and several at once. pi must be gone as soon as the work is done: the program beside it never holds it.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { script } from "../harness/model.mjs";
import { runOnce } from "../harness/pi.mjs";
import { EXTENSION, NODE, PROGRAM } from "../harness/published.mjs";
import { bash, lines, read, scenario, withLine } from "../harness/world.mjs";

const A = lines(40);
const UNCHANGED = "[readcache: unchanged, 41 lines]";
const AT_ONCE_MS = 2000;
const TWICE = [[read("a.txt")], [read("a.txt")]];

const newest = (world) => world.lastRequest.messages.filter((message) => message.role === "tool").map((message) => message.content);

scenario("print mode: two reads, the answer on stdout and nothing else, and pi is gone", { alsoOlder: true }, async (world) => {
	world.write("a.txt", A);
	const run = await world.once("text", TWICE);
	assert.equal(run.code, 0, run.stderr);
	assert.equal(run.stdout.trim(), "DONE");
	assert.equal(run.stderr.trim(), "");
	assert.ok(run.lingered < AT_ONCE_MS, `${run.lingered} ms`);
	assert.ok(world.seen.includes(UNCHANGED));
});

scenario("JSON mode: every line is JSON, and pi is gone", async (world) => {
	world.write("a.txt", A);
	const run = await world.once("json", TWICE);
	assert.equal(run.code, 0, run.stderr);
	const events = run.stdout.trim().split("\n").map((line) => JSON.parse(line));
	const results = events.filter((event) => event.type === "tool_execution_end").map((event) => event.result.content[0].text);
	assert.deepEqual(results, [A, UNCHANGED]);
	assert.ok(run.lingered < AT_ONCE_MS, `${run.lingered} ms`);
});

scenario("RPC mode: pi is gone when its stdin ends, and so is the program", async (world) => {
	world.write("a.txt", A);
	const pi = await world.start();
	await pi.run(TWICE);
	const children = execFileSync("ps", ["-o", "pid=,args=", "--ppid", String(pi.child.pid)], { encoding: "utf8" });
	const program = children.split("\n").find((line) => line.includes("readproof"));
	assert.ok(program, "one program runs while pi does");
	const took = await pi.close();
	assert.ok(took < AT_ONCE_MS, `${took} ms`);
	const pid = Number(program.trim().split(/\s+/)[0]);
	await until(() => !fs.existsSync(`/proc/${pid}`) || fs.readFileSync(`/proc/${pid}/status`, "utf8").includes("State:\tZ"));
});

scenario("RPC mode: pi that read nothing starts no program", async (world) => {
	const pi = await world.start();
	await pi.prompt("hello");
	const children = children_of(pi.child.pid);
	assert.ok(!children.includes("readproof"), children);
});

scenario("an abort in the middle of a run leaves a session that goes on", async (world) => {
	world.write("a.txt", A);
	const pi = await world.start();
	await pi.run([[read("a.txt")]]);
	const begun = pi.next((event) => event.type === "tool_execution_start", "a tool call");
	const settled = pi.next((event) => event.type === "agent_settled", "end of the run");
	await pi.command({ type: "prompt", message: script([[read("a.txt"), bash("sleep 30")]]) });
	await begun;
	await pi.command({ type: "abort" });
	await settled;
	const [after] = await pi.run([[read("a.txt")]]);
	assert.ok([A, UNCHANGED].includes(after.text), after.text);
});

scenario("/readcache-status is shown to the person and put into no request", async (world) => {
	world.write("a.txt", A);
	const pi = await world.start();
	await pi.run(TWICE);
	const shown = await pi.slash("/readcache-status");
	const notice = shown.find((event) => event.method === "notify");
	assert.ok(notice.message.startsWith("[readcache-status]"), notice.message);
	for (const part of [/tracked scopes: \d+ across 1 files?/, /mode counts: .*full.*1/, /estimated savings: ~\d+ tokens/, /object store: \d+ objects?/]) assert.match(notice.message, part);
	await pi.run([[read("a.txt")]]);
	for (const { messages } of world.model.requests) assert.ok(!JSON.stringify(messages).includes("readcache-status"));
	assert.ok((await pi.entries()).every((entry) => !JSON.stringify(entry).includes("readcache-status")));
});

scenario("/readcache-status in print mode goes to the person's stdout", async (world) => {
	world.write("a.txt", A);
	const run = await world.once("text", [], { args: ["-p", "/readcache-status"] });
	assert.equal(run.code, 0, run.stderr);
	assert.ok(`${run.stdout}${run.stderr}`.includes("[readcache-status]"), run.stdout);
	assert.ok(run.lingered < AT_ONCE_MS);
});

scenario("two pi processes in one repository, with a file that changes", async (world) => {
	for (const name of ["a.txt", "b.txt", "c.txt"]) world.write(name, A);
	const pis = await Promise.all([world.start(), world.start()]);
	const names = ["a.txt", "b.txt", "c.txt"];
	for (let round = 1; round <= 4; round++) {
		for (const name of names) world.write(name, withLine(A, round * 5, `ROUND ${round} of ${name}`));
		const turns = names.flatMap((name) => [[read(name)], [read(name)]]);
		const both = await Promise.all(pis.map((pi) => pi.run(turns)));
		for (const results of both) {
			assert.ok(results.every((result) => !result.isError));
			assert.ok(results.filter((_, i) => i % 2 === 1).every((result) => result.text === UNCHANGED));
			if (round > 1) assert.ok(results.filter((_, i) => i % 2 === 0).every((result) => result.text.includes("lines changed of 41]")));
		}
	}
	const [first, second] = await Promise.all(pis.map((pi) => pi.sessionFile()));
	assert.notEqual(first, second);
});

scenario("`pi install ./integrations/pi` from a clone, then two reads of one file: the marker", { alsoOlder: true }, async (world) => {
	const clone = path.join(world.root, "clone");
	const place = path.join(clone, "integrations/pi");
	fs.mkdirSync(path.join(clone, "target/release"), { recursive: true });
	fs.symlinkSync(PROGRAM, path.join(clone, "target/release/readproof"));
	fs.mkdirSync(place, { recursive: true });
	fs.writeFileSync(path.join(clone, "Cargo.toml"), "");
	for (const name of ["package.json", "index.ts", "src"]) fs.cpSync(path.join(EXTENSION, name), path.join(place, name), { recursive: true });
	const { READPROOF_BIN, ...env } = world.environment();
	execFileSync(NODE, [world.pi.cli, "install", "./integrations/pi"], { cwd: clone, env, encoding: "utf8", stdio: "pipe" });
	assert.ok(JSON.stringify(JSON.parse(fs.readFileSync(path.join(world.agent, "settings.json"), "utf8")).packages).includes("integrations/pi"));
	world.write("a.txt", A);
	const run = await runOnce(world, { cwd: world.cwd, env, argv: [world.pi.cli, "--offline", "--mode", "json", "-p", script(TWICE)] });
	assert.equal(run.code, 0, run.stderr);
	assert.ok(run.stdout.includes(UNCHANGED), run.stderr);
	assert.deepEqual(newest(world), [A, UNCHANGED]);
});

function children_of(pid) {
	try {
		return execFileSync("ps", ["-o", "args=", "--ppid", String(pid)], { encoding: "utf8" });
	} catch {
		return "";
	}
}

async function until(holds) {
	const end = Date.now() + 10_000;
	while (!holds()) {
		assert.ok(Date.now() < end, "never came true");
		await new Promise((resolve) => setTimeout(resolve, 20));
	}
}

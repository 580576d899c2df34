// When the program is missing, too old, dies, hangs or talks nonsense: pi's own read answers, and the person is told once.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { NODE, PROGRAM } from "../harness/published.mjs";
import { lines, read, scenario } from "../harness/world.mjs";

const A = lines(40);
const UNCHANGED = "[readcache: unchanged, 41 lines]";

/** A program that stands between pi and the real one and does `trick` to a line that asks for a read while `flag` is there. */
function between(world, trick) {
	const flag = path.join(world.root, "flag");
	const file = path.join(world.root, "program.mjs");
	const wrapper = path.join(world.root, "readproof");
	fs.writeFileSync(wrapper, `#!/bin/sh\nexec "${NODE}" "${file}" "$@"\n`, { mode: 0o755 });
	fs.writeFileSync(
		file,
		`import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createInterface } from "node:readline";
const child = spawn(${JSON.stringify(PROGRAM)}, process.argv.slice(2), { stdio: ["pipe", "inherit", "inherit"] });
child.on("exit", (code) => process.exit(code ?? 1));
const die = () => { child.kill("SIGKILL"); process.kill(process.pid, "SIGKILL"); };
const lines = createInterface({ input: process.stdin });
lines.on("line", (line) => {
	if (existsSync(${JSON.stringify(flag)}) && line.includes('"op":"read"')) { ${trick} }
	child.stdin.write(line + "\\n");
});
lines.on("close", () => child.stdin.end());
`,
	);
	return { env: { READPROOF_BIN: wrapper }, on: () => fs.writeFileSync(flag, ""), off: () => fs.rmSync(flag, { force: true }) };
}

const told = (pi) => pi.notices().filter((notice) => /readproof/i.test(notice.message));

/** Every answer is pi's own. */
function own(results) {
	for (const result of results) {
		assert.equal(result.isError, false);
		assert.equal(result.text, A);
		assert.equal(result.meta, undefined);
	}
}

/** Reads until an answer is a marker: the program is tried again after a while. */
async function untilItIsBack(pi) {
	const end = Date.now() + 30_000;
	for (;;) {
		const [result] = await pi.run([[read("a.txt")]]);
		if (result.text === UNCHANGED) return;
		assert.equal(result.text, A);
		assert.ok(Date.now() < end, "the program never came back");
		await new Promise((resolve) => setTimeout(resolve, 300));
	}
}

scenario("the program is missing: pi's own text, one notice", async (world) => {
	world.write("a.txt", A);
	const pi = await world.start({ env: { READPROOF_BIN: path.join(world.root, "none/readproof") } });
	own(await pi.run([[read("a.txt")], [read("a.txt"), read("a.txt")], [read("a.txt")]]));
	assert.equal(told(pi).length, 1, JSON.stringify(told(pi)));
});

scenario("the program is missing: print mode says so on stderr and not in the answer", async (world) => {
	world.write("a.txt", A);
	const run = await world.once("text", [[read("a.txt")]], { env: { READPROOF_BIN: path.join(world.root, "none/readproof") } });
	assert.equal(run.code, 0);
	assert.equal(run.stdout.trim(), "DONE");
	assert.match(run.stderr, /readproof/i);
});

scenario("the program is missing: commands say so, and a refresh that cannot be made promises nothing", async (world) => {
	world.write("a.txt", A);
	const pi = await world.start({ env: { READPROOF_BIN: path.join(world.root, "none/readproof") } });
	await pi.run([[read("a.txt")]]);
	const status = await pi.slash("/readcache-status");
	assert.ok(status.some((event) => event.method === "notify"));
	const refresh = await pi.slash("/readcache-refresh a.txt");
	assert.ok(refresh.some((event) => event.method === "notify" && event.message.includes("nothing was refreshed")), JSON.stringify(refresh));
	assert.ok(!(await pi.entries()).some((entry) => entry.type === "custom" && entry.customType === "pi-readcache"));
});

scenario("the program is killed in the middle of a call: pi's own text, one notice, and it comes back", async (world) => {
	world.write("a.txt", A);
	const program = between(world, "return die();");
	const pi = await world.start(program);
	const [first, second] = await pi.run([[read("a.txt")], [read("a.txt")]]);
	assert.deepEqual([first.text, second.text], [A, UNCHANGED]);
	program.on();
	own(await pi.run([[read("a.txt"), read("a.txt")]]));
	program.off();
	assert.equal(told(pi).length, 1, JSON.stringify(told(pi)));
	await untilItIsBack(pi);
});

scenario("the program hangs: pi's own text after the time limit, one notice", async (world) => {
	world.write("a.txt", A);
	const program = between(world, "return;");
	const pi = await world.start({ env: { ...program.env, READPROOF_PI_TIMEOUT_MS: "700" } });
	await pi.run([[read("a.txt")]]);
	program.on();
	own(await pi.run([[read("a.txt")], [read("a.txt")]]));
	program.off();
	assert.equal(told(pi).length, 1, JSON.stringify(told(pi)));
	await untilItIsBack(pi);
});

scenario("the program hangs when pi ends: pi is gone all the same", async (world) => {
	world.write("a.txt", A);
	const program = between(world, "lines.removeAllListeners('close'); setInterval(() => {}, 1000);");
	program.on();
	const run = await world.once("text", [[read("a.txt")]], { env: program.env });
	assert.equal(run.code, 0);
	assert.ok(run.lingered < 2000, `${run.lingered} ms`);
});

scenario("the program talks nonsense: pi's own text, one notice", async (world) => {
	world.write("a.txt", A);
	const program = between(world, "process.stdout.write('this is not JSON\\n'); return;");
	program.on();
	const pi = await world.start({ env: program.env });
	own(await pi.run([[read("a.txt")], [read("a.txt")]]));
	assert.equal(told(pi).length, 1, JSON.stringify(told(pi)));
});

for (const [how, body] of [
	["does not know `pi`", 'echo "error: unrecognized subcommand \'pi\'" >&2; exit 2'],
	["speaks another protocol", 'read line; echo \'{"id":0,"ok":true,"protocol":99,"version":"9.0.0","workspace":"/"}\'; cat > /dev/null'],
]) {
	scenario(`the program is too old: it ${how}: pi's own text, one notice`, async (world) => {
		world.write("a.txt", A);
		const old = path.join(world.root, "readproof");
		fs.writeFileSync(old, `#!/bin/sh\n${body}\n`, { mode: 0o755 });
		const pi = await world.start({ env: { READPROOF_BIN: old } });
		own(await pi.run([[read("a.txt")], [read("a.txt")]]));
		assert.equal(told(pi).length, 1, JSON.stringify(told(pi)));
	});
}

scenario("plain answers of a time without the program are no base when it is back", async (world) => {
	world.write("a.txt", A);
	const program = between(world, "return die();");
	program.on();
	const pi = await world.start(program);
	own(await pi.run([[read("a.txt")]]));
	program.off();
	await untilItIsBack(pi);
});

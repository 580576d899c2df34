// What a read costs through the extension, against pi's own read: ratios of medians, taken in interleaved rounds of one run
// inside the published pi's bundle. `--json` prints JSON only; `--check` fails unless every bar holds.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { assistant, folder, load } from "./harness/inprocess.mjs";
import { VERSIONS } from "./harness/published.mjs";
import { git } from "./harness/world.mjs";

const ROUNDS = 150;
const WARM_UP = 30;
/** What pi shows at most. */
const LIMIT = 51_200;
const SIZES = { "10 KB": 10_000, "45 KB": 45_000, "500 KB": 500_000 };
const json = process.argv.includes("--json");
const pi = VERSIONS[0];
const base = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "readproof-pi-bench-")));
const agent = folder(base, "agent");
process.env.PI_CODING_AGENT_DIR = agent;
const say = (text) => json || process.stderr.write(`${text}\n`);

/** `bytes` of lines of 50 bytes; `salt` makes it a text of its own. */
function text(bytes, salt) {
	const count = Math.floor(bytes / 50);
	return Array.from({ length: count }, (_, i) => `${salt} line ${i} `.padEnd(49, "abcdefghij")).join("\n").concat("\n");
}

async function project(name) {
	const cwd = folder(base, name);
	git(cwd, "init", "--quiet");
	return { cwd, reads: await load(pi, { cwd, agent, model: undefined }) };
}

async function timed(call) {
	const begin = performance.now();
	await call();
	return performance.now() - begin;
}

/** A read through the extension of which only the tool itself is timed; the call and its result go into the session. */
async function timedRead({ session, ours }, params) {
	const id = `timed_${performance.now()}`;
	session.appendMessage(assistant(id, params));
	const begin = performance.now();
	const result = await ours(params, undefined, id);
	const took = performance.now() - begin;
	if (result.error) throw new Error(result.error);
	session.appendMessage({ role: "toolResult", toolCallId: id, toolName: "read", content: result.content, details: result.details, isError: false, timestamp: Date.now() });
	return { took, mode: result.details?.readcache?.mode };
}

function median(values) {
	const sorted = [...values].sort((a, b) => a - b);
	return sorted[Math.floor(sorted.length / 2)];
}

async function sizes() {
	const { cwd, reads } = await project("sizes");
	const times = {};
	const note = (size, what, took, round) => round >= WARM_UP && ((times[size] ??= {})[what] ??= []).push(took);
	const expect = (mode, ...modes) => {
		if (!modes.includes(mode)) throw new Error(`a read was answered as ${mode}, not as ${modes.join(" or ")}`);
	};
	for (const [size, bytes] of Object.entries(SIZES)) {
		for (const name of ["same", "diff"]) fs.writeFileSync(path.join(cwd, `${name}-${bytes}.txt`), text(bytes, size));
		await reads.read({ path: `same-${bytes}.txt` });
		await reads.read({ path: `diff-${bytes}.txt` });
	}
	fs.writeFileSync(path.join(cwd, "warm.txt"), text(1_000, "warm"));
	for (let round = 0; round < WARM_UP + ROUNDS; round++) {
		for (const [size, bytes] of Object.entries(SIZES)) {
			const first = `first-${bytes}-${round}.txt`;
			fs.writeFileSync(path.join(cwd, first), text(bytes, `round ${round}`));
			if (bytes < LIMIT) fs.writeFileSync(path.join(cwd, `diff-${bytes}.txt`), text(bytes, size).replace(/line 50 /, `line 50, round ${round} `));
			// The first call after a pause pays for waking up, whoever makes it: neither side is measured on it.
			await reads.builtIn({ path: "warm.txt" });
			await reads.ours({ path: "warm.txt" });
			// A new text is stored behind its answer: nothing else is measured while that goes on.
			const settle = () => reads.ours({ path: "warm.txt" });
			const own = () => timed(() => reads.builtIn({ path: `same-${bytes}.txt` }));
			const ownFirst = () => timed(() => reads.builtIn({ path: first }));
			// Who goes first takes turns: the second finds the file and the allocator warm.
			const before = round % 2 === 0 ? [await own(), await ownFirst()] : undefined;
			const same = await timedRead(reads, { path: `same-${bytes}.txt` });
			expect(same.mode, "unchanged", "unchanged_range");
			const fresh = await timedRead(reads, { path: first });
			expect(fresh.mode, "full");
			await settle();
			const [plain, plainFirst] = before ?? [await own(), await ownFirst()];
			note(size, "own", plain, round);
			note(size, "unchanged", same.took, round);
			note(size, "own first", plainFirst, round);
			note(size, "first", fresh.took, round);
			if (bytes < LIMIT) {
				const diff = await timedRead(reads, { path: `diff-${bytes}.txt` });
				expect(diff.mode, "diff");
				await settle();
				note(size, "diff", diff.took, round);
			}
			fs.rmSync(path.join(cwd, first));
		}
	}
	await reads.close();
	return Object.fromEntries(Object.entries(times).map(([size, what]) => [size, Object.fromEntries(Object.entries(what).map(([name, values]) => [name, median(values)]))]));
}

/** A session of `count` entries: every fifth call is a read of one of 200 files, the others run a command. */
async function longSession(name, count) {
	const { cwd, reads } = await project(name);
	for (let i = 0; i < 200; i++) fs.writeFileSync(path.join(cwd, `f${i}.txt`), text(2_000, `file ${i}`));
	fs.writeFileSync(path.join(cwd, "same.txt"), text(SIZES["10 KB"], "same"));
	for (let i = 0; reads.session.getEntries().length < count; i++) {
		if (i % 5 === 0) {
			await reads.read({ path: `f${(i / 5) % 200}.txt` });
			continue;
		}
		const id = `bash_${i}`;
		reads.session.appendMessage(assistant(id, { command: "true" }, "bash"));
		reads.session.appendMessage({ role: "toolResult", toolCallId: id, toolName: "bash", content: [{ type: "text", text: "done\n".repeat(20) }], isError: false, timestamp: Date.now() });
	}
	await reads.read({ path: "same.txt" });
	return reads;
}

async function lengths() {
	const sessions = [await longSession("short", 1_000), await longSession("long", 50_000)];
	const times = [[], []];
	for (let round = 0; round < WARM_UP + ROUNDS; round++) {
		for (const at of round % 2 === 0 ? [0, 1] : [1, 0]) {
			const { took } = await timedRead(sessions[at], { path: "same.txt" });
			if (round >= WARM_UP) times[at].push(took);
		}
	}
	for (const reads of sessions) await reads.close();
	return times.map(median);
}

/** Heap, and what stands beside it, that is held after 2,000 reads over 500 files; the session's own entries included. */
async function memory() {
	const { cwd, reads } = await project("memory");
	for (let i = 0; i < 500; i++) fs.writeFileSync(path.join(cwd, `f${i}.txt`), text(SIZES["10 KB"], `file ${i}`));
	// What is loaded and compiled once is not what reads hold.
	for (let i = 0; i < 200; i++) await reads.ours({ path: `f${i}.txt` });
	const before = held();
	for (let i = 0; i < 2_000; i++) await reads.read({ path: `f${i % 500}.txt` });
	const after = held();
	await reads.close();
	return (after - before) / 1e6;
}

function held() {
	globalThis.gc();
	globalThis.gc();
	const { heapUsed, external } = process.memoryUsage();
	return heapUsed + external;
}

say(`pi ${pi.version}, ${ROUNDS} rounds after ${WARM_UP} to warm up`);
say("memory after 2,000 reads over 500 files");
const megabytes = await memory();
say("sizes");
const p50 = await sizes();
say("sessions of 1,000 and 50,000 entries");
const [short, long] = await lengths();
fs.rmSync(base, { recursive: true, force: true });

const ms = (value) => `${value.toFixed(2)} ms`;
const times = (value) => `${value.toFixed(2)} ×`;
const row = (what, ours, own, bar) => ({ what, ours: ms(ours), own: ms(own), figure: ours / own, text: times(ours / own), bar, holds: bar === undefined ? undefined : ours / own <= bar });
const table = [
	row("unchanged, 10 KB", p50["10 KB"].unchanged, p50["10 KB"].own, 2.5),
	row("unchanged, 45 KB", p50["45 KB"].unchanged, p50["45 KB"].own),
	row("unchanged, 500 KB (cut)", p50["500 KB"].unchanged, p50["500 KB"].own, 1.0),
	row("first read, 10 KB", p50["10 KB"].first, p50["10 KB"]["own first"], 3),
	row("first read, 45 KB", p50["45 KB"].first, p50["45 KB"]["own first"], 3),
	row("first read, 500 KB (cut)", p50["500 KB"].first, p50["500 KB"]["own first"], 3),
	row("diff, 10 KB", p50["10 KB"].diff, p50["10 KB"].own),
	row("diff, 45 KB", p50["45 KB"].diff, p50["45 KB"].own, 3),
	{ ...row("unchanged at 50,000 entries against 1,000", long, short, 1.5) },
	{ what: "held after 2,000 reads over 500 files", ours: `${megabytes.toFixed(1)} MB`, own: "", figure: megabytes, text: "", bar: 20, holds: megabytes <= 20 },
];
const report = { pi: pi.version, rounds: ROUNDS, rows: table.map(({ what, ours, own, figure, bar, holds }) => ({ what, ours, own, figure: Number(figure.toFixed(3)), bar, holds })) };
if (!json) {
	console.log("| | ours (p50) | pi's own (p50) | ratio | bar | holds |\n|---|---|---|---|---|---|");
	for (const { what, ours, own, text, bar, holds } of table) console.log(`| ${what} | ${ours} | ${own} | ${text} | ${bar === undefined ? "" : `≤ ${bar}`} | ${holds === undefined ? "" : holds ? "yes" : "NO"} |`);
	console.log();
}
console.log(JSON.stringify(report));
if (process.argv.includes("--check") && table.some(({ holds }) => holds === false)) process.exitCode = 1;

// `cargo xtask hosts --plugin` runs this in a network namespace that has only loopback: Claude Code with the plugin, against a scripted
// model. Without words, the matrix: each case is played, judged by its requests, and its recording is written with `--update`.
// `--random N --steps K --seed S` plays random conversations. `--time PAIRS` measures what the hook costs.
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { CASES, FILES } from "./matrix.mjs";
import { randomScript } from "./random.mjs";
import { recording } from "./record.mjs";
import { play } from "./session.mjs";
import { measure } from "./time.mjs";

const need = (name) => {
	const value = process.env[name];
	if (!value || !fs.existsSync(value)) throw new Error(`${name} must name something that exists; run this with \`cargo xtask hosts --plugin\``);
	return fs.realpathSync(value);
};
const option = (name, otherwise) => {
	const at = process.argv.indexOf(name);
	return at < 0 ? otherwise : Number(process.argv[at + 1]);
};

const judge = need("READPROOF_JUDGE");
const scratch = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "readproof-plugin-")));
const options = { packages: need("READPROOF_HOSTS_PACKAGES"), program: need("READPROOF_BIN"), plugin: need("READPROOF_PLUGIN") };
const only = process.argv.flatMap((word, i) => (process.argv[i - 1] === "--only" ? [word] : []));
const update = process.argv.includes("--update");
const recordings = path.join(import.meta.dirname, "recordings");
const counts = { passed: 0, failed: 0, full: 0, short: 0 };

try {
	const pairs = option("--time", 0);
	const random = option("--random", 0);
	const texts = process.argv.indexOf("--texts");
	if (pairs) await measure(pairs, { ...options, scratch, texts: texts < 0 ? undefined : process.argv[texts + 1] });
	else if (random) for (let n = 0; n < random; n++) await tryRandom(option("--seed", 1) + n, option("--steps", 40));
	else for (const name of Object.keys(CASES).filter((name) => only.length === 0 || only.some((part) => name.includes(part)))) await tryCase(name);
	if (!pairs) console.log(`\n${counts.passed} passed, ${counts.failed} failed, 0 skipped; of the reads, ${counts.short} were answered shortly and ${counts.full} with text`);
} finally {
	fs.rmSync(scratch, { recursive: true, force: true });
}
process.exitCode = counts.failed > 0 ? 1 : 0;

async function tryCase(name) {
	const began = Date.now();
	const played = await play({ files: FILES, ...CASES[name] }, { ...options, base: fs.mkdtempSync(path.join(scratch, `${name}-`)) });
	const text = recording(name, played);
	const file = path.join(update ? recordings : scratch, `${name}.jsonl`);
	fs.mkdirSync(path.dirname(file), { recursive: true });
	fs.writeFileSync(file, text);
	report(name, [...wrong(played), ...shown(played, CASES[name].hidden ?? []), ...judged(file)], began, played);
}

/** What a result shows that the rules hide. */
function shown({ model }, hidden) {
	const results = model.requests.at(-1).messages.flatMap(({ content }) => (Array.isArray(content) ? content : [])).filter(({ type }) => type === "tool_result");
	return results.flatMap(({ tool_use_id: id, content }) => hidden.filter((words) => String(content).includes(words)).map((words) => `${id} shows ${JSON.stringify(words)}`));
}

async function tryRandom(seed, steps) {
	const began = Date.now();
	const base = fs.mkdtempSync(path.join(scratch, `random-${seed}-`));
	const played = await play({ files: FILES, ...randomScript(seed, steps) }, { ...options, base });
	const file = path.join(scratch, `random-${seed}.jsonl`);
	fs.writeFileSync(file, recording(`random ${seed}`, played));
	report(`random ${seed}`, [...wrong(played), ...judged(file)], began, played);
}

function report(name, problems, began, { model }) {
	const seen = results(model);
	const short = [...seen.values()].filter(({ kind }) => kind === "short").length;
	const text = [...seen.values()].filter(({ kind }) => kind === "full").length;
	counts.short += short;
	counts.full += text;
	counts[problems.length > 0 ? "failed" : "passed"]++;
	for (const one of problems) console.log(`--- ${name}: ${one}`);
	console.log(`${problems.length > 0 ? "FAIL " : "ok   "} ${name}: ${model.requests.length} requests, ${short} short answers, ${text} texts (${((Date.now() - began) / 1000).toFixed(1)} s)`);
}

/** What a run did that the script does not allow. */
function wrong({ model, said }) {
	const seen = results(model);
	const other = Object.entries(model.expected).filter(([id, kind]) => seen.get(id)?.kind !== kind);
	return [
		...said.filter(({ code }) => code !== 0).map(({ code, signal, errors }) => `the program ended with ${signal ?? `code ${code}`}: ${errors.slice(-400)}`),
		...(model.left > 0 ? [`${model.left} turns of the model were not asked for`] : []),
		...other.map(([id, kind]) => `${id} should be ${kind}, and the model was sent ${JSON.stringify(seen.get(id)?.text ?? "nothing").slice(0, 200)}`),
	];
}

/** The result of every call as it was first sent. */
function results({ requests }) {
	const reads = new Set(requests.flatMap(({ content }) => content.filter(({ name }) => name === "Read").map(({ id }) => id)));
	const found = new Map();
	for (const { messages } of requests) {
		for (const { tool_use_id: id, content, is_error } of messages.flatMap(({ content }) => (Array.isArray(content) ? content : []))) {
			if (!id || found.has(id) || !reads.has(id)) continue;
			const text = typeof content === "string" ? content : JSON.stringify(content);
			found.set(id, { text, kind: is_error ? "failed" : text.startsWith("0\t[readcache:") ? "short" : "full" });
		}
	}
	return found;
}

/** What the judge complains about. */
function judged(file) {
	const { status, stdout, stderr } = spawnSync(judge, [file], { encoding: "utf8" });
	return status === 0 ? [] : [`${stdout}${stderr}`.trim()];
}

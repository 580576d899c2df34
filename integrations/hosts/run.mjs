// `cargo xtask hosts` runs this in a network namespace that has only loopback: each host is set up by `readproof init` in a home of its own,
// is started in each place of the script, and what it sends the model because of us is compared with its golden file. `--only NAME` keeps
// the hosts whose name has NAME in it; it may be given more than once. `--update` writes the golden files.
import { execFileSync, spawn, spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { golden, normalised, own } from "./golden.mjs";
import { claudeCode } from "./hosts/claude-code.mjs";
import { codex } from "./hosts/codex.mjs";
import { gemini } from "./hosts/gemini.mjs";
import { opencode } from "./hosts/opencode.mjs";
import { startModel } from "./model.mjs";
import { PLACES, ROOT } from "./script.mjs";
import { make, text } from "./world.mjs";

const HOSTS = [claudeCode, codex, opencode, gemini];
/** How long a host may take for one place; it takes a few seconds. */
const MOST_SECONDS = 180;

const need = (name) => {
	const value = process.env[name];
	if (!value || !fs.existsSync(value)) throw new Error(`${name} must name something that exists; run this with \`cargo xtask hosts\``);
	return fs.realpathSync(value);
};

const program = need("READPROOF_BIN");
const packages = need("READPROOF_HOSTS_PACKAGES");
const scratch = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "readproof-hosts-")));
const only = process.argv.flatMap((word, i) => (process.argv[i - 1] === "--only" ? [word] : []));
const update = process.argv.includes("--update");
const chosen = HOSTS.filter(({ name }) => only.length === 0 || only.some((part) => name.includes(part)));

let failed = 0;
try {
	for (const host of chosen) await tryHost(host);
} finally {
	fs.rmSync(scratch, { recursive: true, force: true });
}
if (chosen.length === 0) console.log(`no host has that name: ${HOSTS.map(({ name }) => name).join(", ")}`);
console.log(`\n${chosen.length - failed} passed, ${failed} failed, 0 skipped`);
process.exitCode = failed > 0 || chosen.length === 0 ? 1 : 0;

async function tryHost(host) {
	const begin = Date.now();
	const runs = [];
	for (const place of PLACES) runs.push(await runIn(host, place));
	const wrong = runs.flatMap(problems);
	const file = path.join(import.meta.dirname, "golden", `${host.name}.txt`);
	const came = golden(host.name, runs);
	if (update) fs.writeFileSync(file, came);
	else if (!fs.existsSync(file) || fs.readFileSync(file, "utf8") !== came) wrong.push(difference(file, came));
	failed += wrong.length > 0 ? 1 : 0;
	for (const one of wrong) console.log(`--- ${host.name}: ${one}`);
	const calls = runs.reduce((sum, { last }) => sum + last.length, 0);
	console.log(`${wrong.length === 0 ? "ok   " : "FAIL "} ${host.name}: ${calls} calls in ${runs.length} places${update ? ", golden file written" : ""} (${((Date.now() - begin) / 1000).toFixed(1)} s)`);
}

/** What is wrong with a run whatever the golden file says. */
function problems({ name, tools, changed, untold, calls, last, ended }) {
	const said = `\n    it ended with ${ended.signal ?? `code ${ended.code}`} and said: ${ended.said.slice(-800)}`;
	if (tools.length === 0) return [`started in ${name}, it told the model of no tool of ours${said}`];
	if (last.length !== calls.length) return [`started in ${name}, it made ${last.length} of ${calls.length} calls${said}`];
	const blank = calls.filter((_, i) => last[i].blocks.length === 0 || last[i].blocks.some((block) => block.trim() === ""));
	const unseen = calls.filter(({ shows }, i) => shows && !last[i].blocks.some((block) => block.includes(text(shows))));
	return [
		...(changed ? [`started in ${name}, our tools are not the same in all requests`] : []),
		...(untold.length > 0 ? [`started in ${name}, the model is not told of ${untold.join(", ")}`] : []),
		...unseen.map(({ title, shows }) => `started in ${name}, ${title}: the model is not sent the text of ${shows}`),
		...blank.map(({ title }) => `started in ${name}, ${title}: an empty text, which some models' services refuse`),
	];
}

function difference(file, came) {
	const { stdout } = spawnSync("diff", ["--unified", "--new-file", "--label", "expected", "--label", "came", file, "-"], { input: came, encoding: "utf8" });
	return `the model is sent something else than ${path.relative(process.cwd(), file)} says; \`cargo xtask hosts --update\` writes it\n${stdout}`;
}

/** One conversation: a new world, a new home, `readproof init`, and the host. */
async function runIn(host, { name, folder, calls }) {
	const base = fs.mkdtempSync(path.join(scratch, `${host.name}-`));
	const [workspace, home] = ["project", "home"].map((part) => path.join(base, part));
	fs.mkdirSync(home);
	make(workspace);
	fs.mkdirSync(path.join(base, "tmp"));
	const plain = { HOME: home, TMPDIR: path.join(base, "tmp"), PATH: [path.dirname(program), path.dirname(process.execPath), "/usr/bin", "/bin"].join(":"), LANG: "C.UTF-8" };
	const instructions = instructionsOf(workspace, plain);
	host.before?.({ home, workspace });
	const scope = host.scope?.(folder) ?? "project";
	execFileSync(program, ["init", host.setup ?? host.name, "--scope", scope, "--yes"], { cwd: workspace, env: plain });
	const here = JSON.parse(JSON.stringify(calls).replaceAll(ROOT, workspace));
	const model = await startModel({ wire: host.wire, name: host.tool, calls: here });
	const context = { packages, node: process.execPath, url: model.url, workspace };
	const ended = await start(host.command(context), { cwd: path.join(workspace, folder), env: { ...plain, ...host.environment(context) } });
	await model.close();
	return { name, scope, ended, ...normalised(seen(host, here, model, instructions), [[workspace, "/project"], [home, "/home"]]) };
}

/** What the requests of one conversation hold because of us. */
function seen(host, calls, { requests, made }, instructions) {
	const told = requests.map((request) => host.wire.tools(request).filter((tool) => tool.name.includes("readproof")));
	const tools = told[0] ?? [];
	const all = requests.map((request) => own(host.wire.results(request)));
	return {
		calls: calls.map((call, i) => ({ ...call, args: made[i] ?? call.args })),
		first: calls.map((_, i) => all.find((results) => results.length > i)?.[i]),
		last: all.at(-1) ?? [],
		tools,
		changed: told.some((one) => JSON.stringify(one) !== JSON.stringify(tools)),
		untold: [...new Set(calls.map(({ tool }) => tool))].filter((tool) => !tools.some(({ name }) => name === host.listed(tool))),
		instructions: JSON.stringify(requests[0] ?? "").includes(JSON.stringify(instructions).slice(1, -1)),
	};
}

/** What the server says about itself when it is started. */
function instructionsOf(cwd, env) {
	const hello = { jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "hosts", version: "0" } } };
	const answer = execFileSync(program, ["mcp"], { cwd, env, input: `${JSON.stringify(hello)}\n`, encoding: "utf8" });
	return JSON.parse(answer.split("\n")[0]).result.instructions;
}

/** Runs a program to its end, or to the end of its time; what it started ends with it. */
function start([command, ...words], options) {
	return new Promise((resolve, reject) => {
		const child = spawn(command, words, { ...options, detached: true, stdio: ["ignore", "pipe", "pipe"] });
		const end = () => {
			try {
				process.kill(-child.pid, "SIGKILL");
			} catch {
				// Nothing of it is left.
			}
		};
		let said = "";
		for (const stream of [child.stdout, child.stderr]) stream.on("data", (part) => (said += part));
		const timer = setTimeout(end, MOST_SECONDS * 1000);
		child.on("error", reject);
		child.on("exit", (code, signal) => {
			clearTimeout(timer);
			end();
			child.on("close", () => resolve({ code, signal, said }));
		});
	});
}

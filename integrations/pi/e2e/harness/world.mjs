// One test's world: a home, an agent folder, a project (a git repository) and a scripted model of its own. `scenario`
// runs a test on the newest pi, a few also on the older one, and lets the judge look at every request of it.
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import test from "node:test";
import { script, startModel } from "./model.mjs";
import { Pi, runOnce } from "./pi.mjs";
import { EXTENSION, NEWEST, PROBE, PROGRAM, VERSIONS } from "./published.mjs";

const TIMEOUT_MS = 120_000;

/**
 * Declares a test on the newest pi. `alsoOlder` is for the few that show that ours works in the older one as well.
 * `plainMustBeTrue: false` is for worlds in which another extension alters the answers on their way.
 */
export function scenario(title, options, body) {
	if (typeof options === "function") [options, body] = [{}, options];
	for (const pi of options.alsoOlder ? VERSIONS : [NEWEST]) {
		test(`${title} (pi ${pi.version})`, { timeout: TIMEOUT_MS }, async () => {
			const world = await World.create(pi, options);
			let passed = false;
			try {
				await body(world);
				await world.finish();
				passed = true;
			} finally {
				await world.close(passed);
			}
		});
	}
}

class World {
	#pis = [];

	static async create(pi, options) {
		const root = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "readproof-pi-")));
		const world = new World();
		Object.assign(world, { pi, options, root, home: path.join(root, "home"), agent: path.join(root, "agent"), project: path.join(root, "project"), probeLog: path.join(root, "probe.jsonl") });
		for (const folder of [world.home, world.agent, world.project]) fs.mkdirSync(folder);
		if (options.git !== false) git(world.project, "init", "--quiet");
		world.cwd = path.join(world.project, options.subfolder ?? "");
		fs.mkdirSync(world.cwd, { recursive: true });
		world.model = await startModel({ cwd: world.cwd, textNow: (cwd, name) => world.#textNow(cwd, name) });
		world.configure();
		return world;
	}

	/** Writes the agent's own settings; `settings` are merged over the defaults. */
	configure(settings = {}) {
		const models = { providers: { loopback: { baseUrl: this.model.url, apiKey: "none", api: "openai-completions", models: [{ id: "scripted", name: "scripted", contextWindow: 200_000, maxTokens: 4096, input: ["text", "image"] }] } } };
		const defaults = { defaultProvider: "loopback", defaultModel: "scripted", compaction: { enabled: true, keepRecentTokens: 1, reserveTokens: 1000 } };
		fs.writeFileSync(path.join(this.agent, "models.json"), JSON.stringify(models));
		fs.writeFileSync(path.join(this.agent, "settings.json"), JSON.stringify({ ...defaults, ...settings }));
	}

	/** The environment of pi: nothing of ours but what is named here. */
	environment(extra = {}) {
		return { PATH: process.env.PATH, TERM: "xterm-256color", LANG: "C.UTF-8", HOME: this.home, PI_CODING_AGENT_DIR: this.agent, PI_OFFLINE: "1", READPROOF_BIN: PROGRAM, PROBE_LOG: this.probeLog, ...extra };
	}

	/** The arguments of pi. `extensions` in the order in which they are loaded; ours and the probe unless told otherwise. */
	arguments({ extensions = [EXTENSION, PROBE], args = [] } = {}) {
		return [this.pi.cli, "--offline", "--provider", "loopback", "--model", "scripted", "--no-skills", "--no-context-files", "--no-extensions", ...extensions.flatMap((file) => ["-e", file]), ...args];
	}

	/** Starts pi in RPC mode. */
	async start({ env, cwd = this.cwd, ...options } = {}) {
		const pi = new Pi(this, { cwd, env: this.environment(env), argv: [...this.arguments(options)] });
		this.#pis.push(pi);
		await pi.ready();
		return pi;
	}

	/** Runs pi once in print or JSON mode with a script. */
	once(mode, turns, { env, cwd = this.cwd, stdin, ...options } = {}) {
		const argv = [...this.arguments(options), "--mode", mode, "-p", script(turns)];
		return runOnce(this, { cwd, env: this.environment(env), argv, stdin });
	}

	file(name) {
		return path.join(this.cwd, name);
	}

	write(name, content) {
		fs.mkdirSync(path.dirname(this.file(name)), { recursive: true });
		fs.writeFileSync(this.file(name), content);
	}

	text(name) {
		return fs.readFileSync(this.file(name), "utf8");
	}

	/** The newest request. */
	get lastRequest() {
		return this.model.requests.at(-1);
	}

	/** Everything the model was sent in the newest request, as one text. */
	get seen() {
		return JSON.stringify(this.lastRequest.messages);
	}

	sessionFiles() {
		const sessions = path.join(this.agent, "sessions");
		if (!fs.existsSync(sessions)) return [];
		return fs.readdirSync(sessions, { recursive: true }).filter((name) => name.endsWith(".jsonl")).map((name) => path.join(sessions, name));
	}

	/** Every pi has gone, and each short answer could be rebuilt from the request that followed it. */
	async finish() {
		for (const pi of this.#pis) if (pi.alive) await pi.close();
		const { problems } = this.model.judgeAll(this.options);
		if (problems.length > 0) throw new Error(`the judge: ${problems.join("\n")}`);
	}

	async close(passed) {
		for (const pi of this.#pis) pi.kill();
		await this.model.close();
		if (passed) return fs.rmSync(this.root, { recursive: true, force: true });
		const log = path.join(this.root, "requests.json");
		fs.writeFileSync(log, JSON.stringify(this.model.requests.map(({ messages, tools }) => ({ messages, tools })), null, 1));
		console.error(`kept for a look: ${this.root} (requests.json: what the model was sent)`);
	}

	#textNow(cwd, name) {
		const file = path.resolve(cwd, String(name).replace(/^@/, ""));
		try {
			const bytes = fs.readFileSync(file);
			return isImage(bytes) ? undefined : bytes.toString("utf8");
		} catch {
			return undefined;
		}
	}
}

const isImage = (bytes) => ["89504e47", "ffd8ff", "47494638"].some((magic) => bytes.toString("hex", 0, 4).startsWith(magic));

export function git(cwd, ...args) {
	return execFileSync("git", args, { cwd, encoding: "utf8", env: { PATH: process.env.PATH, HOME: cwd, GIT_CONFIG_NOSYSTEM: "1" } });
}

export const read = (name, more = {}) => ({ name: "read", arguments: { path: name, ...more } });
export const write = (name, content) => ({ name: "write", arguments: { path: name, content } });
export const edit = (name, ...edits) => ({ name: "edit", arguments: { path: name, edits: edits.map(([oldText, newText]) => ({ oldText, newText })) } });
export const bash = (command) => ({ name: "bash", arguments: { command } });
export const refresh = (name, more = {}) => ({ name: "readcache_refresh", arguments: { path: name, ...more } });

/** A text of `count` lines with a final newline; each line is told apart from every other. */
export const lines = (count, word = "line") => Array.from({ length: count }, (_, i) => `${word} ${i + 1} with some words to make it longer\n`).join("");

/** `text` with line `number` replaced. */
export function withLine(text, number, line) {
	const all = text.split("\n");
	all[number - 1] = line;
	return all.join("\n");
}

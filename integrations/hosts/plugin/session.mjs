// One conversation in the real program: a new project, a new home, the plugin if there is one, and the prompts of a script. The program
// runs without its screen and takes prompts as they come, so that files can change between them.
import { execFileSync, spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import readline from "node:readline";
import { startModel } from "./model.mjs";

/** How long one prompt may take. */
const MOST_SECONDS = 120;
/** Stands for the project's folder in a script. */
export const PROJECT = "@P";

/**
 * Plays `script`: `files` by name, `runs` of the program one after the other, each with `prompts` (text, or `{ sh }` to run between two),
 * `turns` of the model, more `args`, and a command to run `before`; `agent` turns; `settings` of the user. `@S` in `args` is the session, `@U` the end of its first
 * prompt. `plugin` is the folder of the plugin, `null` for none.
 */
export async function play(script, { base, packages, program, plugin, delay = 250 }) {
	const [workspace, home, tmp, bin] = ["project", "home", "tmp", "bin"].map((name) => path.join(base, name));
	for (const folder of [workspace, home, tmp, bin]) fs.mkdirSync(folder, { recursive: true });
	// A script may take the program away.
	fs.symlinkSync(program, path.join(bin, "readproof"));
	for (const [name, content] of Object.entries(script.files)) fs.writeFileSync(path.join(workspace, name), content);
	execFileSync("git", ["init", "--quiet", "--initial-branch=main"], { cwd: workspace });
	fs.mkdirSync(path.join(home, ".claude"));
	const known = { hasCompletedOnboarding: true, customApiKeyResponses: { approved: ["dummy-not-a-key"], rejected: [] }, projects: { [workspace]: { hasTrustDialogAccepted: true } } };
	fs.writeFileSync(path.join(home, ".claude.json"), JSON.stringify(known));
	const here = (value) => JSON.parse(JSON.stringify(value).replaceAll(PROJECT, workspace));
	if (script.settings) fs.writeFileSync(path.join(home, ".claude", "settings.json"), JSON.stringify(here(script.settings)));
	const runs = script.runs ?? [script];
	const turns = typeof script.turns === "function" ? script.turns : here(runs.flatMap(({ turns }) => turns));
	const model = await startModel({ turns, agent: here(script.agent ?? []), workspace, delay: script.delay ?? delay });
	const env = {
		HOME: home,
		TMPDIR: tmp,
		LANG: "C.UTF-8",
		PATH: [bin, path.dirname(process.execPath), "/usr/bin", "/bin"].join(":"),
		IS_SANDBOX: "1",
		ANTHROPIC_BASE_URL: model.url,
		ANTHROPIC_API_KEY: "dummy-not-a-key",
		CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
		DISABLE_AUTOUPDATER: "1",
		...script.env,
	};
	const state = { workspace, env, model, packages, plugin, bin };
	const said = [];
	for (const run of runs) {
		if (run.before) execFileSync("bash", ["-c", run.before], { cwd: workspace, env: { ...process.env, HOME: home } });
		said.push(await once({ ...run, prompts: run.prompts ?? ["Go."] }, script, state));
	}
	await model.close();
	return { workspace, home, model, said, folder: path.join(home, ".claude", "projects", workspace.replaceAll(/[^a-zA-Z0-9]/g, "-")) };
}

async function once(run, script, state) {
	const { workspace, env, packages, plugin } = state;
	const claude = path.join(packages, "@anthropic-ai/claude-code-linux-x64/claude");
	const fill = (word) => word.replaceAll("@S", state.session ?? "").replaceAll("@U", state.place ?? "").replaceAll(PROJECT, workspace);
	const words = ["--print", "--model", "claude-sonnet-4-5", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions"];
	const child = spawn(claude, [...words, ...(plugin ? ["--plugin-dir", plugin] : []), ...(script.args ?? []), ...(run.args ?? []).map(fill)], { cwd: workspace, env, detached: true, stdio: ["pipe", "pipe", "pipe"] });
	state.model.env = { CLAUDE_PID: String(child.pid), BIN: state.bin };
	const ended = new Promise((resolve) => child.on("exit", (code, signal) => resolve({ code, signal })));
	let errors = "";
	child.stderr.on("data", (part) => (errors += part));
	const lines = readline.createInterface({ input: child.stdout })[Symbol.asyncIterator]();
	for (const prompt of run.prompts) {
		if (prompt.sh) {
			execFileSync("bash", ["-c", prompt.sh], { cwd: workspace, env: { ...process.env, ...state.model.env } });
			continue;
		}
		child.stdin.write(`${JSON.stringify({ type: "user", message: { role: "user", content: prompt.replaceAll(PROJECT, workspace) } })}\n`);
		await result(lines, state);
	}
	child.stdin.end();
	const timer = setTimeout(() => kill(child), 20_000);
	const how = await ended;
	clearTimeout(timer);
	kill(child);
	return { ...how, errors };
}

async function result(lines, state) {
	const late = new Promise((resolve) => setTimeout(resolve, MOST_SECONDS * 1000, { done: true }).unref());
	for (;;) {
		const { value, done } = await Promise.race([lines.next(), late]);
		if (done) throw new Error("the program gave no result");
		const event = JSON.parse(value);
		if (event.session_id) state.session = event.session_id;
		if (event.type === "assistant" && !event.parent_tool_use_id) state.latest = event.uuid;
		if (event.type === "result") {
			state.place ??= state.latest;
			return;
		}
	}
}

function kill(child) {
	try {
		process.kill(-child.pid, "SIGKILL");
	} catch {
		// Nothing of it is left.
	}
}

/** Every transcript of a conversation: the name within the host's folder, and its lines. */
export function transcripts(folder) {
	const names = fs.readdirSync(folder, { recursive: true }).filter((name) => name.endsWith(".jsonl"));
	return names.sort().map((name) => ({ name, lines: fs.readFileSync(path.join(folder, name), "utf8").split("\n").filter(Boolean).map((line) => JSON.parse(line)) }));
}

// The inspector's `mcpdo`, which keeps a connection open in a daemon and lets a person answer what the server asks. The inspector's
// one-shot command line cannot be asked; it stands here for the clients that cannot.
import { execFile } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { inspector } from "./inspector.mjs";

const SCRIPT = "@modelcontextprotocol/inspector/clients/mcpdo/build/mcp-bin.js";
/** Milliseconds for one command; a server that hangs is a failure. */
const PATIENCE = 40_000;

export async function inspectorAsked({ packages, scratch, era, server, call, answer }) {
	if (answer === undefined) {
		const [told] = await inspector({ packages, scratch, era, jobs: [{ server, calls: [call] }] });
		return { result: told.results[0], questions: [] };
	}
	const run = runner(path.join(packages, SCRIPT), scratch);
	// A daemon of its own, which is stopped again.
	const exports = (await run({}, "private")).matchAll(/export (\w+)='([^']*)'/g);
	const daemon = Object.fromEntries([...exports].map(([, name, value]) => [name, value]));
	try {
		await run(daemon, "connect", "--era", era, "--elicit", "form", "--cwd", server.cwd, "@asked", server.command, "--", ...server.args);
		const on = ["--connection", "asked", "--format", "json"];
		const first = JSON.parse(await run(daemon, ...on, "tools/call", call.tool, "--tool-args-json", JSON.stringify(call.args)));
		const pending = first.elicitationPending;
		if (pending === undefined) return { result: first.result ?? first, questions: [] };
		const said = answer.action === "accept" ? [JSON.stringify(answer.content)] : [`--${answer.action}`];
		const second = JSON.parse(await run(daemon, ...on, "elicitation/respond", pending.elicitationId, ...said));
		return { result: second.result ?? second, questions: [pending.message] };
	} finally {
		await run(daemon, "daemon", "stop");
		fs.rmSync(daemon.MCP_INSPECTOR_DAEMON_DIR, { recursive: true, force: true });
	}
}

function runner(script, scratch) {
	return (daemon, ...words) =>
		new Promise((resolve, reject) => {
			const env = { ...process.env, HOME: scratch, MCP_INSPECTOR_SECRET_STORE: "memory", ...daemon };
			const options = { env, maxBuffer: 1 << 26, timeout: PATIENCE, killSignal: "SIGKILL" };
			const child = execFile(process.execPath, [script, ...words], options, (error, stdout, stderr) => {
				// A tool that says `isError` is an answer too.
				if (error !== null && stdout.trim() === "") reject(new Error(`mcpdo ${words[0]}: ${stderr}`));
				else resolve(stdout);
			});
			child.stdin.end();
		});
}

// The official inspector's command line, its checks of the schemas included. It is one process and one connection a call,
// so a few run at a time; calls that say nothing new about a client, or need the answer of an earlier one, are left out.
import { execFile } from "node:child_process";
import fs from "node:fs";
import path from "node:path";

const SCRIPT = "@modelcontextprotocol/inspector/clients/launcher/build/index.js";
const AT_ONCE = 3;
/** Milliseconds for a call, its process included; a server that hangs is a failure. */
const PATIENCE = 40_000;
/** What the inspector ends with when all is well, and when a tool said `isError`. */
const FINE = 0;
const TOOL_ERROR = 5;

export async function inspector({ packages, scratch, era, jobs }) {
	const config = path.join(scratch, `inspector-${era}.json`);
	const servers = jobs.map(({ server }, i) => [`job-${i}`, server]);
	fs.writeFileSync(config, JSON.stringify({ mcpServers: Object.fromEntries(servers) }));
	const run = runner([path.join(packages, SCRIPT), "--cli", "--config", config, "--protocol-era", era, "--format", "json", "-q"], scratch);
	const told = jobs.map(({ calls }) => ({ results: new Array(calls.length) }));
	const work = jobs.flatMap(({ calls }, i) => {
		const list = async () => (told[i].tools = await listed(run, `job-${i}`));
		const one = (call, k) => async () => (told[i].results[k] = await answer(run, `job-${i}`, call));
		const made = calls.map((call, k) => ({ call, make: one(call, k) })).filter(({ call }) => !call.cheap && call.known === undefined);
		// Calls that build on each other are one piece of work.
		const steps = made.filter(({ call }) => call.step).map(({ make }) => make);
		const inTurn = async () => {
			for (const step of steps) await step();
		};
		return [list, inTurn, ...made.filter(({ call }) => !call.step).map(({ make }) => make)];
	});
	const worker = async () => {
		for (let next = work.shift(); next !== undefined; next = work.shift()) await next();
	};
	await Promise.all(Array.from({ length: AT_ONCE }, worker));
	return told;
}

async function listed(run, server) {
	const { code, stdout, stderr } = await run("--server", server, "--strict", "--method", "tools/list");
	if (code !== FINE) throw new Error(`inspector --strict tools/list ended with ${code}\n${stdout}${stderr}`);
	return JSON.parse(stdout).result.tools;
}

async function answer(run, server, { tool, args }) {
	const { code, stdout, stderr } = await run("--server", server, "--method", "tools/call", "--tool-name", tool, "--tool-args-json", JSON.stringify(args));
	let result;
	try {
		result = JSON.parse(stdout).result;
	} catch {
		return { thrown: `exit ${code}: ${stdout}${stderr}` };
	}
	const expected = result?.isError ? TOOL_ERROR : FINE;
	return code === expected ? result : { thrown: `exit ${code}, not ${expected}: ${stdout}${stderr}` };
}

function runner(first, scratch) {
	const options = { env: { ...process.env, HOME: scratch }, maxBuffer: 1 << 26, timeout: PATIENCE, killSignal: "SIGKILL" };
	return (...words) =>
		new Promise((resolve) => {
			execFile(process.execPath, [...first, ...words], options, (error, stdout, stderr) => resolve({ code: error === null ? FINE : (error.code ?? error.signal), stdout, stderr }));
		});
}

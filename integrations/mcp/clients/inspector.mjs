// The official inspector's command line. It is one process and one connection a call, so a few run at a time; a call that
// needs the answer of an earlier one is left out.
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

export async function inspector({ packages, scratch, server, era, calls }) {
	const config = path.join(scratch, `inspector-${era}-${server.args.join("-").replace(/\W+/g, "-").slice(-40)}.json`);
	fs.writeFileSync(config, JSON.stringify({ mcpServers: { it: server } }));
	const words = (...rest) => [path.join(packages, SCRIPT), "--cli", "--config", config, "--server", "it", "--protocol-era", era, "--format", "json", "-q", ...rest];
	const list = await run(words("--strict", "--method", "tools/list"), scratch);
	if (list.code !== FINE) throw new Error(`inspector --strict tools/list ended with ${list.code}\n${list.stdout}${list.stderr}`);
	const results = new Array(calls.length);
	let next = 0;
	const worker = async () => {
		for (let i = next++; i < calls.length; i = next++) results[i] = await answer(words, scratch, calls[i]);
	};
	await Promise.all(Array.from({ length: AT_ONCE }, worker));
	return { tools: JSON.parse(list.stdout).result.tools, results };
}

async function answer(words, scratch, { tool, args, known }) {
	if (known !== undefined) return undefined;
	const { code, stdout, stderr } = await run(words("--method", "tools/call", "--tool-name", tool, "--tool-args-json", JSON.stringify(args)), scratch);
	let result;
	try {
		result = JSON.parse(stdout).result;
	} catch {
		return { thrown: `exit ${code}: ${stdout}${stderr}` };
	}
	const expected = result?.isError ? TOOL_ERROR : FINE;
	return code === expected ? result : { thrown: `exit ${code}, not ${expected}: ${stdout}${stderr}` };
}

function run(words, scratch) {
	return new Promise((resolve) => {
		const options = { env: { ...process.env, HOME: scratch }, maxBuffer: 1 << 26, timeout: PATIENCE, killSignal: "SIGKILL" };
		execFile(process.execPath, words, options, (error, stdout, stderr) => resolve({ code: error === null ? FINE : (error.code ?? error.signal), stdout, stderr }));
	});
}

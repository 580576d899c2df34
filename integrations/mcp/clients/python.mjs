// Runs python.py, which is the Python client: once for all jobs, because it takes long to start.
import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";

const SCRIPT = fileURLToPath(new URL("python.py", import.meta.url));

export async function python({ pythonPackages, era, jobs }) {
	const child = spawn("python3", ["-X", "utf8", SCRIPT], {
		env: { ...process.env, PYTHONPATH: pythonPackages, PYTHONDONTWRITEBYTECODE: "1" },
		stdio: ["pipe", "pipe", "inherit"],
	});
	child.stdin.end(JSON.stringify({ era, jobs }));
	const [printed, code] = await Promise.all([text(child.stdout), new Promise((resolve) => child.once("close", resolve))]);
	if (code !== 0) throw new Error(`the Python client ended with ${code}`);
	return JSON.parse(printed);
}

// `cargo xtask mcp` runs this: every client, in both eras of the protocol, lists the tools of each profile and calls every
// tool. `--only NAME` keeps the clients whose name has NAME in it; it may be given more than once. What fails is printed
// with what was called, what came and what was expected.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { approvals } from "./approvals.mjs";
import { CASES, EVERY, PROFILES, shown } from "./cases.mjs";
import { inspector } from "./clients/inspector.mjs";
import { inspectorAsked } from "./clients/mcpdo.mjs";
import { python } from "./clients/python.mjs";
import { typescript, typescriptAsked } from "./clients/typescript.mjs";
import { make } from "./world.mjs";

const ERAS = { legacy: "2025-11-25", modern: "2026-07-28" };
/** Clients whose person can be asked. */
const ASKED = new Map([
	[typescript, typescriptAsked],
	[inspector, inspectorAsked],
]);
const CLIENTS = Object.entries({ typescript, python, inspector }).flatMap(([name, client]) => Object.keys(ERAS).map((era) => ({ name: `${name} ${era}`, era, client })));

const need = (name) => {
	const value = process.env[name];
	if (!value || !fs.existsSync(value)) throw new Error(`${name} must name something that exists; run this with \`cargo xtask mcp\``);
	return fs.realpathSync(value);
};

const scratch = fs.mkdtempSync(path.join(os.tmpdir(), "readproof-mcp-"));
const places = { packages: need("READPROOF_MCP_PACKAGES"), pythonPackages: need("READPROOF_MCP_PYTHON"), scratch };
const program = need("READPROOF_BIN");
const only = process.argv.flatMap((word, i) => (process.argv[i - 1] === "--only" ? [word] : []));
const chosen = CLIENTS.filter(({ name }) => only.length === 0 || only.some((part) => name.includes(part)));

let passed = 0;
let failed = 0;
try {
	for (const one of chosen) await tryClient(one);
} finally {
	fs.rmSync(scratch, { recursive: true, force: true });
}
if (chosen.length === 0) console.log(`no client has that name: ${CLIENTS.map(({ name }) => name).join(", ")}`);
console.log(`\n${passed} passed, ${failed} failed, 0 skipped`);
process.exitCode = failed > 0 || passed === 0 ? 1 : 0;

async function tryClient({ name, era, client }) {
	const begin = Date.now();
	const before = failed;
	const workspace = fs.mkdtempSync(path.join(scratch, "workspace-"));
	make(workspace);
	const jobs = Object.keys(PROFILES).map((profile) => {
		const args = ["mcp", "--workspace", workspace, "--set", "handles=always", "--set", "policy_preset=open", "--set", `state_dir=${path.join(scratch, "state")}`, "--tools", profile];
		return { server: { command: program, args, cwd: workspace }, calls: profile === EVERY ? CASES : [] };
	});
	let told = [];
	try {
		told = await client({ ...places, era, jobs });
	} catch (error) {
		judge(name, "connecting, listing and calling", error.stack, "that all is answered");
	}
	told.forEach((one, i) => listed(name, era, Object.keys(PROFILES)[i], one));
	const calls = told.flatMap(({ results }, i) => results.map((result, k) => called(name, jobs[i].calls[k], result))).length;
	const asked = ASKED.has(client) ? await tryApprovals(name, era, ASKED.get(client)) : 0;
	console.log(`${failed === before ? "ok   " : "FAIL "} ${name}: ${told.length} lists, ${calls} calls, ${asked} to approve (${((Date.now() - begin) / 1000).toFixed(1)} s)`);
}

async function tryApprovals(name, era, client) {
	const make = (call) => client({ ...places, era, ...call });
	try {
		return await approvals({ program, scratch, make, judge: (what, came, expected) => judge(name, what, came, expected) });
	} catch (error) {
		judge(name, "approvals", error.stack, "that all is answered");
		return 0;
	}
}

function listed(name, era, profile, { tools, version, server }) {
	const names = tools.map((tool) => tool.name).sort();
	const expected = [...PROFILES[profile]].sort();
	judge(name, `tools/list under --tools ${profile}`, names, shown(names) === shown(expected) ? undefined : shown(expected));
	const silent = tools.filter((tool) => !tool.description || tool.inputSchema?.type !== "object").map((tool) => tool.name);
	judge(name, `descriptions and schemas under --tools ${profile}`, silent, silent.length === 0 ? undefined : "none without");
	if (version !== undefined) judge(name, "the protocol's version", version, version === ERAS[era] ? undefined : ERAS[era]);
	if (server) judge(name, "the server's name", server, server.name === "readproof" ? undefined : "readproof");
}

function called(name, { name: title, tool, args, check }, result) {
	judge(name, `${title}: ${tool} ${JSON.stringify(args)}`, result, result.thrown !== undefined ? "an answer" : check(result));
}

function judge(client, what, came, expected) {
	if (expected === undefined) return void (passed += 1);
	failed += 1;
	const got = typeof came === "string" ? came : JSON.stringify(came);
	console.log(`--- ${client}: ${what}\n    expected ${expected}\n    came     ${got?.length > 1500 ? `${got.slice(0, 1500)}… (${got.length} characters)` : got}`);
}

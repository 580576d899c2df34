// The official TypeScript client: lists the tools and makes the calls of each job over one connection.
import { createRequire } from "node:module";
import path from "node:path";

const MODERN = "2026-07-28";
/** Milliseconds for a call; a server that hangs is a failure. */
const PATIENCE = 20_000;

export async function typescript({ packages, era, jobs }) {
	const load = createRequire(path.join(packages, "from-here.js"));
	const { Client } = load("@modelcontextprotocol/client");
	const { StdioClientTransport } = load("@modelcontextprotocol/client/stdio");
	const mode = era === "modern" ? { pin: MODERN } : "legacy";
	const told = [];
	for (const { server, calls } of jobs) {
		const client = new Client({ name: "readproof-typescript", version: "0" }, { versionNegotiation: { mode } });
		await client.connect(new StdioClientTransport({ ...server, stderr: "inherit" }));
		const { tools } = await client.listTools();
		const results = [];
		for (const call of calls) results.push(await answer(client, call, results));
		told.push({ version: client.getNegotiatedProtocolVersion(), server: client.getServerVersion(), tools, results });
		await client.close();
	}
	return told;
}

/** Makes one call; the person behind this client answers what is asked. Without an answer the client cannot ask. */
export async function typescriptAsked({ packages, era, server, call, answer: said }) {
	const load = createRequire(path.join(packages, "from-here.js"));
	const { Client } = load("@modelcontextprotocol/client");
	const { StdioClientTransport } = load("@modelcontextprotocol/client/stdio");
	const mode = era === "modern" ? { pin: MODERN } : "legacy";
	const capabilities = said === undefined ? {} : { elicitation: { form: {} } };
	const client = new Client({ name: "readproof-typescript", version: "0" }, { capabilities, versionNegotiation: { mode } });
	const questions = [];
	if (said !== undefined) {
		client.setRequestHandler("elicitation/create", async ({ params }) => {
			questions.push(params.message);
			return said;
		});
	}
	await client.connect(new StdioClientTransport({ ...server, stderr: "inherit" }));
	const result = await answer(client, call, []);
	await client.close();
	return { result, questions };
}

async function answer(client, { tool, args, known }, results) {
	const handle = known === undefined ? {} : { known: results[known]._meta["readproof/contract"].meta.handle };
	try {
		return await client.callTool({ name: tool, arguments: { ...args, ...handle } }, { timeout: PATIENCE });
	} catch (error) {
		return { thrown: String(error) };
	}
}

// Our extension inside this process, loaded by pi's own loader from the published bundle, with a real session. Only what
// pi itself would do around a tool call is played here. Hundreds of calls take seconds.
import fs from "node:fs";
import { EXTENSION } from "./published.mjs";

/** `pi` is one of VERSIONS. The session lies in memory unless `sessionFile` is given. */
export async function load(pi, { cwd, agent, model }) {
	const sdk = await import(pi.sdk);
	const { extensions, errors, runtime } = await sdk.discoverAndLoadExtensions([EXTENSION], cwd, agent);
	if (errors.length > 0) throw new Error(JSON.stringify(errors));
	const [extension] = extensions;
	const session = sdk.SessionManager.inMemory(cwd);
	const notices = [];
	runtime.appendEntry = (type, data) => session.appendCustomEntry(type, data);
	const ctx = { cwd, sessionManager: session, model, hasUI: true, mode: "rpc", ui: { notify: (message) => notices.push(message) } };
	const emit = async (type, event = {}) => {
		for (const handler of extension.handlers.get(type) ?? []) await handler({ type, ...event }, ctx);
	};
	const builtIn = sdk.createReadToolDefinition(cwd);
	const ours = extension.tools.get("read").definition;
	let count = 0;
	await emit("session_start", { reason: "startup" });
	return {
		sdk,
		session,
		ctx,
		notices,
		emit,
		builtIn: (params, signal) => outcome(builtIn.execute(`own_${++count}`, params, signal, undefined, ctx)),
		ours: (params, signal, id = `call_${++count}`) => outcome(ours.execute(id, params, signal, undefined, ctx)),
		/** A read as pi does it: the call and then its result stand in the session. */
		async read(params) {
			const id = `call_${++count}`;
			session.appendMessage(assistant(id, params));
			const result = await ours.execute(id, params, undefined, undefined, ctx);
			session.appendMessage({ role: "toolResult", toolCallId: id, toolName: "read", content: result.content, details: result.details, isError: false, timestamp: Date.now() });
			return result;
		},
		close: () => emit("session_shutdown", { reason: "quit" }),
	};
}

/** What came of a call, in a form that can be compared: the result, or the words of the error. */
async function outcome(call) {
	try {
		const { content, details, structuredContent, isError, ...more } = await call;
		return { content, details, structuredContent, isError: Boolean(isError), more };
	} catch (error) {
		return { isError: true, error: error.message };
	}
}

export function assistant(id, params, name = "read") {
	const usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } };
	return { role: "assistant", content: [{ type: "toolCall", id, name, arguments: params }], api: "openai-completions", provider: "loopback", model: "scripted", usage, stopReason: "toolUse", timestamp: Date.now() };
}

/** The metadata taken off; `details` that held nothing else are no details. */
export function withoutMetadata(result) {
	if (!result.details) return result;
	const { readcache, ...details } = result.details;
	return { ...result, details: Object.keys(details).length > 0 ? details : undefined };
}

export function folder(root, name) {
	const place = `${root}/${name}`;
	fs.mkdirSync(place, { recursive: true });
	return place;
}

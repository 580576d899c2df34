// A scripted model that speaks Anthropic's messages, calls several tools in one turn, changes files between turns, and keeps every
// request together with the files as they were when it answered. What it was sent is what a model can see.
//
// A turn is a list of steps: `{ t, a }` calls tool `t` with `a`, `{ say }` says something, `{ sh }` runs a command in the project before
// the answer is given, `{ usage }` is how many tokens the request is said to have had: many make the program compact by itself. A list of turns for the conversation, another for the agents that it starts.
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import http from "node:http";
import path from "node:path";

/** The words by which a scripted agent's conversation is known. */
export const AGENT = "SUBTASK";
const SUMMARY = "The summary.";

export async function startModel(options) {
	const model = new Model(options);
	await new Promise((resolve) => model.server.listen(0, "127.0.0.1", resolve));
	return model;
}

class Model {
	/** Every request: of which kind it is, what was sent, and what was answered. */
	requests = [];
	/** What a script expects of the result of a call, by its id. */
	expected = {};
	/** More of the environment for commands. */
	env = {};
	#turn = { main: 0, agent: 0 };
	#calls = 0;
	#files = {};

	constructor({ turns, agent = [], workspace, delay = 0 }) {
		Object.assign(this, { turns: { main: turns, agent }, workspace, delay });
		this.server = http.createServer((request, response) => this.#serve(request, response));
	}

	get url() {
		return `http://127.0.0.1:${this.server.address().port}`;
	}

	/** How many turns of the script were not asked for. */
	get left() {
		return this.turns.main.length - this.#turn.main;
	}

	close() {
		this.server.closeAllConnections();
		return new Promise((resolve) => this.server.close(resolve));
	}

	async #serve(request, response) {
		let text = "";
		for await (const part of request) text += part;
		const answer = (type, body) => response.writeHead(200, { "content-type": type }).end(body);
		if (request.url.includes("count_tokens")) return answer("application/json", '{"input_tokens":10}');
		if (request.method !== "POST" || !/\/v1\/messages(\?|$)/.test(request.url)) return answer("application/json", '{"data":[]}');
		const body = JSON.parse(text);
		const came = performance.now();
		const { kind, steps } = this.#steps(body);
		for (const { sh } of steps.filter(({ sh }) => sh)) execFileSync("bash", ["-c", sh], { cwd: this.workspace, env: { ...process.env, ...this.env } });
		const content = steps.flatMap((step) => this.#block(step));
		if (content.length === 0) content.push({ type: "text", text: "Well." });
		const { messages, context_management } = body;
		this.requests.push({ kind, came, messages, ...(context_management && { context_management }), content, files: this.#changed() });
		if (this.delay && kind !== "side") await new Promise((resolve) => setTimeout(resolve, this.delay));
		const message = { id: `msg_${this.requests.length}_${Date.now()}`, type: "message", role: "assistant", model: body.model, usage: { input_tokens: steps.find(({ usage }) => usage)?.usage ?? 10, output_tokens: 5 } };
		const stop = { stop_reason: content.some(({ type }) => type === "tool_use") ? "tool_use" : "end_turn", stop_sequence: null };
		if (!body.stream) return answer("application/json", JSON.stringify({ ...message, ...stop, content }));
		answer("text/event-stream", events(message, content, stop).map((data) => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`).join(""));
	}

	#steps({ messages, tools = [] }) {
		// After a compaction the summary says whose conversation it is.
		const its = JSON.stringify(messages[0]).includes(AGENT) ? `${AGENT} ` : "";
		const summary = [{ say: `<summary>${its}${SUMMARY}</summary>` }];
		if (tools.length < 2) return { kind: "side", steps: summary };
		const last = JSON.stringify(messages.at(-1));
		if (last.includes("Respond with TEXT ONLY") || last.includes("create a detailed summary")) return { kind: "compact", steps: summary };
		const kind = its ? "agent" : "main";
		const turns = this.turns[kind];
		const steps = typeof turns === "function" ? turns(messages) : (turns[this.#turn[kind]++] ?? [{ say: "Done." }]);
		return { kind, steps };
	}

	#block(step) {
		if (step.say) return [{ type: "text", text: step.say }];
		if (!step.t) return [];
		this.#calls++;
		const id = `toolu_${String(this.#calls).padStart(4, "0")}`;
		if (step.expected) this.expected[id] = step.expected;
		return [{ type: "tool_use", id, name: step.t, input: step.a }];
	}

	/** The files that changed since the last request; `null` for one that is gone. */
	#changed() {
		const now = Object.fromEntries(
			fs
				.readdirSync(this.workspace, { withFileTypes: true })
				.filter((entry) => entry.isFile() && !entry.name.startsWith("."))
				.map(({ name }) => [name, fs.readFileSync(path.join(this.workspace, name)).toString("latin1")]),
		);
		const names = new Set([...Object.keys(now), ...Object.keys(this.#files)]);
		const changed = [...names].filter((name) => now[name] !== this.#files[name]).map((name) => [name, now[name] === undefined ? null : Buffer.from(now[name], "latin1").toString("utf8")]);
		this.#files = now;
		return Object.fromEntries(changed);
	}
}

function events(message, content, stop) {
	const blocks = content.flatMap((block, index) => {
		const call = block.type === "tool_use";
		const start = call ? { ...block, input: {} } : { ...block, text: "" };
		const delta = call ? { type: "input_json_delta", partial_json: JSON.stringify(block.input) } : { type: "text_delta", text: block.text };
		return [{ type: "content_block_start", index, content_block: start }, { type: "content_block_delta", index, delta }, { type: "content_block_stop", index }];
	});
	return [{ type: "message_start", message: { ...message, content: [], stop_reason: null, stop_sequence: null } }, ...blocks, { type: "message_delta", delta: stop, usage: { output_tokens: 5 } }, { type: "message_stop" }];
}

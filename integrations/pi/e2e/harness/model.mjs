// A loopback server that speaks the OpenAI completions protocol and plays a scripted model. Its log of requests is the
// proof of what the model could see. A user message `SCRIPT <json>` holds an array of turns, each an array of
// {name, arguments} tool calls; the turn number is the number of assistant messages since, so that the server needs no
// state of its own and the script survives tree moves, forks and restarts. After the last turn it says DONE.
import http from "node:http";
import fs from "node:fs";
import { judge, textOf, withSuffix } from "./judge.mjs";

/** `textNow(path)` tells the text of a file as it is, or undefined. */
export async function startModel({ cwd, textNow }) {
	const model = new Model(cwd, textNow);
	await new Promise((resolve) => model.server.listen(0, "127.0.0.1", resolve));
	return model;
}

class Model {
	requests = [];
	/** What every file was when the call that reads it was made, by the id of the call. */
	#before = new Map();
	/** The results that some request has held. */
	#held = new Set();
	#calls = 0;

	constructor(cwd, textNow) {
		this.cwd = cwd;
		this.textNow = textNow;
		/** Called with each request before it is answered; lets a test act while pi waits. */
		this.onRequest = undefined;
		/** Texts that a file takes on in turn while calls run: each of them is true at some moment of each call. */
		this.racing = [];
		/** How full the model says its window is; much makes pi compact by itself. */
		this.promptTokens = 100;
		this.server = http.createServer((request, response) => this.#serve(request, response));
	}

	get url() {
		return `http://127.0.0.1:${this.server.address().port}/v1`;
	}

	close() {
		this.server.closeAllConnections();
		return new Promise((resolve) => this.server.close(resolve));
	}

	/** Every request judged, in order; `problems` must be empty. */
	judgeAll({ plainMustBeTrue = true } = {}) {
		const verdicts = this.requests.map(({ messages, truths, cwd }) => judge({ messages, cwd, truths, isFile: fs.existsSync, plainMustBeTrue }));
		return { problems: verdicts.flatMap((verdict, i) => verdict.problems.map((problem) => `request ${i + 1}: ${problem}`)), short: verdicts.flatMap((verdict) => verdict.short), plain: verdicts.reduce((sum, verdict) => sum + verdict.plain, 0) };
	}

	async #serve(request, response) {
		let body = "";
		for await (const part of request) body += part;
		if (request.method === "GET") {
			response.setHeader("content-type", "application/json");
			return response.end(JSON.stringify({ object: "list", data: [{ id: "scripted", object: "model" }] }));
		}
		const { messages, tools = [], model } = JSON.parse(body);
		const logged = { messages, tools: tools.map((tool) => tool.function), cwd: cwdOf(messages) ?? this.cwd };
		this.#rememberTruths(logged);
		this.requests.push(logged);
		await this.onRequest?.(logged);
		const { calls, say } = this.#next(logged);
		stream(response, model, calls, say, this.promptTokens);
	}

	#rememberTruths(logged) {
		const fresh = new Set(logged.messages.filter((message) => message.role === "tool" && !this.#held.has(message.tool_call_id)).map((message) => message.tool_call_id));
		for (const id of fresh) this.#held.add(id);
		const now = new Map();
		for (const call of logged.messages.flatMap((message) => message.tool_calls ?? [])) {
			if (call.function.name === "read" && fresh.has(call.id)) now.set(call.id, this.#text(logged.cwd, JSON.parse(call.function.arguments)));
		}
		logged.truths = (id) => (fresh.has(id) ? [...new Set([this.#before.get(id), now.get(id), ...this.racing])].filter((text) => text !== undefined) : undefined);
	}

	#text(cwd, args) {
		return this.textNow(cwd, withSuffix(args, cwd, fs.existsSync).path);
	}

	#next({ messages, cwd }) {
		const user = messages.findLastIndex((message) => message.role === "user");
		const prompt = user < 0 ? "" : textOf(messages[user].content);
		if (!prompt.startsWith("SCRIPT ")) return { calls: [], say: "A summary: some files were read." };
		const turns = JSON.parse(prompt.slice("SCRIPT ".length));
		const turn = messages.slice(user + 1).filter((message) => message.role === "assistant").length;
		const calls = (turns[turn] ?? []).map((call) => ({ id: `call_${++this.#calls}`, ...call }));
		for (const { id, name, arguments: args } of calls) if (name === "read") this.#before.set(id, this.#text(cwd, args));
		return { calls, say: "DONE" };
	}
}

function cwdOf(messages) {
	const system = messages.filter((message) => message.role === "system" || message.role === "developer").map((message) => textOf(message.content));
	return /Current working directory: (.+)/.exec(system.join("\n"))?.[1].trim();
}

function stream(response, model, calls, say, promptTokens) {
	response.writeHead(200, { "content-type": "text/event-stream" });
	const base = { id: "completion", object: "chat.completion.chunk", created: 0, model };
	const send = (delta, finish = null) => response.write(`data: ${JSON.stringify({ ...base, choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`);
	if (calls.length > 0) {
		send({ role: "assistant", content: null });
		calls.forEach(({ id, name, arguments: args }, index) => send({ tool_calls: [{ index, id, type: "function", function: { name, arguments: JSON.stringify(args) } }] }));
		send({}, "tool_calls");
	} else {
		send({ role: "assistant", content: say });
		send({}, "stop");
	}
	response.write(`data: ${JSON.stringify({ ...base, choices: [], usage: { prompt_tokens: promptTokens, completion_tokens: 20, total_tokens: promptTokens + 20 } })}\n\n`);
	response.end("data: [DONE]\n\n");
}

/** The prompt that makes the model do these turns. */
export const script = (turns) => `SCRIPT ${JSON.stringify(turns)}`;

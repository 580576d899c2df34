// Drives a real pi process: RPC mode as a conversation, print and JSON mode as one run.
import { spawn } from "node:child_process";
import { textOf } from "./judge.mjs";
import { NODE } from "./published.mjs";
import { script } from "./model.mjs";

const WAIT_MS = 60_000;

/** pi in RPC mode. */
export class Pi {
	events = [];
	stderr = "";
	#waiting = new Set();
	#answers = new Map();
	#count = 0;

	constructor(world, { cwd, env, argv }) {
		this.world = world;
		this.child = spawn(NODE, [...argv, "--mode", "rpc"], { cwd, env, stdio: ["pipe", "pipe", "pipe"] });
		this.child.stderr.setEncoding("utf8").on("data", (part) => (this.stderr += part));
		this.child.stdin.on("error", () => {});
		onLines(this.child.stdout, (line) => this.#receive(JSON.parse(line)));
		this.exited = new Promise((resolve) => this.child.on("exit", (code, signal) => resolve({ code, signal })));
		this.exited.then(({ code, signal }) => {
			for (const answer of this.#answers.values()) answer({ success: false, error: `pi ended with ${code ?? signal}: ${this.stderr}` });
			for (const waiter of this.#waiting) waiter.fail(`pi ended with ${code ?? signal}`);
		});
	}

	get alive() {
		return this.child.exitCode === null && this.child.signalCode === null;
	}

	#receive(message) {
		if (message.type === "response") {
			this.#answers.get(message.id)?.(message);
			this.#answers.delete(message.id);
			return;
		}
		message.at = Date.now();
		this.events.push(message);
		for (const waiter of [...this.#waiting]) waiter.see(message);
	}

	/** One RPC command; its answer must be a success. */
	async command(command) {
		const answer = await this.tryCommand(command);
		if (!answer.success) throw new Error(`${JSON.stringify(command).slice(0, 200)} failed: ${answer.error}`);
		return answer.data;
	}

	tryCommand(command) {
		const id = `c${++this.#count}`;
		return new Promise((resolve) => {
			this.#answers.set(id, resolve);
			this.child.stdin.write(`${JSON.stringify({ id, ...command })}\n`);
		});
	}

	/** Resolves with the next event for which `wanted` holds. */
	next(wanted, what) {
		return new Promise((resolve, reject) => {
			const done = (act) => (value) => {
				clearTimeout(timer);
				this.#waiting.delete(waiter);
				act(value);
			};
			const waiter = { see: (message) => wanted(message) && done(resolve)(message), fail: done((why) => reject(new Error(`no ${what}: ${why}; ${this.stderr}`))) };
			const timer = setTimeout(() => waiter.fail(`nothing for ${WAIT_MS} ms`), WAIT_MS);
			this.#waiting.add(waiter);
		});
	}

	async ready() {
		this.state = await this.command({ type: "get_state" });
	}

	/** Runs turns of tool calls and gives each result as the model was sent it, with the details that pi kept. */
	run(turns) {
		return this.prompt(script(turns));
	}

	async prompt(message) {
		const from = this.events.length;
		const settled = this.next((event) => event.type === "agent_settled", "end of the run");
		settled.catch(() => {});
		await this.command({ type: "prompt", message });
		await settled;
		return this.results(this.events.slice(from));
	}

	results(events) {
		const sent = new Map();
		for (const { messages } of this.world.model.requests) {
			for (const message of messages) if (message.role === "tool" && !sent.has(message.tool_call_id)) sent.set(message.tool_call_id, textOf(message.content));
		}
		return events
			.filter((event) => event.type === "tool_execution_end" && !String(event.toolCallId).includes("/"))
			.map(({ toolName, toolCallId, isError, result }) => ({ tool: toolName, id: toolCallId, isError: Boolean(isError), text: sent.get(toolCallId), details: result?.details, meta: result?.details?.readcache, content: result?.content }))
			.sort((a, b) => Number(a.id.slice(5)) - Number(b.id.slice(5)));
	}

	/** An extension's command; resolves when its handler is through. */
	async slash(command) {
		const from = this.events.length;
		await this.command({ type: "prompt", message: command });
		return this.events.slice(from);
	}

	/** The next question to the person, answered with yes or no. */
	async agree(confirmed) {
		const asked = this.next((event) => event.type === "extension_ui_request" && event.method === "confirm", "question");
		return asked.then((question) => {
			this.child.stdin.write(`${JSON.stringify({ type: "extension_ui_response", id: question.id, confirmed })}\n`);
			return question;
		});
	}

	/** The next thing that the person is shown. */
	told() {
		return this.next((event) => event.type === "extension_ui_request" && event.method === "notify", "notice");
	}

	/** What was shown to the person by `notify`, from event `from` on. */
	notices(from = 0) {
		return this.events.slice(from).filter((event) => event.type === "extension_ui_request" && event.method === "notify");
	}

	async entries() {
		return (await this.command({ type: "get_entries" })).entries;
	}

	/** The entries that hold tool results, oldest first. */
	async resultEntries(tool = "read") {
		return (await this.entries()).filter((entry) => entry.type === "message" && entry.message.role === "toolResult" && entry.message.toolName === tool);
	}

	async sessionFile() {
		return (await this.command({ type: "get_state" })).sessionFile;
	}

	/** Ends stdin, as a client that goes away does, and gives the time until pi was gone. */
	async close() {
		const begin = Date.now();
		this.child.stdin.end();
		const timer = setTimeout(() => this.kill(), 20_000);
		const { code, signal } = await this.exited;
		clearTimeout(timer);
		if (signal || code !== 0) throw new Error(`pi did not end well: ${signal ?? code}; ${this.stderr}`);
		return Date.now() - begin;
	}

	kill() {
		if (this.alive) this.child.kill("SIGKILL");
	}
}

/** Runs pi to its end; tells how long it went on after the last line it printed. */
export function runOnce(world, { cwd, env, argv, stdin = "ignore" }) {
	const child = spawn(NODE, argv, { cwd, env, stdio: [stdin, "pipe", "pipe"] });
	const out = { stdout: "", stderr: "", lastOutput: Date.now() };
	child.stderr.setEncoding("utf8").on("data", (part) => (out.stderr += part));
	child.stdout.setEncoding("utf8").on("data", (part) => {
		out.stdout += part;
		out.lastOutput = Date.now();
	});
	return new Promise((resolve, reject) => {
		const timer = setTimeout(() => child.kill("SIGKILL"), WAIT_MS);
		child.on("error", reject);
		child.on("close", (code, signal) => {
			clearTimeout(timer);
			resolve({ ...out, code, signal, lingered: Date.now() - out.lastOutput });
		});
	});
}

function onLines(stream, see) {
	let rest = "";
	stream.setEncoding("utf8").on("data", (part) => {
		const whole = (rest + part).split("\n");
		rest = whole.pop();
		for (const line of whole) if (line.trim()) see(line);
	});
}

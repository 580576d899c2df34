// A loopback server that plays a scripted model for one run of a host. What it was sent is the proof of what a model would see. A wire
// (`wires/`) knows one vendor's protocol; which turn it is follows from the results in the request, so that retries change nothing.
import http from "node:http";
import { KNOWN } from "./script.mjs";

const HANDLE = /\bknown=(h[\w.+-]*\w)/g;

/** Starts a model that makes `calls`, one a turn. `name` turns the name of a tool of ours into what the host calls it. */
export async function startModel({ wire, name, calls }) {
	const model = new Model(wire, name, calls);
	await new Promise((resolve) => model.server.listen(0, "127.0.0.1", resolve));
	return model;
}

class Model {
	/** The requests of the conversation, in order; side questions, such as for a title, are not among them. */
	requests = [];
	/** The arguments of each call made, by its place in the script. */
	made = [];

	constructor(wire, name, calls) {
		Object.assign(this, { wire, name, calls });
		this.server = http.createServer((request, response) => this.#serve(request, response));
	}

	get url() {
		return `http://127.0.0.1:${this.server.address().port}`;
	}

	close() {
		this.server.closeAllConnections();
		return new Promise((resolve) => this.server.close(resolve));
	}

	async #serve(request, response) {
		let text = "";
		for await (const part of request) text += part;
		const answer = (type, body) => response.writeHead(200, { "content-type": type }).end(body);
		let body = {};
		try {
			body = JSON.parse(text);
		} catch {
			// Not a question for a model.
		}
		const chat = request.method === "POST" && this.wire.isChat(request.url);
		if (!chat) return answer("application/json", this.wire.other?.(request.url) ?? '{"data":[],"models":[]}');
		const told = this.wire.isSide(body) ? { say: this.wire.side ?? "A title" } : this.#next(body);
		const { stream, value } = this.wire.answer(body, request.url, told);
		if (!stream) return answer("application/json", JSON.stringify(value));
		answer("text/event-stream", value.map(({ event, data }) => `${event ? `event: ${event}\n` : ""}data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`).join(""));
	}

	#next(body) {
		this.requests.push(body);
		const results = this.wire.results(body);
		const call = this.calls[results.length];
		if (!call) return { say: "Done." };
		const handles = results.flatMap(({ blocks }) => blocks.flatMap((block) => [...block.matchAll(HANDLE)].map((found) => found[1])));
		const args = Object.entries(call.args).flatMap(([key, value]) => (value !== KNOWN ? [[key, value]] : handles.length > 0 ? [[key, handles.at(-1)]] : []));
		this.made[results.length] = Object.fromEntries(args);
		return { call: { id: `call_${String(results.length + 1).padStart(3, "0")}`, name: this.name(call.tool), args: this.made[results.length] } };
	}
}

// The form in which each API of pi gives a conversation to its provider, taken from the published transports themselves:
// every result is found there, and a pruned one is missed.
import assert from "node:assert/strict";
import test from "node:test";
import { transport, VERSIONS } from "../harness/published.mjs";
import { missing } from "../../src/sight.ts";

const APIS = ["openai-completions", "openai-responses", "azure-openai-responses", "openai-codex-responses", "anthropic-messages", "google-generative-ai", "google-vertex", "mistral-conversations", "bedrock-converse-stream", "pi-messages"];
/** A model that the provider gives ids for calls, and, for Google, one that it does not. */
const MODELS = { "google-generative-ai": ["gemini-3-pro", "gemini-2.5-flash"], "google-vertex": ["gemini-3-pro", "gemini-2.5-flash"], "bedrock-converse-stream": ["anthropic.claude-sonnet-4-5"], "anthropic-messages": ["claude-sonnet-4-5"] };
/** A token with an account in it, as Codex wants one. */
const KEY = `x.${Buffer.from(JSON.stringify({ "https://api.openai.com/auth": { chatgpt_account_id: "a" } })).toString("base64url")}.x`;

const usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } };
const READS = [
	{ name: "read", arguments: { path: "a.txt" }, text: "line one\nline two\n" },
	{ name: "bash", arguments: { command: "cat a.txt" }, text: "line one\nline two\n" },
	{ name: "read", arguments: { path: "bundle.txt", offset: 2 }, text: "HEAD\nline one\nline two\nTAIL" },
	{ name: "read", arguments: { path: "role.txt" }, text: "user\n" },
	{ name: "write", arguments: { path: "w.txt", content: 'say "hi"\n\tÄ\n' }, text: "Successfully wrote to w.txt" },
	{ name: "read", arguments: { path: "blank.py" }, text: "\n" },
	{ name: "read", arguments: { path: "a.txt" }, text: "line one\nline two\n" },
];

/** The conversation as pi has it. The first two calls stand in one message. */
function messagesOf(by, ids, reads = READS) {
	const calls = reads.map(({ name, arguments: given }, at) => ({ type: "toolCall", id: ids[at], name, arguments: given }));
	const results = reads.map(({ name, text }, at) => ({ role: "toolResult", toolCallId: ids[at], toolName: name, content: [{ type: "text", text }], isError: false, timestamp: 1 }));
	const say = (...content) => ({ role: "assistant", content, ...by, usage, stopReason: "toolUse", timestamp: 1 });
	return [{ role: "user", content: "go", timestamp: 1 }, say(calls[0], calls[1]), results[0], results[1], ...calls.slice(2).flatMap((call, at) => [say(call), results[at + 2]])];
}

const due = (ids) => READS.map(({ name, arguments: given, text }, at) => ({ toolCallId: ids[at], entryIds: [], name, arguments: given, content: [{ type: "text", text }] })).filter(({ name, content }) => name !== "bash" && content[0].text.trim() !== "");

/** What the transport would send. */
async function payloadOf(pi, api, id, messages) {
	const { stream } = await import(transport(pi, api));
	const model = { id, name: id, api, provider: "loopback", baseUrl: "http://127.0.0.1:9", reasoning: false, input: ["text"], cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }, contextWindow: 200_000, maxTokens: 4096 };
	let payload;
	const onPayload = (given) => {
		payload = given;
		throw new Error("seen");
	};
	const context = { messages: [{ role: "system", content: "be brief", timestamp: 1 }, ...messages], systemPrompt: "be brief", tools: [] };
	const options = { apiKey: KEY, onPayload, project: "p", location: "l", azureBaseUrl: "http://127.0.0.1:9", azureDeploymentName: "d", region: "us-east-1", bearerToken: "x" };
	const events = [];
	for await (const event of stream(model, context, options)) events.push(event.error?.errorMessage ?? event.type);
	assert.ok(payload, `${api} showed no request: ${events}`);
	return payload;
}

for (const pi of VERSIONS) {
	for (const api of APIS) {
		for (const model of MODELS[api] ?? ["scripted"]) {
			test(`form: ${api}, ${model} (pi ${pi.version})`, async () => {
				const same = { api, provider: "loopback", model };
				const foreign = { api: "openai-responses", provider: "another", model: "other" };
				const plain = READS.map((_read, at) => `call_${at}`);
				const halves = READS.map((_read, at) => `call_${at}|fc_${at}+/=${"x".repeat(60)}`);
				const twice = READS.map((_read, at) => `call_${at % 3}`);
				for (const [how, by, ids] of [["its own", same, plain], ["another provider's", foreign, halves], ["ids used again", same, twice]]) {
					const messages = messagesOf(by, ids);
					assert.equal(missing(due(ids), messages, await payloadOf(pi, api, model, messages)), undefined, `${how}: everything is there`);
					for (const at of READS.keys()) {
						if (READS[at].name === "bash" || READS[at].text.trim() === "") continue;
						const pruned = READS.map((read, i) => (i === at ? { ...read, text: "[pruned]" } : read));
						assert.equal(missing(due(ids), messages, await payloadOf(pi, api, model, messagesOf(by, ids, pruned))), "altered", `${how}: ${JSON.stringify(READS[at])} pruned`);
					}
					const dropped = messages.filter((message) => message.toolCallId !== ids[0]);
					assert.equal(missing(due(ids), messages, await payloadOf(pi, api, model, dropped)), "altered", `${how}: dropped`);
				}
			});
		}
	}
}

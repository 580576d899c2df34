// What a conversation leaves behind, made small and free of where it was played: the lines of its transcripts and the requests, in a file
// of JSON lines. Texts that are cut are cut in the lines and in the requests alike, and the hashes that name messages are made anew.
import crypto from "node:crypto";
import { transcripts } from "./session.mjs";

/** Lines that say nothing about messages. */
const DROPPED = new Set(["api-request-shape", "queue-operation", "atis-latch", "tools-used", "cost-state", "mode", "last-prompt"]);
const KEPT_ATTACHMENTS = new Set(["file", "edited_text_file", "hook_additional_context"]);
const LONG = 300;

/** The JSON lines of a recording. */
export function recording(name, { workspace, home, model, folder }) {
	const places = [[workspace, "/project"], [home, "/home"]];
	const moved = (value) => JSON.parse(places.reduce((text, [from, to]) => text.replaceAll(from, to), JSON.stringify(value)));
	const lines = [{ case: name, cwd: "/project" }];
	const names = new Map();
	for (const { name: file, lines: all } of transcripts(folder)) {
		const hashes = new Map();
		const kept = all.filter(({ type }) => !DROPPED.has(type)).map((line) => trimmedLine(moved(line), line, hashes));
		for (const [old, now] of merged(all, moved)) hashes.set(old, now);
		names.set(file, kept.length);
		for (const line of kept) {
			if (line.type === "api-request") line.tail = line.tail.map((hash) => hashes.get(hash) ?? hash);
			lines.push({ file, line });
		}
	}
	const before = new Map();
	for (const { kind, messages, context_management, content, files } of model.requests.filter(({ kind }) => kind !== "side")) {
		const sent = messages.map((message) => JSON.stringify(trimmedMessage(moved(bare(message)))));
		const last = before.get(kind) ?? [];
		let keep = 0;
		while (keep < last.length && last[keep] === sent[keep]) keep++;
		before.set(kind, sent);
		lines.push({ request: { kind, keep, tail: sent.slice(keep).map((text) => JSON.parse(text)), ...(context_management && { context_management }), content: moved(content), files } });
	}
	return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
}

/** SHA-256 of the compact JSON with sorted names; text alone stands for one block of text. */
export function hash({ role, content }) {
	const sorted = (value) => (Array.isArray(value) ? value.map(sorted) : value && typeof value === "object" ? Object.fromEntries(Object.keys(value).sort().map((key) => [key, sorted(value[key])])) : value);
	const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
	return crypto.createHash("sha256").update(JSON.stringify(sorted({ content: blocks, role }))).digest("hex");
}

/** Messages that no line of their own records: those of the model, and results that were sent as they are. */
function merged(all, moved) {
	const messages = new Map();
	for (const { type, uuid, message } of all) {
		if (type !== "assistant" && type !== "user") continue;
		const key = message.id ?? uuid;
		const content = Array.isArray(message.content) ? message.content : message.content;
		const known = messages.get(key);
		messages.set(key, known && Array.isArray(content) ? { ...known, content: [...known.content, ...content] } : { role: message.role, content });
	}
	return [...messages.values()].map((message) => [hash(message), hash(trimmedMessage(moved(message)))]);
}

function trimmedLine(line, original, hashes) {
	const { userType, entrypoint, version, gitBranch, timestamp, permissionMode, promptSource, turnOrigin, turnPosition, cacheControl, shapeHash, requestDigest, madeBy, slug, ...rest } = line;
	if (rest.type === "attachment" && !KEPT_ATTACHMENTS.has(rest.attachment.type)) return { ...rest, attachment: { type: rest.attachment.type }, rendered: undefined };
	if (rest.type === "api-request-blob") {
		const message = trimmedMessage(rest.message);
		if (hash(original.message) !== rest.hash) throw new Error(`a message is not what its hash says: ${rest.hash}`);
		hashes.set(rest.hash, hash(message));
		return { ...rest, hash: hash(message), message };
	}
	if (rest.message) rest.message = trimmedMessage(rest.message);
	if (rest.message?.usage) rest.message.usage = undefined;
	return rest;
}

const bare = ({ role, content }) => ({ role, content: Array.isArray(content) ? content.map(({ cache_control, ...block }) => block) : content });

/** Long words of the program that say nothing about files. */
function trimmedMessage(message) {
	const { content } = message;
	if (typeof content === "string") return { ...message, content: trimmedText(content) };
	return { ...message, content: content.map((block) => (block.type === "text" ? { ...block, text: trimmedText(block.text) } : block)) };
}

function trimmedText(text) {
	const about = ["Called the Read tool", "Result of calling the Read tool", "Note: "].some((words) => text.startsWith(`<system-reminder>\n${words}`));
	if (about || text.length <= LONG || !/^(<system-reminder>|This session is being continued|<local-command|<command)/.test(text)) return text;
	return text.startsWith("<system-reminder>") ? `${text.slice(0, 60)}…\n</system-reminder>` : `${text.slice(0, 60)}…`;
}

// A second extension beside ours. It moves in the tree (RPC has no command for that), edits the context, and plays other
// people's extensions: one that shortens results, one that prunes old results from each request.
import { appendFileSync } from "node:fs";

const LOG = process.env.PROBE_LOG;
const PLAYS = (process.env.PROBE_PLAYS ?? "").split(",");
const EVENTS = ["session_start", "session_shutdown", "session_compact", "session_tree", "session_before_switch", "session_before_fork"];

export default function (pi: any) {
	const log = (record: unknown) => LOG && appendFileSync(LOG, `${JSON.stringify(record)}\n`);
	for (const event of EVENTS) pi.on(event, (e: any, ctx: any) => log({ event, reason: e?.reason, leaf: ctx?.sessionManager?.getLeafId?.() }));

	pi.registerCommand("goto", {
		description: "Move the leaf: /goto ENTRY [summarize]",
		handler: async (args: string, ctx: any) => {
			const [id, mode] = args.trim().split(/\s+/);
			await ctx.navigateTree(id, { summarize: mode === "summarize" });
			log({ event: "goto", leaf: ctx.sessionManager.getLeafId() });
		},
	});

	let edits: { targetId: string; replacement: unknown }[] = [];
	pi.registerCommand("omit", {
		description: "Take entries out of the context when the next run settles: /omit ENTRY…",
		handler: async (args: string) => {
			edits = args.trim().split(/\s+/).map((targetId) => ({ targetId, replacement: null }));
		},
	});
	pi.registerCommand("replace", {
		description: "Replace a result's text when the next run settles: /replace ENTRY",
		handler: async (args: string) => {
			edits = [{ targetId: args.trim(), replacement: { content: [{ type: "text", text: "[replaced]" }] } }];
		},
	});
	pi.on("agent_before_settle", (e: any) => {
		if (edits.length === 0) return undefined;
		const entries = edits.map((edit) => ({ type: "context_edit", ...edit }));
		edits = [];
		return { entries: [...e.entries, ...entries] };
	});

	if (PLAYS.includes("shorten")) {
		pi.on("tool_result", (e: any) => {
			const text = e.content?.[0]?.text;
			if (e.toolName !== "read" || !text || text.length <= 400) return undefined;
			return { content: [{ type: "text", text: `${text.slice(0, 100)}\n[shortened by another extension]` }] };
		});
	}
	if (PLAYS.includes("prune")) {
		pi.on("context", (e: any) => {
			const keep = e.messages.length - 4;
			return { messages: e.messages.map((m: any, i: number) => (m.role === "toolResult" && i < keep ? { ...m, content: [{ type: "text", text: "[pruned]" }] } : m)) };
		});
	}
	if (PLAYS.includes("drop")) {
		// Takes old results out whole; their calls stay.
		pi.on("context", (e: any) => {
			const keep = e.messages.length - 4;
			return { messages: e.messages.filter((m: any, i: number) => i >= keep || m.role !== "toolResult") };
		});
	}
}

// Anthropic's messages.
export const anthropic = {
	isChat: (url) => /\/v1\/messages(\?|$)/.test(url),
	other: (url) => (url.includes("count_tokens") ? '{"input_tokens":10}' : undefined),
	isSide: ({ tools = [] }) => tools.length < 2,

	tools: ({ tools }) => tools.map(({ cache_control, ...tool }) => tool),

	results: ({ messages }) =>
		messages
			.flatMap(({ role, content }) => (role === "user" && Array.isArray(content) ? content : []))
			.filter(({ type }) => type === "tool_result")
			.map(({ type, tool_use_id: id, cache_control, content, ...more }) => ({ id, blocks: typeof content === "string" ? [content] : content.map((block) => (block.type === "text" ? block.text : JSON.stringify(block))), more })),

	answer({ model, stream }, _url, { say, call }) {
		const block = call ? { type: "tool_use", id: call.id, name: call.name, input: call.args } : { type: "text", text: say };
		const stop = { stop_reason: call ? "tool_use" : "end_turn", stop_sequence: null };
		const message = { id: `msg_${call?.id ?? "end"}`, type: "message", role: "assistant", model, usage: { input_tokens: 10, output_tokens: 5 } };
		if (!stream) return { stream: false, value: { ...message, ...stop, content: [block] } };
		const empty = call ? { ...block, input: {} } : { ...block, text: "" };
		const delta = call ? { type: "input_json_delta", partial_json: JSON.stringify(call.args) } : { type: "text_delta", text: say };
		const events = [
			{ type: "message_start", message: { ...message, content: [], stop_reason: null, stop_sequence: null } },
			{ type: "content_block_start", index: 0, content_block: empty },
			{ type: "content_block_delta", index: 0, delta },
			{ type: "content_block_stop", index: 0 },
			{ type: "message_delta", delta: stop, usage: { output_tokens: 5 } },
			{ type: "message_stop" },
		];
		return { stream: true, value: events.map((data) => ({ event: data.type, data })) };
	},
};

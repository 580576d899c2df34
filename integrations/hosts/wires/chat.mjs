// OpenAI's chat completions.
export const chat = {
	isChat: (url) => /\/chat\/completions(\?|$)/.test(url),
	isSide: ({ tools = [] }) => tools.length === 0,

	tools: ({ tools }) => tools.map((tool) => tool.function),

	results: ({ messages }) =>
		messages
			.filter(({ role }) => role === "tool")
			.map(({ role, tool_call_id: id, content, ...more }) => ({ id, blocks: typeof content === "string" ? [content] : content.map((block) => (block.type === "text" ? block.text : JSON.stringify(block))), more })),

	answer({ model }, _url, { say, call }) {
		const base = { id: "completion", object: "chat.completion.chunk", created: 0, model };
		const delta = call ? { tool_calls: [{ index: 0, id: call.id, type: "function", function: { name: call.name, arguments: JSON.stringify(call.args) } }] } : { content: say };
		const chunks = [
			{ ...base, choices: [{ index: 0, delta: { role: "assistant", ...delta }, finish_reason: null }] },
			{ ...base, choices: [{ index: 0, delta: {}, finish_reason: call ? "tool_calls" : "stop" }], usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 } },
			"[DONE]",
		];
		return { stream: true, value: chunks.map((data) => ({ data })) };
	},
};

// OpenAI's responses.
const NAMESPACE = "mcp__readproof";

export const responses = {
	isChat: (url) => /\/responses(\?|$)/.test(url),
	isSide: () => false,

	/** A namespace has a description of its own; the newest models are told of tools in a message. */
	tools: ({ tools, input }) =>
		[...(tools ?? []), ...input.flatMap((item) => (item.type === "additional_tools" ? item.tools : []))].flatMap((tool) =>
			tool.type === "namespace" ? [{ name: tool.name, description: tool.description }, ...tool.tools.map((inner) => ({ ...inner, name: `${tool.name} ${inner.name}` }))] : [tool],
		),

	results: ({ input }) =>
		input
			.filter(({ type }) => type === "function_call_output")
			.map(({ type, id: _, call_id: id, output, ...more }) => ({ id, blocks: typeof output === "string" ? [output] : output.map((block) => (block.type === "input_text" ? block.text : JSON.stringify(block))), more })),

	answer(_body, _url, { say, call }) {
		const item = call
			? { type: "function_call", id: `fc_${call.id}`, call_id: call.id, namespace: NAMESPACE, name: call.name, arguments: JSON.stringify(call.args) }
			: { type: "message", role: "assistant", id: "message", content: [{ type: "output_text", text: say }] };
		const id = `resp_${call?.id ?? "end"}`;
		const usage = { input_tokens: 10, input_tokens_details: null, output_tokens: 5, output_tokens_details: null, total_tokens: 15 };
		const events = [{ type: "response.created", response: { id } }, { type: "response.output_item.done", item }, { type: "response.completed", response: { id, usage } }];
		return { stream: true, value: events.map((data) => ({ event: data.type, data })) };
	},
};

// Google's generateContent.
/** An answer is one text under `output`, an error one under `error`. */
function shown(response, more) {
	const [kind, text] = Object.entries(response)[0] ?? [];
	const plain = Object.keys(response).length === 1 && typeof text === "string";
	return plain ? { blocks: [text], more: kind === "output" ? more : { ...more, under: kind } } : { blocks: [JSON.stringify(response)], more };
}

export const gemini = {
	isChat: (url) => /:(streamG|g)enerateContent/.test(url),
	other: (url) => (url.includes("countTokens") ? '{"totalTokens":10}' : undefined),
	/** Which model to ask is asked for as an object; any other answer is asked for again and again. */
	side: "{}",
	isSide: ({ tools = [] }) => tools.length === 0,

	tools: ({ tools }) => tools.flatMap(({ functionDeclarations = [] }) => functionDeclarations),

	results: ({ contents }) =>
		contents
			.flatMap(({ parts = [] }) => parts)
			.filter(({ functionResponse }) => functionResponse)
			.map(({ functionResponse: { id, name, response, ...more } }) => ({ id, ...shown(response, more) })),

	answer(_body, url, { say, call }) {
		const part = call ? { functionCall: { id: call.id, name: call.name, args: call.args } } : { text: say };
		const value = { candidates: [{ content: { role: "model", parts: [part] }, finishReason: "STOP", index: 0 }], usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 } };
		return url.includes("stream") ? { stream: true, value: [{ data: value }] } : { stream: false, value };
	},
};

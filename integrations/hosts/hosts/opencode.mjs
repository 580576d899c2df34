// opencode, with a provider that speaks OpenAI's chat completions.
import path from "node:path";
import { chat } from "../wires/chat.mjs";

export const opencode = {
	name: "opencode",
	wire: chat,
	/** What a call names, and what the list of tools names. */
	tool: (name) => `readproof_${name}`,
	listed: (name) => `readproof_${name}`,
	command: ({ packages }) => [path.join(packages, "opencode-linux-x64/bin/opencode"), "run", "--model", "scripted/scripted", "Go."],
	environment: ({ url }) => {
		const provider = { npm: "@ai-sdk/openai-compatible", options: { baseURL: `${url}/v1`, apiKey: "dummy-not-a-key" }, models: { scripted: {} } };
		return { OPENCODE_CONFIG_CONTENT: JSON.stringify({ provider: { scripted: provider } }), OPENCODE_DISABLE_AUTOUPDATE: "1", OPENCODE_DISABLE_MODELS_FETCH: "1" };
	},
};

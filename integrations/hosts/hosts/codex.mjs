// Codex on its default model, which the command line does not name.
import path from "node:path";
import { responses } from "../wires/responses.mjs";

export const codex = {
	name: "codex",
	wire: responses,
	/** What a call names, and what the list of tools names. */
	tool: (name) => name,
	listed: (name) => `mcp__readproof ${name}`,
	command: ({ packages, url, workspace }) => {
		// The last says what a person answers at the first start; without it, the project's settings do not count.
		const settings = { model_provider: '"scripted"', "model_providers.scripted": `{name="scripted", base_url="${url}/v1", wire_api="responses"}`, projects: `{"${workspace}"={trust_level="trusted"}}` };
		const program = path.join(packages, "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex");
		return [program, "exec", ...Object.entries(settings).flatMap(([key, value]) => ["-c", `${key}=${value}`]), "Go."];
	},
	environment: () => ({}),
};

// Gemini CLI, without its screen.
import fs from "node:fs";
import path from "node:path";
import { gemini as wire } from "../wires/gemini.mjs";

export const gemini = {
	name: "gemini",
	wire,
	/** The project's settings count only in the folder that they lie in. */
	scope: (folder) => (folder === "." ? "project" : "user"),
	/** Without it, the address of the model chooses a kind of login that this program does not start with. */
	before({ home }) {
		fs.mkdirSync(path.join(home, ".gemini"));
		fs.writeFileSync(path.join(home, ".gemini/settings.json"), JSON.stringify({ security: { auth: { selectedType: "gemini-api-key" } } }));
	},
	/** What a call names, and what the list of tools names. */
	tool: (name) => `mcp_readproof_${name}`,
	listed: (name) => `mcp_readproof_${name}`,
	command: ({ packages, node }) => [node, path.join(packages, "@google/gemini-cli/bundle/gemini.js"), "--prompt", "Go."],
	/** The last says what a person answers at the first start: it refuses to start without. With `--skip-trust`, the project's settings do not count. */
	environment: ({ url }) => ({ GEMINI_API_KEY: "dummy-not-a-key", GOOGLE_GEMINI_BASE_URL: url, GEMINI_CLI_TRUST_WORKSPACE: "true" }),
};

// Claude Code, without its screen.
import path from "node:path";
import { anthropic } from "../wires/anthropic.mjs";

export const claudeCode = {
	name: "claude-code",
	// The tools of the MCP server; the plugin has runs of its own.
	setup: "claude-code-tools",
	wire: anthropic,
	/** What a call names, and what the list of tools names. */
	tool: (name) => `mcp__readproof__${name}`,
	listed: (name) => `mcp__readproof__${name}`,
	command: ({ packages }) => [path.join(packages, "@anthropic-ai/claude-code-linux-x64/claude"), "--print", "Go."],
	environment: ({ url }) => ({ ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: "dummy-not-a-key", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1", DISABLE_AUTOUPDATER: "1" }),
};

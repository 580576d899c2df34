// What `readproof init` does not write yet, and without which a host does not let the model call us. This file goes, with its one call in
// `run.mjs`, when `init` writes it.
import fs from "node:fs";
import path from "node:path";

/** `settings` is the folder that `init` wrote to: the project or the home. */
export function untilInitDoesIt(host, settings) {
	// Not in `settings.json`: that counts only where it lies, and not in a subfolder.
	if (host === "claude-code") change(path.join(settings, ".claude/settings.local.json"), (its) => (its.permissions = { allow: ["mcp__readproof"] }));
	if (host === "gemini") change(path.join(settings, ".gemini/settings.json"), (its) => (its.mcpServers.readproof.trust = true));
	if (host === "codex") {
		const file = path.join(settings, ".codex/config.toml");
		if (!fs.readFileSync(file, "utf8").includes("direct_only_tool_namespaces")) fs.appendFileSync(file, '\n[features.code_mode]\ndirect_only_tool_namespaces = ["mcp__readproof"]\n');
	}
}

function change(file, edit) {
	const settings = fs.existsSync(file) ? JSON.parse(fs.readFileSync(file, "utf8")) : {};
	edit(settings);
	fs.mkdirSync(path.dirname(file), { recursive: true });
	fs.writeFileSync(file, JSON.stringify(settings));
}

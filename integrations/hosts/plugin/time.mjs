// What the hooks cost: a conversation of thirty reads with edits between them, played in turn with the plugin, with a plugin whose one hook
// calls a tool that does nothing, and with one that calls it before and after each read, as ours does. A model that takes 600 ms. Reported are the
// time from one request to the next, without the model's, and the size of the results; `--texts FOLDER` keeps these, to count tokens.
import fs from "node:fs";
import path from "node:path";
import { FILES, edit, either } from "./matrix.mjs";
import { play } from "./session.mjs";

const MODEL_MS = 600;
const READS = 30;

function script() {
	const turns = [];
	const names = ["a.txt", "b.txt", "crlf.txt"];
	for (let n = 0; n < READS; n++) {
		const name = names[n % names.length];
		turns.push([either(name, n % 5 === 4 ? { offset: 2, limit: 6 } : {})]);
		if (n % 3 === 2) turns.push([edit(name, `line ${1 + ((n / 3) | 0) % 9} of ${name.split(".")[0]}`, `edited ${n}`)]);
	}
	return { files: { ...FILES, "a.txt": FILES["a.txt"].repeat(4).replace(/line (\d+)/g, (_, i) => `line ${i}`) }, turns: [...turns, [{ say: "Done." }]], delay: MODEL_MS };
}

/** A server without tools of its own, for a hook that does nothing. */
const EMPTY = `const rl=require("readline").createInterface({input:process.stdin});const out=(id,result)=>console.log(JSON.stringify({jsonrpc:"2.0",id,result}));
rl.on("line",(l)=>{const m=JSON.parse(l);if(m.id===undefined)return;if(m.method==="initialize")out(m.id,{protocolVersion:"2025-11-25",capabilities:{tools:{}},serverInfo:{name:"empty",version:"0"}});
else if(m.method==="tools/list")out(m.id,{tools:[]});else if(m.method==="tools/call")out(m.id,{content:[{type:"text",text:"{}"}]});else console.log(JSON.stringify({jsonrpc:"2.0",id:m.id,error:{code:-32601,message:"no"}}));});`;

function emptyPlugin(folder, events) {
	const put = (name, value) => {
		fs.mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
		fs.writeFileSync(path.join(folder, name), typeof value === "string" ? value : JSON.stringify(value));
	};
	put(".claude-plugin/plugin.json", { name: "empty", version: "0.1.0", description: "A hook that does nothing" });
	put("server.cjs", EMPTY);
	put(".mcp.json", { mcpServers: { nothing: { command: process.execPath, args: [path.join(folder, "server.cjs")] } } });
	const hook = { matcher: "Read", hooks: [{ type: "mcp_tool", server: "plugin:empty:nothing", tool: "nothing", timeout: 5, input: { path: "${tool_input.file_path}", id: "${tool_use_id}", content: "${tool_response.file.content}" } }] };
	put("hooks/hooks.json", { hooks: Object.fromEntries(events.map((event) => [event, [hook]])) });
	return folder;
}

const median = (numbers) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];

export async function measure(pairs, { scratch, plugin, texts, ...options }) {
	const kinds = {
		readproof: plugin,
		empty: emptyPlugin(path.join(scratch, "empty"), ["PostToolUse"]),
		both: emptyPlugin(path.join(scratch, "both"), ["PreToolUse", "PostToolUse"]),
		none: null,
	};
	const times = { readproof: [], empty: [], both: [], none: [] };
	const chars = {};
	for (let pair = 0; pair < pairs; pair++) {
		const order = pair % 2 === 0 ? ["readproof", "empty", "both"] : ["both", "empty", "readproof"];
		for (const kind of pair === 0 ? [...order, "none"] : order) {
			const base = fs.mkdtempSync(path.join(scratch, `${kind}-`));
			const { model } = await play(script(), { ...options, plugin: kinds[kind], base });
			const main = model.requests.filter(({ kind }) => kind === "main");
			// Only from a read to the request with its result.
			for (let n = 1; n < main.length; n++) if (main[n - 1].content[0].name === "Read") times[kind].push(main[n].came - main[n - 1].came - MODEL_MS);
			const results = main.at(-1).messages.flatMap(({ content }) => (Array.isArray(content) ? content : [])).filter(({ type }) => type === "tool_result").map(({ content }) => String(content));
			chars[kind] = results.join("").length;
			if (texts) fs.writeFileSync(path.join(texts, `${kind}.json`), JSON.stringify(results));
			fs.rmSync(base, { recursive: true, force: true });
		}
		if ((pair + 1) % 5 === 0 || pair + 1 === pairs) console.log(`${pair + 1} pairs: request to request, median of ${times.readproof.length}: readproof ${median(times.readproof).toFixed(1)} ms, an empty hook ${median(times.empty).toFixed(1)} ms, two empty hooks ${median(times.both).toFixed(1)} ms`);
	}
	console.log(`no hook ${median(times.none).toFixed(1)} ms (one conversation)`);
	console.log(`characters of tool results in the last request: ${JSON.stringify(chars)}`);
}

// What a host sent the model because of us, as text: our tools as it presents them, and what came of each call. Whatever differs from run
// to run is replaced, and what the host says for itself is left out. A line of text has `| ` before it, so that empty texts, final newlines
// and blank lines can be seen; many lines of the large file in a row are counted instead.
import { LARGE, lines } from "./world.mjs";

/** A run of more lines of the large file than this is shown by its ends. */
const MOST_LINES = 10;
const NUMBERS = new Map(lines(LARGE).map((line, i) => [line, i]));

/** What a host adds to a result and that has nothing to do with it. */
const REMINDER = /\s*<system-reminder>[^]*?<\/system-reminder>\s*/g;

/** A value with `change` applied to every text in it. */
const texts = (value, change) => {
	if (typeof value === "string") return change(value);
	if (Array.isArray(value)) return value.map((one) => texts(one, change));
	if (value === null || typeof value !== "object") return value;
	return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, texts(one, change)]));
};

/** `folders` is a list of [folder, what stands for it]. */
export const normalised = (value, folders) =>
	texts(value, (text) =>
		folders
			.reduce((so_far, [folder, name]) => so_far.replaceAll(folder, name), text)
			.replace(/\bh\d+-[0-9a-z]+/g, "hN-…")
			.replace(/(Wall time: )[\d.]+( seconds)/g, "$1N$2"),
	);

/** The results that a request holds, without what the host says for itself in them. */
export const own = (results) =>
	results.map(({ id, blocks, more }) => ({ id, more, blocks: blocks.map((block) => block.replace(REMINDER, "")).filter((block, i) => block !== "" || blocks[i] === "") }));

function lined(text) {
	if (text === "") return "(an empty text)\n";
	const all = text.split("\n");
	let shown = "";
	for (let i = 0; i < all.length; i += 1) {
		const first = NUMBERS.get(all[i]);
		let length = 1;
		while (first !== undefined && i + length < all.length && NUMBERS.get(all[i + length]) === first + length) length += 1;
		shown += all[i] === "" ? "|\n" : `| ${all[i]}\n`;
		if (length <= MOST_LINES) continue;
		shown += `⋮ lines ${first + 2} to ${first + length - 1} of ${LARGE}\n`;
		i += length - 2;
	}
	return shown;
}

/** Everything in a result but its text, where there is anything. */
const rest = (more) => (Object.keys(more).length > 0 ? `${JSON.stringify(more)}\n` : "");
const numbered = (blocks) => blocks.map((block, i) => (blocks.length > 1 ? `block ${i + 1}\n` : "") + lined(block)).join("") || "(no block)\n";

function called({ title, tool, args }, result, later) {
	const head = `--- ${title}: ${tool} ${JSON.stringify(args)}\n`;
	if (!result) return `${head}(the model was sent no result)\n`;
	const shown = rest(result.more) + numbered(result.blocks);
	const again = later ? rest(later.more) + numbered(later.blocks) : "(left out)\n";
	return head + shown + (shown === again ? "" : `in later requests\n${again}`);
}

/** A tool, with one property of its schema a line. */
function listed({ name, description, ...more }) {
	const entries = Object.entries(more).flatMap(([key, value]) => {
		if (typeof value !== "object") return [`${key}: ${JSON.stringify(value)}`];
		const { properties = {}, ...schema } = value;
		return [`${key}: ${JSON.stringify(schema)}`, ...Object.entries(properties).map(([property, its]) => `  ${property}: ${JSON.stringify(its)}`)];
	});
	return `--- ${name}\n${lined(description ?? "")}${entries.map((line) => `${line}\n`).join("")}`;
}

/** The golden file of a host. Each run has the name of its place, the calls, each result as it was first sent and as it was last sent. */
export function golden(host, runs) {
	const parts = [`What ${host} sends the model because of readproof. Made by \`cargo xtask hosts --update\`.\n`];
	const told = runs.map(({ instructions, tools }) => `The server's instructions are ${instructions ? "sent" : "not sent"}.\n${tools.map(listed).join("")}`);
	runs.forEach(({ name, scope, calls, first, last }, i) => {
		parts.push(`\n=== started in ${name}, set up by \`readproof init ${host} --scope ${scope}\`: what the model is told of\n`);
		parts.push(i > 0 && told[i] === told[0] ? "(the same)\n" : told[i]);
		parts.push(`\n=== started in ${name}: what comes of its calls\n`);
		parts.push(...calls.map((call, k) => called(call, first[k], last[k])));
	});
	return parts.join("");
}

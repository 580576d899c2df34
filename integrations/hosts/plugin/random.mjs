// A random conversation for the real program: reads, ranges, edits, writes, changes by others, looks by a shell, several calls at once,
// compactions, and the program ended and taken up again.
import { FILES, edit, either, shell, write } from "./matrix.mjs";

/** A small deterministic generator (splitmix32). */
function generator(seed) {
	let state = seed >>> 0;
	return (below) => {
		state = (state + 0x9e3779b9) >>> 0;
		let z = state;
		z = Math.imul(z ^ (z >>> 16), 0x21f0aaad);
		z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
		return ((z ^ (z >>> 15)) >>> 0) % below;
	};
}

const NAMES = Object.keys(FILES).filter((name) => !name.startsWith(".") && name !== "empty.txt");

export function randomScript(seed, steps) {
	const below = generator(seed);
	const pick = (items) => items[below(items.length)];
	const near = [pick(NAMES), pick(NAMES)];
	const name = () => pick(near);
	const number = () => 1 + below(9);
	const read = () => {
		const more = [{}, {}, {}, { offset: number() }, { limit: number() }, { offset: number(), limit: number() }];
		return either(name(), pick(more));
	};
	const line = (of) => `line ${number()} of ${of.split(".")[0]}`;
	const change = () => {
		const file = name();
		const words = pick([`row ${below(99)}`, `row ${below(99)}\nrow ${below(99)}`, "", `${line(file)} `]);
		return pick([edit(file, line(file), words), edit(file, line(file), words), edit(file, " of ", ` OF `, { replace_all: true }), edit(file, `row ${below(99)}`, "row"), write(file, `line 1 of ${file}\nline 2\nline ${below(9)}\n`)]);
	};
	const outside = () => {
		const file = name();
		return { sh: pick([`sed -i '${number()}d' ${file}`, `sed -i '${number()}s/.*/outside ${below(99)}/' ${file}`, `git stash -q 2>/dev/null; cp ${file} .kept; sed -i '${number()}s/$/ /' ${file}`, `test -f .kept && cp .kept ${file} || true`, `echo more >> ${file}`]) };
	};
	const look = () => shell(pick([`cat ${name()}`, `grep -n line ${name()}`, `sed -i '${number()}s/line/LINE/' ${name()}`]));
	const turn = () => {
		const kind = below(20);
		if (kind < 10) return [read()];
		if (kind < 14) return [change()];
		if (kind < 16) return [outside(), read()];
		if (kind < 18) return [look()];
		return Array.from({ length: 2 + below(2) }, read);
	};
	const runs = [{ turns: [], prompts: ["Go."] }];
	for (let n = 0; n < steps; n++) {
		const run = runs.at(-1);
		run.turns.push(turn());
		const event = below(24);
		if (event > 2) continue;
		run.turns.push([{ say: "Done." }]);
		if (event === 0) run.prompts.push("/compact", "On.");
		else if (event === 1) run.prompts.push({ sh: outside().sh }, "On.");
		else runs.push({ args: ["--resume", "@S", ...(below(3) === 0 ? ["--fork-session"] : [])], turns: [], prompts: ["Again."] });
	}
	runs.at(-1).turns.push([{ say: "Done." }]);
	return { runs };
}

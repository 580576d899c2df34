// Random walks through everything at once, judged at every step. The seeds are fixed: a red run is the change's fault.
import assert from "node:assert/strict";
import fs from "node:fs";
import { edit, lines, read, refresh, scenario, withLine, write } from "../harness/world.mjs";

const SEEDS = [1, 2, 3];
const STEPS = 40;
const NAMES = ["a.txt", "b.txt", "long.txt", "link.txt"];

/** A small generator of numbers that is the same everywhere (mulberry32). */
function dice(seed) {
	let state = seed * 0x9e3779b9;
	const roll = () => {
		state = (state + 0x6d2b79f5) | 0;
		let t = Math.imul(state ^ (state >>> 15), 1 | state);
		t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
		return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
	};
	const upTo = (n) => Math.floor(roll() * n);
	return { upTo, of: (list) => list[upTo(list.length)] };
}

function aRead(random) {
	const name = random.of(NAMES);
	const most = name === "long.txt" ? 2400 : 45;
	const shape = random.upTo(6);
	if (shape < 3) return read(name);
	if (shape === 3) return read(name, { offset: 1 + random.upTo(most) });
	return read(name, { offset: 1 + random.upTo(most), limit: 1 + random.upTo(most) });
}

/** A line of the file as it is, once, so that an edit can find it. */
function aLine(world, random, name) {
	const all = world.text(name).split("\n").filter((line, i, list) => line && list.indexOf(line) === i && list.lastIndexOf(line) === i);
	return random.of(all);
}

const STEP = {
	async reads(world, pi, random) {
		await pi.run(Array.from({ length: 1 + random.upTo(3) }, () => Array.from({ length: 1 + random.upTo(2) }, () => aRead(random))));
	},
	async change(world, pi, random) {
		const name = random.of(["a.txt", "b.txt", "long.txt"]);
		const text = world.text(name);
		const count = text.split("\n").length;
		const at = 1 + random.upTo(count - 1);
		const changed = random.of([withLine(text, at, `changed ${random.upTo(1e6)}`), `inserted ${random.upTo(1e6)}\n${text}`, text.trimEnd(), `${text}more  \n`, text.replaceAll("\n", "\r\n").replaceAll("\r\r", "\r")]);
		world.write(name, changed);
	},
	async writes(world, pi, random) {
		await pi.run([[write(random.of(["a.txt", "b.txt"]), lines(10 + random.upTo(30), `own ${random.upTo(1e6)}`))]]);
	},
	async edits(world, pi, random) {
		const name = random.of(["a.txt", "b.txt", "link.txt"]);
		const line = aLine(world, random, name);
		if (line) await pi.run([[edit(name, [line, random.of(["edited", "edited\nand more", ""])])]]);
	},
	async move(world, pi, random) {
		const entries = (await pi.entries()).filter((entry) => entry.type === "message" && entry.message.role !== "system");
		if (entries.length > 0) await pi.slash(`/goto ${random.of(entries).id}`);
	},
	async compact(world, pi) {
		await pi.tryCommand({ type: "compact" });
	},
	async refreshes(world, pi, random) {
		await pi.run([[refresh(random.of(NAMES), random.of([{}, { offset: 5, limit: 5 }]))]]);
	},
	async clone(world, pi) {
		await pi.tryCommand({ type: "clone" });
	},
	async omit(world, pi, random) {
		const results = await pi.resultEntries();
		if (results.length === 0) return;
		await pi.slash(`/replace ${random.of(results).id}`);
		await pi.run([[read("b.txt", { limit: 10 })]]);
	},
};
const BAG = ["reads", "reads", "reads", "reads", "reads", "change", "change", "change", "writes", "edits", "edits", "move", "compact", "refreshes", "clone", "omit"];

for (const seed of SEEDS) {
	scenario(`a random walk of ${STEPS} steps, seed ${seed}`, async (world) => {
		const random = dice(seed);
		world.write("a.txt", lines(40));
		world.write("b.txt", lines(30, "other"));
		world.write("long.txt", Array.from({ length: 2400 }, (_, i) => `row ${i + 1}\n`).join(""));
		fs.symlinkSync("a.txt", world.file("link.txt"));
		let pi = await world.start();
		for (let step = 0; step < STEPS; step++) {
			if (step === 10 || step === 20) {
				const session = await pi.sessionFile();
				await pi.close();
				pi = await world.start({ args: fs.existsSync(session) ? ["--session", session] : [] });
			}
			await STEP[random.of(BAG)](world, pi, random);
		}
		const { short, plain, problems } = world.model.judgeAll();
		assert.deepEqual(problems, []);
		assert.ok(short.length >= 5 && plain >= 5, `${short.length} short and ${plain} plain answers prove little`);
	});
}

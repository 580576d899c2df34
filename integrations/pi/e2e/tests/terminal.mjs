// pi's own screen in a real terminal: the row of a read, its hint that the text was cut, and the status report.
import assert from "node:assert/strict";
import { script } from "../harness/model.mjs";
import { PROBE } from "../harness/published.mjs";
import { Terminal } from "../harness/terminal.mjs";
import { lines, read, scenario } from "../harness/world.mjs";

const UNCHANGED = "[readcache: unchanged, 41 lines]";

/** Runs `use` with a terminal in which pi is ready. */
async function inTerminal(world, options, use) {
	const terminal = new Terminal(world, options);
	try {
		await terminal.until("scripted");
		return await use(terminal);
	} finally {
		terminal.close();
	}
}

async function prompt(world, terminal, turns) {
	const from = world.model.requests.length;
	await terminal.type(script(turns), () => world.model.requests.length > from);
	await terminal.until(() => world.model.requests.length >= from + turns.length + 1);
	return terminal.until((screen) => screen.trimEnd().includes("DONE"));
}

scenario("25 the screen shows the row of each read, and the marker when it is opened", async (world) => {
	world.write("a.txt", lines(40));
	await inTerminal(world, {}, async (terminal) => {
		const screen = await prompt(world, terminal, [[read("a.txt")], [read("a.txt", { offset: 5, limit: 5 })], [read("a.txt")]]);
		assert.ok(screen.match(/read a\.txt/g).length >= 3, screen);
		assert.match(screen, /read a\.txt:5-9/);
		const open = await terminal.press("C-o", (screen) => screen.includes(UNCHANGED));
		assert.ok(open.includes("line 7 with"), open);
	});
});

scenario("24 the screen hints that a read was cut, as it does without ours", async (world) => {
	world.write("long.txt", lines(3000));
	const hints = [];
	for (const options of [{ extensions: [PROBE] }, {}]) {
		await inTerminal(world, options, async (terminal) => {
			await prompt(world, terminal, [[read("long.txt")]]);
			const screen = await terminal.press("C-o", (text) => /[Tt]runcated/.test(text));
			hints.push(screen.split("\n").filter((line) => /[Tt]runcated/.test(line)).map((line) => line.trim()));
		});
	}
	assert.ok(hints[0].length > 0);
	assert.deepEqual(hints[1], hints[0]);
});

scenario("/readcache-status is on the screen and in no request", async (world) => {
	world.write("a.txt", lines(40));
	await inTerminal(world, {}, async (terminal) => {
		await prompt(world, terminal, [[read("a.txt")], [read("a.txt")]]);
		await terminal.type("/readcache-status", (screen) => screen.includes("object store:"));
		const screen = await terminal.until("object store:");
		assert.ok(screen.includes("[readcache-status]") && screen.includes("tracked scopes:"), screen);
		await prompt(world, terminal, [[read("a.txt")]]);
		assert.ok(!world.seen.includes("readcache-status"));
	});
});

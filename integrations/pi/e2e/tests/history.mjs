// What was: a text that a shell showed meanwhile, the moments that a session notes, and files that go along with a move in the tree.
import assert from "node:assert/strict";
import fs from "node:fs";
import { bash, edit, lines, read, scenario, withLine, write } from "../harness/world.mjs";

const A = lines(40);
const B = withLine(A, 7, "LINE SEVEN");
const UNCHANGED = "[readcache: unchanged, 41 lines]";

const moments = async (pi) => (await pi.entries()).filter((entry) => entry.type === "custom" && entry.data?.kind === "moment");
/** The entry that holds the last result of a tool. */
const resultOf = async (pi, tool) => (await pi.resultEntries(tool)).at(-1).id;
const keep = (world) => `cp a.txt ${world.root}/keep`;
const restore = (world) => `cp ${world.root}/keep a.txt`;

scenario("a text that a shell showed meanwhile makes the next read plain", { alsoOlder: true }, async (world) => {
	world.write("a.txt", A);
	const pi = await world.start();
	const turns = [[read("a.txt")], [bash(`${keep(world)}; sed -i 's/^line 7 .*/LINE SEVEN/' a.txt; cat a.txt`)], [bash(restore(world))], [read("a.txt")], [read("a.txt")]];
	const [first, shell, , again, known] = await pi.run(turns);
	assert.equal(first.text, A);
	assert.ok(shell.text.includes("LINE SEVEN"));
	assert.equal(world.text("a.txt"), A);
	assert.equal(again.text, A, "the model saw another text last");
	assert.equal(known.text, UNCHANGED);
});

scenario("the watch meets what another program changes while the model thinks", async (world) => {
	world.write("a.txt", A);
	const pi = await world.start();
	await pi.run([[read("a.txt")]]);
	const log = `${world.project}/.readproof/log/versions`;
	const isLogged = (text) => fs.existsSync(log) && fs.readFileSync(log, "utf8").includes(text);
	const until = async (what, done) => {
		for (let turn = 0; !done(); turn++) {
			assert.ok(turn < 1000, `${what} does not happen`);
			await new Promise((resolve) => setTimeout(resolve, 20));
		}
	};
	await until("the first look", () => isLogged('"operation":"first"'));
	world.write("a.txt", B);
	await until("the meeting", () => isLogged('"operation":"outside"'));
	world.write("a.txt", A);
	const [again] = await pi.run([[read("a.txt")]]);
	assert.equal(again.text, A);
});

scenario("the model's own changes in a row are no third texts", async (world) => {
	world.write("a.txt", A);
	const pi = await world.start();
	const results = await pi.run([[read("a.txt")], [edit("a.txt", ["line 7 with", "LINE SEVEN with"])], [edit("a.txt", ["line 9 with", "LINE NINE with"])], [write("b.txt", B)], [read("a.txt")], [read("b.txt")]]);
	assert.deepEqual(results.slice(4).map((result) => result.text), [UNCHANGED, UNCHANGED]);
	const noted = await moments(pi);
	assert.equal(noted.length, 4, "before the first change, and after each turn that changed something");
	assert.ok(noted.every((entry) => /^v\d+@[0-9a-f]{16}$/.test(entry.data.moment)));
	assert.ok(!world.seen.includes(noted[0].data.moment), "the model is not told");
});

scenario("reads alone note nothing", async (world) => {
	world.write("a.txt", A);
	const pi = await world.start();
	await pi.run([[read("a.txt")], [read("a.txt")]]);
	assert.deepEqual(await moments(pi), []);
});

scenario("after a move in the tree the files are offered, and restored on agreement", { alsoOlder: true }, async (world) => {
	world.write("a.txt", A);
	world.write("theirs.txt", "theirs\n");
	const pi = await world.start();
	await pi.run([[read("a.txt")]]);
	const early = (await pi.entries()).at(-1).id;
	await pi.run([[write("a.txt", B)], [write("new.txt", "new\n")]]);
	const late = (await pi.entries()).at(-1).id;

	const asked = pi.agree(true);
	await pi.slash(`/goto ${early}`);
	const question = await asked;
	assert.match(question.title, /^2 files are not as at this place/);
	assert.equal(question.message, "a.txt: restored\nnew.txt: removed");
	const { message } = await pi.told();
	assert.match(message, /^2 files as at v\d+/);
	assert.deepEqual([world.text("a.txt"), fs.existsSync(world.file("new.txt")), world.text("theirs.txt")], [A, false, "theirs\n"]);
	const [a] = await pi.run([[read("a.txt")]]);
	assert.ok([A, UNCHANGED].includes(a.text), a.text);

	// Another rewind undoes it: forward again.
	const forward = pi.agree(true);
	await pi.slash(`/goto ${late}`);
	assert.equal((await forward).message, "a.txt: restored\nnew.txt: made again");
	await pi.told();
	assert.deepEqual([world.text("a.txt"), world.text("new.txt")], [B, "new\n"]);
	const [b] = await pi.run([[read("a.txt")]]);
	assert.ok([B, UNCHANGED].includes(b.text), b.text);
});

scenario("nothing is restored without agreement, and nothing is asked where nothing would change", async (world) => {
	world.write("a.txt", A);
	const pi = await world.start();
	await pi.run([[bash("true")]]);
	const early = (await pi.entries()).at(-1).id;
	await pi.run([[edit("a.txt", ["line 7 with", "LINE SEVEN with"])]]);
	const declined = pi.agree(false);
	await pi.slash(`/goto ${early}`);
	await declined;
	await pi.run([[read("a.txt")]]);
	assert.ok(world.text("a.txt").includes("LINE SEVEN"));

	const from = pi.events.length;
	await pi.slash(`/goto ${await resultOf(pi, "edit")}`);
	await pi.run([[read("a.txt")]]);
	assert.ok(!pi.events.slice(from).some((event) => event.method === "confirm"));
});

scenario("/readcache-rewind and /readcache-changes work on request, after a restart and in a fork", async (world) => {
	world.write("a.txt", A);
	let pi = await world.start();
	await pi.run([[bash("true")]]);
	await pi.run([[write("a.txt", B)]]);
	const session = await pi.sessionFile();
	await pi.close();
	// Nobody watches meanwhile.
	world.write("a.txt", `${B}by a person\n`);

	pi = await world.start({ args: ["--session", session] });
	const changes = pi.told();
	await pi.slash("/readcache-changes");
	assert.match((await changes).message, /\+by a person\n\[?1 changes by others since v\d+: v\d+ outside {2}a\.txt/);
	const { messages } = await pi.command({ type: "get_fork_messages" });
	await pi.command({ type: "fork", entryId: messages.at(-1).entryId });
	const told = pi.told();
	await pi.slash("/readcache-rewind yes");
	assert.match((await told).message, /^1 file as at v\d+/);
	assert.equal(world.text("a.txt"), A);
	const nothing = pi.told();
	await pi.slash("/readcache-rewind");
	assert.match((await nothing).message, /^nothing to undo since v\d+/);
});

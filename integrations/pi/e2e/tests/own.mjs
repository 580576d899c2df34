// Where pi's own read answers, and where the texts are kept.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { bash, git, lines, read, scenario, write } from "../harness/world.mjs";

const A = lines(40);
const UNCHANGED = "[readcache: unchanged, 41 lines]";
const SECRET = "SECRET=b4kq-not-for-the-store";
/** 4 by 4 pixels. */
const PNG = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAQAAAAECAIAAAAmkwkpAAAAEElEQVR4nGP4z8AARwzEcQCukw/x0F8jngAAAABJRU5ErkJggg==", "base64");

/** Whether any file below `folder` holds `text`. */
function holds(folder, text) {
	return fs.readdirSync(folder, { recursive: true, withFileTypes: true }).some((entry) => entry.isFile() && fs.readFileSync(path.join(entry.parentPath, entry.name)).includes(text));
}

scenario("outside the workspace pi's own read answers, without metadata", async (world) => {
	const outside = path.join(world.root, "outside.txt");
	fs.writeFileSync(outside, A);
	fs.symlinkSync(outside, world.file("link.txt"));
	const pi = await world.start();
	const results = await pi.run([[read(outside)], [read(outside)], [read("../outside.txt")], [read("link.txt")], [read("link.txt")]]);
	for (const result of results) {
		assert.equal(result.text, A);
		assert.equal(result.meta, undefined);
	}
	assert.ok(!holds(world.project, "line 7 with"), "nothing of it is stored");
});

scenario("a sensitive file is always plain and never stored, also through a link", async (world) => {
	world.write(".env", `${SECRET}\n${A}`);
	world.write("server.pem", `${SECRET}\n${A}`);
	world.write("a.txt", A);
	fs.symlinkSync(".env", world.file("conf.txt"));
	const pi = await world.start();
	const results = await pi.run([[read(".env")], [read(".env")], [read("conf.txt")], [read("conf.txt")], [read("server.pem")], [read("server.pem")], [read("a.txt")]]);
	for (const result of results.slice(0, 6)) {
		assert.equal(result.text, `${SECRET}\n${A}`);
		assert.equal(result.meta, undefined);
	}
	assert.ok(fs.existsSync(path.join(world.project, ".pi/readcache/objects")));
	assert.ok(!holds(path.join(world.project, ".pi"), SECRET));
});

scenario("a sensitive file that pi itself wrote is not stored", async (world) => {
	const pi = await world.start();
	const [, first] = await pi.run([[write(".env", `${SECRET}\n`)], [read(".env")]]);
	assert.equal(first.text, `${SECRET}\n`);
	assert.ok(!fs.existsSync(path.join(world.project, ".pi")) || !holds(path.join(world.project, ".pi"), SECRET));
});

scenario("an image goes to pi's own read", async (world) => {
	fs.writeFileSync(world.file("dot.png"), PNG);
	const pi = await world.start();
	const results = await pi.run([[read("dot.png")], [read("dot.png")]]);
	for (const result of results) {
		assert.match(result.text, /^Read image file \[image\/png\]/);
		assert.equal(result.meta, undefined);
	}
});

scenario("bytes that are no text go to pi's own read", async (world) => {
	const bytes = Buffer.concat([Buffer.from("text "), Buffer.from([0xff, 0xfe, 0x80]), Buffer.from(`\n${A}`)]);
	fs.writeFileSync(world.file("a.bin"), bytes);
	const pi = await world.start();
	const results = await pi.run([[read("a.bin")], [read("a.bin")]]);
	for (const result of results) {
		assert.equal(result.text, bytes.toString("utf8"));
		assert.equal(result.meta, undefined);
	}
});

scenario("a file over the cap goes to pi's own read or is known page by page", async (world) => {
	world.write("huge.txt", lines(120_000));
	const pi = await world.start();
	const [first, second, far] = await pi.run([[read("huge.txt")], [read("huge.txt")], [read("huge.txt", { offset: 100_000, limit: 3 })]]);
	assert.ok(first.text.includes("line 7 with"));
	assert.ok(second.text.includes("line 7 with") || second.text.startsWith("[readcache: unchanged in lines 1-"), second.text.slice(0, 200));
	assert.ok(far.text.startsWith("line 100000 with"));
});

scenario("errors are pi's own", async (world) => {
	world.write("a.txt", A);
	const pi = await world.start();
	const results = await pi.run([[read("none.txt")], [read(".")], [read("a.txt", { offset: 99 })]]);
	assert.ok(results.every((result) => result.isError));
	assert.equal(results[0].text, `ENOENT: no such file or directory, access '${world.file("none.txt")}'`);
	assert.equal(results[1].text, "EISDIR: illegal operation on a directory, read");
	assert.equal(results[2].text, "Offset 99 is beyond end of file (41 lines total)");
});

scenario("a file that goes and comes back", async (world) => {
	world.write("a.txt", A);
	const pi = await world.start();
	await pi.run([[read("a.txt")]]);
	const results = await pi.run([[bash("mv a.txt b.txt")], [read("a.txt")], [bash("mv b.txt a.txt")], [read("a.txt")]]);
	assert.equal(results[1].isError, true);
	assert.ok([A, UNCHANGED].includes(results[3].text), results[3].text);
});

scenario("started in a subfolder, the store lies at the git root, ignores itself and is the user's alone", { subfolder: "deep/er" }, async (world) => {
	world.write("a.txt", A);
	fs.writeFileSync(path.join(world.project, "top.txt"), A);
	const pi = await world.start();
	const results = await pi.run([[read("a.txt")], [read("a.txt")], [read("../../top.txt")], [read("../../top.txt")]]);
	assert.deepEqual(results.map((result) => result.text), [A, UNCHANGED, A, UNCHANGED]);
	const store = path.join(world.project, ".pi/readcache");
	assert.equal(fs.statSync(store).mode & 0o777, 0o700);
	assert.ok(!fs.existsSync(path.join(world.cwd, ".pi")) && !fs.existsSync(path.join(world.project, "deep/.pi")));
	assert.ok(!git(world.project, "status", "--porcelain", "--untracked-files=all").includes(".pi"), "git sees nothing of it");
	assert.ok(fs.readdirSync(store, { recursive: true, withFileTypes: true }).every((entry) => (fs.statSync(path.join(entry.parentPath, entry.name)).mode & 0o077) === 0 || entry.name === ".gitignore"));
});

scenario("without git, the workspace is the folder that pi runs in", { git: false }, async (world) => {
	world.write("a.txt", A);
	const pi = await world.start();
	const results = await pi.run([[read("a.txt")], [read("a.txt")]]);
	assert.deepEqual(results.map((result) => result.text), [A, UNCHANGED]);
	assert.ok(fs.existsSync(path.join(world.project, ".pi/readcache")));
});

scenario("a store that cannot be written does not keep the text back", async (world) => {
	world.write("a.txt", A);
	fs.writeFileSync(path.join(world.project, ".pi"), "a file where the folder should be");
	const pi = await world.start();
	const results = await pi.run([[read("a.txt")], [read("a.txt")]]);
	assert.equal(results[0].text, A);
	assert.ok([A, UNCHANGED].includes(results[1].text));
});

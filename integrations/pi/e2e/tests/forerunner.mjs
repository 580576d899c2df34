// Sessions that the original tool recorded (metadata V1 without our fields), resumed with ours. pi itself records the
// session, without any extension; the original's metadata is put into it as the original would have.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { PROBE } from "../harness/published.mjs";
import { lines, read, scenario, withLine } from "../harness/world.mjs";

const sha256 = (text) => createHash("sha256").update(text).digest("hex");
const A = lines(40);
const UNCHANGED = "[readcache: unchanged, 41 lines]";

function store(world, text) {
	const objects = path.join(world.project, ".pi/readcache/objects");
	fs.mkdirSync(objects, { recursive: true, mode: 0o700 });
	fs.writeFileSync(path.join(objects, `sha256-${sha256(text)}.txt`), text, { mode: 0o600 });
}

/** Runs `turns` without any extension of ours, then gives each read result the metadata (and text) that `as` tells. */
async function recorded(world, turns, as) {
	const pi = await world.start({ extensions: [PROBE] });
	await pi.run(turns);
	const file = await pi.sessionFile();
	await pi.close();
	let at = 0;
	const entries = fs.readFileSync(file, "utf8").trim().split("\n").map((line) => JSON.parse(line));
	for (const entry of entries) {
		if (entry.message?.role !== "toolResult" || entry.message.toolName !== "read") continue;
		const { text, meta } = as[at++];
		if (text !== undefined) entry.message.content = [{ type: "text", text }];
		entry.message.details = { ...entry.message.details, readcache: meta };
	}
	fs.writeFileSync(file, `${entries.map((entry) => JSON.stringify(entry)).join("\n")}\n`);
	return file;
}

const meta = (world, text, more = {}) => ({ v: 1, pathKey: world.file("a.txt"), scopeKey: "full", servedHash: sha256(text), mode: "full", totalLines: text.split("\n").length, rangeStart: 1, rangeEnd: text.split("\n").length, bytes: Buffer.byteLength(text), ...more });

scenario("the original's full read is known, and a change to it is a diff", async (world) => {
	world.write("a.txt", A);
	store(world, A);
	const session = await recorded(world, [[read("a.txt")]], [{ meta: meta(world, A) }]);
	const pi = await world.start({ args: ["--session", session] });
	const [same] = await pi.run([[read("a.txt")]]);
	assert.equal(same.text, UNCHANGED);
	world.write("a.txt", withLine(A, 7, "LINE SEVEN"));
	const [diff] = await pi.run([[read("a.txt")]]);
	assert.match(diff.text, /lines changed of 41\]/);
});

scenario("the original's unchanged marker after its full read keeps what is known", async (world) => {
	world.write("a.txt", A);
	store(world, A);
	const session = await recorded(world, [[read("a.txt")], [read("a.txt")]], [{ meta: meta(world, A) }, { text: UNCHANGED, meta: meta(world, A, { mode: "unchanged", baseHash: sha256(A) }) }]);
	const pi = await world.start({ args: ["--session", session] });
	const [same] = await pi.run([[read("a.txt")]]);
	assert.equal(same.text, UNCHANGED);
});

scenario("the original's cut read, recorded as the whole file, vouches for no line behind the cut", async (world) => {
	const long = Array.from({ length: 3000 }, (_, i) => `line ${i + 1} with\n`).join("");
	world.write("a.txt", long);
	store(world, long);
	const session = await recorded(world, [[read("a.txt")]], [{ meta: meta(world, long) }]);
	const pi = await world.start({ args: ["--session", session] });
	const [behind, whole] = await pi.run([[read("a.txt", { offset: 2001 })], [read("a.txt")]]);
	assert.ok(behind.text.startsWith("line 2001 with"), behind.text.slice(0, 100));
	assert.notEqual(whole.text, "[readcache: unchanged, 3001 lines]");
});

scenario("the original's false marker for a page that was never shown is no base", async (world) => {
	const long = Array.from({ length: 3000 }, (_, i) => `line ${i + 1} with\n`).join("");
	world.write("a.txt", long);
	store(world, long);
	const marker = "[readcache: unchanged in lines 2001-3001 of 3001]";
	const session = await recorded(world, [[read("a.txt")], [read("a.txt", { offset: 2001 })]], [{ meta: meta(world, long) }, { text: marker, meta: meta(world, long, { mode: "unchanged_range", scopeKey: "r:2001:3001", rangeStart: 2001, baseHash: sha256(long) }) }]);
	const pi = await world.start({ args: ["--session", session] });
	const [page] = await pi.run([[read("a.txt", { offset: 2001 })]]);
	assert.ok(page.text.startsWith("line 2001 with"), page.text.slice(0, 100));
});

scenario("the original's result whose text was shortened on the way is not known", async (world) => {
	world.write("a.txt", A);
	store(world, A);
	const session = await recorded(world, [[read("a.txt")]], [{ text: `${A.slice(0, 100)}\n[shortened]`, meta: meta(world, A) }]);
	const pi = await world.start({ args: ["--session", session] });
	const [again] = await pi.run([[read("a.txt")]]);
	assert.equal(again.text, A);
});

scenario("metadata that is damaged is passed over", async (world) => {
	const damages = [{ v: 2 }, { servedHash: "no hash" }, { mode: "trust me" }, { pathKey: 7 }, { mode: "unchanged", baseHash: "" }, { rangeEnd: -1, totalLines: "many" }];
	const names = damages.map((_, i) => `damaged-${i}.txt`);
	for (const name of names) world.write(name, A);
	store(world, A);
	const session = await recorded(world, [names.map((name) => read(name))], damages.map((damage, i) => ({ meta: meta(world, A, { pathKey: world.file(names[i]), ...damage }) })));
	const pi = await world.start({ args: ["--session", session] });
	const again = await pi.run([names.map((name) => read(name))]);
	for (const [i, { text }] of again.slice(0, 5).entries()) assert.equal(text, A, JSON.stringify(damages[i]));
});

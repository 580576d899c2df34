// The seed's matrix 27-30: a refresh makes the next read plain, on this branch, also after a restart.
import assert from "node:assert/strict";
import { lines, read, refresh, scenario } from "../harness/world.mjs";

const A = lines(40);
const UNCHANGED = "[readcache: unchanged, 41 lines]";
const FIVE = A.split("\n").slice(4, 9).join("\n");
const RANGE = { offset: 5, limit: 5 };
const OTHER = { offset: 20, limit: 5 };
const isMarker = (result) => result.text.startsWith("[readcache: unchanged in lines ");

const invalidations = async (pi) => (await pi.entries()).filter((entry) => entry.type === "custom" && entry.customType === "pi-readcache").map((entry) => entry.data);

scenario("27 /readcache-refresh makes the next read plain", async (world) => {
	world.write("a.txt", A);
	const pi = await world.start();
	await pi.run([[read("a.txt")]]);
	const shown = await pi.slash("/readcache-refresh a.txt");
	assert.ok(shown.some((event) => event.method === "notify"), "the person is told");
	const [entry] = await invalidations(pi);
	assert.deepEqual({ ...entry, at: 0 }, { v: 1, kind: "invalidate", pathKey: world.file("a.txt"), scopeKey: "full", at: 0 });
	assert.ok(Number.isInteger(entry.at) && entry.at > 0);
	const [first, second] = await pi.run([[read("a.txt")], [read("a.txt")]]);
	assert.equal(first.text, A);
	assert.equal(second.text, UNCHANGED);
});

scenario("27 /readcache-refresh of a range takes these lines and no others", async (world) => {
	world.write("a.txt", A);
	const pi = await world.start();
	await pi.run([[read("a.txt")]]);
	await pi.slash("/readcache-refresh a.txt 5-9");
	const [entry] = await invalidations(pi);
	assert.equal(entry.scopeKey, "r:5:9");
	const [other, range, again] = await pi.run([[read("a.txt", OTHER)], [read("a.txt", RANGE)], [read("a.txt", RANGE)]]);
	assert.ok(isMarker(other), other.text);
	assert.ok(range.text.startsWith(FIVE), range.text);
	assert.ok(isMarker(again), again.text);
});

scenario("27 the whole file cannot vouch for a range that was refreshed", async (world) => {
	world.write("a.txt", A);
	const pi = await world.start();
	await pi.run([[read("a.txt")]]);
	await pi.slash("/readcache-refresh a.txt 5-9");
	const [whole] = await pi.run([[read("a.txt")]]);
	assert.equal(whole.text, A);
});

scenario("27 /readcache-refresh says what is wrong with its words and leaves no entry", async (world) => {
	world.write("a.txt", A);
	const pi = await world.start();
	await pi.run([[read("a.txt")]]);
	for (const words of ["/readcache-refresh", "/readcache-refresh a.txt 9-5", "/readcache-refresh a.txt 0-5"]) {
		const shown = await pi.slash(words);
		assert.ok(shown.some((event) => event.method === "notify" && event.notifyType !== "info"), words);
	}
	assert.deepEqual(await invalidations(pi), []);
	const [a] = await pi.run([[read("a.txt")]]);
	assert.equal(a.text, UNCHANGED);
});

scenario("28 the tool readcache_refresh does what the command does", async (world) => {
	world.write("a.txt", A);
	const pi = await world.start();
	const [, tool, plain, short] = await pi.run([[read("a.txt")], [refresh("a.txt")], [read("a.txt")], [read("a.txt")]]);
	assert.equal(tool.isError, false);
	assert.equal(plain.text, A);
	assert.equal(short.text, UNCHANGED);
	const [entry] = await invalidations(pi);
	assert.deepEqual({ ...entry, at: 0 }, { v: 1, kind: "invalidate", pathKey: world.file("a.txt"), scopeKey: "full", at: 0 });

	const [, range, other] = await pi.run([[refresh("a.txt", RANGE)], [read("a.txt", RANGE)], [read("a.txt", OTHER)]]);
	assert.ok(range.text.startsWith(FIVE), range.text);
	assert.ok(isMarker(other), other.text);
	assert.equal((await invalidations(pi)).at(-1).scopeKey, "r:5:9");
});

scenario("28 a refresh and a read in one batch: the read is plain or can be rebuilt, the next one is plain", async (world) => {
	world.write("a.txt", A);
	const pi = await world.start();
	await pi.run([[read("a.txt")], [refresh("a.txt"), read("a.txt")]]);
	const [next] = await pi.run([[read("a.txt")]]);
	assert.ok([A, UNCHANGED].includes(next.text));
});

scenario("29 a refresh still holds after a restart", async (world) => {
	world.write("a.txt", A);
	world.write("b.txt", A);
	let pi = await world.start();
	await pi.run([[read("a.txt"), read("b.txt")]]);
	await pi.slash("/readcache-refresh a.txt");
	await pi.run([[refresh("b.txt", RANGE)]]);
	const session = await pi.sessionFile();
	await pi.close();
	pi = await world.start({ args: ["--session", session] });
	const [a, b] = await pi.run([[read("a.txt")], [read("b.txt", RANGE)]]);
	assert.equal(a.text, A);
	assert.ok(b.text.startsWith(FIVE), b.text);
});

scenario("29 a refresh holds on its own branch only", async (world) => {
	world.write("a.txt", A);
	const pi = await world.start();
	await pi.run([[read("a.txt")]]);
	const before = (await pi.entries()).at(-1).id;
	await pi.slash("/readcache-refresh a.txt");
	const [plain] = await pi.run([[read("a.txt")]]);
	assert.equal(plain.text, A);
	await pi.slash(`/goto ${before}`);
	const [short] = await pi.run([[read("a.txt")]]);
	assert.equal(short.text, UNCHANGED);
});

scenario("30 a refresh of the whole file takes its ranges too", async (world) => {
	world.write("a.txt", A);
	const pi = await world.start();
	await pi.run([[read("a.txt", RANGE)], [read("a.txt", OTHER)]]);
	const known = await pi.run([[read("a.txt", RANGE)], [read("a.txt", OTHER)]]);
	assert.ok(known.every(isMarker));
	await pi.slash("/readcache-refresh a.txt");
	const plain = await pi.run([[read("a.txt", RANGE)], [read("a.txt", OTHER)]]);
	assert.ok(plain.every((result) => !isMarker(result)), JSON.stringify(plain));
});

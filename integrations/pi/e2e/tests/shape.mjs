// The seed's matrix 24-26: for pi and for the model it is still the same tool.
import assert from "node:assert/strict";
import { textOf } from "../harness/judge.mjs";
import { EXTENSION, PROBE } from "../harness/published.mjs";
import { lines, read, scenario } from "../harness/world.mjs";

const LONG = lines(3000);
const strip = ({ readcache, ...details } = {}) => details;

async function withoutOurs(world, turns) {
	const pi = await world.start({ extensions: [PROBE] });
	const results = await pi.run(turns);
	const request = world.lastRequest;
	await pi.close();
	return { results, request };
}

scenario("24 a cut read has pi's own truncation details", async (world) => {
	world.write("long.txt", LONG);
	world.write("line.txt", "x".repeat(60_000));
	const turns = [[read("long.txt")], [read("long.txt", { offset: 100 })], [read("line.txt")]];
	const { results: own } = await withoutOurs(world, turns);
	const pi = await world.start();
	const ours = await pi.run(turns);
	for (const [i, result] of ours.entries()) {
		assert.equal(result.text, own[i].text);
		assert.deepEqual(strip(result.details), own[i].details);
		assert.ok(result.details.truncation);
	}
});

scenario("25 the result has the shape that pi's renderer takes", async (world) => {
	world.write("a.txt", lines(40));
	const pi = await world.start();
	const results = await pi.run([[read("a.txt")], [read("a.txt")]]);
	for (const result of results) {
		assert.equal(result.content.length, 1);
		assert.deepEqual(Object.keys(result.content[0]).sort(), ["text", "type"]);
		assert.equal(result.content[0].text, result.text);
		assert.deepEqual(Object.keys(result.details), ["readcache"]);
	}
});

scenario("26 the model is told of read what it was told before", async (world) => {
	world.write("a.txt", lines(40));
	const { request: own } = await withoutOurs(world, [[read("a.txt")]]);
	const pi = await world.start({ extensions: [EXTENSION, PROBE] });
	await pi.run([[read("a.txt")]]);
	const ours = world.lastRequest;
	const [before, after] = [own, ours].map((request) => textOf(request.messages[0].content));
	assert.ok(before.includes("- read: Read file contents") && before.includes("- Use read to examine files instead of cat or sed."));
	const missing = before.split("\n").filter((line) => !after.split("\n").includes(line));
	assert.deepEqual(missing, [], "no line of the system prompt is lost");
	const [builtIn, replaced] = [own, ours].map((request) => request.tools.find((tool) => tool.name === "read"));
	assert.equal(replaced.description, builtIn.description);
	const { bypass_cache, ...properties } = replaced.parameters.properties;
	assert.deepEqual(properties, builtIn.parameters.properties);
	assert.equal(bypass_cache.type, "boolean");
	assert.deepEqual(replaced.parameters.required, builtIn.parameters.required);
	const more = ours.tools.map((tool) => tool.name).filter((name) => !own.tools.some((tool) => tool.name === name));
	assert.deepEqual(more, ["readcache_refresh"]);
});

// Runs every file in tests/, a few at a time, and prints one line per test. Nothing may be skipped, and a filter that
// fits no test is a failure. `--only NAME` keeps the tests whose name has NAME in it; it may be given more than once.
import fs from "node:fs";
import path from "node:path";
import { run } from "node:test";
import { fileURLToPath } from "node:url";

/** Files at a time. Every test has folders, a model and processes of its own; more at once only wait for each other. */
const AT_ONCE = 2;

const folder = fileURLToPath(new URL("tests/", import.meta.url));
const only = process.argv.flatMap((word, i) => (process.argv[i - 1] === "--only" ? [word] : []));
const files = fs.readdirSync(folder).filter((name) => name.endsWith(".mjs")).map((name) => path.join(folder, name)).sort((a, b) => weight(b) - weight(a));
const escape = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
const patterns = only.map((name) => new RegExp(escape(name), "i"));

const begin = Date.now();
let passed = 0;
const failed = [];
const refused = [];

const stream = run({ files, concurrency: AT_ONCE, testNamePatterns: patterns.length > 0 ? patterns : undefined });
stream.on("test:pass", (event) => {
	if (isFile(event)) return;
	if (event.skip !== undefined || event.todo !== undefined) return patterns.length > 0 && event.skip === "test name does not match pattern" ? undefined : refused.push(event.name);
	passed += 1;
	console.log(`ok    ${event.name} (${seconds(event.details.duration_ms)})`);
});
stream.on("test:fail", (event) => {
	if (isFile(event) && event.details.error?.failureType === "subtestsFailed") return;
	failed.push(event);
	console.log(`FAIL  ${event.name} (${seconds(event.details.duration_ms)})`);
});
stream.on("test:stderr", (event) => process.stderr.write(event.message));
stream.on("test:stdout", (event) => process.stdout.write(event.message));
stream.resume();
await new Promise((resolve) => stream.once("end", resolve));

for (const event of failed) {
	const error = event.details.error?.cause ?? event.details.error;
	console.log(`\n--- ${event.name}\n${error?.stack ?? error}`);
}
for (const name of refused) console.log(`\n--- ${name}\nwas skipped; nothing may be`);
console.log(`\n${passed} passed, ${failed.length} failed, ${refused.length} skipped in ${seconds(Date.now() - begin)}`);
if (passed + failed.length === 0) console.log("no test has that name");
process.exitCode = failed.length + refused.length > 0 || passed === 0 ? 1 : 0;

/** The longest files are begun first, so that the end is not one of them alone. */
function weight(file) {
	return fs.readFileSync(file, "utf8").split("scenario(").length;
}

function isFile(event) {
	return event.file === event.name || event.name.endsWith(".mjs");
}

function seconds(ms) {
	return `${(ms / 1000).toFixed(1)} s`;
}

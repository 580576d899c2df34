// Where `cargo xtask pi` has put the published packages and the program under test.
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const need = (name) => {
	const value = process.env[name];
	if (!value || !fs.existsSync(value)) throw new Error(`${name} must name something that exists; run the tests with \`cargo xtask pi\``);
	return fs.realpathSync(value);
};

const packages = need("READPROOF_PI_PACKAGES");
const bundle = (folder) => path.join(packages, folder, "node_modules/@earendil-works/pi-coding-agent/dist/bundle");

export const NODE = process.execPath;
export const PROGRAM = need("READPROOF_BIN");
export const EXTENSION = fileURLToPath(new URL("../..", import.meta.url));
export const PROBE = fileURLToPath(new URL("probe.ts", import.meta.url));

/** The versions of pi that ours works with, newest first. */
export const VERSIONS = ["1.5.0", "0.87.1"].map((version) => ({
	version,
	cli: path.join(bundle(`pi-${version}`), "cli.js"),
	sdk: path.join(bundle(`pi-${version}`), "index.js"),
}));
export const [NEWEST] = VERSIONS;

/** The module of the bundle that speaks an API; most are under a name with a hash. */
export function transport({ cli }, api) {
	const chunks = path.join(path.dirname(cli), "chunks");
	const found = fs.readdirSync(chunks).filter((name) => name === `${api}.js` || (name.startsWith(`${api}-`) && /^[A-Z0-9]{8}\.js$/.test(name.slice(api.length + 1))));
	if (found.length !== 1) throw new Error(`${found.length} modules of ${chunks} speak ${api}`);
	return path.join(chunks, found[0]);
}

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

/** The versions of pi that everything is tried on, newest first. */
export const VERSIONS = ["1.5.0", "0.87.1"].map((version) => ({
	version,
	cli: path.join(bundle(`pi-${version}`), "cli.js"),
	sdk: path.join(bundle(`pi-${version}`), "index.js"),
}));

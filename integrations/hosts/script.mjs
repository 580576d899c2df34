// What the scripted model calls, one call a turn: the same in every host. Only paths depend on where the host was started, as a model
// names a file from there.
import { LARGE, SUBFOLDER } from "./world.mjs";

/** `args` are what the model passes, which is not always what arrives: see KNOWN. */
const call = (title, tool, args) => ({ title, tool, args });
const read = (title, target, more = {}) => call(title, "read", { target, ...more });

/** Stands for the last handle that the model was given; where it was given none, the argument is left out. */
export const KNOWN = "@known";

/** Stands for the root of the project, which is a new folder for every run. */
export const ROOT = "@project";

/** What is called wherever the host was started. `here` turns a name from the root into one from that folder. */
const everywhere = (here) => [
	// Whatever the golden file says, a host that does not let the model read has failed.
	{ ...read("a file", here("src/greet.py")), shows: "src/greet.py" },
	read("the same file again, with the handle if one was given", here("src/greet.py"), { known: KNOWN }),
	read("a file by its absolute path", `${ROOT}/src/greet.py`, { limit: 3 }),
	read("lines of it", here("src/greet.py"), { start_line: 8, end_line: 10 }),
	read("lines of it, named as other tools do", here("src/greet.py"), { mode: "file", offset: 8, limit: 3 }),
	read("a large file", here(LARGE)),
	read("a large file, and all of it", here(LARGE), { limit: 2000 }),
	read("a last line without an end", here("src/web/page.ts")),
	read("an empty file", here("src/__init__.py")),
	call("several files", "read", { targets: [here("README.md"), here("src/web/page.ts")] }),
	call("one definition", "read", { mode: "symbol", target: "Greeter.greet" }),
	call("a search", "search", { query: "the_needle", mode: "text" }),
	call("a search by a regular expression", "search", { query: "fn \\w+_7\\d\\(", mode: "regex" }),
	call("a search without a match", "search", { query: "nowhere_to_be_found", mode: "text" }),
	call("the folder", "list", {}),
	call("an outline", "outline", { path: here("src/greet.py") }),
	call("the outline of an empty file", "outline", { path: here("src/__init__.py") }),
	read("a missing file", here("src/great.py")),
	read("a file outside", "/etc/passwd"),
	call("only a path", "read", { path: here("src/greet.py") }),
	call("an argument that does not exist", "search", { query: "greet", mode: "text", colour: "red" }),
];

/** The places a host is started in, each with its calls. */
export const PLACES = [
	{ name: "the root", folder: ".", calls: [...everywhere((name) => name), call("a folder", "list", { path: "src" })] },
	{
		name: `the subfolder ${SUBFOLDER}`,
		folder: SUBFOLDER,
		calls: [
			...everywhere((name) => (name.startsWith(`${SUBFOLDER}/`) ? name.slice(SUBFOLDER.length + 1) : `../${name}`)),
			read("a file named from the root, as a search prints it", "src/greet.py"),
			read("a file above", "../README.md"),
			call("a folder", "list", { path: "web" }),
			call("the folder above", "list", { path: ".." }),
		],
	},
];

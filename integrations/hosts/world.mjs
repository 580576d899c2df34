// The project that the hosts work in: a git repository with a few files of every kind, made anew for every run.
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";

/** The folder that a host is started in when it is not started at the root. */
export const SUBFOLDER = "src";

/** The file that is too large for one answer; no two of its lines are alike. */
export const LARGE = "src/large.rs";

/** Every file by its name from the root. */
const FILES = {
	".gitignore": "build/\n",
	"README.md": "# Greetings\n\nA small project.\n\n## Use\n\nRun `greet`.\n",
	"build/out.txt": "made, and ignored by git\n",
	"src/__init__.py": "",
	"src/greet.py": `"""Greetings in a few languages."""

import sys

GREETINGS = {"en": "Hello", "de": "Grüß Gott", "ja": "こんにちは"}


class Greeter:
    def __init__(self, language="en"):
        self.word = GREETINGS[language]

    def greet(self, name):
        return f"{self.word}, {name}!"


if __name__ == "__main__":
    print(Greeter().greet(sys.argv[1]))
`,
	[LARGE]: Array.from({ length: 900 }, (_, i) => (i === 699 ? "fn the_needle() { /* only here */ }\n" : `pub fn number_${i + 1}() -> u32 { ${i + 1} * 2 + 1 }\n`)).join(""),
	"src/web/page.ts": "export interface Page {\n\ttitle: string;\n}\n\nexport function render(page: Page): string {\n\treturn `<h1>${page.title}</h1>`;\n}\n\nconst last = \"a line without an end\";",
};

export const text = (name) => FILES[name];

/** The lines of a file, without their ends. */
export const lines = (name) => text(name).split("\n").slice(0, -1);

/** Whatever depends on the time of a file depends on this. */
const TIME = new Date("2026-01-02T03:04:05Z");

export function make(folder) {
	for (const [name, content] of Object.entries(FILES)) {
		const place = path.join(folder, name);
		fs.mkdirSync(path.dirname(place), { recursive: true });
		fs.writeFileSync(place, content);
		fs.utimesSync(place, TIME, TIME);
	}
	execFileSync("git", ["init", "--quiet", "--initial-branch=main"], { cwd: folder });
}

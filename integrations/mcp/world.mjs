// The workspace that the clients read: a few files of every kind, made anew for every run.
import fs from "node:fs";
import path from "node:path";

const numbered = (count, line, end = "\n") => Array.from({ length: count }, (_, i) => line(i + 1) + end).join("");

/** Every file by its name; binary ones as bytes. */
export const FILES = {
	"plain.txt": numbered(12, (n) => `line ${n} of plain text`),
	"crlf.txt": `${numbered(9, (n) => `dos line ${n}`, "\r\n")}the last line has no end`,
	"unicode.txt": "\uFEFFÜnïcødé \"quoted\" \\ back\ttab\n日本語のテキスト\n🦀 \u{1F468}\u200D\u{1F469} e\u0301 \u2028 here\n\n\u00A0end\n",
	"empty.txt": "",
	"src/large.rs": numbered(5000, (n) => (n === 4321 ? "fn the_needle() { /* only here */ }" : `pub fn number_${n}() -> u32 { ${n} * 2 + 1 }`)),
	"data.bin": Buffer.from([0, 159, 146, 150, 255, 254, 0, 1, 2, 3]),
};

export function make(folder) {
	for (const [name, content] of Object.entries(FILES)) {
		const place = path.join(folder, name);
		fs.mkdirSync(path.dirname(place), { recursive: true });
		fs.writeFileSync(place, content);
	}
}

/** Lines `first` to `last` of a file with their ends, as they are in it; a line ends at `\n`. */
export function lines(name, first = 1, last = Infinity) {
	return FILES[name].split(/(?<=\n)/).slice(first - 1, last).join("");
}

#!/usr/bin/env python3
"""Checks calls.jsonl against world/, without a server: every wanted file and line must exist, and a search must be able to
find what it wants. Prints the number of calls by tool and by origin; exits with 1 if anything is wrong."""

import collections
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).parent
TOOLS = {
    "read", "search", "list", "outline", "read_file", "read_file_range", "read_file_head", "read_file_tail",
    "search_in_file", "stat_file",
}
KEYS = ["name", "from", "cwd", "tool", "arguments", "want", "why"]
MOST_ERRORS = 28
FEWEST_CALLS = 165
WORLD_BYTES = 120_000
SHOWN_LINES = 3  # of each file that a search for words lists
IGNORED = re.compile(r"build/|scratch\.txt$")  # as in world/gitignore
QUERY = ("query", "q", "pattern", "regex", "keyword", "Query")
CONTEXT = ("context_lines", "context", "-A", "-B", "-C")
PLAIN = re.compile(r"[\w./-]+")


def real_name(path):
    """The name a file of world/ has in the workspace."""
    parts = ["." + part[4:] if part.startswith("dot.") else part for part in path.split("/")]
    return "/".join(".gitignore" if part == "gitignore" else part for part in parts)


def lines_of(data):
    if data.startswith(b"\xff\xfe"):
        text = data.decode("utf-16")
    else:
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            text = data.decode("latin-1")
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def load_world():
    files = {}
    for path in sorted((HERE / "world").rglob("*")):
        if path.is_file():
            files[real_name(path.relative_to(HERE / "world").as_posix())] = path.read_bytes()
    return files


class Checker:
    def __init__(self):
        self.bytes = load_world()
        self.world = {name: lines_of(data) for name, data in self.bytes.items()}
        self.folders = {""} | {name[:at] for name in self.world for at, c in enumerate(name) if c == "/"}
        self.problems = []
        self.call = {"name": "world"}

    def wrong(self, message):
        self.problems.append(f"{self.call['name']}: {message}")

    # The world

    def check_world(self):
        size = sum(map(len, self.bytes.values()))
        if size > WORLD_BYTES:
            self.wrong(f"{size} bytes, more than {WORLD_BYTES}")
        if not 35 <= len(self.world) <= 60:
            self.wrong(f"{len(self.world)} files, not 35 to 60")
        print(f"world: {len(self.world)} files, {size} bytes")

    # One call

    def check(self, call):
        self.call = call
        if list(call) != KEYS:
            return self.wrong(f"its keys are {list(call)}, not {KEYS}")
        if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", call["name"]):
            self.wrong("the name is not kebab-case")
        if call["tool"] not in TOOLS:
            self.wrong(f"unknown tool {call['tool']}")
        if call["cwd"] not in self.folders:
            self.wrong(f"{call['cwd']} is not a folder")
        if not call["why"].endswith("."):
            self.wrong("why is not a sentence")
        self.check_want(call["want"], after_error=False)

    def check_want(self, want, after_error):
        if isinstance(want, list):
            for one in want:
                self.check_read(one, several=True, after_error=after_error)
        elif set(want) == {"file", "lines"}:
            self.check_read(want, several=False, after_error=after_error)
        elif set(want) == {"found", "first"}:
            self.check_found(want)
        elif want == {"empty": True}:
            self.check_empty(after_error)
        elif set(want) == {"error", "then"} and not after_error:
            if not re.fullmatch(r"[A-Z]+(_[A-Z]+)*", want["error"]):
                self.wrong(f"{want['error']} is not an error code")
            self.check_want(want["then"], after_error=True)
        else:
            self.wrong(f"unknown want {want}")

    def check_read(self, want, several, after_error):
        name, (first, last) = want["file"], want["lines"]
        if name not in self.world:
            return self.wrong(f"{name} does not exist")
        total = len(self.world[name])
        if (first, last) == (1, 0):
            if total:
                self.wrong(f"{name} is not empty")
        elif not 1 <= first <= last <= total:
            self.wrong(f"{first}-{last} are not lines of {name}, which has {total}")
        elif not several and not after_error:
            asked = self.asked_lines(total)
            if asked and asked != (first, last):
                self.wrong(f"the arguments ask for {asked}, not for {first}-{last}")

    def asked_lines(self, total):
        """The lines that the plainest arguments name, if they are used."""
        given = self.call["arguments"]
        for start, end in [("start_line", "end_line"), ("startLine", "endLine"), ("from", "to"), ("start", "end")]:
            if given.get(start) and given.get(end):
                first, last = int(given[start]), int(given[end])
                around = int(given.get("context_lines", 0))
                last = total if last == -1 else last
                return max(1, first - around), min(total, last + around)
        if given.get("offset") is not None and given.get("limit"):
            first = max(1, int(given["offset"]))
            return first, min(total, first + int(given["limit"]) - 1)
        return None

    # Searches

    def query(self):
        return next((self.call["arguments"][name] for name in QUERY if name in self.call["arguments"]), None)

    def is_pattern(self, query):
        given = self.call["arguments"]
        marked = given.get("mode") == "regex" or given.get("is_regex") or given.get("isRegexp") or "regex" in given
        return marked or bool(re.search(r"\\[wdbs.]|\.\*|\||^\^", query))

    def matches(self, query):
        """A function that tells whether a line matches; None if the query is neither a word nor a pattern."""
        given = self.call["arguments"]
        fold = given.get("-i") or given.get("case_insensitive") or given.get("ignoreCase") or given.get("case") == "insensitive"
        fold = fold or (query == query.lower() and not given.get("case_sensitive"))
        if self.is_pattern(query):
            try:
                pattern = re.compile(query, re.IGNORECASE if fold else 0)
            except re.error:
                return lambda line: query in line
            return lambda line: pattern.search(line) is not None
        if not PLAIN.fullmatch(query):
            return None
        return (lambda line: query.lower() in line.lower()) if fold else (lambda line: query in line)

    def check_found(self, want):
        given = self.call["arguments"]
        if not want["found"]:
            self.wrong("nothing is wanted")
        query = self.query()
        by_text = self.call["tool"] in {"search", "search_in_file"} and given.get("mode") not in {"path", "symbol"}
        matches = self.matches(query) if by_text and query else None
        around = max((int(given.get(name, 0)) for name in CONTEXT), default=0)
        for place in want["found"]:
            name, line = place["file"], place.get("line")
            if name not in self.world:
                self.wrong(f"{name} does not exist")
                continue
            lines = self.world[name]
            if IGNORED.match(name) and not given.get("ignored"):
                self.wrong(f"{name} is ignored by git")
            if line is not None and not 1 <= line <= len(lines):
                self.wrong(f"{name} has no line {line}")
            elif matches:
                hits = [number for number, text in enumerate(lines, 1) if matches(text)]
                if line is None and not hits:
                    self.wrong(f"{query!r} does not occur in {name}")
                if line is not None and not any(abs(line - hit) <= around for hit in hits):
                    self.wrong(f"{query!r} does not occur at {name}:{line}")
                if line is not None and not self.is_pattern(query) and len(hits) > SHOWN_LINES:
                    self.wrong(f"{query!r} occurs {len(hits)} times in {name}; which lines are shown is not certain")

    def check_empty(self, after_error):
        given, query = self.call["arguments"], self.query()
        if self.call["tool"] != "search" or given.get("mode") in {"path", "symbol"} or after_error:
            return
        matches = self.matches(query)
        place, glob = given.get("path", ""), given.get("include", given.get("glob", ""))
        for name, lines in self.world.items():
            searched = name.startswith(place) and name.endswith(glob.lstrip("*")) and not IGNORED.match(name)
            if matches and searched and any(map(matches, lines)):
                self.wrong(f"{query!r} occurs in {name}")


def main():
    checker = Checker()
    checker.check_world()
    calls = []
    for number, line in enumerate((HERE / "calls.jsonl").read_text("utf-8").splitlines(), 1):
        try:
            calls.append(json.loads(line))
        except ValueError as error:
            checker.problems.append(f"calls.jsonl:{number}: {error}")
    for call in calls:
        checker.check(call)
    repeated = [name for name, count in collections.Counter(call["name"] for call in calls).items() if count > 1]
    checker.problems.extend(f"{name}: the name is used twice" for name in repeated)
    errors = sum("error" in call["want"] for call in calls)
    if errors > MOST_ERRORS:
        checker.problems.append(f"{errors} calls want an error, at most {MOST_ERRORS} may")
    if len(calls) < FEWEST_CALLS:
        checker.problems.append(f"{len(calls)} calls, fewer than {FEWEST_CALLS}")
    print(f"calls: {len(calls)}, of which {errors} want an error and {sum(bool(call['cwd']) for call in calls)} start in a subfolder")
    for key in ("tool", "from"):
        counts = collections.Counter(call[key] for call in calls).most_common()
        print(f"{key}: " + ", ".join(f"{name} {count}" for name, count in counts))
    for problem in checker.problems:
        print(problem, file=sys.stderr)
    return 1 if checker.problems else 0


if __name__ == "__main__":
    sys.exit(main())

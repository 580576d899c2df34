#!/usr/bin/env node
// Plays `readproof pi`. FAKE_CHILD says what kind of program it is; a request's path says how it is answered.
// FAKE_LOG gets every line that arrives, and one `{"started":pid}` per start.
import { appendFileSync, closeSync } from "node:fs";

const kind = process.env.FAKE_CHILD ?? "good";
const log = (value) => process.env.FAKE_LOG && appendFileSync(process.env.FAKE_LOG, `${JSON.stringify(value)}\n`);
const say = (value) => process.stdout.write(`${typeof value === "string" ? value : JSON.stringify(value)}\n`);

log({ started: process.pid, cwd: process.cwd(), pwd: process.env.PWD, args: process.argv.slice(2) });
if (kind === "old") {
  process.stderr.write("error: unrecognized subcommand 'pi'\n");
  process.exit(2);
}
if (kind === "deaf") {
  closeSync(0);
  setInterval(() => {}, 1000);
} else {
  listen();
}

function listen() {
  let held = "";
  process.stdin.on("data", (chunk) => {
    held += chunk;
    const lines = held.split("\n");
    held = lines.pop();
    for (const line of lines) answer(JSON.parse(line));
  });
  process.stdin.on("end", () => {
    if (kind !== "stubborn") process.exit(0);
  });
  if (kind === "stubborn") setInterval(() => {}, 1000);
}

function answer(request) {
  log(request);
  const { id, op, path } = request;
  if (op === "hello") {
    if (kind === "mute") return;
    if (kind === "unwilling") say({ id, ok: false, code: "CONFIG", error: "no workspace" });
    else
      say(
        kind === "garbage"
          ? "hello there"
          : { id, ok: true, protocol: kind === "other" ? 1 : 2, version: "0.0.0", workspace: "/w" },
      );
  } else if (op === "cancel" || path === "hang") {
    // No answer.
  } else if (path === "exit") {
    process.stderr.write("the store is on fire\n");
    process.exit(7);
  } else if (path === "garbage") say("{");
  else if (path === "stranger") say({ id: 4711, ok: true });
  else if (path?.startsWith("=")) say({ id, ok: true, ...JSON.parse(path.slice(1)) });
  else if (path?.startsWith("after "))
    setTimeout(() => say({ id, ok: true, text: path, tail: "" }), Number(path.slice(6)));
  else if (op === "read") say({ id, ok: true, text: `text of ${path}`, tail: "", readcache: { v: 1, mode: "full" } });
  else if (op === "refresh")
    say({
      id,
      ok: true,
      pathKeys: [`/w/${path}`],
      scopeKey: request.offset ? "r:3:5" : "full",
      text: `${path} is plain next`,
    });
  else if (op === "moment") say({ id, ok: true, ...(process.env.FAKE_MOMENT && { moment: process.env.FAKE_MOMENT }) });
  else if (op === "rewind") {
    const changes = Number(process.env.FAKE_CHANGES ?? 2);
    const files = ["a.txt: restored", "b.txt: removed"].slice(0, changes);
    say({ id, ok: true, changes, stays: 0, files, text: request.dryRun ? "would change" : "2 files as at v7" });
  } else if (op === "changes") say({ id, ok: true, text: `changes since ${request.moment ?? "the beginning"}` });
  else say({ id, ok: true, text: "[readcache-status]\nfine" });
}

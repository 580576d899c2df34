import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { Failure } from "../src/failure.ts";
import { Program, type ProgramOptions } from "../src/program.ts";
import { FAKE, fakeChild, isAlive, place, until } from "./support/place.ts";

function start(kind: string, options: Partial<ProgramOptions> = {}) {
  const dir = place();
  const heard = fakeChild(kind, dir);
  const failures: Failure[] = [];
  const clock = { now: 0 };
  const program = new Program({
    locate: () => FAKE,
    timeoutMs: 5000,
    onFailure: (failure) => failures.push(failure),
    now: () => clock.now,
    ...options,
  });
  onTestFinished(() => program.close());
  const read = (path: string, signal?: AbortSignal) => program.ask(dir, () => ({ op: "read", path }), signal);
  const starts = () => heard().filter((line) => line.started);
  return { dir, heard, starts, failures, clock, program, read };
}

test("one process serves all requests, and starts with the first", async () => {
  const { dir, heard, starts, read } = start("good");
  expect(heard()).toEqual([]);
  const answers = await Promise.all([read("a"), read("after 30"), read("b")]);
  expect(answers.map((answer) => answer.text)).toEqual(["text of a", "after 30", "text of b"]);
  expect(starts()).toEqual([{ started: expect.any(Number), cwd: dir, pwd: dir, args: ["pi"] }]);
  expect(heard().slice(1)).toEqual([
    { id: 0, op: "hello", protocol: 2 },
    { id: 1, op: "read", path: "a" },
    { id: 2, op: "read", path: "after 30" },
    { id: 3, op: "read", path: "b" },
  ]);
});

test.each([
  ["old", "a", "old 2", /too old to know `pi`: error: unrecognized subcommand 'pi'/],
  ["other", "a", "protocol", /speaks protocol 1, this extension 2/],
  ["unwilling", "a", "refused", /cannot serve here: no workspace/],
  ["garbage", "a", "garbage", /cannot be understood/],
  ["good", "garbage", "garbage", /cannot be understood/],
  ["good", "stranger", "garbage", /an answer to request 4711/],
  ["good", "exit", "exit 7", /ended with exit code 7: the store is on fire/],
  ["deaf", "a", "pipe", /takes no more requests/],
])("a %s program asked for %s fails as %s", async (kind, path, key, words) => {
  const { failures, starts, read } = start(kind);
  // A pipe that nobody reads may still take the first line.
  const asked =
    kind === "deaf" ? until(() => (read("x").catch(() => {}), failures.length > 0)).then(() => read(path)) : read(path);
  await expect(asked).rejects.toMatchObject({ key, message: expect.stringMatching(words) });
  expect(failures.map((failure) => failure.key)).toEqual([key]);
  await until(() => starts().every((line) => !isAlive(line.started)));
});

test.each(["mute", "good"])("a %s program that does not answer is stopped", async (kind) => {
  const { failures, starts, read } = start(kind, { timeoutMs: 1000 });
  await Promise.all(
    [read("hang"), read("hang")].map((asked) => expect(asked).rejects.toMatchObject({ key: "timeout" })),
  );
  expect(failures).toHaveLength(1);
  await until(() => starts().every((line) => !isAlive(line.started)));
});

test("a program that cannot be started fails and is looked for again later", async () => {
  const { failures, read, clock } = start("good", { locate: () => "/nowhere/readproof" });
  await expect(read("a")).rejects.toMatchObject({ key: "start" });
  await expect(read("a")).rejects.toMatchObject({ key: "start" });
  expect(failures).toHaveLength(1);
  clock.now = 1000;
  await expect(read("a")).rejects.toMatchObject({ key: "start" });
  expect(failures).toHaveLength(2);
});

test("it is tried again after 1 s, then 2 s, up to 60 s, and after 1 s once it has answered", async () => {
  let looked = 0;
  let missing = true;
  const { read, clock } = start("good", { locate: () => (looked++, missing ? new Failure("missing", "none") : FAKE) });
  const delays = [];
  await expect(read("a")).rejects.toMatchObject({ key: "missing" });
  for (let round = 0; round < 8; round++) {
    const since = clock.now;
    for (const before = looked; looked === before;) {
      clock.now += 500;
      await read("a").catch(() => {});
    }
    delays.push(clock.now - since);
  }
  expect(delays).toEqual([1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
  missing = false;
  clock.now += 60_000;
  expect((await read("a")).text).toBe("text of a");
  await expect(read("exit")).rejects.toThrow();
  clock.now += 999;
  await expect(read("a")).rejects.toMatchObject({ key: "exit 7" });
  clock.now += 1;
  expect((await read("b")).text).toBe("text of b");
});

test("a process that dies while idle is replaced", async () => {
  const { read, starts, failures, clock } = start("good");
  await read("a");
  process.kill(starts()[0].started, "SIGKILL");
  await until(() => failures.length === 1);
  expect(failures[0]).toMatchObject({ key: "exit SIGKILL" });
  clock.now += 1000;
  expect((await read("b")).text).toBe("text of b");
  expect(starts()).toHaveLength(2);
});

test("an abort rejects at once, is passed on, and the late answer disturbs nobody", async () => {
  const { read, heard } = start("good");
  const stop = new AbortController();
  const asked = read("after 600", stop.signal);
  const other = read("after 700");
  await until(() => heard().length >= 3);
  const since = performance.now();
  stop.abort();
  await expect(asked).rejects.toThrow("Operation aborted");
  expect(performance.now() - since).toBeLessThan(300);
  expect((await other).text).toBe("after 700");
  expect(heard()).toContainEqual({ op: "cancel", target: 1 });
  await expect(read("a", stop.signal)).rejects.toThrow("Operation aborted");
  expect(heard().filter((line) => line.op === "read")).toHaveLength(2);
});

test("a request it does not understand makes it hear the whole session again", async () => {
  const { dir, program, failures } = start("good");
  const told: boolean[] = [];
  const ask = (path: string) => {
    const session = {
      getSessionId: () => "s",
      getHeader: () => ({}),
      getLeafId: () => null,
      getEntry: () => undefined,
      getCwd: () => dir,
    };
    return program.ask(dir, (sent) => {
      const part = sent.next(session);
      told.push(part.header !== undefined);
      return { op: "read", path, ...part };
    });
  };
  await ask("a");
  await ask("b");
  await expect(ask('={"ok":false,"code":"BAD_REQUEST","error":"what?"}')).rejects.toMatchObject({ key: "bad request" });
  await ask("c");
  expect(told).toEqual([true, false, false, true]);
  expect(failures).toHaveLength(1);
});

test("closing ends the process, without a word", async () => {
  const { program, read, starts, failures } = start("good");
  const asked = read("hang");
  await until(() => starts().length === 1);
  program.close();
  await expect(asked).rejects.toMatchObject({ key: "ended" });
  await until(() => !isAlive(starts()[0].started));
  await expect(read("a")).rejects.toMatchObject({ key: "ended" });
  expect(failures).toEqual([]);
  program.open();
  expect((await read("a")).text).toBe("text of a");
});

test("closing ends a process that will not go", async () => {
  const { program, read, starts } = start("stubborn");
  await read("a");
  program.close();
  await until(() => !isAlive(starts()[0].started));
});

test("long answers in many chunks arrive whole", async () => {
  const { read } = start("good");
  const text = "zwölf Boxkämpfer ".repeat(20_000);
  expect((await read(`=${JSON.stringify({ text })}`)).text).toBe(text);
});

test.each(["idle", "waiting", "closed"])("pi's process ends by itself: %s", async (how) => {
  const dir = place();
  fakeChild(how === "closed" ? "stubborn" : "good", dir);
  const script = fileURLToPath(new URL("support/exits.ts", import.meta.url));
  const run = promisify(execFile)(process.execPath, ["--import", "jiti/register", script, FAKE, dir, how], {
    timeout: 20_000,
  });
  expect((await run).stdout).toBe("text of a\nafter 300\n");
});

import { expect, onTestFinished, test, vi } from "vitest";
import { parseRefresh, REFRESH_USAGE, registerCommands } from "../src/commands.ts";
import { Failure } from "../src/failure.ts";
import { Notices } from "../src/notice.ts";
import { refreshTool } from "../src/refresh.ts";
import { Sight } from "../src/sight.ts";
import { FakeSession } from "./support/fake-session.ts";
import { fakeChild, place, programWith } from "./support/place.ts";

function begin(options: { locate?: () => string | Failure; ctx?: object } = {}) {
  const dir = place();
  const heard = fakeChild("good", dir);
  const notices = new Notices();
  const program = programWith(notices, options.locate);
  const parts = { program, sight: new Sight(() => {}), notices };
  const commands = new Map<string, (args: string, ctx: any) => Promise<void>>();
  const appendEntry = vi.fn();
  const pi = {
    appendEntry,
    registerCommand: (name: string, { handler }: any) => void commands.set(name, handler),
  } as any;
  registerCommands(pi, parts);
  const notify = vi.fn();
  const ctx = {
    cwd: dir,
    sessionManager: new FakeSession(),
    hasUI: true,
    mode: "tui",
    ui: { notify },
    ...options.ctx,
  } as any;
  const run = (name: string, args = "") => commands.get(name)!(args, ctx);
  return { dir, run, notify, appendEntry, tool: refreshTool(pi, parts), ctx, heard };
}

test.each([
  ["a.txt", { path: "a.txt", range: {} }],
  ["  my notes.txt  ", { path: "my notes.txt", range: {} }],
  ["my notes.txt 3-5", { path: "my notes.txt", range: { offset: 3, limit: 3 } }],
  ['"my notes 1-2" 7-7', { path: "my notes 1-2", range: { offset: 7, limit: 1 } }],
  ["'notes 1-2'", { path: "notes 1-2", range: {} }],
  ["page 1-2", { path: "page 1-2", range: {} }],
  ["", REFRESH_USAGE],
  ["a.txt 5-3", expect.stringContaining(REFRESH_USAGE)],
  ["a.txt 0-3", expect.stringContaining(REFRESH_USAGE)],
  ["a.txt 3-", expect.stringContaining(REFRESH_USAGE)],
  ["a.txt -", expect.stringContaining(REFRESH_USAGE)],
  ["a.txt 1-99999999999999999999", expect.stringContaining(REFRESH_USAGE)],
])("/readcache-refresh %s", (args, expected) => {
  expect(parseRefresh(args, (path) => path === "page 1-2")).toEqual(expected);
});

test("/readcache-refresh appends an entry and tells the person", async () => {
  const { run, notify, appendEntry, heard } = begin();
  await run("readcache-refresh", "a.txt 3-5");
  expect(heard().at(-1)).toMatchObject({ op: "refresh", path: "a.txt", offset: 3, limit: 3, leaf: null });
  expect(appendEntry.mock.calls).toEqual([
    ["pi-readcache", { v: 1, kind: "invalidate", pathKey: "/w/a.txt", scopeKey: "r:3:5", at: expect.any(Number) }],
  ]);
  expect(notify.mock.calls).toEqual([["a.txt is plain next", "info"]]);
});

test("/readcache-refresh says what is wrong", async () => {
  const { run, notify, appendEntry } = begin();
  await run("readcache-refresh", " ");
  await run("readcache-refresh", '={"ok":false,"code":"RANGE","error":"no such lines"}');
  expect(notify.mock.calls).toEqual([
    [REFRESH_USAGE, "warning"],
    ["no such lines", "warning"],
  ]);
  expect(appendEntry).not.toHaveBeenCalled();
});

test("without a program nothing is refreshed, and that is said", async () => {
  const { run, tool, ctx, notify, appendEntry } = begin({ locate: () => new Failure("missing", "none") });
  await run("readcache-refresh", "a.txt 3-5");
  await expect(tool.execute("c1", { path: "/w/b.txt" }, undefined, undefined, ctx)).rejects.toThrow("bypass_cache");
  expect(appendEntry).not.toHaveBeenCalled();
  expect(notify.mock.calls).toEqual([
    ["none", "warning"],
    [expect.stringContaining("nothing was refreshed"), "warning"],
  ]);
});

test("the tool does what the command does", async () => {
  const { tool, ctx, appendEntry } = begin();
  const result = await tool.execute("c1", { path: "a.txt" }, undefined, undefined, ctx);
  expect(result).toEqual({ content: [{ type: "text", text: "a.txt is plain next" }], details: undefined });
  expect(appendEntry).toHaveBeenCalledTimes(1);
  await expect(tool.execute("c1", { path: "a.txt", limit: 0 }, undefined, undefined, ctx)).rejects.toThrow(
    /whole numbers/,
  );
  await expect(
    tool.execute("c1", { path: '={"ok":false,"error":"refused"}' }, undefined, undefined, ctx),
  ).rejects.toThrow(/^refused$/);
});

test("/readcache-status shows the program's words", async () => {
  const { run, notify } = begin();
  await run("readcache-status");
  expect(notify.mock.calls).toEqual([["[readcache-status]\nfine", "info"]]);
});

test("/readcache-status says why there is nothing to show", async () => {
  const { run, notify } = begin({ locate: () => new Failure("missing", "none") });
  await run("readcache-status");
  expect(notify.mock.calls).toEqual([
    ["none", "warning"],
    ["[readcache-status]\nnot available: none", "warning"],
  ]);
});

test("in JSON mode the status goes to stderr", async () => {
  const { run } = begin({ ctx: { hasUI: false, mode: "json" } });
  const stderr = vi.spyOn(process.stderr, "write").mockReturnValue(true);
  onTestFinished(() => stderr.mockRestore());
  await run("readcache-status");
  expect(stderr.mock.calls).toEqual([["[readcache-status]\nfine\n"]]);
});

import { Type } from "typebox";
import { expect, test, vi } from "vitest";
import { Failure } from "../src/failure.ts";
import { Notices } from "../src/notice.ts";
import { readTool, resultOf } from "../src/read.ts";
import { wholeLines } from "../src/request.ts";
import { Sight } from "../src/sight.ts";
import { FakeSession } from "./support/fake-session.ts";
import { fakeChild, place, programWith } from "./support/place.ts";

const OWN = { content: [{ type: "text", text: "pi's own" }], details: undefined };

function begin(options: { locate?: () => string | Failure; builtIn?: object } = {}) {
  const dir = place();
  const heard = fakeChild("good", dir);
  const session = new FakeSession();
  session.call("c1", "read");
  const notify = vi.fn();
  const ctx = { cwd: dir, sessionManager: session, hasUI: true, mode: "rpc", ui: { notify } } as any;
  const notices = new Notices();
  const program = programWith(notices, options.locate);
  const sight = new Sight(() => {});
  const own = vi.fn(async () => OWN);
  const parameters = Type.Object({
    path: Type.String(),
    offset: Type.Optional(Type.Number()),
    limit: Type.Optional(Type.Number()),
  });
  const builtIn = {
    name: "read",
    label: "read",
    description: "d",
    promptSnippet: "s",
    parameters,
    outputSchema: {},
    execute: own as any,
    ...options.builtIn,
  };
  const tool = readTool(builtIn, { program, sight, notices });
  const read = (params: object, id = "c1", signal?: AbortSignal) =>
    tool.execute(id, params, signal, undefined, ctx) as Promise<any>;
  const asked = () => heard().filter((line) => line.op === "read");
  return { builtIn, tool, read, own, asked, session, sight, notify, ctx };
}

test("pi's definition is kept, with one more optional parameter", () => {
  const { tool, builtIn } = begin();
  expect({ ...tool, execute: 0, parameters: 0 }).toEqual({ ...builtIn, execute: 0, parameters: 0 });
  expect(tool.parameters.required).toEqual(["path"]);
  expect(Object.keys(tool.parameters.properties)).toEqual(["path", "offset", "limit", "bypass_cache"]);
  expect((tool.parameters.properties as any).bypass_cache).toEqual({
    type: "boolean",
    description: expect.any(String),
  });
});

test("the program's answer is the result", async () => {
  const { read, own, asked, session } = begin();
  expect(await read({ path: "a.txt", offset: 10, limit: 5, bypass_cache: true })).toEqual({
    content: [{ type: "text", text: "text of a.txt" }],
    details: { readcache: { v: 1, mode: "full" } },
    structuredContent: "text of a.txt",
  });
  expect(asked()).toMatchObject([
    {
      path: "a.txt",
      offset: 10,
      limit: 5,
      fresh: true,
      header: session.getHeader(),
      leaf: session.leaf,
      entries: [{ id: session.leaf }],
    },
  ]);
  expect(asked()[0]).not.toHaveProperty("distrusted");
  await read({ path: "b.txt", bypass_cache: false });
  expect(asked()[1]).toEqual({ id: 2, op: "read", path: "b.txt", entries: [], leaf: session.leaf });
  expect(own).not.toHaveBeenCalled();
});

test("a session that is not trusted says so in each request", async () => {
  const { read, asked, sight, session } = begin();
  session.call("c0", "read");
  session.result("c0", "text");
  sight.context([], session);
  await read({ path: "a" });
  await read({ path: "b" });
  expect(asked().map((line) => line.distrusted)).toEqual([true, true]);
});

test.each([
  [{}, {}],
  [
    { offset: 3, limit: 1 },
    { offset: 3, limit: 1 },
  ],
  [{ offset: 0 }, {}],
  [{ offset: -3 }, {}],
  [{ offset: -0 }, {}],
  [{ offset: 1.5 }, undefined],
  [{ offset: Number.NaN }, undefined],
  [{ offset: 1e300 }, undefined],
  [{ limit: 0 }, undefined],
  [{ limit: -1 }, undefined],
  [{ limit: 2.5 }, undefined],
  [{ offset: null, limit: 1 } as any, undefined],
])("lines %j are asked for as %j", (params, range) => {
  expect(wholeLines(params)).toEqual(range);
});

test("pi's own read answers nested calls and what only it understands, with the very parameters", async () => {
  const { read, own, asked } = begin();
  for (const [params, id] of [
    [{ path: "a" }, "c1/1"],
    [{ path: "a", offset: 1.5 }, "c1"],
    [{ path: "a", limit: 0 }, "c1"],
    [{ path: 7 }, "c1"],
    [{ path: "a\ud800" }, "c1"],
  ] as const) {
    expect(await read(params, id)).toBe(OWN);
    expect(own).toHaveBeenLastCalledWith(id, params, undefined, undefined, expect.anything());
  }
  expect(asked()).toEqual([]);
  const params = { path: '={"own":"an image"}' };
  expect(await read(params)).toBe(OWN);
  expect(own).toHaveBeenLastCalledWith("c1", params, undefined, undefined, expect.anything());
});

test("beside a script that has read something, the model's own reads are plain", async () => {
  const { read, asked, session } = begin();
  await read({ path: "a" });
  await read({ path: "b" }, "c1/1");
  await read({ path: "a" });
  session.call("c2", "read");
  await read({ path: "a" }, "c2");
  expect(asked().map((line) => line.fresh)).toEqual([undefined, true, undefined]);
});

test("refusals are errors in the program's words", async () => {
  const { read, own } = begin();
  await expect(
    read({ path: '={"ok":false,"code":"RANGE","error":"a.txt:9-3: ends before it starts"}' }),
  ).rejects.toThrow(/^a\.txt:9-3: ends before it starts$/);
  await expect(read({ path: '={"ok":false,"code":"ABORTED","error":"gone"}' })).rejects.toThrow(/^Operation aborted$/);
  expect(own).not.toHaveBeenCalled();
});

test("an abort is pi's abort", async () => {
  const { read, own } = begin();
  const stop = new AbortController();
  const asked = read({ path: "hang" }, "c1", stop.signal);
  setTimeout(() => stop.abort(), 50);
  await expect(asked).rejects.toThrow(/^Operation aborted$/);
  expect(own).not.toHaveBeenCalled();
});

test.each([
  ["unchanged", true],
  ["unchanged_range", true],
  ["diff", true],
  ["full", false],
  ["baseline_fallback", false],
])("after the leaf moved, an answer of mode %s is left to pi: %s", async (mode, left) => {
  const { read, session, own } = begin();
  const asked = read({ path: `=${JSON.stringify({ text: "t", readcache: { mode } })}` });
  session.user();
  await asked;
  expect(own).toHaveBeenCalledTimes(left ? 1 : 0);
});

test.each([
  ["exit"],
  ["garbage"],
  ['={"text":7}'],
  ['={"text":"t","readcache":{}}'],
  ['={"ok":false,"code":"BAD_REQUEST","error":"?"}'],
])("a program that fails at %s leaves the answer to pi, with one notice", async (path) => {
  const { read, notify } = begin();
  expect(await read({ path })).toBe(OWN);
  expect(await read({ path })).toBe(OWN);
  expect(notify).toHaveBeenCalledTimes(1);
  expect(notify.mock.calls[0]![1]).toBe("warning");
});

test("without a program pi's own read answers, with one notice", async () => {
  const { read, notify } = begin({ locate: () => new Failure("missing", "none") });
  expect(await read({ path: "a" })).toBe(OWN);
  expect(await read({ path: "b" })).toBe(OWN);
  expect(notify.mock.calls).toEqual([["none", "warning"]]);
});

test("the program's notices go to the person", async () => {
  const { read, notify } = begin();
  await read({ path: '={"text":"t","notices":["the store is full"]}' });
  expect(notify.mock.calls).toEqual([["the store is full", "info"]]);
});

test("details have pi's shape and order, and only the parts there are", () => {
  const truncation = { truncated: true, truncatedBy: "lines", totalLines: 9 };
  const both = resultOf({ text: "t", tail: "\n\n[more]", truncation, readcache: { mode: "full" }, notices: [] }, true);
  expect(JSON.stringify(both)).toBe(
    '{"content":[{"type":"text","text":"t\\n\\n[more]"}],"details":{"truncation":{"content":"t","truncated":true,"truncatedBy":"lines","totalLines":9},"readcache":{"mode":"full"}},"structuredContent":"t\\n\\n[more]"}',
  );
  expect(resultOf({ text: "t", tail: "", notices: [] }, false)).toStrictEqual({
    content: [{ type: "text", text: "t" }],
    details: undefined,
  });
});

import { expect, test } from "vitest";
import { CountedResults, isNested, walkBack } from "../src/branch.ts";
import { Sent, slim } from "../src/entries.ts";
import { FakeSession } from "./support/fake-session.ts";

const ids = (entries: readonly { id: string }[]) => entries.map((entry) => entry.id);
const results = (session: FakeSession, reads: CountedResults) => reads.update(session).map((counted) => counted.entryIds[1]);

test("a walk ends at the root, at a known entry, or with a compaction", () => {
  const session = new FakeSession();
  const [a, b] = [session.user(), session.user()];
  expect(walkBack(session, session.leaf, () => false)).toMatchObject({
    joined: false,
    entries: [{ id: a }, { id: b }],
  });
  expect(walkBack(session, session.leaf, (id) => id === a)).toMatchObject({ joined: true, entries: [{ id: b }] });
  const c = session.append({ type: "compaction", summary: "s", firstKeptEntryId: b });
  const d = session.user();
  expect(ids(walkBack(session, session.leaf, () => false).entries)).toEqual([c, d]);
  expect(walkBack(session, null, () => false)).toEqual({ entries: [], joined: false });
  expect(walkBack(session, "nowhere", () => false)).toEqual({ entries: [], joined: false });
});

test("each entry is told once, and the header when the session is another one", () => {
  const session = new FakeSession();
  const sent = new Sent();
  const a = session.user();
  expect(sent.next(session)).toEqual({
    header: session.getHeader(),
    entries: [{ type: "message", id: a, parentId: null }],
    leaf: a,
  });
  expect(sent.next(session)).toEqual({ entries: [], leaf: a });
  const b = session.user();
  expect(sent.next(session)).toEqual({ entries: [{ type: "message", id: b, parentId: a }], leaf: b });
  session.leaf = a;
  expect(sent.next(session)).toEqual({ entries: [], leaf: a });
  session.id = "s2";
  expect(sent.next(session)).toMatchObject({ header: { id: "s2" }, entries: [{ id: a }] });
  sent.forget();
  expect(sent.next(session)).toMatchObject({ header: { id: "s2" }, entries: [{ id: a }] });
  session.leaf = null;
  expect(sent.next(session)).toEqual({ entries: [], leaf: null });
});

test("what lies before a compaction is told when the branch goes back there", () => {
  const session = new FakeSession();
  const before = [session.user(), session.user()];
  const after = [session.append({ type: "compaction" }), session.user()];
  const sent = new Sent();
  expect(ids(sent.next(session).entries)).toEqual(after);
  session.leaf = before[1]!;
  expect(ids(sent.next(session).entries)).toEqual(before);
});

test("a read late in a long session looks at no more entries than an early one", () => {
  const session = new FakeSession();
  const [sent, reads] = [new Sent(), new CountedResults()];
  for (let n = 0; n < 50_000; n++) session.user();
  sent.next(session);
  reads.update(session);
  session.looks = 0;
  session.call("c1", "read");
  sent.next(session);
  session.result("c1", "text");
  expect(reads.update(session)).toHaveLength(1);
  expect(session.looks).toBeLessThan(5);
});

test("entries are told without what cannot matter", () => {
  const session = new FakeSession();
  const told = (id: string) => {
    const { id: _id, parentId: _parent, ...rest } = slim(session.getEntry(id)!);
    return rest;
  };
  const args = { path: "a.txt" };
  const call = { type: "toolCall", id: "c1", name: "read", arguments: args };
  expect(told(session.call("c1", "read", args))).toEqual({
    type: "message",
    message: { role: "assistant", content: [call] },
  });
  expect(told(session.call("c2", "bash", { command: "ls" }))).toEqual({
    type: "message",
    message: { role: "assistant", content: [] },
  });
  const readcache = { v: 1, mode: "full" };
  expect(told(session.result("c1", "text", readcache))).toEqual({
    type: "message",
    message: {
      role: "toolResult",
      toolCallId: "c1",
      toolName: "read",
      isError: false,
      details: { readcache },
      content: [{ type: "text", text: "text" }],
    },
  });
  const plain = session.append({
    type: "message",
    message: {
      role: "toolResult",
      toolCallId: "c1",
      toolName: "read",
      content: [{ type: "text", text: "t" }],
      isError: true,
    },
  });
  expect(told(plain)).toEqual({
    type: "message",
    message: { role: "toolResult", toolCallId: "c1", toolName: "read", isError: true, content: [] },
  });
  expect(told(session.result("c2", "text", readcache, "bash"))).toEqual({ type: "message" });
  const script = (nestedCalls: unknown) =>
    session.append({
      type: "message",
      message: { role: "toolResult", toolCallId: "c2", toolName: "codemode", content: [], isError: false, nestedCalls },
    });
  const nested = [
    { id: "c2/1", name: "read", arguments: { path: "a", limit: 2 }, status: "ok", durationMs: 3 },
    { id: "c2/2", name: "bash", arguments: { command: "ls" }, status: "ok" },
    { id: "c2/3", name: "write", argumentsBytes: 9000, status: "error" },
  ];
  expect(told(script({ calls: nested, complete: false }))).toEqual({
    type: "message",
    message: {
      role: "toolResult",
      toolCallId: "c2",
      toolName: "codemode",
      nestedCalls: {
        complete: false,
        calls: [
          { name: "read", status: "ok", arguments: { path: "a" } },
          { name: "write", status: "error", arguments: { path: undefined } },
        ],
      },
    },
  });
  expect(told(script({ calls: [], complete: true }))).toMatchObject({ message: { nestedCalls: { complete: true } } });
  expect(told(script("something else"))).toMatchObject({ message: { nestedCalls: { complete: false, calls: [] } } });
  expect(told(session.user("secret"))).toEqual({ type: "message" });
  expect(told(session.append({ type: "compaction", summary: "long", firstKeptEntryId: "e1" }))).toEqual({
    type: "compaction",
  });
  expect(told(session.append({ type: "custom", customType: "pi-readcache", data: { v: 1 } }))).toEqual({
    type: "custom",
    customType: "pi-readcache",
    data: { v: 1 },
  });
  expect(told(session.append({ type: "custom", customType: "other", data: { big: "data" } }))).toEqual({
    type: "custom",
  });
  expect(told(session.append({ type: "context_edit", targetId: "e1", replacement: null }))).toEqual({
    type: "context_edit",
    targetId: "e1",
    replacement: null,
  });
  expect(told(session.append({ type: "branch_summary", summary: "long", fromId: "e1" }))).toEqual({
    type: "branch_summary",
  });
});

test("the read results on the branch are those since the latest compaction that no edit touches", () => {
  const session = new FakeSession();
  const reads = new CountedResults();
  session.call("c1", "read");
  const a = session.result("c1", "one");
  expect(results(session, reads)).toEqual([a]);
  session.call("c2", "read");
  session.result("c2", "bash output", { v: 1 }, "bash");
  session.append({ type: "message", message: { role: "toolResult", toolCallId: "c3", toolName: "read", content: [] } });
  session.call("c4", "read");
  const b = session.result("c4", "two");
  expect(results(session, reads)).toEqual([a, b]);
  session.append({ type: "context_edit", targetId: a, replacement: null });
  expect(results(session, reads)).toEqual([b]);
  session.append({ type: "compaction" });
  session.call("c5", "read");
  const c = session.result("c5", "three");
  expect(results(session, reads)).toEqual([c]);
  session.leaf = b;
  expect(results(session, reads)).toEqual([a, b]);
  session.leaf = a;
  expect(results(session, reads)).toEqual([a]);
  session.call("c6", "read");
  const d = session.result("c6", "other branch");
  expect(results(session, reads)).toEqual([a, d]);
  session.leaf = null;
  expect(results(session, reads)).toEqual([]);
});

test("a blank result is not waited for, but what was written before it is", () => {
  const session = new FakeSession();
  session.call("c1", "write", { path: "a", content: "" });
  const written = session.result("c1", "", undefined, "write");
  for (const blank of ["", "\n", " \t\r\n", "\u3000\ufeff"]) {
    session.call("c2", "read");
    session.result("c2", blank);
  }
  expect(results(session, new CountedResults())).toEqual([written]);
});

test("a nested call is one that no message made", () => {
  const session = new FakeSession();
  session.call("c1|fc_a/b", "read");
  session.append({ type: "custom", customType: "x" });
  expect(isNested(session, "c1")).toBe(false);
  expect(isNested(session, "c1|fc_a/b")).toBe(false);
  expect(isNested(session, "c1|fc_a/b/1")).toBe(true);
  expect(isNested(session, "c0/1")).toBe(true);
});

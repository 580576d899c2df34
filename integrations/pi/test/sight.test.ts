import { expect, test } from "vitest";
import { inPayload, Sight } from "../src/sight.ts";
import { callMessage, FakeSession, toolMessage } from "./support/fake-session.ts";

const TEXT = "line one\nline two\n";
const CALL = callMessage("c1");
const COUNTED = { toolCallId: "c", entryIds: ["a", "b"], name: "read", arguments: {} };

function begin() {
  const session = new FakeSession();
  session.user();
  session.call("c1", "read");
  const entry = session.result("c1", TEXT);
  let said = 0;
  const sight = new Sight(() => said++);
  return { session, entry, sight, said: () => said };
}

test("messages and requests that carry every result are trusted", () => {
  const { session, sight } = begin();
  for (let n = 0; n < 3; n++) {
    sight.context([{ role: "user", content: "x" }, CALL, toolMessage("c1", TEXT)], session);
    sight.request({ messages: [{ role: "tool", content: TEXT }] });
  }
  expect(sight.distrusted).toBe(false);
});

test.each([
  ["dropped", []],
  ["changed", [CALL, toolMessage("c1", "[pruned]")]],
  ["shortened", [CALL, toolMessage("c1", TEXT.trimEnd())]],
  ["without its call", [toolMessage("c1", TEXT)]],
  ["asked for otherwise", [callMessage("c1", "read", { offset: 2 }), toolMessage("c1", TEXT)]],
  ["moved to another call", [CALL, toolMessage("c2", TEXT)]],
  [
    "lengthened",
    [
      CALL,
      {
        ...toolMessage("c1", TEXT),
        content: [
          { type: "text", text: TEXT },
          { type: "text", text: "and more" },
        ],
      },
    ],
  ],
  ["replaced by what is no message", [undefined, null, 7]],
])("a result %s in the messages ends the trust, for good and with one notice", (_how, messages) => {
  const { session, sight, said } = begin();
  sight.context(messages, session);
  expect(sight.distrusted).toBe(true);
  sight.context([CALL, toolMessage("c1", TEXT)], session);
  sight.context([], session);
  expect(sight.distrusted).toBe(true);
  expect(said()).toBe(1);
});

test("a result changed after the messages were seen ends the trust", () => {
  const { session, sight, said } = begin();
  sight.context([CALL, toolMessage("c1", TEXT)], session);
  sight.request({ messages: [{ role: "tool", content: "[pruned]" }] });
  expect(sight.distrusted).toBe(true);
  expect(said()).toBe(1);
});

test("a call id used twice is no change", () => {
  const { session, sight } = begin();
  session.call("c1", "read");
  session.result("c1", "another file");
  sight.context([CALL, toolMessage("c1", TEXT), CALL, toolMessage("c1", "another file")], session);
  expect(sight.distrusted).toBe(false);
});

test("results that the session itself took away are not missed", () => {
  const { session, entry, sight } = begin();
  session.append({ type: "context_edit", targetId: entry, replacement: { content: [] } });
  sight.context([], session);
  session.call("c2", "read");
  session.result("c2", "more");
  session.append({ type: "compaction" });
  sight.context([], session);
  session.leaf = null;
  sight.context([], session);
  expect(sight.distrusted).toBe(false);
});

test("a request of no agent, as for a summary, is not looked at", () => {
  const { session, sight } = begin();
  sight.request({ messages: ["summarise"] });
  sight.context([CALL, toolMessage("c1", TEXT)], session);
  sight.request({ messages: [TEXT] });
  sight.request({ messages: ["summarise"] });
  sight.context([CALL, toolMessage("c1", TEXT)], session);
  sight.requestOver();
  sight.request({ messages: ["summarise"] });
  expect(sight.distrusted).toBe(false);
});

test("what cannot be checked is not trusted", () => {
  const { session, sight } = begin();
  session.getLeafId = () => {
    throw new Error("stale");
  };
  expect(() => sight.context([], session)).not.toThrow();
  expect(sight.distrusted).toBe(true);
});

test.each([
  ["as a value", { messages: [{ content: [{ type: "tool_result", content: [{ text: TEXT }] }] }] }, true],
  ["within a longer value, where it is too short to tell", { contents: [`before\n${TEXT}after`] }, false],
  ["without blanks at its ends", { messages: [TEXT.trim()] }, true],
  ["under a key of its own", { [TEXT]: 1 }, false],
  ["cut", { messages: [TEXT.slice(0, 12)] }, false],
  ["among bytes", { bytes: Buffer.from(TEXT) }, false],
  ["not at all", undefined, false],
  [
    "and the server may clear it",
    { messages: [TEXT], context_management: { edits: [{ type: "clear_tool_uses_20250919" }] } },
    false,
  ],
  [
    "and the server may clear thoughts",
    { messages: [TEXT], context_management: { edits: [{ type: "clear_thinking_20251015" }] } },
    true,
  ],
  ["and the server may compact", { messages: [TEXT], context_management: [{ type: "compaction" }] }, false],
  ["and a router may take out the middle", { messages: [TEXT], transforms: ["middle-out"] }, false],
  ["and the server may cut the start", { input: [TEXT], truncation: "auto" }, false],
])("a request that holds a text %s", (_how, payload, holds) => {
  expect(inPayload([{ ...COUNTED, content: [{ type: "text", text: TEXT }] }], payload)).toBe(holds);
});

test("empty texts are in every request, and rings end", () => {
  const ring: Record<string, unknown> = { a: "b" };
  ring.ring = ring;
  expect(inPayload([{ ...COUNTED, content: [{ type: "text", text: "" }] }], ring)).toBe(true);
});

test("what the model wrote itself has to be there as well", () => {
  const session = new FakeSession();
  const args = { path: "a.txt", content: 'say "hi"\n\tÄ\n' };
  session.call("c1", "write", args);
  session.result("c1", "done", undefined, "write");
  const messages = (given: object) => [callMessage("c1", "write", given), toolMessage("c1", "done")];
  const trusted = (given: object, payload: unknown) => {
    const sight = new Sight(() => {});
    sight.context(messages(given), session);
    sight.request(payload);
    return !sight.distrusted;
  };
  const asJson = { messages: [{ tool_calls: [{ function: { arguments: JSON.stringify(args) } }] }] };
  expect(trusted(args, asJson)).toBe(true);
  expect(trusted(args, { messages: [{ input: { ...args } }] })).toBe(true);
  expect(trusted({ ...args, content: "[pruned]" }, asJson)).toBe(false);
  expect(trusted(args, { messages: [{ input: { ...args, content: "[pruned]" } }] })).toBe(false);
});

test("a write that failed shows nothing, so nobody misses it", () => {
  const session = new FakeSession();
  session.call("c1", "write", { path: "a.txt", content: "text" });
  session.append({
    type: "message",
    message: { role: "toolResult", toolCallId: "c1", toolName: "write", content: [], isError: true },
  });
  const sight = new Sight(() => {});
  sight.context([], session);
  expect(sight.distrusted).toBe(false);
});

test("a text is due as often as it was shown, and a long one may be joined with others", () => {
  const long = "a line that is long enough to be told from others\n";
  const shown = (text: string) => ({ ...COUNTED, content: [{ type: "text", text }] });
  const due = [shown(long), shown("other"), shown(long)];
  expect(inPayload(due, { messages: [long, "other", long] })).toBe(true);
  expect(inPayload(due, { messages: [long, "other", "[as above]"] })).toBe(false);
  expect(inPayload(due, { messages: [`x${long}y${long}`, "other"] })).toBe(true);
  expect(inPayload(due, { messages: [`x${long}y`, "other"] })).toBe(false);
});

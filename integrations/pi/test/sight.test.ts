import { describe, expect, test } from "vitest";
import { missing, Sight } from "../src/sight.ts";
import { callMessage, FakeSession, toolMessage } from "./support/fake-session.ts";
import { asMessages, type Exchange, FORMS } from "./support/forms.ts";

const TEXT = "line one\nline two\n";
const CALL = callMessage("c1");
const SENT = (text: string) => FORMS["openai-completions"]!([{ id: "c1", text }]);

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
    sight.request(SENT(TEXT));
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
  sight.request(SENT("[pruned]"));
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
  sight.request(SENT(TEXT));
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

/** What is due of these, all of them read and counted. */
const due = (all: readonly Exchange[]) =>
  all.map(({ id, name = "read", arguments: given = {}, text }) => ({
    toolCallId: id,
    entryIds: ["a", "b"],
    name,
    arguments: given,
    content: [{ type: "text", text }],
  }));
const check = (all: readonly Exchange[], payload: unknown) => missing(due(all), asMessages(all), payload);

const A: Exchange = { id: "c1", arguments: { path: "a.txt" }, text: TEXT };
const B: Exchange = { id: "c2", arguments: { path: "b.txt", offset: 2 }, text: "another\nfile\n" };
const pruned = (one: Exchange) => ({ ...one, text: "[pruned]" });

describe.each(Object.entries(FORMS))("%s", (_name, form) => {
  test("a request that carries every result is trusted", () => {
    expect(check([A, B], form([A, B]))).toBeUndefined();
    expect(check([{ ...A, id: "call_1|fc_1" }, B], form([{ ...A, id: "call_1|fc_1" }, B]))).toBeUndefined();
  });

  test.each([
    ["dropped", [B]],
    ["pruned", [pruned(A), B]],
    ["cut", [{ ...A, text: TEXT.slice(0, 12) }, B]],
    ["lengthened", [{ ...A, text: `${TEXT}and more` }, B]],
    [
      "shown for another call",
      [
        { ...B, text: TEXT },
        { ...A, text: B.text },
      ],
    ],
    ["asked for otherwise", [{ ...A, arguments: { path: "c.txt" } }, B]],
  ])("a result %s is missed", (_how, left) => {
    expect(check([A, B], form(left))).toBe("altered");
  });

  test("text that another result holds is not the result", () => {
    const bundle = { id: "c3", arguments: { path: "bundle.txt" }, text: `HEAD\n${TEXT}TAIL\n` };
    expect(check([A, bundle], form([A, bundle]))).toBeUndefined();
    expect(check([A, bundle], form([pruned(A), bundle]))).toBe("altered");
    const whole = { id: "c4", arguments: { command: "cat a.txt" }, name: "bash", text: TEXT };
    expect(missing(due([A]), asMessages([A, whole]), form([pruned(A), whole]))).toBe("altered");
  });

  test.each(["user", "tool", "text", "read", "assistant", "function", "model", "success"])(
    "a file that says only %j is not found in the words of the form",
    (word) => {
      const one = { id: "c1", text: `${word}\n` };
      expect(check([one, B], form([one, B]))).toBeUndefined();
      expect(check([one, B], form([pruned(one), B]))).toBe("altered");
    },
  );

  test("of a text shown twice, each has to be there", () => {
    const again = { ...A, id: "c3" };
    expect(check([A, B, again], form([A, B, again]))).toBeUndefined();
    expect(check([A, B, again], form([A, B, pruned(again)]))).toBe("altered");
    expect(check([A, B, again], form([pruned(A), B, again]))).toBe("altered");
  });

  test("an id that is used twice is told by its place", () => {
    const next = { ...B, id: "c1" };
    expect(check([A, next], form([A, next]))).toBeUndefined();
    expect(check([A, next], form([pruned(A), next]))).toBe("altered");
    expect(check([A, next], form([A, pruned(next)]))).toBe("altered");
    const between = { ...B, id: "c2" };
    expect(check([A, between, A], form([A, between, A]))).toBeUndefined();
    expect(check([A, between, A], form([A, between]))).toBe("altered");
    expect(missing(due([between, A]), asMessages([A, between, A]), form([A, between]))).toBe("altered");
  });

  test("ids that pi had to rewrite for another provider are told by their place", () => {
    const renamed = [A, B].map((one, at) => ({ ...one, id: `x${at}` }));
    expect(check([A, B], form(renamed))).toBeUndefined();
    expect(check([A, B], form([pruned(renamed[0]!), renamed[1]!]))).toBe("altered");
    expect(check([A, B], form([renamed[1]!, renamed[0]!]))).toBe("altered");
    expect(check([A, B], form([...renamed, { id: "x2", text: TEXT }]))).toBe("altered");
  });

  test("what the model wrote itself has to be there as well", () => {
    const wrote = { id: "w", name: "write", arguments: { path: "a.txt", content: 'say "hi"\n\tÄ\n' }, text: "done" };
    expect(check([wrote], form([wrote]))).toBeUndefined();
    expect(check([wrote], form([{ ...wrote, arguments: { path: "a.txt", content: "[pruned]" } }]))).toBe("altered");
    expect(check([wrote], form([pruned(wrote)]))).toBe("altered");
  });
});

test.each(["", "   ", "\r\n", "\n".repeat(60), "\u3000\ufeff\t"])("a blank result %j is not missed", (blank) => {
  for (const said of ["(no tool output)", "<empty>", "", blank]) {
    const { session, sight } = begin();
    session.call("c2", "read");
    session.result("c2", blank);
    const messages = [CALL, toolMessage("c1", TEXT), callMessage("c2"), toolMessage("c2", blank)];
    const all = [
      { id: "c1", text: TEXT },
      { id: "c2", text: said },
    ];
    for (const form of Object.values(FORMS)) {
      sight.context(messages, session);
      sight.request(form(all));
      expect(sight.distrusted).toBe(false);
    }
    sight.context([messages[0], toolMessage("c1", "[pruned]"), ...messages.slice(2)], session);
    expect(sight.distrusted).toBe(true);
  }
});

test("messages that broke off, and calls without a result, move nothing", () => {
  const form = FORMS["google without ids"]!;
  const broken = {
    role: "assistant",
    stopReason: "aborted",
    content: [{ type: "toolCall", id: "c0", name: "read", arguments: {} }],
  };
  const none = { id: "c9", name: "bash", text: "No result provided" };
  const messages = [broken, ...asMessages([A]), { ...asMessages([none])[0] }, ...asMessages([B])];
  expect(missing(due([A, B]), messages, form([A, none, B]))).toBeUndefined();
  expect(missing(due([A, B]), messages, form([A, none, pruned(B)]))).toBe("altered");
  expect(missing(due([A, B]), messages, form([A, B]))).toBe("altered");
});

test("results of one message may come in any order", () => {
  const calls = [A, B].map(({ id, arguments: given }) => ({ type: "toolCall", id, name: "read", arguments: given }));
  const results = asMessages([B, A]).filter((_message, at) => at % 2 === 1);
  const parts = [A, B].map(({ arguments: args }) => ({ functionCall: { name: "read", args } }));
  const responses = [B, A].map(({ text }) => ({ functionResponse: { name: "read", response: { output: text } } }));
  const payload = {
    contents: [
      { role: "model", parts },
      { role: "user", parts: responses },
    ],
  };
  expect(missing(due([B, A]), [{ role: "assistant", content: calls }, ...results], payload)).toBeUndefined();
});

test.each([
  ["nothing", undefined],
  ["a list", [{ role: "tool", tool_call_id: "c1", content: TEXT }]],
  ["a text", TEXT],
  ["a form that no API of pi has", { prompt: `${TEXT}` }],
  ["two conversations", { ...SENT(TEXT), input: [] }],
])("a request that is %s is not understood and not trusted", (_what, payload) => {
  expect(check([A], payload)).toBe("unreadable");
  expect(missing([], [], payload)).toBeUndefined();
});

test.each([
  ["clear it", { context_management: { edits: [{ type: "clear_tool_uses_20250919" }] } }, "altered"],
  ["clear thoughts", { context_management: { edits: [{ type: "clear_thinking_20251015" }] } }, undefined],
  ["compact it", { context_management: [{ type: "compaction" }] }, "altered"],
  ["take out the middle", { transforms: ["middle-out"] }, "altered"],
  ["cut the start", { truncation: "auto" }, "altered"],
])("a request whose receiver may %s", (_how, more, why) => {
  const all = [{ id: "c1", text: TEXT }];
  expect(check(all, { ...SENT(TEXT), ...more })).toBe(why);
});

test("names of tools may be written with a capital letter, and rings end", () => {
  const ring: Record<string, unknown> = { ...FORMS["anthropic-messages"]!([{ ...A, name: "Read" }]) };
  ring.ring = ring;
  expect(check([A], ring)).toBeUndefined();
});

test("an image beside the text is a change", () => {
  const payload = {
    messages: [
      { role: "assistant", content: [{ type: "tool_use", id: "c1", name: "read", input: A.arguments }] },
      {
        role: "user",
        content: [
          {
            type: "tool_result",
            tool_use_id: "c1",
            content: [
              { type: "text", text: TEXT },
              { type: "image", source: {} },
            ],
          },
        ],
      },
    ],
  };
  expect(check([A], payload)).toBe("altered");
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

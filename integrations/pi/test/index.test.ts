import { expect, onTestFinished, test, vi } from "vitest";
import { FakeSession, callMessage, toolMessage } from "./support/fake-session.ts";
import { FORMS } from "./support/forms.ts";
import { FAKE, fakeChild, isAlive, place, until } from "./support/place.ts";

// pi itself needs a newer Node than these tests.
vi.mock("@earendil-works/pi-coding-agent", () => ({
  SettingsManager: { create: () => ({ getImageAutoResize: () => false }) },
  createReadToolDefinition: () => ({
    name: "read",
    description: "pi's",
    promptSnippet: "s",
    parameters: { properties: {} },
    execute: async () => ({ content: [] }),
  }),
}));
const { default: readproof } = await import("../index.ts");

function load() {
  const dir = place();
  const heard = fakeChild("good", dir);
  const handlers = new Map<string, (event: any, ctx: any) => unknown>();
  const tools = new Map<string, any>();
  const commands: string[] = [];
  const pi = {
    registerFlag: vi.fn(),
    getFlag: (name: string) => (name === "readproof-bin" ? FAKE : undefined),
    registerTool: (tool: any) => tools.set(tool.name, tool),
    registerCommand: (name: string) => commands.push(name),
    on: (event: string, handler: any) => handlers.set(event, handler),
    appendEntry: vi.fn(),
  };
  readproof(pi as any);
  const session = new FakeSession();
  const notify = vi.fn();
  const ctx = { cwd: dir, sessionManager: session, hasUI: true, mode: "rpc", ui: { notify } };
  const emit = (type: string, event: object = {}) => handlers.get(type)?.({ type, ...event }, ctx);
  const read = (path: string) => tools.get("read").execute("c", { path }, undefined, undefined, ctx);
  onTestFinished(() => void emit("session_shutdown"));
  return { pi, tools, commands, heard, session, notify, emit, read };
}

test("pi's read is replaced, and nothing is started before it is used", () => {
  const { tools, commands, heard, emit } = load();
  emit("session_start");
  expect([...tools.keys()]).toEqual(["read", "readcache_refresh"]);
  expect(tools.get("read")).toMatchObject({ description: "pi's", promptSnippet: "s" });
  expect(commands).toEqual(["readcache-refresh", "readcache-status", "readcache-rewind", "readcache-changes"]);
  expect(heard()).toEqual([]);
});

test("what another extension prunes makes the session plain; handlers change nothing", async () => {
  const { heard, session, notify, emit, read } = load();
  session.call("c0", "read");
  session.result("c0", "text");
  expect(emit("context", { messages: [callMessage("c0"), toolMessage("c0", "text")] })).toBeUndefined();
  expect(
    emit("before_provider_request", { payload: FORMS["openai-completions"]!([{ id: "c0", text: "text" }]) }),
  ).toBeUndefined();
  expect(
    emit("before_provider_request", { payload: { messages: [{ role: "user", content: "a summary" }] } }),
  ).toBeUndefined();
  emit("context", { messages: [callMessage("c0"), toolMessage("c0", "text")] });
  expect(emit("message_end", { message: { role: "assistant" } })).toBeUndefined();
  emit("before_provider_request", { payload: {} });
  await read("a");
  emit("context", { messages: [toolMessage("c0", "[pruned]")] });
  await read("b");
  expect(
    heard()
      .filter((line) => line.op === "read")
      .map((line) => line.distrusted),
  ).toEqual([undefined, true]);
  expect(notify.mock.calls).toEqual([[expect.stringContaining("plain from here on"), "warning"]]);
});

test("the end of the session is the end of the process, and a new session starts another", async () => {
  const { heard, emit, read } = load();
  await read("a");
  const starts = () => heard().filter((line) => line.started);
  expect(emit("session_shutdown", { reason: "quit" })).toBeUndefined();
  await until(() => !isAlive(starts()[0].started));
  emit("session_start");
  emit("session_start");
  expect((await read("b")).content).toEqual([{ type: "text", text: "text of b" }]);
  expect(starts()).toHaveLength(2);
});

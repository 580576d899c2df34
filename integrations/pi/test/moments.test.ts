import { expect, onTestFinished, test, vi } from "vitest";
import { registerHistoryCommands } from "../src/commands.ts";
import { Failure } from "../src/failure.ts";
import { isStillAt, latestMoment, momentOf, Moments } from "../src/moments.ts";
import { Notices } from "../src/notice.ts";
import { offerFiles } from "../src/rewind.ts";
import { Sight } from "../src/sight.ts";
import { FakeSession } from "./support/fake-session.ts";
import { fakeChild, place, programWith } from "./support/place.ts";

function begin(options: { ctx?: object; confirm?: boolean; locate?: () => string | Failure } = {}) {
  const dir = place();
  const heard = fakeChild("good", dir);
  const notices = new Notices();
  const program = programWith(notices, options.locate);
  const parts = { program, sight: new Sight(() => {}), notices };
  const session = new FakeSession();
  const notify = vi.fn();
  const confirm = vi.fn(async () => options.confirm ?? true);
  const ctx = { cwd: dir, sessionManager: session, hasUI: true, mode: "tui", ui: { notify, confirm }, ...options.ctx };
  const commands = new Map<string, (args: string, ctx: any) => Promise<void>>();
  const pi = {
    appendEntry: vi.fn((_type: string, data: any) => void session.moment(data.moment)),
    registerCommand: (name: string, { handler }: any) => void commands.set(name, handler),
  } as any;
  registerHistoryCommands(pi, parts);
  const run = (name: string, args = "") => commands.get(name)!(args, ctx);
  const asked = () => heard().filter((line) => ["moment", "rewind", "changes"].includes(line.op));
  return { pi, parts, ctx: ctx as any, session, notify, confirm, run, asked, moments: new Moments(pi, parts) };
}

function program(say: Record<string, string>) {
  for (const [name, value] of Object.entries(say)) process.env[name] = value;
  onTestFinished(() => Object.keys(say).forEach((name) => delete process.env[name]));
}

/** A session of two turns that change files, with what was noted in it. */
function twoTurns(session = new FakeSession()) {
  const prompt = session.user();
  const asks = session.call("c1", "write");
  const before = session.moment("v1@x");
  const wrote = session.result("c1", "done", undefined, "write");
  const after = session.moment("v2@x");
  const looks = session.call("c2", "read");
  const read = session.result("c2", "text");
  const runs = session.call("c3", "bash");
  const ran = session.result("c3", "done", undefined, "bash");
  const last = session.moment("v3@x");
  const says = session.append({ type: "message", message: { role: "assistant", content: [] } });
  return { session, prompt, asks, before, wrote, after, looks, read, runs, ran, last, says };
}

test("each entry stands for the files as they were when it was the leaf", () => {
  const { session, ...at } = twoTurns();
  const moments = Object.fromEntries(Object.entries(at).map(([name, id]) => [name, momentOf(session, id)]));
  expect(moments).toEqual({
    prompt: "v1@x",
    asks: "v1@x",
    before: "v1@x",
    wrote: "v2@x",
    after: "v2@x",
    looks: "v2@x",
    read: "v2@x",
    runs: "v2@x",
    ran: "v3@x",
    last: "v3@x",
    says: "v3@x",
  });
  expect(momentOf(session, null)).toBe("v1@x");
  expect(latestMoment(session, at.ran)).toEqual({ moment: "v2@x", exact: false });
});

test("a later branch from the same entry says nothing about what the files were then", () => {
  const { session, prompt, wrote, ran } = twoTurns();
  session.leaf = prompt;
  session.moment("v9@x");
  session.leaf = wrote;
  session.moment("v8@x");
  expect([momentOf(session, prompt), momentOf(session, wrote)]).toEqual(["v1@x", "v2@x"]);
  session.leaf = ran;
  const summary = session.append({ type: "branch_summary", summary: "s", fromId: prompt });
  expect(momentOf(session, summary)).toBe("v3@x");
});

test("a result inside a turn stands for the beginning of the turn, and without moments nothing is known", () => {
  const session = new FakeSession();
  const user = session.user();
  expect(momentOf(session, user)).toBeUndefined();
  session.moment("v1@x");
  session.call("c1", "write");
  const first = session.result("c1", "done", undefined, "write");
  session.result("c2", "done", undefined, "bash");
  session.moment("v2@x");
  expect(momentOf(session, first)).toBe("v1@x");
  expect(momentOf(session, user)).toBe("v1@x");
});

test("moments after the leaf do not move it; anything else does", () => {
  const session = new FakeSession();
  const leaf = session.user();
  expect(isStillAt(session, leaf)).toBe(true);
  session.moment("v1@x");
  session.moment("v2@x");
  expect(isStillAt(session, leaf)).toBe(true);
  expect(isStillAt(session, null)).toBe(false);
  session.append({ type: "custom", customType: "pi-readcache", data: { v: 1, kind: "invalidate" } });
  expect(isStillAt(session, leaf)).toBe(false);
});

test("a moment is noted before the first change of a run and after each turn with one, if it is another", async () => {
  program({ FAKE_MOMENT: "v4@x" });
  const { moments, ctx, pi, asked, session } = begin();
  session.user();
  await moments.callBegins("read", ctx);
  await moments.turnEnds(["read", "grep", "ls"], ctx);
  expect(asked()).toEqual([]);
  await Promise.all([moments.callBegins("bash", ctx), moments.callBegins("write", ctx)]);
  await moments.turnEnds(["read", "bash"], ctx);
  expect(asked()).toHaveLength(2);
  expect(pi.appendEntry.mock.calls).toEqual([
    ["pi-readcache", { v: 1, kind: "moment", moment: "v4@x", at: expect.any(Number) }],
  ]);
  await moments.callBegins("edit", ctx);
  expect(asked()).toHaveLength(2);
  moments.runBegins();
  await moments.callBegins("edit", ctx);
  expect(asked()).toHaveLength(3);
});

test("without history or without a program nothing is noted, and no call fails", async () => {
  const without = begin();
  await without.moments.callBegins("bash", without.ctx);
  expect(without.pi.appendEntry).not.toHaveBeenCalled();
  const missing = begin({ locate: () => new Failure("missing", "none") });
  await missing.moments.callBegins("bash", missing.ctx);
  await missing.moments.turnEnds(["bash"], missing.ctx);
  expect(missing.pi.appendEntry).not.toHaveBeenCalled();
});

test("after a move in the tree the files are offered, and restored on agreement", async () => {
  const { parts, ctx, session, confirm, notify, asked } = begin();
  const { wrote } = twoTurns(session);
  session.leaf = wrote;
  await offerFiles(parts, ctx);
  expect(confirm.mock.calls).toEqual([
    ["2 files are not as at this place of the session. Restore?", "a.txt: restored\nb.txt: removed"],
  ]);
  expect(asked()).toMatchObject([
    { op: "rewind", moment: "v2@x", dryRun: true },
    { op: "rewind", moment: "v2@x", agreed: true },
  ]);
  expect(notify.mock.calls).toEqual([["2 files as at v7", "info"]]);
});

test("nothing is restored without agreement, and nothing is said where nothing would change", async () => {
  const declined = begin({ confirm: false });
  twoTurns(declined.session);
  await offerFiles(declined.parts, declined.ctx);
  expect(declined.asked()).toHaveLength(1);
  expect(declined.notify).not.toHaveBeenCalled();
  program({ FAKE_CHANGES: "0" });
  const same = begin();
  twoTurns(same.session);
  await offerFiles(same.parts, same.ctx);
  expect(same.confirm).not.toHaveBeenCalled();
  const unknown = begin();
  await offerFiles(unknown.parts, unknown.ctx);
  expect(unknown.asked()).toEqual([]);
});

test("without a person nothing happens after a move, and the command is named", async () => {
  const { parts, ctx, session, confirm, asked, run } = begin({ ctx: { hasUI: false, mode: "json" } });
  twoTurns(session);
  const stderr = vi.spyOn(process.stderr, "write").mockReturnValue(true);
  onTestFinished(() => stderr.mockRestore());
  await offerFiles(parts, ctx);
  expect(stderr.mock.calls).toEqual([
    ["Readproof: 2 files are not as at this place of the session; /readcache-rewind yes restores that.\n"],
  ]);
  await run("readcache-rewind");
  expect([confirm.mock.calls, asked().length]).toEqual([[], 2]);
  await run("readcache-rewind", " yes ");
  expect(asked().at(-1)).toMatchObject({ op: "rewind", moment: "v3@x", agreed: true });
});

test("/readcache-rewind does the same on request", async () => {
  const { run, session, confirm, notify, asked } = begin();
  await run("readcache-rewind");
  expect(notify.mock.calls).toEqual([[expect.stringContaining("No moment is noted"), "warning"]]);
  twoTurns(session);
  await run("readcache-rewind");
  expect(confirm).toHaveBeenCalledTimes(1);
  await run("readcache-rewind", "yes");
  expect(confirm).toHaveBeenCalledTimes(1);
  expect(asked().map((line) => line.agreed ?? line.dryRun)).toEqual([true, true, true, true]);
  program({ FAKE_CHANGES: "0" });
});

test("/readcache-changes asks since the last moment of the branch", async () => {
  const { run, session, notify } = begin();
  await run("readcache-changes");
  twoTurns(session);
  await run("readcache-changes");
  expect(notify.mock.calls).toEqual([
    ["changes since the beginning", "info"],
    ["changes since v3@x", "info"],
  ]);
});

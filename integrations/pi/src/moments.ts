// Which state of the files an entry stands for. pi's session does not know it, so an entry notes it: before a run's first call that
// may change files, and after each turn with one. It is part of the session, so it survives restarts and goes along into forks.

import type { ExtensionAPI, ExtensionContext, SessionEntry } from "@earendil-works/pi-coding-agent";
import type { Session } from "./branch.ts";
import { CUSTOM_TYPE } from "./entries.ts";
import { Aborted } from "./failure.ts";
import { askSession, type Parts } from "./request.ts";
import { asMomentAnswer, isRecord } from "./wire.ts";

/** Tools that change no file; any other may. */
const ONLY_READS = new Set(["read", "grep", "find", "ls", "readcache_refresh"]);

/** How long a call or a turn waits for the look at all files, and after how many vain waits it is left. */
const PATIENCE_MS = 2000;
const VAIN_WAITS = 2;

export interface Tree extends Session {
  /** In the order in which they were appended. */
  getEntries(): SessionEntry[];
}

/** The moment that an entry notes. */
export function notedBy(entry: SessionEntry | undefined): string | undefined {
  if (entry?.type !== "custom" || entry.customType !== CUSTOM_TYPE || !isRecord(entry.data)) return undefined;
  const { kind, moment } = entry.data;
  return kind === "moment" && typeof moment === "string" ? moment : undefined;
}

/** Whether files may have changed on the way to this entry. */
function mayHaveChanged(entry: SessionEntry): boolean {
  if (entry.type !== "message") return false;
  const { message } = entry;
  if (message.role === "toolResult") return !ONLY_READS.has(message.toolName);
  return message.role === "bashExecution";
}

/** The latest moment on the way to an entry, and whether nothing may have changed since. */
export function latestMoment(session: Session, leaf: string | null): { moment: string; exact: boolean } | undefined {
  let exact = true;
  for (let id = leaf; id !== null;) {
    const entry = session.getEntry(id);
    if (!entry) return undefined;
    const moment = notedBy(entry);
    if (moment !== undefined) return { moment, exact };
    exact &&= !mayHaveChanged(entry);
    id = entry.parentId;
  }
  return undefined;
}

/**
 * The moment of an entry: what was noted on the way to it if nothing may have changed since; else what was noted right after it;
 * else, inside a turn, what was noted before it.
 */
export function momentOf(session: Tree, leaf: string | null): string | undefined {
  const entry = leaf === null ? undefined : session.getEntry(leaf);
  // The summary of what was left stands after the entry that was gone to.
  if (entry?.type === "branch_summary") return momentOf(session, entry.parentId);
  const before = latestMoment(session, leaf);
  if (before?.exact) return before.moment;
  return momentAfter(session, leaf) ?? before?.moment;
}

function momentAfter(session: Tree, leaf: string | null): string | undefined {
  for (const noting of session.getEntries()) {
    const moment = notedBy(noting);
    if (moment === undefined) continue;
    let id = noting.parentId;
    for (let entry = at(session, id); id !== leaf && entry && !mayHaveChanged(entry); entry = at(session, id))
      id = entry.parentId;
    if (id === leaf) return moment;
  }
  return undefined;
}

function at(session: Session, id: string | null): SessionEntry | undefined {
  return id === null ? undefined : session.getEntry(id);
}

/** Whether the leaf is still this one, but for moments that were noted after it. */
export function isStillAt(session: Session, leaf: string | null): boolean {
  let id = session.getLeafId();
  for (let entry = at(session, id); id !== leaf && notedBy(entry) !== undefined; entry = at(session, id))
    id = entry?.parentId ?? null;
  return id === leaf;
}

/** Notes moments as a session goes on. */
export class Moments {
  readonly #pi: Pick<ExtensionAPI, "appendEntry">;
  readonly #parts: Parts;
  /** The look before the run's first call that may change files. */
  #before: Promise<void> | undefined;
  #vain = 0;

  constructor(pi: Pick<ExtensionAPI, "appendEntry">, parts: Parts) {
    this.#pi = pi;
    this.#parts = parts;
  }

  runBegins(): void {
    this.#before = undefined;
  }

  /** A call waits for this, so that what it changes comes after the look. Never rejects. */
  async callBegins(toolName: string, ctx: ExtensionContext): Promise<void> {
    if (ONLY_READS.has(toolName)) return;
    this.#before ??= this.#note(ctx);
    await this.#before;
  }

  async turnEnds(toolNames: string[], ctx: ExtensionContext): Promise<void> {
    if (toolNames.some((name) => !ONLY_READS.has(name))) await this.#note(ctx);
  }

  async #note(ctx: ExtensionContext): Promise<void> {
    if (this.#vain >= VAIN_WAITS) return;
    try {
      const { answer } = await askSession(this.#parts, ctx, { op: "moment" }, AbortSignal.timeout(PATIENCE_MS));
      this.#vain = 0;
      const moment = asMomentAnswer(answer);
      const session = ctx.sessionManager;
      if (moment === undefined || moment === latestMoment(session, session.getLeafId())?.moment) return;
      this.#pi.appendEntry(CUSTOM_TYPE, { v: 1, kind: "moment", moment, at: Date.now() });
    } catch (error) {
      // Without the program there are no moments; that it is missing was said where it was looked for.
      if (error instanceof Aborted && ++this.#vain === VAIN_WAITS)
        this.#parts.notices.once(
          "slow looks",
          "Readproof: a look at all files takes too long here, so this session does not note which files /tree could restore.",
        );
    }
  }
}

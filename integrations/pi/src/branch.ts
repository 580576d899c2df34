// Walking the session tree from the leaf towards the root, and what counts on that way. Each entry is
// looked at once; only a move in the tree makes it start over, so a read costs the same however long the session is.

import type { SessionEntry } from "@earendil-works/pi-coding-agent";
import { wholeText } from "./payload.ts";
import { isRecord } from "./wire.ts";

/** The part of pi's session manager that is used; none of it copies the session. */
export interface Session {
  getSessionId(): string;
  getHeader(): object | null;
  getLeafId(): string | null;
  getEntry(id: string): SessionEntry | undefined;
  getCwd(): string;
}

export interface Walk {
  /** Oldest first. */
  entries: SessionEntry[];
  /** Whether it ended at a known entry (which is not among `entries`). */
  joined: boolean;
}

/**
 * The entries from `leaf` back to the first known one, to a compaction (which is included: nothing before it counts),
 * or to the root.
 */
export function walkBack(session: Session, leaf: string | null, isKnown: (id: string) => boolean): Walk {
  const entries: SessionEntry[] = [];
  let joined = false;
  for (let id = leaf; id !== null;) {
    if (isKnown(id)) {
      joined = true;
      break;
    }
    const entry = session.getEntry(id);
    if (!entry) break;
    entries.push(entry);
    if (entry.type === "compaction") break;
    id = entry.parentId;
  }
  return { entries: entries.reverse(), joined };
}

/**
 * Whether a call was made by a script inside another call, so that its result is not what the model sees. Those ids are
 * `<parent>/<n>`; but ids of some providers hold a `/` too, and those stand in the message that made them.
 */
export function isNested(session: Session, callId: string): boolean {
  if (!callId.includes("/")) return false;
  for (let id = session.getLeafId(); id !== null;) {
    const entry = session.getEntry(id);
    if (!entry) return true;
    if (entry.type === "message" && entry.message.role === "assistant")
      return !entry.message.content.some((part) => part.type === "toolCall" && part.id === callId);
    id = entry.parentId;
  }
  return true;
}

/** The message whose calls are being made now. */
export function callingMessage(session: Session): string | undefined {
  for (let id = session.getLeafId(); id !== null;) {
    const entry = session.getEntry(id);
    if (!entry) return undefined;
    if (entry.type === "message" && entry.message.role === "assistant") return id;
    id = entry.parentId;
  }
  return undefined;
}

/** A result the program may have counted as seen, with the call it answers. The strings are the session's own. */
export interface Counted {
  toolCallId: string;
  /** The entries that hold the call and the result. */
  entryIds: string[];
  name: string;
  arguments: unknown;
  /** What the result says. */
  content: unknown;
}

type Call = Pick<Counted, "name" | "arguments"> & { entryId: string };

const CHANGES = new Set(["write", "edit"]);

/** What counts on the current branch since its latest compaction, without what was edited away. */
export class CountedResults {
  #session: string | undefined;
  #leaf: string | null = null;
  #counted: Counted[] = [];
  /** Calls of the latest message that made any. */
  #calls = new Map<string, Call>();

  update(session: Session): readonly Counted[] {
    const id = session.getSessionId();
    const leaf = session.getLeafId();
    if (id !== this.#session) this.#leaf = null;
    const { entries, joined } = walkBack(session, leaf, (entry) => entry === this.#leaf);
    if (!joined) {
      this.#counted = [];
      this.#calls.clear();
    }
    for (const entry of entries) this.#add(entry);
    this.#session = id;
    this.#leaf = leaf;
    return this.#counted;
  }

  #add(entry: SessionEntry): void {
    if (entry.type === "context_edit") {
      this.#counted = this.#counted.filter((counted) => !counted.entryIds.includes(entry.targetId));
    } else if (entry.type === "message" && entry.message.role === "assistant") {
      const calls = entry.message.content.filter((part) => part.type === "toolCall");
      if (calls.length > 0) this.#calls.clear();
      for (const { id, name, arguments: given } of calls)
        this.#calls.set(id, { entryId: entry.id, name, arguments: given });
    } else if (entry.type === "message" && entry.message.role === "toolResult") {
      const { toolCallId, toolName, content, details, isError } = entry.message;
      const call = this.#calls.get(toolCallId);
      const recorded = toolName === "read" && isRecord(details) && isRecord(details.readcache);
      // Without its call a result counts for nothing.
      if (!call || isError || !(recorded || CHANGES.has(toolName))) return;
      // Some transports say "(no tool output)" instead of a blank text, so the program never counts one as seen.
      if (recorded && isBlank(content)) return;
      const { entryId, ...made } = call;
      this.#counted.push({ toolCallId, entryIds: [entryId, entry.id], ...made, content });
    }
  }
}

function isBlank(content: unknown): boolean {
  return wholeText(content)?.trim() === "";
}

// Walking the session tree from the leaf towards the root, and the read results that stand on that way. Each entry is
// looked at once; only a move in the tree makes it start over, so a read costs the same however long the session is.

import type { SessionEntry } from "@earendil-works/pi-coding-agent";
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

/** A read result the program may have counted as seen. The strings are the session's own. */
export interface ReadResult {
  entryId: string;
  toolCallId: string;
  content: unknown;
}

/** The read results with metadata on the current branch since its latest compaction, without those edited away. */
export class ReadResults {
  #session: string | undefined;
  #leaf: string | null = null;
  #results: ReadResult[] = [];

  update(session: Session): readonly ReadResult[] {
    const id = session.getSessionId();
    const leaf = session.getLeafId();
    if (id !== this.#session) this.#leaf = null;
    const { entries, joined } = walkBack(session, leaf, (entry) => entry === this.#leaf);
    if (!joined) this.#results = [];
    for (const entry of entries) this.#add(entry);
    this.#session = id;
    this.#leaf = leaf;
    return this.#results;
  }

  #add(entry: SessionEntry): void {
    if (entry.type === "context_edit") {
      this.#results = this.#results.filter((result) => result.entryId !== entry.targetId);
    } else if (entry.type === "message" && entry.message.role === "toolResult" && entry.message.toolName === "read") {
      const { toolCallId, content, details } = entry.message;
      if (isRecord(details) && isRecord(details.readcache))
        this.#results.push({ entryId: entry.id, toolCallId, content });
    }
  }
}

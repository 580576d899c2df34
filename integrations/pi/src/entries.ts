// What a program has been told of the session: each entry once, and of each only what can matter to it.

import type { SessionEntry } from "@earendil-works/pi-coding-agent";
import { type Session, walkBack } from "./branch.ts";
import { isRecord, type SessionPart, type SlimEntry } from "./wire.ts";

export const CUSTOM_TYPE = "pi-readcache";

const FILE_TOOLS = new Set(["read", "write", "edit"]);

export class Sent {
  #session: string | undefined;
  readonly #ids = new Set<string>();

  /** The session for the next request; counts as told from here on. */
  next(session: Session): SessionPart {
    const id = session.getSessionId();
    const anew = id !== this.#session;
    if (anew) this.#ids.clear();
    const leaf = session.getLeafId();
    const { entries } = walkBack(session, leaf, (entry) => this.#ids.has(entry));
    const part: SessionPart = { entries: entries.map(slim), leaf };
    if (anew) part.header = session.getHeader() ?? { type: "session", version: 3, id, cwd: session.getCwd() };
    for (const entry of entries) this.#ids.add(entry.id);
    this.#session = id;
    return part;
  }

  /** The next request tells everything again. */
  forget(): void {
    this.#session = undefined;
  }
}

export function slim(entry: SessionEntry): SlimEntry {
  const { type, id, parentId } = entry;
  switch (entry.type) {
    case "message": {
      const message = slimMessage(entry.message);
      return message ? { type, id, parentId, message } : { type, id, parentId };
    }
    case "custom":
      if (entry.customType !== CUSTOM_TYPE) return { type, id, parentId };
      return { type, id, parentId, customType: entry.customType, data: entry.data };
    case "context_edit":
      return { type, id, parentId, targetId: entry.targetId, replacement: entry.replacement };
    default:
      return { type, id, parentId };
  }
}

function slimMessage(message: Extract<SessionEntry, { type: "message" }>["message"]): object | undefined {
  if (message.role === "assistant") {
    const content = [];
    for (const part of message.content) {
      if (part.type !== "toolCall" || !FILE_TOOLS.has(part.name)) continue;
      content.push({ type: part.type, id: part.id, name: part.name, arguments: part.arguments });
    }
    return { role: message.role, content };
  }
  if (message.role === "toolResult" && "nestedCalls" in message && message.nestedCalls !== undefined) {
    const { role, toolCallId, toolName } = message;
    return { role, toolCallId, toolName, nestedCalls: slimCalls(message.nestedCalls) };
  }
  if (message.role === "toolResult" && FILE_TOOLS.has(message.toolName)) {
    const { role, toolCallId, toolName, isError, details, content } = message;
    const readcache: unknown = isRecord(details) ? details.readcache : undefined;
    if (readcache === undefined) return { role, toolCallId, toolName, isError, content: [] };
    return { role, toolCallId, toolName, isError, details: { readcache }, content };
  }
  return undefined;
}

/** Which files the script of a call may have shown. pi keeps so many calls and no more, and says when it dropped any. */
function slimCalls(nested: unknown): object {
  if (!isRecord(nested) || !Array.isArray(nested.calls)) return { complete: false, calls: [] };
  const calls = nested.calls.filter((call) => isRecord(call) && FILE_TOOLS.has(String(call.name)));
  return {
    complete: nested.complete,
    calls: calls.map(({ name, status, arguments: given }) => ({
      name,
      status,
      arguments: { path: isRecord(given) ? given.path : undefined },
    })),
  };
}

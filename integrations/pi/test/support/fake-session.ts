// A session tree with pi's shape, and a count of the looks taken at it.

import type { SessionEntry } from "@earendil-works/pi-coding-agent";
import type { Tree } from "../../src/moments.ts";

export class FakeSession implements Tree {
  id = "s1";
  leaf: string | null = null;
  looks = 0;
  readonly #entries = new Map<string, SessionEntry>();

  getSessionId = () => this.id;
  getHeader = () => ({ type: "session", version: 3, id: this.id, cwd: "/w" });
  getLeafId = () => this.leaf;
  getCwd = () => "/w";
  getEntry = (id: string) => {
    this.looks++;
    return this.#entries.get(id);
  };

  getEntries = () => [...this.#entries.values()];

  append(entry: object): string {
    const id = `e${this.#entries.size + 1}`;
    this.#entries.set(id, { timestamp: "", ...entry, id, parentId: this.leaf } as unknown as SessionEntry);
    this.leaf = id;
    return id;
  }

  user(text = "hello"): string {
    return this.append({ type: "message", message: { role: "user", content: text } });
  }

  moment(moment: string): string {
    return this.append({ type: "custom", customType: "pi-readcache", data: { v: 1, kind: "moment", moment } });
  }

  call(id: string, name: string, args: object = {}): string {
    const content = [
      { type: "text", text: "let me see" },
      { type: "toolCall", id, name, arguments: args, thoughtSignature: "x" },
    ];
    return this.append({ type: "message", message: { role: "assistant", content, usage: {} } });
  }

  result(
    toolCallId: string,
    text: string,
    readcache: object | undefined = { v: 1, mode: "full" },
    toolName = "read",
  ): string {
    const details = readcache && { readcache, truncation: { content: text } };
    return this.append({
      type: "message",
      message: {
        role: "toolResult",
        toolCallId,
        toolName,
        content: [{ type: "text", text }],
        details,
        isError: false,
        timestamp: 1,
      },
    });
  }
}

/** The same content in other objects, as pi hands it to `context` handlers. */
export function toolMessage(toolCallId: string, text: string): object {
  return { role: "toolResult", toolCallId, toolName: "read", content: [{ type: "text", text }] };
}

export function callMessage(id: string, name = "read", args: object = {}): object {
  return { role: "assistant", content: [{ type: "toolCall", id, name, arguments: args }] };
}

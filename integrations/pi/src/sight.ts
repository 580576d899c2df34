// Whether the model is really sent what the session says it was. Other extensions may drop or change results on the
// way; no entry of the session tells. Once that was seen, nothing is vouched for in this session any more.

import { type ReadResult, ReadResults, type Session } from "./branch.ts";
import { isRecord } from "./wire.ts";

export class Sight {
  readonly #onDistrust: () => void;
  readonly #reads = new ReadResults();
  /** The results that the request under way has to carry; none while no request of the agent is under way. */
  #due: readonly ReadResult[] = [];
  #distrusted = false;

  constructor(onDistrust: () => void) {
    this.#onDistrust = onDistrust;
  }

  get distrusted(): boolean {
    return this.#distrusted;
  }

  /** Before each request of the agent: what the extensions loaded before this one left of the messages. */
  context(messages: readonly unknown[], session: Session): void {
    this.#check(() => {
      this.#due = this.#reads.update(session);
      return inMessages(this.#due, messages);
    });
  }

  /** The request itself, after everyone. Only one that follows `context` is the agent's; a summary need hold nothing. */
  request(payload: unknown): void {
    this.#check(() => inPayload(this.#due, payload));
    this.#due = [];
  }

  /** The request was answered, failed, or will not be made. */
  requestOver(): void {
    this.#due = [];
  }

  #check(isWhole: () => boolean): void {
    if (this.#distrusted) return;
    let whole = false;
    try {
      whole = isWhole();
    } catch {
      // What cannot be checked cannot be vouched for.
    }
    if (whole) return;
    this.#distrusted = true;
    this.#onDistrust();
  }
}

export function inMessages(due: readonly ReadResult[], messages: readonly unknown[]): boolean {
  const shown = new Map<unknown, unknown[]>();
  for (const message of messages) {
    if (!isRecord(message) || message.role !== "toolResult") continue;
    // Some providers use a call id again in a later turn.
    const contents = shown.get(message.toolCallId);
    if (contents) contents.push(message.content);
    else shown.set(message.toolCallId, [message.content]);
  }
  return due.every((result) =>
    shown.get(result.toolCallId)?.some((content) => sameTexts(texts(result.content), texts(content))),
  );
}

export function inPayload(due: readonly ReadResult[], payload: unknown): boolean {
  if (due.length === 0) return true;
  if (letsTheServerDrop(payload)) return false;
  const values = stringsIn(payload);
  const long = [...values].sort((a, b) => b.length - a.length);
  const holds = (text: string) => {
    if (values.has(text)) return true;
    // A transport may join texts, or cut the blanks at their ends; the same would happen to a plain answer.
    const core = text.trim();
    if (values.has(core)) return true;
    for (const value of long) {
      if (value.length < core.length) return false;
      if (value.includes(core)) return true;
    }
    return false;
  };
  return due.every((result) => texts(result.content).every((text) => text === "" || holds(text)));
}

/** Anthropic's context editing and OpenAI's truncation take results out after the request was sent. */
function letsTheServerDrop(payload: unknown): boolean {
  if (!isRecord(payload)) return false;
  const edits = isRecord(payload.context_management) ? payload.context_management.edits : undefined;
  const clears = (edit: unknown) =>
    isRecord(edit) && typeof edit.type === "string" && !edit.type.startsWith("clear_thinking");
  return payload.truncation === "auto" || (Array.isArray(edits) && edits.some(clears));
}

function texts(content: unknown): string[] {
  if (typeof content === "string") return [content];
  if (!Array.isArray(content)) return [];
  return content.flatMap((block: unknown) =>
    isRecord(block) && block.type === "text" && typeof block.text === "string" ? [block.text] : [],
  );
}

function sameTexts(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((text, at) => text === b[at]);
}

function stringsIn(payload: unknown): Set<string> {
  const strings = new Set<string>();
  const seen = new Set<object>();
  const open: unknown[] = [payload];
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value === "string") strings.add(value);
    if (typeof value !== "object" || value === null || ArrayBuffer.isView(value) || seen.has(value)) continue;
    seen.add(value);
    for (const inner of Object.values(value)) open.push(inner);
  }
  return strings;
}

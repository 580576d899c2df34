// Whether the model is really sent what the session says it was. Other extensions may drop or change results on the
// way; no entry of the session tells. Once that was seen, nothing is vouched for in this session any more.

import { type Counted, CountedResults, type Session } from "./branch.ts";
import { isRecord } from "./wire.ts";

export class Sight {
  readonly #onDistrust: () => void;
  readonly #results = new CountedResults();
  /** The results that the request under way has to carry; none while no request of the agent is under way. */
  #due: readonly Counted[] = [];
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
      this.#due = this.#results.update(session);
      return inMessages(this.#due, messages);
    });
  }

  /** The request itself, as far as the extensions loaded before this one left it. Only one that follows `context` is the agent's; a summary need hold nothing. */
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

export function inMessages(due: readonly Counted[], messages: readonly unknown[]): boolean {
  // Some providers use a call id again in a later turn.
  const calls = new Map<unknown, unknown[]>();
  const results = new Map<unknown, unknown[]>();
  const note = (into: Map<unknown, unknown[]>, id: unknown, value: unknown) => {
    const values = into.get(id);
    if (values) values.push(value);
    else into.set(id, [value]);
  };
  for (const message of messages) {
    if (!isRecord(message)) continue;
    if (message.role === "toolResult") note(results, message.toolCallId, message.content);
    if (message.role !== "assistant" || !Array.isArray(message.content)) continue;
    for (const part of message.content)
      if (isRecord(part) && part.type === "toolCall") note(calls, part.id, part.arguments);
  }
  return due.every(
    (counted) =>
      calls.get(counted.toolCallId)?.some((given) => isSame(counted.arguments, given)) &&
      results
        .get(counted.toolCallId)
        ?.some((content) => counted.content === undefined || isSame(texts(counted.content), texts(content))),
  );
}

/** Shorter texts stand in others by chance. */
const JOINED = 32;

export function inPayload(due: readonly Counted[], payload: unknown): boolean {
  if (due.length === 0) return true;
  if (letsTheServerDrop(payload)) return false;
  const values = stringsIn(payload);
  const wanted = new Map<string, number>();
  for (const { content } of due)
    for (const text of texts(content)) if (text !== "") wanted.set(text, (wanted.get(text) ?? 0) + 1);
  // As often as they are due: the same text may have been shown, replaced by another, and shown again.
  for (const [text, times] of wanted) {
    // A transport may cut the blanks at the ends, or join texts; the same would happen to a plain answer.
    const core = text.trim();
    const whole = (values.get(text) ?? 0) + (core === text ? 0 : (values.get(core) ?? 0));
    if (whole < times && (core.length < JOINED || countWithin(values, core) < times)) return false;
  }
  return due.every((counted) => counted.content !== undefined || carries(values, counted.arguments));
}

/** Some transports carry the arguments of a call as JSON in a string, some as an object. */
function carries(values: ReadonlyMap<string, number>, given: unknown): boolean {
  if (values.has(JSON.stringify(given))) return true;
  return [...stringsIn(given).keys()].every(
    (text) => text === "" || values.has(text) || countWithin(values, JSON.stringify(text).slice(1, -1)) > 0,
  );
}

function countWithin(values: ReadonlyMap<string, number>, text: string): number {
  let count = 0;
  for (const [value, times] of values) {
    for (let at = value.indexOf(text); at >= 0; at = value.indexOf(text, at + text.length)) count += times;
  }
  return count;
}

/** Anthropic's context editing, OpenAI's compaction and truncation, and OpenRouter's transforms drop what was sent. */
function letsTheServerDrop(payload: unknown): boolean {
  if (!isRecord(payload)) return false;
  const managed = payload.context_management;
  const edits = isRecord(managed) ? managed.edits : managed;
  const clears = (edit: unknown) =>
    !(isRecord(edit) && typeof edit.type === "string" && edit.type.startsWith("clear_thinking"));
  const transforms = payload.transforms;
  return (
    payload.truncation === "auto" ||
    (Array.isArray(edits) && edits.some(clears)) ||
    (Array.isArray(transforms) && transforms.length > 0)
  );
}

function texts(content: unknown): string[] {
  if (typeof content === "string") return [content];
  if (!Array.isArray(content)) return [];
  return content.flatMap((block: unknown) =>
    isRecord(block) && block.type === "text" && typeof block.text === "string" ? [block.text] : [],
  );
}

/** Of what JSON can hold. */
function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((item, at) => isSame(item, b[at]));
  if (!isRecord(a) || !isRecord(b)) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => isSame(a[key], b[key]));
}

/** Every string value, and how often it stands there. */
function stringsIn(payload: unknown): Map<string, number> {
  const strings = new Map<string, number>();
  const seen = new Set<object>();
  const open: unknown[] = [payload];
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value === "string") strings.set(value, (strings.get(value) ?? 0) + 1);
    if (typeof value !== "object" || value === null || ArrayBuffer.isView(value) || seen.has(value)) continue;
    seen.add(value);
    for (const inner of Object.values(value)) open.push(inner);
  }
  return strings;
}

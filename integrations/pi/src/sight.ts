// Whether the model is really sent what the session says it was. Other extensions may drop or change results on the
// way; no entry of the session tells. Once that was seen, nothing is vouched for in this session any more.

import { type Counted, CountedResults, type Session } from "./branch.ts";
import { type Carried, type CarriedCall, type CarriedResult, carriedIn } from "./payload.ts";
import { isRecord } from "./wire.ts";

/** Why nothing is vouched for: something was changed, or it cannot be told whether it was. */
export type Distrust = "altered" | "unreadable";

export class Sight {
  readonly #onDistrust: (why: Distrust) => void;
  readonly #results = new CountedResults();
  /** The results that the request under way has to carry; none while no request of the agent is under way. */
  #due: readonly Counted[] = [];
  /** The messages that the request under way is made of, as far as they were seen. */
  #messages: readonly unknown[] = [];
  #distrusted = false;

  constructor(onDistrust: (why: Distrust) => void) {
    this.#onDistrust = onDistrust;
  }

  get distrusted(): boolean {
    return this.#distrusted;
  }

  /** Before each request of the agent: what the extensions loaded before this one left of the messages. */
  context(messages: readonly unknown[], session: Session): void {
    this.#check(() => {
      this.#due = this.#results.update(session);
      this.#messages = messages;
      return inMessages(this.#due, messages) ? undefined : "altered";
    });
  }

  /** The request itself, as far as the extensions loaded before this one left it. Only one that follows `context` is the agent's; a summary need hold nothing. */
  request(payload: unknown): void {
    this.#check(() => missing(this.#due, this.#messages, payload));
    this.requestOver();
  }

  /** The request was answered, failed, or will not be made. */
  requestOver(): void {
    this.#due = [];
    this.#messages = [];
  }

  #check(look: () => Distrust | undefined): void {
    if (this.#distrusted) return;
    let why: Distrust | undefined;
    try {
      why = look();
    } catch {
      // What cannot be checked cannot be vouched for.
      why = "unreadable";
    }
    if (!why) return;
    this.#distrusted = true;
    this.#onDistrust(why);
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
      results.get(counted.toolCallId)?.some((content) => isSame(texts(counted.content), texts(content))),
  );
}

/** Why a request is not known to carry everything that is due; `messages` is what it was made of. */
export function missing(due: readonly Counted[], messages: readonly unknown[], payload: unknown): Distrust | undefined {
  if (due.length === 0) return undefined;
  if (letsTheServerDrop(payload)) return "altered";
  const carried = carriedIn(payload);
  if (!carried) return "unreadable";
  const asked = byId(carriedIn({ messages })?.calls ?? []);
  const calls = byId(carried.calls);
  const results = byId(carried.results);
  const others: Counted[] = [];
  for (const counted of due) {
    // OpenAI's responses API is given the first half of what pi has as the id.
    const [half] = counted.toolCallId.split("|");
    const id = [counted.toolCallId, half].find((id) => calls.has(id) || results.has(id));
    const [call, result] = [calls.get(id), results.get(id)];
    // Of an id that is used twice one may be gone and the other be alike.
    const once = asked.get(counted.toolCallId)?.length === 1;
    if (once && call?.length === 1 && result?.length === 1) {
      if (!stands(counted, call[0]!, result[0]!)) return "altered";
    } else {
      others.push(counted);
    }
  }
  return others.length === 0 || standInPlace(others, messages, carried) ? undefined : "altered";
}

/**
 * The same where an id is used twice, where the API has none, or where pi made another of it because it came from another
 * provider: if the request has call for call and result for result what the messages have, each stands at its place.
 */
function standInPlace(due: readonly Counted[], messages: readonly unknown[], sent: Carried): boolean {
  const kept = messages.filter((message) => !(isRecord(message) && UNFINISHED.has(message.stopReason)));
  const held = carriedIn({ messages: kept });
  if (!held) return false;
  const [was, is] = [given(held.results), given(sent.results)];
  const sameCalls =
    held.calls.length === sent.calls.length &&
    held.calls.every(({ name }, at) => isSameName(name, sent.calls[at]!.name));
  if (!sameCalls || was.length !== is.length) return false;
  const taken = { calls: new Set<number>(), results: new Set<number>() };
  // From the newest on, so that of two that are alike the later one is meant.
  for (const counted of [...due].reverse()) {
    const { toolCallId, arguments: asked } = counted;
    const call = held.calls.findLastIndex(
      (made, at) => made.id === toolCallId && !taken.calls.has(at) && isSame(asked, made.arguments),
    );
    const result = was.findLastIndex(
      ({ id, text }, at) => id === toolCallId && !taken.results.has(at) && shows(counted, text),
    );
    if (call < 0 || result < 0 || !stands(counted, sent.calls[call]!, is[result]!)) return false;
    taken.calls.add(call);
    taken.results.add(result);
  }
  return true;
}

/** pi leaves out messages that broke off. */
const UNFINISHED = new Set<unknown>(["error", "aborted"]);

/** Without what pi puts in where a call has no result. */
function given(results: readonly CarriedResult[]): CarriedResult[] {
  return results.filter(({ text }) => !text?.endsWith("No result provided"));
}

function stands(counted: Counted, call: CarriedCall, { text }: CarriedResult): boolean {
  return (
    isSameName(counted.name, call.name) && isSame(asJson(counted.arguments), call.arguments) && shows(counted, text)
  );
}

/** Anthropic's own clients write the names of some tools with a capital letter. */
function isSameName(name: string, other: string): boolean {
  return name.toLowerCase() === other.toLowerCase();
}

function shows(counted: Counted, text: string | undefined): boolean {
  const due = texts(counted.content).join("\n");
  // A transport may cut the blanks at the ends; the same would happen to a plain answer. Instead of a blank text it may
  // say anything, and what a blank read shows is not counted.
  return text !== undefined && (text === due || text === due.trim() || due.trim() === "");
}

function asJson(given: unknown): unknown {
  return given === undefined ? {} : JSON.parse(JSON.stringify(given));
}

function byId<T extends { id: string | undefined }>(carried: readonly T[]): Map<string | undefined, T[]> {
  const found = new Map<string | undefined, T[]>();
  for (const one of carried) {
    const same = found.get(one.id);
    if (same) same.push(one);
    else found.set(one.id, [one]);
  }
  return found;
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

// The tool calls and results that a request carries, each as a block of its own, in the form of every API that pi speaks.
// Text is never searched for: a block counts by where it stands, so what one result quotes of another is not that other.

import { isRecord } from "./wire.ts";

export interface CarriedCall {
  /** Missing where the API has no ids. */
  id: string | undefined;
  name: string;
  /** Nothing where they cannot be told. */
  arguments: unknown;
}

export interface CarriedResult {
  id: string | undefined;
  /** Nothing where the result is something else than text. */
  text: string | undefined;
}

/** In the order in which they stand. */
export interface Carried {
  calls: CarriedCall[];
  results: CarriedResult[];
}

type Take = (item: Record<string, unknown>, into: Carried) => void;

/** What a request carries, or nothing where its form is not known. */
export function carriedIn(payload: unknown): Carried | undefined {
  if (!isRecord(payload)) return undefined;
  const { messages, input, contents, context } = payload;
  const lists: [unknown, Take][] = [
    [messages, takeMessage],
    [input, takeItem],
    [contents, takeContent],
    [isRecord(context) ? context.messages : undefined, takeMessage],
  ];
  const found = lists.filter(([list]) => Array.isArray(list));
  // With two conversations in one request nobody can tell which of them the model is given.
  if (found.length !== 1) return undefined;
  const [list, take] = found[0] as [unknown[], Take];
  const carried: Carried = { calls: [], results: [] };
  for (const item of list) if (isRecord(item)) take(item, carried);
  return carried;
}

/** `messages` of the Anthropic, OpenAI completions, Mistral and Bedrock APIs, and pi's own. Their blocks differ in name. */
function takeMessage(message: Record<string, unknown>, into: Carried): void {
  const { role, content } = message;
  for (const call of list(message.tool_calls ?? message.toolCalls)) {
    const made = isRecord(call.function) ? call.function : isRecord(call.custom) ? call.custom : {};
    addCall(into, call.id, made.name, parsed(made.arguments));
  }
  if (role === "tool") addResult(into, message.tool_call_id ?? message.toolCallId, content);
  else if (role === "toolResult") addResult(into, message.toolCallId, content);
  else for (const block of list(content)) takeBlock(block, into);
}

function takeBlock(block: Record<string, unknown>, into: Carried): void {
  const { type, toolUse, toolResult } = block;
  if (type === "tool_use") addCall(into, block.id, block.name, block.input);
  else if (type === "toolCall") addCall(into, block.id, block.name, block.arguments);
  else if (type === "tool_result") addResult(into, block.tool_use_id, block.content);
  else if (isRecord(toolUse)) addCall(into, toolUse.toolUseId, toolUse.name, toolUse.input);
  else if (isRecord(toolResult)) addResult(into, toolResult.toolUseId, toolResult.content);
}

/** `input` of OpenAI's responses API, also Azure's and Codex's. */
function takeItem(item: Record<string, unknown>, into: Carried): void {
  const { type, call_id: id } = item;
  if (type === "function_call") addCall(into, id, item.name, parsed(item.arguments));
  else if (type === "custom_tool_call") addCall(into, id, item.name, undefined);
  else if (type === "function_call_output" || type === "custom_tool_call_output") addResult(into, id, item.output);
}

/** `contents` of Google's APIs. Older models are given no ids. */
function takeContent(content: Record<string, unknown>, into: Carried): void {
  for (const { functionCall, functionResponse } of list(content.parts)) {
    if (isRecord(functionCall)) addCall(into, functionCall.id, functionCall.name, functionCall.args);
    if (!isRecord(functionResponse)) continue;
    const response = isRecord(functionResponse.response) ? functionResponse.response : {};
    addResult(into, functionResponse.id, response.output ?? response.error);
  }
}

function addCall(into: Carried, id: unknown, name: unknown, given: unknown): void {
  if (typeof name === "string") into.calls.push({ id: asId(id), name, arguments: given });
}

function addResult(into: Carried, id: unknown, content: unknown): void {
  into.results.push({ id: asId(id), text: wholeText(content) });
}

/** The text of a content that is nothing but text. */
export function wholeText(content: unknown): string | undefined {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return undefined;
  const texts: string[] = [];
  for (const block of content) {
    if (!isRecord(block) || typeof block.text !== "string") return undefined;
    if (block.type !== undefined && block.type !== "text" && block.type !== "input_text") return undefined;
    texts.push(block.text);
  }
  // As pi itself joins them.
  return texts.join("\n");
}

/** Some APIs carry the arguments as JSON in a string, some as an object. */
function parsed(given: unknown): unknown {
  if (typeof given !== "string") return given;
  try {
    return JSON.parse(given);
  } catch {
    return undefined;
  }
}

function asId(id: unknown): string | undefined {
  return typeof id === "string" ? id : undefined;
}

function list(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

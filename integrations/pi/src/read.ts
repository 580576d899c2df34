// The tool `read`: pi's own definition with one more parameter, answered by the program. Whatever goes wrong on the way,
// pi's own read answers and its result carries no metadata, so nothing is ever built on it.

import type { ExtensionContext, ToolDefinition } from "@earendil-works/pi-coding-agent";
import { Type } from "typebox";
import { Aborted } from "./failure.ts";
import type { Notices } from "./notice.ts";
import type { Program } from "./program.ts";
import { askSession, type SessionRequest } from "./request.ts";
import type { Sight } from "./sight.ts";
import { asReadAnswer, type LineRange, type ReadAnswer } from "./wire.ts";

/** As much of pi's own read as differs between its versions in nothing that matters here. */
export type BuiltIn = Pick<ToolDefinition<any, any>, "name" | "label" | "description" | "parameters" | "execute"> & {
  outputSchema?: unknown;
};
type Result = Awaited<ReturnType<BuiltIn["execute"]>> & { structuredContent?: unknown };

/** Modes whose text says something about text shown earlier. */
const LEANS_ON_CONTEXT = new Set(["unchanged", "unchanged_range", "diff"]);

/** Keys keep the place where they were first set, so this makes the stored line the one pi would have written. */
const inPisOrder = {
  content: "",
  truncated: true,
  truncatedBy: null,
  totalLines: 0,
  totalBytes: 0,
  outputLines: 0,
  outputBytes: 0,
  lastLinePartial: false,
  firstLineExceedsLimit: false,
  maxLines: 0,
  maxBytes: 0,
};

const bypassCache = Type.Optional(Type.Boolean({ description: "Return the file's text even if it is already in context" }));

export interface ReadParams {
  path: string;
  offset?: number;
  limit?: number;
  bypass_cache?: boolean;
}

export interface Parts {
  program: Program;
  sight: Sight;
  notices: Notices;
}

export function readTool<T extends BuiltIn>(builtIn: T, parts: Parts): T {
  const execute: BuiltIn["execute"] = async (callId, params: ReadParams, signal, onUpdate, ctx) => {
    const own = () => builtIn.execute(callId, params, signal, onUpdate, ctx);
    const range = wholeLines(params);
    // A nested call's result goes to a script, which wants the file and whose sight is not the model's.
    if (callId.includes("/") || !isText(params.path) || !range) return own();
    parts.notices.hear(ctx);
    const answer = await answerOf(parts, { op: "read", path: params.path, ...range, ...(params.bypass_cache === true && { fresh: true }) }, signal, ctx);
    if (!answer || "own" in answer) return own();
    for (const notice of answer.notices) parts.notices.once(notice, notice, "info");
    return resultOf(answer, builtIn.outputSchema !== undefined);
  };
  return { ...builtIn, parameters: withBypass(builtIn.parameters), execute };
}

/** The answer to stand on, or nothing if pi's own read has to answer. Throws what the model is to see as an error. */
async function answerOf(parts: Parts, request: SessionRequest, signal: AbortSignal | undefined, ctx: ExtensionContext): Promise<ReadAnswer | undefined> {
  try {
    const { answer, leaf } = await askSession(parts, ctx, request, signal);
    if (!answer.ok) return refuse(answer.code, answer.error);
    const read = asReadAnswer(answer);
    if (!read) throw parts.program.misunderstood("read");
    // The leaf moved while the program thought: what it leaned on may be out of sight.
    if ("readcache" in read && LEANS_ON_CONTEXT.has(read.readcache.mode) && ctx.sessionManager.getLeafId() !== leaf) return undefined;
    return read;
  } catch (error) {
    if (error instanceof Aborted || error instanceof Refusal) throw error;
    return undefined;
  }
}

class Refusal extends Error {}

function refuse(code: unknown, error: unknown): never {
  if (code === "ABORTED") throw new Aborted();
  throw new Refusal(typeof error === "string" ? error : `readproof: ${String(code)}`);
}

/** Half a surrogate pair is a string here, but not in UTF-8, and so not on the wire. */
function isText(path: unknown): path is string {
  return typeof path === "string" && !/\p{Surrogate}/u.test(path);
}

/** Offset and limit as the program takes them, or nothing if only pi's own read knows what they mean. */
export function wholeLines({ offset, limit }: Pick<ReadParams, "offset" | "limit">): LineRange | undefined {
  const range: LineRange = {};
  if (offset !== undefined) {
    if (!Number.isSafeInteger(offset)) return undefined;
    if (offset > 0) range.offset = offset;
  }
  if (limit !== undefined) {
    if (!Number.isSafeInteger(limit) || limit < 1) return undefined;
    range.limit = limit;
  }
  return range;
}

export function resultOf(answer: Exclude<ReadAnswer, { own: string }>, structured: boolean): Result {
  const { text, tail, truncation, readcache } = answer;
  const shown = text + tail;
  const details = truncation || readcache ? { ...(truncation && { truncation: { ...inPisOrder, ...truncation, content: text } }), ...(readcache && { readcache }) } : undefined;
  return { content: [{ type: "text", text: shown }], details, ...(structured && { structuredContent: shown }) };
}

function withBypass(parameters: BuiltIn["parameters"]) {
  const { type: _type, required: _required, properties, ...options } = parameters;
  return Type.Object({ ...properties, bypass_cache: bypassCache }, options);
}

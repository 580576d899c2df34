// The tool `read`: pi's own definition with one more parameter, answered by the program. Whatever goes wrong on the way,
// pi's own read answers and its result carries no metadata, so nothing is ever built on it.

import type { ExtensionContext, ToolDefinition } from "@earendil-works/pi-coding-agent";
import { Type } from "typebox";
import { callingMessage, isNested } from "./branch.ts";
import { Aborted } from "./failure.ts";
import { isStillAt } from "./moments.ts";
import { askSession, type Parts, Refusal, type SessionRequest, wholeLines } from "./request.ts";
import { asReadAnswer, type ReadAnswer } from "./wire.ts";

/** As much of pi's own read as differs between its versions in nothing that matters here. */
export type BuiltIn = Pick<ToolDefinition<any, any>, "name" | "label" | "description" | "parameters" | "execute"> & {
  outputSchema?: unknown;
};
type Result = Awaited<ReturnType<BuiltIn["execute"]>> & { structuredContent?: unknown };

/** Modes whose text says something about text shown earlier. */
const LEANS_ON_CONTEXT = new Set(["unchanged", "unchanged_range", "diff"]);

const bypassCache = Type.Optional(
  Type.Boolean({ description: "Return the file's text even if it is already in context" }),
);

export interface ReadParams {
  path: string;
  offset?: number;
  limit?: number;
  bypass_cache?: boolean;
}

export function readTool<T extends BuiltIn>(builtIn: T, parts: Parts): T {
  /** The message in whose calls a script has read something last. */
  let scripted: string | undefined;
  const execute: BuiltIn["execute"] = async (callId, params: ReadParams, signal, onUpdate, ctx) => {
    const own = () => builtIn.execute(callId, params, signal, onUpdate, ctx);
    const range = wholeLines(params);
    // A nested call's result goes to a script, which wants the file and whose sight is not the model's.
    if (isNested(ctx.sessionManager, callId)) {
      scripted = callingMessage(ctx.sessionManager);
      return own();
    }
    if (!range || !isText(params.path)) return own();
    // A script of the same message may print another text than the model holds: "unchanged" could be taken for that one.
    const fresh =
      params.bypass_cache === true || (scripted !== undefined && scripted === callingMessage(ctx.sessionManager));
    const answer = await answerOf(
      parts,
      { op: "read", path: params.path, ...range, ...(fresh && { fresh: true }) },
      signal,
      ctx,
    );
    if (!answer || "own" in answer) return own();
    for (const notice of answer.notices) parts.notices.once(notice, notice, "info");
    return resultOf(answer, builtIn.outputSchema !== undefined);
  };
  return { ...builtIn, parameters: withBypass(builtIn.parameters), execute };
}

/** The answer to stand on, or nothing if pi's own read has to answer. Throws what the model is to see as an error. */
async function answerOf(
  parts: Parts,
  request: SessionRequest,
  signal: AbortSignal | undefined,
  ctx: ExtensionContext,
): Promise<ReadAnswer | undefined> {
  try {
    const { answer, leaf } = await askSession(parts, ctx, request, signal);
    const read = asReadAnswer(answer);
    if (!read) throw parts.program.misunderstood("read");
    // The leaf moved while the program thought: what it leaned on may be out of sight.
    if ("readcache" in read && LEANS_ON_CONTEXT.has(read.readcache.mode) && !isStillAt(ctx.sessionManager, leaf))
      return undefined;
    return read;
  } catch (error) {
    if (error instanceof Aborted || error instanceof Refusal) throw error;
    return undefined;
  }
}

/** Half a surrogate pair is a string here, but not in UTF-8, and so not on the wire. */
function isText(path: unknown): path is string {
  return typeof path === "string" && !/\p{Surrogate}/u.test(path);
}

export function resultOf(answer: Exclude<ReadAnswer, { own: string }>, structured: boolean): Result {
  const { text, tail, truncation, readcache } = answer;
  const shown = text + tail;
  // In pi's order, so that the session line is the one pi would have written.
  const parts = { ...(truncation && { truncation: { content: text, ...truncation } }), ...(readcache && { readcache }) };
  const details = Object.keys(parts).length > 0 ? parts : undefined;
  return { content: [{ type: "text", text: shown }], details, ...(structured && { structuredContent: shown }) };
}

function withBypass(parameters: BuiltIn["parameters"]) {
  const { type: _type, required: _required, properties, ...options } = parameters;
  return Type.Object({ ...properties, bypass_cache: bypassCache }, options);
}

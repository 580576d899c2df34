// Making the next read of a file plain. It is an entry in the session, so it holds on this branch from here on, also
// after a restart.

import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import { type Static, Type } from "typebox";
import { CUSTOM_TYPE } from "./entries.ts";
import { Aborted } from "./failure.ts";
import { askSession, type Parts, Refusal, wholeLines } from "./request.ts";
import { asRefreshAnswer, type LineRange } from "./wire.ts";

type Appends = Pick<ExtensionAPI, "appendEntry">;

/** Returns what was done, in words. Throws what the program refuses. */
export async function refresh(
  pi: Appends,
  parts: Parts,
  ctx: ExtensionContext,
  path: string,
  range: LineRange,
  signal?: AbortSignal,
): Promise<string> {
  const done = await ask(parts, ctx, path, range, signal);
  for (const pathKey of done.pathKeys) {
    pi.appendEntry(CUSTOM_TYPE, { v: 1, kind: "invalidate", pathKey, scopeKey: done.scopeKey, at: Date.now() });
  }
  return done.text;
}

async function ask(
  parts: Parts,
  ctx: ExtensionContext,
  path: string,
  range: LineRange,
  signal: AbortSignal | undefined,
) {
  try {
    const { answer } = await askSession(parts, ctx, { op: "refresh", path, ...range }, signal);
    const done = asRefreshAnswer(answer);
    if (done) return done;
    throw parts.program.misunderstood("refresh");
  } catch (error) {
    if (error instanceof Aborted || error instanceof Refusal) throw error;
    // Which names the file has, only the program can tell.
    throw new Refusal("Readproof cannot be reached, so nothing was refreshed; read the file with bypass_cache");
  }
}

const parameters = Type.Object({
  path: Type.String({ description: "Path of the file" }),
  offset: Type.Optional(Type.Number({ description: "First line (1-indexed)" })),
  limit: Type.Optional(Type.Number({ description: "Number of lines" })),
});

export function refreshTool(pi: Appends, parts: Parts) {
  return {
    name: "readcache_refresh",
    label: "readcache_refresh",
    description:
      "Make the next read of a file, or of some of its lines, return its text even if it is already in context.",
    parameters,
    async execute(
      _callId: string,
      params: Static<typeof parameters>,
      signal: AbortSignal | undefined,
      _onUpdate: unknown,
      ctx: ExtensionContext,
    ) {
      const range = wholeLines(params);
      if (!range) throw new Error("offset and limit are whole numbers, and limit is at least 1");
      const text = await refresh(pi, parts, ctx, params.path, range, signal);
      return { content: [{ type: "text" as const, text }], details: undefined };
    },
  };
}

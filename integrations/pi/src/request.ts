// A request about the current session: what the program has not heard of it yet goes along.

import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import { Aborted } from "./failure.ts";
import type { Notices } from "./notice.ts";
import type { Program } from "./program.ts";
import type { Sight } from "./sight.ts";
import type { Answer, LineRange } from "./wire.ts";

/** What everything that asks works with. */
export interface Parts {
  program: Program;
  sight: Sight;
  notices: Notices;
}

export interface SessionRequest extends LineRange {
  op: "read" | "refresh" | "status" | "moment" | "rewind" | "changes";
  path?: string;
  fresh?: true;
  moment?: string;
  dryRun?: true;
  /** The person was asked, and said yes. */
  agreed?: true;
}

/** The program's no, in its words, for whoever asked. */
export class Refusal extends Error {}

/** The answer, and the leaf it was asked for. Rejects with `Refusal`, `Aborted`, or what leaves the matter to pi. */
export async function askSession(
  { program, sight, notices }: Parts,
  ctx: ExtensionContext,
  request: SessionRequest,
  signal?: AbortSignal,
  timeoutMs?: number,
): Promise<{ answer: Answer; leaf: string | null }> {
  notices.hear(ctx);
  const leaf = ctx.sessionManager.getLeafId();
  const answer = await program.ask(
    ctx.cwd,
    (sent) => ({ ...request, ...sent.next(ctx.sessionManager), ...(sight.distrusted && { distrusted: true }) }),
    signal,
    timeoutMs,
  );
  if (answer.ok) return { answer, leaf };
  if (answer.code === "ABORTED") throw new Aborted();
  throw new Refusal(typeof answer.error === "string" ? answer.error : `readproof: ${String(answer.code)}`);
}

/** Offset and limit as the program takes them, or nothing if only pi's own read knows what they mean. */
export function wholeLines({ offset, limit }: { offset?: number; limit?: number }): LineRange | undefined {
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

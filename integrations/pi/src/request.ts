// A request about the current session: what the program has not heard of it yet goes along.

import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import type { Program } from "./program.ts";
import type { Sight } from "./sight.ts";
import type { Answer, LineRange } from "./wire.ts";

export interface SessionRequest extends LineRange {
  op: "read" | "refresh" | "status";
  path?: string;
  fresh?: true;
}

/** The answer, and the leaf it was asked for. Rejects with `Failure` or `Aborted`. */
export async function askSession(
  { program, sight }: { program: Program; sight: Sight },
  ctx: Pick<ExtensionContext, "cwd" | "sessionManager">,
  request: SessionRequest,
  signal?: AbortSignal,
): Promise<{ answer: Answer; leaf: string | null }> {
  const leaf = ctx.sessionManager.getLeafId();
  const answer = await program.ask(
    ctx.cwd,
    (sent) => ({ ...request, ...sent.next(ctx.sessionManager), ...(sight.distrusted && { distrusted: true }) }),
    signal,
  );
  return { answer, leaf };
}

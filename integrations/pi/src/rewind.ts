// The files of an earlier moment: offered after a move in the session tree, restored when the person agrees, never otherwise.

import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import { latestMoment, momentOf } from "./moments.ts";
import { show } from "./notice.ts";
import { askSession, type Parts } from "./request.ts";
import { asRewindAnswer, type RewindAnswer } from "./wire.ts";

export const REWIND_COMMAND = "readcache-rewind";

/** A rewind may touch many files, and must not be stopped in the middle because it takes long. */
const PATIENCE_MS = 600_000;

/** After a move in the tree. Says nothing where nothing would change. */
export async function offerFiles(parts: Parts, ctx: ExtensionContext): Promise<void> {
  const moment = momentOf(ctx.sessionManager, ctx.sessionManager.getLeafId());
  if (moment === undefined) return;
  const plan = await rewind(parts, ctx, moment, { dryRun: true });
  if (plan.changes === 0) return;
  if (!ctx.hasUI) {
    const text = `Readproof: ${files(plan.changes)} not as at this place of the session; /${REWIND_COMMAND} yes restores that.`;
    parts.notices.once(`offer ${moment}`, text, "info");
    return;
  }
  await restoreIfAgreed(parts, ctx, moment, plan);
}

/** On request. `yes` agrees beforehand. */
export async function restoreFiles(parts: Parts, ctx: ExtensionContext, yes: boolean): Promise<void> {
  const moment = momentOf(ctx.sessionManager, ctx.sessionManager.getLeafId());
  if (moment === undefined) {
    show(ctx, "No moment is noted at this place of the session, so it is not known what the files were.", "warning");
    return;
  }
  const plan = await rewind(parts, ctx, moment, { dryRun: true });
  if (plan.changes === 0) show(ctx, [...plan.files, plan.text].join("\n"));
  else if (yes) show(ctx, (await rewind(parts, ctx, moment, { agreed: true })).text);
  else if (ctx.hasUI) await restoreIfAgreed(parts, ctx, moment, plan);
  else show(ctx, [...plan.files, `${plan.text}; /${REWIND_COMMAND} yes does it`].join("\n"));
}

/** What others changed since this conversation last changed anything. */
export async function changesSince(parts: Parts, ctx: ExtensionContext): Promise<string> {
  const since = latestMoment(ctx.sessionManager, ctx.sessionManager.getLeafId());
  const { answer } = await askSession(parts, ctx, { op: "changes", ...(since && { moment: since.moment }) });
  if (typeof answer.text !== "string") throw parts.program.misunderstood("changes");
  return answer.text;
}

async function restoreIfAgreed(
  parts: Parts,
  ctx: ExtensionContext,
  moment: string,
  plan: RewindAnswer,
): Promise<void> {
  const title = `${files(plan.changes)} not as at this place of the session. Restore?`;
  if (!(await ctx.ui.confirm(title, plan.files.join("\n")))) return;
  show(ctx, (await rewind(parts, ctx, moment, { agreed: true })).text);
}

async function rewind(
  parts: Parts,
  ctx: ExtensionContext,
  moment: string,
  how: { dryRun: true } | { agreed: true },
): Promise<RewindAnswer> {
  const { answer } = await askSession(parts, ctx, { op: "rewind", moment, ...how }, undefined, PATIENCE_MS);
  const done = asRewindAnswer(answer);
  if (!done) throw parts.program.misunderstood("rewind");
  return done;
}

function files(count: number): string {
  return count === 1 ? "1 file is" : `${count} files are`;
}

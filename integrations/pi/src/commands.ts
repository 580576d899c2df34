// The slash commands. What they say goes to the person and not into the model's context.

import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { show } from "./notice.ts";
import { refresh } from "./refresh.ts";
import { askSession, type Parts } from "./request.ts";
import { changesSince, REWIND_COMMAND, restoreFiles } from "./rewind.ts";
import type { LineRange } from "./wire.ts";

export const REFRESH_USAGE = "Usage: /readcache-refresh <path> [start-end]";

export function registerCommands(pi: Pick<ExtensionAPI, "registerCommand" | "appendEntry">, parts: Parts): void {
  pi.registerCommand("readcache-refresh", {
    description: "Make the next read of a file, or of lines start-end of it, plain: <path> [start-end]",
    handler: async (args, ctx) => {
      try {
        const asked = parseRefresh(args, (path) => existsSync(resolve(ctx.cwd, path)));
        if (typeof asked === "string") show(ctx, asked, "warning");
        else show(ctx, await refresh(pi, parts, ctx, asked.path, asked.range));
      } catch (error) {
        show(ctx, words(error), "warning");
      }
    },
  });
  pi.registerCommand("readcache-status", {
    description: "What of this branch's files the model is known to see, and what that saved",
    handler: async (_args, ctx) => {
      try {
        const { answer } = await askSession(parts, ctx, { op: "status" });
        if (typeof answer.text !== "string") throw parts.program.misunderstood("status");
        show(ctx, answer.text);
      } catch (error) {
        show(ctx, `[readcache-status]\nnot available: ${words(error)}`, "warning");
      }
    },
  });
}

/** The commands about what was. */
export function registerHistoryCommands(pi: Pick<ExtensionAPI, "registerCommand">, parts: Parts): void {
  pi.registerCommand(REWIND_COMMAND, {
    description: "Restore the files as they were at this place of the session; asks first, unless it is given `yes`",
    handler: async (args, ctx) => {
      try {
        await restoreFiles(parts, ctx, args.trim() === "yes");
      } catch (error) {
        show(ctx, words(error), "warning");
      }
    },
  });
  pi.registerCommand("readcache-changes", {
    description: "What others changed since this conversation last changed a file",
    handler: async (_args, ctx) => {
      try {
        show(ctx, await changesSince(parts, ctx));
      } catch (error) {
        show(ctx, words(error), "warning");
      }
    },
  });
}

/** What to refresh, or what is wrong with the words. A name may hold spaces, and may even end like a range. */
export function parseRefresh(
  args: string,
  exists: (path: string) => boolean,
): { path: string; range: LineRange } | string {
  const whole = args.trim();
  if (whole === "") return REFRESH_USAGE;
  const last = /^(.*\S)\s+(\d*-\d*)$/s.exec(whole);
  if (!last || exists(unquoted(whole))) return { path: unquoted(whole), range: {} };
  const [, path, lines] = last as unknown as [string, string, string];
  const [, start, end] = /^(\d+)-(\d+)$/.exec(lines)?.map(Number) ?? [];
  if (start === undefined || end === undefined) return `"${lines}" is no range of lines. ${REFRESH_USAGE}`;
  if (start < 1 || end < start || !Number.isSafeInteger(end))
    return `Lines ${lines}: the first is at least 1, the last not before it. ${REFRESH_USAGE}`;
  return { path: unquoted(path), range: { offset: start, limit: end - start + 1 } };
}

function unquoted(path: string): string {
  return /^(["'])(.+)\1$/s.exec(path)?.[2] ?? path;
}

export function words(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

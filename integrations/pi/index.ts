// Readproof as pi's `read`. This file only wires: the tool, the commands, and the events that show what the model is sent.

import { fileURLToPath } from "node:url";
import { createReadToolDefinition, type ExtensionAPI, SettingsManager } from "@earendil-works/pi-coding-agent";
import { locate } from "./src/binary.ts";
import { registerCommands, registerHistoryCommands, words } from "./src/commands.ts";
import { Moments } from "./src/moments.ts";
import { Notices } from "./src/notice.ts";
import { Program } from "./src/program.ts";
import { readTool } from "./src/read.ts";
import { refreshTool } from "./src/refresh.ts";
import type { Parts } from "./src/request.ts";
import { offerFiles } from "./src/rewind.ts";
import { Sight } from "./src/sight.ts";

const FLAG = "readproof-bin";
const TIMEOUT_MS = 10_000;
const DISTRUST = {
  altered: "results of read are dropped or changed on their way to the model",
  unreadable: "requests to the model have a form that is not known, so it cannot be told what the model is sent",
};
const PACKAGE = fileURLToPath(new URL(".", import.meta.url));

export default function readproof(pi: ExtensionAPI): void {
  pi.registerFlag(FLAG, { type: "string", description: "Path of the readproof program" });
  const notices = new Notices();
  const program = new Program({
    locate: () => locate({ flag: asText(pi.getFlag(FLAG)), cwd: process.cwd(), packageDir: PACKAGE, env: process.env }),
    timeoutMs: timeout(process.env.READPROOF_PI_TIMEOUT_MS),
    onFailure: (failure) => notices.once(failure.key, `Readproof: ${failure.message}. pi's own read answers instead.`),
  });
  const sight = new Sight((why) =>
    notices.once("distrusted", `Readproof: ${DISTRUST[why]}, so every read of this session is plain from here on.`),
  );
  const parts: Parts = { program, sight, notices };

  pi.registerTool(readTool(createReadToolDefinition(process.cwd(), asSet()), parts));
  pi.registerTool(refreshTool(pi, parts));
  registerCommands(pi, parts);
  registerHistoryCommands(pi, parts);
  const moments = new Moments(pi, parts);

  pi.on("context", (event, ctx) => {
    notices.hear(ctx);
    sight.context(event.messages, ctx.sessionManager);
  });
  pi.on("before_provider_request", (event) => sight.request(event.payload));
  pi.on("message_end", (event) => {
    if (event.message.role === "assistant") sight.requestOver();
  });
  pi.on("agent_end", () => sight.requestOver());
  pi.on("agent_start", () => moments.runBegins());
  pi.on("tool_call", async (event, ctx) => {
    await moments.callBegins(event.toolName, ctx);
    return undefined;
  });
  pi.on("turn_end", async (event, ctx) => {
    const tools = event.toolResults.map((result) => result.toolName);
    await moments.turnEnds(tools, ctx);
    return undefined;
  });
  pi.on("session_tree", (_event, ctx) => {
    // Not waited for: pi is to show the place that was gone to before it asks.
    offerFiles(parts, ctx).catch((error) =>
      notices.once("offer", `Readproof: the files of this place cannot be offered: ${words(error)}`),
    );
  });
  pi.on("session_start", (_event, ctx) => {
    notices.hear(ctx);
    program.open();
  });
  pi.on("session_shutdown", () => program.close());
}

/** What pi gives its own read: pictures are made smaller unless the person wants them as they are. */
function asSet(): { autoResizeImages?: boolean } {
  try {
    return { autoResizeImages: SettingsManager.create(process.cwd()).getImageAutoResize() };
  } catch {
    // Settings that cannot be read; pi complains about them itself.
    return {};
  }
}

function asText(flag: boolean | string | undefined): string | undefined {
  return typeof flag === "string" ? flag : undefined;
}

function timeout(setting: string | undefined): number {
  const ms = Number(setting);
  return Number.isFinite(ms) && ms > 0 ? ms : TIMEOUT_MS;
}

// Words for the person at the keyboard. Nothing here reaches the model.

import { writeSync } from "node:fs";
import type { ExtensionContext } from "@earendil-works/pi-coding-agent";

export type Level = "info" | "warning";
export type Audience = Pick<ExtensionContext, "hasUI" | "mode" | "ui">;

/** An answer to something the person asked for. */
export function show(audience: Audience, text: string, level: Level = "info"): void {
  if (audience.hasUI) audience.ui.notify(text, level);
  else if (audience.mode === "print") toStdout(text);
  else process.stderr.write(`${text}\n`);
}

// In print mode pi sends process.stdout to stderr, so that only answers come out there; this is one.
function toStdout(text: string): void {
  try {
    writeSync(1, `${text}\n`);
  } catch {
    process.stderr.write(`${text}\n`);
  }
}

/** Things nobody asked for: each is said once, and never into the output of print and JSON mode. */
export class Notices {
  readonly #said = new Set<string>();
  #audience: Audience | undefined;

  hear(audience: Audience): void {
    this.#audience = audience;
  }

  once(key: string, text: string, level: Level = "warning"): void {
    if (this.#said.has(key)) return;
    this.#said.add(key);
    try {
      if (this.#audience?.hasUI) this.#audience.ui.notify(text, level);
      else process.stderr.write(`${text}\n`);
    } catch {
      // The session that would have shown it is gone.
    }
  }
}

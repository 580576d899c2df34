// A folder per test, with the fake program and its log.

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, onTestFinished } from "vitest";
import type { Failure } from "../../src/failure.ts";
import type { Notices } from "../../src/notice.ts";
import { Program } from "../../src/program.ts";

export const FAKE = fileURLToPath(new URL("fake-child.mjs", import.meta.url));

export function place(): string {
  const dir = mkdtempSync(join(tmpdir(), "readproof-pi-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/** Makes the fake program start as this kind from now on. The returned function gives the requests it received. */
export function fakeChild(kind: string, dir: string): () => any[] {
  const log = join(dir, "log.jsonl");
  process.env.FAKE_CHILD = kind;
  process.env.FAKE_LOG = log;
  return () => {
    try {
      return readFileSync(log, "utf8")
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line));
    } catch {
      return [];
    }
  };
}

/** A program that ends with its test; failures become notices. Without `locate` it is the fake one. */
export function programWith(notices: Notices, locate: () => string | Failure = () => FAKE): Program {
  const onFailure = (failure: Failure) => notices.once(failure.key, failure.message);
  const program = new Program({ locate, timeoutMs: 5000, onFailure });
  onTestFinished(() => program.close());
  return program;
}

afterEach(() => {
  delete process.env.FAKE_CHILD;
  delete process.env.FAKE_LOG;
});

export async function until(condition: () => boolean): Promise<void> {
  for (let turn = 0; !condition(); turn++) {
    if (turn > 2000) throw new Error("it did not happen");
    await new Promise((done) => setTimeout(done, 10));
  }
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

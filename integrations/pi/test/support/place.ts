// A folder per test, and the fake program with its log in it.

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, onTestFinished } from "vitest";

export const FAKE = fileURLToPath(new URL("fake-child.mjs", import.meta.url));

export function place(): string {
  const dir = mkdtempSync(join(tmpdir(), "readproof-pi-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/** Makes the next starts of the fake program be of this kind; what it hears comes back from the returned function. */
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

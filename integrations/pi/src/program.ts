// The program as the tools see it: running when needed, one at a time, left alone for a while after it failed.

import { Child } from "./child.ts";
import type { Sent } from "./entries.ts";
import { Aborted, Failure } from "./failure.ts";
import type { Answer } from "./wire.ts";

const FIRST_DELAY_MS = 1000;
const LAST_DELAY_MS = 60_000;

export interface ProgramOptions {
  /** The executable, or a `Failure` that says why there is none. */
  locate(): string | Failure;
  timeoutMs: number;
  onFailure(failure: Failure): void;
  now?(): number;
}

export class Program {
  readonly #options: ProgramOptions;
  readonly #now: () => number;
  #child: Child | undefined;
  #failure: Failure | undefined;
  #retryAt = 0;
  #delay = FIRST_DELAY_MS;
  #closed = false;

  constructor(options: ProgramOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /** `request` is built for the process that gets it. Rejects with `Failure`, `Aborted`. */
  async ask(
    cwd: string,
    request: (sent: Sent) => object,
    signal?: AbortSignal,
    timeoutMs?: number,
  ): Promise<Answer> {
    if (signal?.aborted) throw new Aborted();
    const child = this.#running(cwd);
    let answer: Answer;
    try {
      answer = await child.ask(request(child.sent), signal, timeoutMs);
    } catch (error) {
      // Not even written: what it was to tell the process is still untold.
      if (!(error instanceof Failure || error instanceof Aborted)) child.sent.forget();
      throw error;
    }
    this.#delay = FIRST_DELAY_MS;
    if (!answer.ok && answer.code === "BAD_REQUEST") {
      // The two disagree about a request; whether its entries were taken in is unknown.
      child.sent.forget();
      throw this.#report(new Failure("bad request", `Readproof did not understand a request: ${String(answer.error)}`));
    }
    return answer;
  }

  /** An answer to `request` of a shape that the protocol does not know. */
  misunderstood(request: string): Failure {
    return this.#report(
      new Failure(`answer to ${request}`, `Readproof gave an answer to ${request} that cannot be understood`),
    );
  }

  open(): void {
    this.#closed = false;
  }

  close(): void {
    this.#closed = true;
    this.#child?.end();
    this.#child = undefined;
  }

  #running(cwd: string): Child {
    if (this.#closed) throw new Failure("ended", "the session is over");
    if (this.#child?.alive && this.#child.cwd === cwd) return this.#child;
    if (this.#failure && this.#now() < this.#retryAt) throw this.#failure;
    this.#child?.end();
    this.#child = undefined;
    const bin = this.#options.locate();
    if (bin instanceof Failure) throw this.#failed(bin);
    try {
      this.#child = new Child({
        bin,
        cwd,
        timeoutMs: this.#options.timeoutMs,
        onFailure: (failure) => void this.#failed(failure),
      });
    } catch (error) {
      throw this.#failed(
        new Failure("start", `${bin} could not be started: ${error instanceof Error ? error.message : String(error)}`),
      );
    }
    return this.#child;
  }

  #failed(failure: Failure): Failure {
    this.#failure = failure;
    this.#retryAt = this.#now() + this.#delay;
    this.#delay = Math.min(this.#delay * 2, LAST_DELAY_MS);
    return this.#report(failure);
  }

  #report(failure: Failure): Failure {
    if (!this.#closed) this.#options.onFailure(failure);
    return failure;
  }
}

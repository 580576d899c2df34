// One running `readproof pi`: requests out, answers in, and what happens when it dies. It is started once and never
// comes back; starting anew is program.ts's business.

import { type ChildProcess, spawn } from "node:child_process";
import type { Socket } from "node:net";
import { Sent } from "./entries.ts";
import { Aborted, Failure } from "./failure.ts";
import { Lines } from "./lines.ts";
import { type Answer, isRecord, PROTOCOL } from "./wire.ts";

const HELLO_ID = 0;
const MAX_LINE_BYTES = 64 * 1024 * 1024;
const KEPT_STDERR = 2048;
/** How long after a sign of death the exit code may take to arrive, and an asked-for end to happen. */
const EXIT_GRACE_MS = 250;
const END_GRACE_MS = 1000;

interface Waiting {
  resolve(answer: Answer): void;
  reject(error: Error): void;
}

export interface ChildOptions {
  bin: string;
  cwd: string;
  timeoutMs: number;
  /** Called once if it dies without having been asked to. */
  onFailure(failure: Failure): void;
}

export class Child {
  /** What this process has been told of the session; it dies with the process. */
  readonly sent = new Sent();
  readonly cwd: string;
  readonly #options: ChildOptions;
  readonly #process: ChildProcess;
  readonly #lines = new Lines(MAX_LINE_BYTES);
  /** By request id; `undefined` when the answer is due but nobody waits for it any more. */
  readonly #due = new Map<number, Waiting | undefined>();
  #waiting = 0;
  #lastId = HELLO_ID;
  #hello: "to send" | "sent" | "answered" = "to send";
  #gone: Failure | undefined;
  #stderr = "";

  constructor(options: ChildOptions) {
    this.#options = options;
    this.cwd = options.cwd;
    this.#process = spawn(options.bin, ["pi"], {
      cwd: options.cwd,
      env: { ...process.env, PWD: options.cwd },
      stdio: ["pipe", "pipe", "pipe"],
      windowsHide: true,
    });
    this.#listen();
    this.#hold(false);
  }

  get alive(): boolean {
    return this.#gone === undefined;
  }

  ask(request: object, signal?: AbortSignal, timeoutMs = this.#options.timeoutMs): Promise<Answer> {
    if (this.#gone) return Promise.reject(this.#gone);
    if (signal?.aborted) return Promise.reject(new Aborted());
    const id = ++this.#lastId;
    const line = JSON.stringify({ id, ...request });
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.#fail(this.#timedOut(timeoutMs)), timeoutMs);
      const onAbort = () => {
        this.#due.set(id, undefined);
        this.#write(JSON.stringify({ op: "cancel", target: id }));
        waiting.reject(new Aborted());
      };
      const settled = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", onAbort);
        if (--this.#waiting === 0) this.#hold(false);
      };
      const waiting: Waiting = {
        resolve: (answer) => (settled(), resolve(answer)),
        reject: (error) => (settled(), reject(error)),
      };
      signal?.addEventListener("abort", onAbort, { once: true });
      this.#due.set(id, waiting);
      if (++this.#waiting === 1) this.#hold(true);
      this.#write(line);
    });
  }

  /** Asks it to end, and sees to it without keeping pi alive or waiting. */
  end(): void {
    if (this.#gone) return;
    this.#dismiss(new Failure("ended", "Readproof was ended with the session"));
    this.#process.stdin?.end();
    const timer = setTimeout(() => this.#process.kill("SIGKILL"), END_GRACE_MS);
    timer.unref();
    this.#process.once("exit", () => clearTimeout(timer));
  }

  #write(line: string): void {
    // The greeting goes with the first request: a round trip of its own would be paid by the first read.
    const greeting =
      this.#hello === "to send" ? `${JSON.stringify({ id: HELLO_ID, op: "hello", protocol: PROTOCOL })}\n` : "";
    if (this.#hello === "to send") this.#hello = "sent";
    this.#process.stdin?.write(`${greeting}${line}\n`);
  }

  #listen(): void {
    const { stdin, stdout, stderr } = this.#process;
    this.#process.on("error", (error) =>
      this.#fail(new Failure("start", `${this.#options.bin} could not be started: ${error.message}`)),
    );
    this.#process.on("exit", (code, signal) => this.#failSoon(() => this.#exited(code, signal)));
    this.#process.on("close", (code, signal) => this.#fail(this.#exited(code, signal)));
    stdin?.on("error", (error) =>
      this.#failSoon(() => new Failure("pipe", `${this.#options.bin} takes no more requests: ${error.message}`)),
    );
    stdout?.on("error", (error) =>
      this.#failSoon(() => new Failure("pipe", `the answers of ${this.#options.bin} cannot be read: ${error.message}`)),
    );
    stdout?.on("data", (chunk: Buffer) => this.#received(chunk));
    stderr?.on("error", () => {});
    stderr?.on("data", (chunk: Buffer) => {
      this.#stderr = (this.#stderr + chunk.toString("utf8")).slice(-KEPT_STDERR);
    });
  }

  #received(chunk: Buffer): void {
    try {
      for (const line of this.#lines.push(chunk)) {
        if (this.#gone) return;
        this.#answered(JSON.parse(line));
      }
    } catch (error) {
      this.#fail(
        error instanceof Failure ? error : this.#garbage(error instanceof Error ? error.message : String(error)),
      );
    }
  }

  #answered(answer: unknown): void {
    if (!isRecord(answer) || typeof answer.ok !== "boolean") throw this.#garbage("an answer of another shape");
    if (this.#hello !== "answered") {
      if (answer.id !== HELLO_ID) throw this.#garbage("no answer to the greeting");
      if (!answer.ok) throw new Failure("refused", `${this.#options.bin} cannot serve here: ${String(answer.error)}`);
      if (answer.protocol !== PROTOCOL) throw this.#unfit(answer.protocol);
      this.#hello = "answered";
      return;
    }
    if (typeof answer.id !== "number" || !this.#due.has(answer.id))
      throw this.#garbage(`an answer to request ${String(answer.id)}`);
    const waiting = this.#due.get(answer.id);
    this.#due.delete(answer.id);
    waiting?.resolve(answer as unknown as Answer);
  }

  /** A reason may follow a sign: an exit code after a broken pipe, last words after an exit. */
  #failSoon(failure: () => Failure): void {
    setTimeout(() => this.#fail(failure()), EXIT_GRACE_MS).unref();
  }

  #fail(failure: Failure): void {
    if (this.#gone) return;
    this.#process.kill("SIGKILL");
    this.#dismiss(failure);
    this.#options.onFailure(failure);
  }

  #dismiss(failure: Failure): void {
    this.#gone = failure;
    const due = [...this.#due.values()];
    this.#due.clear();
    for (const waiting of due) waiting?.reject(failure);
    this.#hold(false);
  }

  /** While a request waits pi must not exit under it; while none waits this process must not keep pi alive. */
  #hold(held: boolean): void {
    const method = held ? "ref" : "unref";
    this.#process[method]();
    for (const stream of [this.#process.stdin, this.#process.stdout, this.#process.stderr])
      (stream as Socket | null)?.[method]?.();
  }

  #exited(code: number | null, signal: NodeJS.Signals | null): Failure {
    const how = signal ? `was ended by ${signal}` : `ended with exit code ${code}`;
    const words = this.#stderr.trim();
    const said = words ? `: ${words}` : "";
    if (this.#hello === "answered") return new Failure(`exit ${code ?? signal}`, `${this.#options.bin} ${how}${said}`);
    return new Failure(
      `old ${code ?? signal}`,
      `${this.#options.bin} ${how} before its first answer; it may be too old to know \`pi\`${said}`,
    );
  }

  #timedOut(timeoutMs: number): Failure {
    return new Failure(
      "timeout",
      `${this.#options.bin} gave no answer within ${timeoutMs} ms and was stopped`,
    );
  }

  #unfit(theirs: unknown): Failure {
    return new Failure(
      "protocol",
      `${this.#options.bin} speaks protocol ${String(theirs)}, this extension ${PROTOCOL}: install the two from one version`,
    );
  }

  #garbage(what: string): Failure {
    return new Failure(
      "garbage",
      `${this.#options.bin} gave an answer that cannot be understood (${what}) and was stopped`,
    );
  }
}

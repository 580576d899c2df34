// Cuts a byte stream into lines. Chunks of an unfinished line are kept as they came and joined once, so a long line
// costs its length and not its square.

const NEWLINE = 0x0a;

export class Lines {
  readonly #limit: number;
  #parts: Buffer[] = [];
  #held = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** The lines that this chunk completes. Throws once an unfinished line is longer than the limit. */
  push(chunk: Buffer): string[] {
    const lines: string[] = [];
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
      this.#parts.push(chunk.subarray(from, at));
      lines.push((this.#parts.length === 1 ? this.#parts[0]! : Buffer.concat(this.#parts)).toString("utf8"));
      this.#parts = [];
      this.#held = 0;
      from = at + 1;
    }
    if (from < chunk.length) {
      this.#parts.push(chunk.subarray(from));
      this.#held += chunk.length - from;
    }
    if (this.#held > this.#limit) throw new Error(`a line of more than ${this.#limit} bytes`);
    return lines;
  }
}

// Why the program could not answer. Whoever meets one of these lets pi's own read answer.

export class Failure extends Error {
  /** Failures with the same key are one thing to tell the person. */
  readonly key: string;

  constructor(key: string, message: string) {
    super(message);
    this.name = "Failure";
    this.key = key;
  }
}

/** pi's own words, which its interface and the model know. */
export class Aborted extends Error {
  constructor() {
    super("Operation aborted");
    this.name = "Aborted";
  }
}

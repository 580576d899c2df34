// What goes over the pipe, as PROTOCOL.md has it. Answers are checked here once; past this file they have their shape.

export const PROTOCOL = 2;

export interface SlimEntry {
  type: string;
  id: string;
  parentId: string | null;
  [field: string]: unknown;
}

/** The session as a request carries it. */
export interface SessionPart {
  header?: object;
  entries: SlimEntry[];
  leaf: string | null;
  distrusted?: true;
}

export interface LineRange {
  offset?: number;
  limit?: number;
}

export interface Answer {
  ok: boolean;
  [field: string]: unknown;
}

export type ReadAnswer =
  { own: string } | { text: string; tail: string; readcache?: ReadcacheMeta; truncation?: object; notices: string[] };

/** `details.readcache`; only the mode matters on this side. */
export interface ReadcacheMeta {
  mode: string;
  [field: string]: unknown;
}

export interface RefreshAnswer {
  pathKeys: string[];
  scopeKey: string;
  text: string;
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isStrings(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

export function asReadAnswer(answer: Answer): ReadAnswer | undefined {
  if (typeof answer.own === "string") return { own: answer.own };
  const { text, tail = "", readcache, truncation, notices = [] } = answer;
  if (typeof text !== "string" || typeof tail !== "string" || !isStrings(notices)) return undefined;
  if (truncation !== undefined && !isRecord(truncation)) return undefined;
  if (readcache !== undefined && !isReadcache(readcache)) return undefined;
  return { text, tail, notices, ...(readcache && { readcache }), ...(truncation && { truncation }) };
}

function isReadcache(value: unknown): value is ReadcacheMeta {
  return isRecord(value) && typeof value.mode === "string";
}

export function asRefreshAnswer(answer: Answer): RefreshAnswer | undefined {
  const { pathKeys, scopeKey, text } = answer;
  if (!isStrings(pathKeys) || typeof scopeKey !== "string" || typeof text !== "string") return undefined;
  return { pathKeys, scopeKey, text };
}

/** What a rewind did, or would do. */
export interface RewindAnswer {
  /** How many files change. */
  changes: number;
  /** A line for each file. */
  files: string[];
  text: string;
}

export function asRewindAnswer(answer: Answer): RewindAnswer | undefined {
  const { changes, files, text } = answer;
  if (typeof changes !== "number" || !isStrings(files) || typeof text !== "string") return undefined;
  return { changes, files, text };
}

/** The moment; none where no history is kept. */
export function asMomentAnswer(answer: Answer): string | undefined {
  return typeof answer.moment === "string" ? answer.moment : undefined;
}

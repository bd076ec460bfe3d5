// Types of what a tool in TypeScript is given and returns. sdk/js/README.md explains each.

/** The call: the way to the host. */
export interface Call {
  /** An argument by its name; a missing or null one gives the fallback, another type fails the call. */
  argStr(name: string, fallback?: string): string;
  argInt(name: string, fallback?: number): number;
  argNum(name: string, fallback?: number): number;
  argBool(name: string, fallback?: boolean): boolean;
  /** The error to throw: what to do next, and what is wrong. */
  fail(code: "failed" | "bad_args" | "denied" | "timed_out" | "rate_limited" | "too_large", hint: string, message: string): Error;
  /** How many characters and lines of the answer will be shown; the host cuts. */
  readonly maxChars: number;
  readonly maxLines: number;
  /** A setting of the manifest; undefined: it is not set. */
  config(key: string): string | undefined;
  /** The wording in the language of the conversation. */
  say(en: string, zh: string): string;
  /** A line in the host's log, which no model sees. */
  log(level: "trace" | "debug" | "info" | "warn" | "error", text: string): void;
  /** How far a long call is; a total of 0 is not known. */
  progress(done: number, total: number, message?: string): void;
  /** Sends a request to a host that the operator granted, and returns its answer, whatever the status. */
  http(request: { url: string; method?: string; headers?: Record<string, string>; body?: string | Uint8Array }): Response;
}

export interface Response {
  readonly status: number;
  /** The address after redirects. */
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly body: Uint8Array;
  text(): string;
  json(): unknown;
  /** A header's value, its name in any case; "": it is absent. */
  header(name: string): string;
}

/** What a tool returns: the whole text, or an object. */
export type Answer = string | {
  text: string;
  sources?: { title?: string; url?: string }[];
  /** Hits, rows or matches, which come after the text, each on a line of its own. The host cuts between two of them and says how many there are. */
  entries?: string[];
  /** How many entries a model reads, from the first, where no agent's limit says otherwise. */
  show?: number;
  /** How to go on, where there is more that the tool did not compute. */
  more?: { shown: number; total?: number; args?: Record<string, unknown> };
  parts?: { mime: string; name?: string; data: Uint8Array | string }[];
};

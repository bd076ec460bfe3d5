import type { Events } from "../api";

type Own = { "stream.lost": object; "stream.back": object };
export type All = Events & Own;
export type Event = { [K in keyof All]: [K, All[K]] }[keyof All];

// events reads the events of a body: name, data, id.
export function events(body: ReadableStream): AsyncGenerator<[string, unknown, string]>;

export class Stream {
  constructor(api: (path: string, options?: RequestInit) => Promise<Response>, sleep?: (ms: number, signal: AbortSignal) => Promise<void>);
  last: string;
  ending: boolean;
  join(conversation: string): Promise<void>;
  read(body: object | null): AsyncGenerator<Event>;
  end(): void;
  leave(): void;
}

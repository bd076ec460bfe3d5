// How numbers, times and foreign texts are written.
import { tag } from "./words";

// chars counts code points, as weir does.
export const chars = (s: string): number => Array.from(s).length;
export const num = (n?: number | null): string => new Intl.NumberFormat(tag()).format(n || 0);
export const moment = (at: string): string => new Intl.DateTimeFormat(tag(), { dateStyle: "medium", timeStyle: "short" }).format(new Date(at));

// shortly writes a time of today without its day, and another one as a day.
export function shortly(at: string): string {
  const then = new Date(at), today = then.toDateString() === new Date().toDateString();
  return new Intl.DateTimeFormat(tag(), today ? { timeStyle: "short" } : { dateStyle: "medium" }).format(then);
}
export const clock = (at: string): string => new Date(at).toLocaleTimeString(tag());

// seconds writes milliseconds as seconds with one decimal.
export const seconds = (ms?: number | null): string => num(Math.round((ms || 0) / 100) / 10);

// took writes milliseconds, from ten seconds on as seconds.
export const took = (ms: number): string => (ms < 10_000 ? `${num(Math.round(ms))} ms` : `${seconds(ms)} s`);

// money writes sums of several currencies.
export const money = (costs?: { amount: number; currency: string }[] | null): string => (costs || [])
  .map((c) => `${new Intl.NumberFormat(tag(), { maximumSignificantDigits: 4 }).format(c.amount)} ${c.currency}`).join(" + ");

// size writes bytes as people read them.
export function size(bytes?: number | null): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let n = bytes || 0, i = 0;
  while (n >= 1024 && i < units.length - 1) { n /= 1024; i++; }
  return `${new Intl.NumberFormat(tag(), { maximumFractionDigits: i && n < 10 ? 1 : 0 }).format(n)} ${units[i]}`;
}

// json writes arguments for a person: what does not show, or turns the order around, is
// written out.
export const json = (value: unknown, indent = 0): string => JSON.stringify(value, null, indent)
  .replace(/(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (c) => c.split("").map((u) => `\\u${u.charCodeAt(0).toString(16).padStart(4, "0")}`).join(""));

// hidden matches what does not show in a text: tabs and joiners belong to it.
const hidden = /(?![\n\t\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

// shown writes out hidden characters of a text, such as those that turn its order around.
export const shown = (text: string): string => text.replace(hidden, (c) => `⟨U+${c.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}⟩`);

// shortArgs are the arguments of a call in one line: the values alone where that is clear.
export function shortArgs(args: unknown): string {
  if (!args || typeof args !== "object") return args === undefined || args === null ? "" : json(args);
  const pairs = Object.entries(args);
  if (pairs.length === 1 && typeof pairs[0][1] === "string") return shown(`“${pairs[0][1]}”`);
  return pairs.map(([key, v]) => `${key} ${typeof v === "string" ? `“${shown(v)}”` : json(v)}`).join(" · ");
}

// The language of the page, and its texts. They are in src/words, one file for each view.
import { signal } from "@preact/signals";
import { account } from "../words/account";
import { ask } from "../words/ask";
import { base } from "../words/base";
import { clients } from "../words/clients";
import { models } from "../words/models";
import { plugins } from "../words/plugins";
import { results } from "../words/results";
import { scripts } from "../words/scripts";
import { settings } from "../words/settings";
import { tools } from "../words/tools";
import { traces } from "../words/traces";
import { recall, remember } from "./storage";

const words = { ...base, ...ask, ...results, ...plugins, ...tools, ...settings, ...traces, ...account, ...clients, ...models, ...scripts };
const all: Record<string, readonly [string, string]> = words;

// Word is the name of a text.
export type Word = keyof typeof words;
export type Vars = Record<string, string | number>;
export type Lang = "en" | "zh";

// lang is the language that a person has chosen, or else that of the browser.
export const lang = signal<Lang>((recall("weir.lang") as Lang | null) || (/^zh\b/i.test(navigator.language || "") ? "zh" : "en"));

// t returns a text in the language of the page; {name} is filled in.
export const t = (key: Word, vars: Vars = {}): string => family(key, vars);

// family returns one text of several whose names begin alike, as state_ready. A name that
// has no text is returned without its beginning: the daemon may be newer than the page.
export function family(key: string, vars: Vars = {}): string {
  const pair = all[key];
  if (!pair) return key.slice(key.indexOf("_") + 1);
  return pair[lang.value === "zh" ? 1 : 0].replace(/\{(\w+)\}/g, (_, name: string) => String(vars[name] ?? ""));
}

// tag is the language as browsers name it.
export const tag = (): string => (lang.value === "zh" ? "zh-CN" : "en");

export function switchLanguage(): void {
  lang.value = lang.value === "zh" ? "en" : "zh";
  remember("weir.lang", lang.value);
}

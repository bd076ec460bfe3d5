// The settings as the daemon has them, and the changes that have gathered.
import { computed, signal } from "@preact/signals";
import type { SettingChange, SettingKey, SettingsSchema } from "../api";
import { api, getJSON } from "../core/daemon";

export interface Known { schema: SettingsSchema; now: Record<string, unknown> }

export const known = signal<Known | null>(null);

// load asks for the keys and for the values in force.
export async function load(): Promise<Known> {
  const [schema, configuration] = await Promise.all([getJSON<SettingsSchema>("api/settings/schema"), api("api/settings").then((r) => r.json())]);
  const now = { schema, now: configuration.settings as Record<string, unknown> };
  known.value = now;
  return now;
}

// gathered are the changes that are not written yet, by key.
export const gathered = signal<Record<string, SettingChange>>({});
export const changes = computed<SettingChange[]>(() => Object.values(gathered.value));

const name = (key: string[]): string => JSON.stringify(key);

// change gathers a value; undefined takes the change back, null removes the key.
export function change(key: string[], value: unknown): void {
  const { [name(key)]: _, ...rest } = gathered.value;
  gathered.value = value === undefined ? rest : { ...rest, [name(key)]: { key, value } };
}

export const discard = (): void => { gathered.value = {}; };
export const changed = (key: string[]): SettingChange | undefined => gathered.value[name(key)];

// valueOf is the value in force; undefined: there is none.
export function valueOf(key: string[]): unknown {
  return key.reduce<unknown>((at, part) => (at && typeof at === "object" ? (at as Record<string, unknown>)[part] : undefined), known.value?.now);
}

// written is where the file has a key.
export const written = (k: SettingKey, key: string[]) => (k.written || []).find((w) => name(w.key || []) === name(key));

// named returns the keys of a pattern such as tools.*.max_chars for all names that there are.
export function named(k: SettingKey, names: string[]): string[][] {
  const key = k.key || [];
  return key.includes("*") ? names.map((n) => key.map((part) => (part === "*" ? n : part))) : [key];
}

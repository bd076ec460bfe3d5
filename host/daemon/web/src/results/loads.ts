// The archived results, or parts of them, that the next question of a conversation brings.
import { signal } from "@preact/signals";
import type { Fit, Fits } from "../api";
import { Problem, send, told } from "../core/daemon";
import { num } from "../core/format";
import { tell } from "../core/speech";
import { family, t } from "../core/words";

export const most = 8; // loads of one question

// Selection says which part of a result: nothing selects the whole.
export interface Selection { lines?: string; grep?: string; pointer?: string }

export interface Load { uuid: string; tool: string; part: Selection; fit?: Fit; problem?: Problem }

const all = signal<Record<string, Load[]>>({});
let weighed = 0;

const same = (a: Load, b: Load) => a.uuid === b.uuid && JSON.stringify(a.part) === JSON.stringify(b.part);
const put = (conversation: string, list: Load[]) => { all.value = { ...all.value, [conversation]: list }; };

// loads are those of each conversation, by its id.
export const loads = {
  of: (conversation: string): Load[] => all.value[conversation] || [],

  // add returns false if there are as many as a question can bring.
  add(conversation: string, load: Load): boolean {
    const list = loads.of(conversation);
    if (list.some((l) => same(l, load))) return true;
    if (list.length >= most) { tell(t("loadMost")); return false; }
    put(conversation, [...list, load]);
    tell(t("loadAdded", { what: nameOf(load) }));
    return true;
  },

  drop(conversation: string, load: Load): void { put(conversation, loads.of(conversation).filter((l) => !same(l, load))); },
  clear(conversation: string): void { if (loads.of(conversation).length) put(conversation, []); },

  // weigh asks how much of each load the model will be shown.
  async weigh(conversation: string, model: string): Promise<void> {
    const turn = ++weighed, list = loads.of(conversation);
    if (!list.length) return;
    const fits = await fitsOf(conversation, model, list).catch((err: Problem) => err);
    if (turn === weighed) put(conversation, list.map((l, i) => (fits instanceof Error ? { ...l, problem: fits } : { ...l, fit: fits[i], problem: undefined })));
  },
};

// wanted is a load as the daemon takes it.
export const wanted = ({ uuid, part }: Load): unknown => (Object.keys(part).length ? { uuid, ...part } : uuid);

export async function fitsOf(conversation: string, model: string, list: Load[]): Promise<Fit[]> {
  return (await send<Fits>("POST", "api/chat/fits", { ...(conversation && { conversation_id: conversation }), ...(model && { model }), load_uuids: list.map(wanted) })).loads || [];
}

export const kindOf = (part: Selection): string => (part.lines ? "lines" : part.grep ? "grep" : part.pointer ? "pointer" : "whole");

// nameOf says which part of which result a load is.
export const nameOf = ({ tool, part }: Load): string => family(`load_${kindOf(part)}`, { tool, ...(part as Record<string, string>) });

// fitText says how much of a load the model will be shown.
export function fitText({ fit, problem }: { fit?: Fit; problem?: Problem }): string {
  if (problem) return told(problem);
  if (!fit) return t("loading");
  return t(fit.fits < fit.chars ? "fitsPart" : "fitsAll", { fits: num(fit.fits), chars: num(fit.chars) });
}

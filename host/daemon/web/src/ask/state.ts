// The conversations that this tab has open, and what is asked in them.
import { effect, signal, untracked } from "@preact/signals";
import type { Attachment, Budget, ChatStart, ConversationList, ConversationRow, KeptLine, ShownConversation, ShownMessage, Trace, TraceHead, TraceList } from "../api";
import { api, getJSON, key, later, Problem, unreachable } from "../core/daemon";
import { beat } from "../core/pulse";
import { go, route, to } from "../core/route";
import { recall, remember } from "../core/storage";
import { t } from "../core/words";
import { Stream } from "../core/stream.js";
import { ofStored, settle, sumsOf, Turn } from "./turn";
import { follow } from "./follow";

export class Conversation {
  title = signal("");
  turns = signal<Turn[]>([]);
  stream = signal<Stream | null>(null);
  start = signal<ChatStart | null>(null);
  budget = signal<Budget | null>(null);
  trace = signal<Trace | null>(null); // of the last turn
  problem = signal<Problem | null>(null);
  // client is the program with a loop of its own that asks in it, empty if its name is not known;
  // null: weir has the loop.
  client = signal<string | null>(null);
  opened = Promise.resolve(); // when its turns are here
  // place is the message that is looked for, from 1; 0: the end.
  place = signal(0);
  chosen = signal<Chosen>({});
  private ident = signal("");
  constructor(id = "", chosen = chosenIn(id)) { this.ident.value = id; this.chosen.value = chosen; }
  // id is empty before the first answer begins.
  get id(): string { return this.ident.value; }
  set id(id: string) { this.ident.value = id; this.choose({}); }
  // choose is remembered for the latest conversations.
  choose(more: Chosen): void {
    const now = { ...this.chosen.value, ...more };
    this.chosen.value = now;
    if (!this.id) return;
    const { [this.id]: _, ...others } = allChosen();
    remember("weir.chosen", JSON.stringify(Object.fromEntries([...Object.entries(others), ...(now.model || now.profile || now.without?.length ? [[this.id, now]] : [])].slice(-100))));
  }
}

// Chosen is what a person chose for a conversation: a model and a profile in place of the
// default ones, and the tools that it does without.
export interface Chosen { model?: string; profile?: string; without?: string[] }

function allChosen(): Record<string, Chosen> {
  try { return JSON.parse(recall("weir.chosen") || "{}"); } catch { return {}; }
}

const chosenIn = (id: string): Chosen => (id && allChosen()[id]) || {};

// modelIn is the model that was chosen for a conversation; empty: the default one.
export const modelIn = (id: string): string => (id === current.value.id ? current.value.chosen.value : chosenIn(id)).model || "";

export const current = signal(new Conversation());
export const draft = signal(recall("weir.draft", true) ?? (recall("weir.draft") || "")); // a new tab goes on with the last one
effect(() => { remember("weir.draft", draft.value, true); remember("weir.draft", draft.value || null); });
// borrowed is what is in the box and nobody typed there: the attached part of a question that
// is asked again.
export const borrowed = signal(recall("weir.borrowed", true) ?? (recall("weir.borrowed") || ""));
effect(() => { if (!draft.value) borrowed.value = ""; });
effect(() => { remember("weir.borrowed", borrowed.value, true); remember("weir.borrowed", borrowed.value || null); });

// bodyOf returns the members of a question of which a part is borrowed. If that part was
// changed, all of it counts as borrowed.
export function bodyOf(question: string, foreign: string): { message: string; attached?: Attachment[] } {
  if (!foreign) return { message: question };
  const typed = question.endsWith(foreign) ? question.slice(0, -foreign.length).trimEnd() : "";
  return { message: typed, attached: [{ text: typed ? foreign : question }] };
}

// answering are the conversations whose answers this tab reads.
const answering = new Map<string, Conversation>();

// ---- the list

export const list = signal<ConversationRow[] | null>(null);
export const next = signal("");
// listed says why the list could not be asked for; what it shows may be old then.
export const listed = signal("");
let asked = 0;

export async function refresh(): Promise<void> {
  const turn = ++asked;
  try {
    const page = await getJSON<ConversationList>("api/conversations");
    if (turn !== asked) return;
    list.value = page.conversations || [];
    next.value = page.next || "";
    listed.value = "";
  } catch (err) { // what is listed may still be true; that there is nothing would not be
    if (turn !== asked) return;
    if ((err as Problem).code !== unreachable) listed.value = (err as Problem).message;
    later(err, () => { if (turn === asked) refresh(); });
  }
}

export async function older(): Promise<void> {
  const from = next.value, page = await getJSON<ConversationList>(`api/conversations?cursor=${encodeURIComponent(from)}`);
  if (from !== next.value) return; // they are here already
  list.value = [...(list.value || []), ...(page.conversations || [])];
  next.value = page.next || "";
}

// ---- opening

// open shows a conversation; an answer that runs in it is read from its start.
export async function open(id: string, place = 0): Promise<void> {
  if (current.value.id === id && !current.value.problem.value) { current.value.place.value = place; return; }
  const running = answering.get(id);
  if (running) { running.place.value = place; current.value = running; return; }
  const c = new Conversation(id);
  c.place.value = place;
  current.value = c;
  await (c.opened = load(c, id));
}

async function load(c: Conversation, id: string): Promise<void> {
  const path = `api/conversations/${encodeURIComponent(id)}`;
  const stream = new Stream(api);
  const joined = stream.join(id).then(() => true, () => false);
  try {
    const [stored, traces] = await Promise.all([getJSON<ShownConversation>(path), getJSON<TraceList>(`api/traces?limit=1000&conversation_id=${encodeURIComponent(id)}`).catch(() => null), joined]);
    c.title.value = stored.conversation.title;
    c.client.value = stored.conversation.passed ? stored.conversation.client || "" : null;
    const messages = stored.messages || [], last = messages.findLastIndex((m) => m.role === "user");
    const isRunning = await joined;
    c.turns.value = turnsOf(id, isRunning ? messages.slice(0, last + 1) : messages, traces && (traces.traces || []));
    const turn = c.turns.value.at(-1);
    if (isRunning && turn) return void run(c, turn, stream, null);
    if (isRunning) stream.leave();
    if (turn && last === messages.length - 1 && !turn.parts.value.some((p) => p.kind === "problem")) turn.add({ kind: "problem", problem: () => t("unanswered"), again: c.client.value === null });
    lastTrace(c);
  } catch (err) {
    stream.leave();
    c.problem.value = err as Problem;
    later(err, () => { if (current.value === c && !c.stream.value) open(id, c.place.value); });
  }
}

// turnsOf are the turns of stored messages, with how they went where that is still known.
function turnsOf(id: string, messages: ShownMessage[], traces: TraceHead[] | null): Turn[] {
  const out: Turn[] = [], args = new Map<string, unknown>();
  messages.forEach((m, i) => {
    if (m.role === "user" || !out.length) {
      out.push(new Turn(m.role === "user" ? m.text || "" : "", m.turn, i + 1));
      out.at(-1)!.borrowed = notTyped(m);
    }
    const turn = out.at(-1)!, text = m.role !== "assistant" ? "" : m.unseen ? [...m.text || ""].slice(0, -m.unseen).join("") : m.text;
    if (m.locale) turn.speaks(m.locale);
    if (m.reasoning) turn.write("thought", m.reasoning);
    if (text) turn.add({ kind: "text", text: signal(text), message: i + 1 });
    for (const c of m.calls || []) args.set(c.id, c.args);
    for (const r of m.results || []) {
      const then = () => getJSON<{ text: string; kept?: KeptLine[] | null }>(`api/conversations/${encodeURIComponent(id)}/call?${new URLSearchParams({ turn: String(m.turn), call: r.call_id })}`);
      settle(turn.begin(r.call_id, r.tool, args.get(r.call_id), i + 1), ofStored(r, then), r.folded);
    }
    if (m.sources) turn.sources.value = m.sources;
    m.remarks?.forEach((r) => turn.remark(r));
    const trace = m.turn !== messages[i + 1]?.turn && traces?.find((x) => x.turn === m.turn);
    if (trace) turn.sums.value = sumsOf(trace, m.model || "");
    else if (trace === undefined && traces && m.role !== "user") turn.note(() => t("sumsGone"));
  });
  return out;
}

// notTyped is the part of a question that nobody typed: what follows the typed part, or all of it.
function notTyped(m: ShownMessage): string {
  const all = [...m.text || ""];
  return all.slice(m.typed && !m.typed.from ? m.typed.to : 0).join("").trim();
}

// lastTrace asks what the last request held.
export async function lastTrace(c: Conversation): Promise<void> {
  c.trace.value = await getJSON<Trace>(`api/traces/last?conversation_id=${encodeURIComponent(c.id)}`).catch(() => null);
}

// fresh begins a new conversation, which has no id before its first answer. It is asked as
// the one before.
export function fresh(): void {
  const { model, profile } = current.value.chosen.value;
  current.value = new Conversation("", { model, profile });
}

// follow the address: a conversation that it names is opened.
effect(() => {
  const { view, parts, query } = route.value;
  if (view !== "ask" || !key.value) return;
  const id = parts[0] || "";
  untracked(() => {
    if (id) open(id, Number(query.get("m")) || 0);
    else if (current.value.id) fresh();
  });
});

// ---- asking

const typedMost = 4000; // characters of a message from which on the daemon takes it for a paste

// borrow puts a question into the box, of which a part was not typed there.
export function borrow(question: string, foreign: string): void {
  draft.value = question;
  borrowed.value = foreign;
}

export async function ask(question: string, loads: unknown[], foreign = ""): Promise<void> {
  const c = current.value, { model, profile, without } = c.chosen.value;
  await c.opened; // the turns before this one
  if (c.stream.value) { // an answer runs there
    borrow(`${question}\n${draft.value}`.trim(), foreign || borrowed.value);
    return;
  }
  const turn = new Turn(question, (c.turns.value.at(-1)?.number || 0) + 1);
  const { message } = bodyOf(question, foreign);
  turn.borrowed = message && [...message].length <= typedMost ? foreign : question;
  c.turns.value = [...c.turns.value, turn];
  c.place.value = 0;
  const body = {
    ...bodyOf(question, foreign), approvals: true, explain: true, ...(c.id && { conversation_id: c.id }), ...(loads.length && { load_uuids: loads }),
    ...(without?.length && { without }), ...(model && { model }), ...(profile && { profile }),
  };
  run(c, turn, new Stream(api), body);
}

async function run(c: Conversation, turn: Turn, stream: Stream, body: object | null): Promise<void> {
  c.stream.value = stream;
  if (c.id) answering.set(c.id, c);
  const begun = await follow(c, turn, stream, body, (id) => {
    c.id = id;
    answering.set(id, c);
    if (current.value === c && route.value.view === "ask") go(to("ask", [id]), { replace: !route.value.parts[0] });
    refresh();
  });
  answering.delete(c.id);
  c.stream.value = null;
  if (!begun && !draft.value && body) borrow(turn.question, turn.borrowed); // it was not asked
  if (c.id) lastTrace(c);
  beat();
  await refresh();
  c.title.value ||= list.value?.find((row) => row.id === c.id)?.title || "";
}

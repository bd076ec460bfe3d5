// A turn: a question, and what its answer consists of. Events of a stream and stored
// messages become the same parts, so an answer looks the same live and opened again.
import { signal, type Signal } from "@preact/signals";
import type { AgentRemark, AgentSource, Approval, ConfiguredModel, Gap, KeptLine, ShownResult, ToolApproval, ToolCallResult, ToolPart, Trace, TraceHead, ChatEnd } from "../api";
import { num, seconds, money, chars } from "../core/format";
import { family, lang, t } from "../core/words";
import { cutOf } from "../parts/CutMap";

// Result is the result of a call, as a card shows it.
export interface Result {
  ok: boolean;
  error?: { message: string; hint?: string };
  produced: number;
  shown: number;
  lines: number;
  linesShown: number;
  gaps: Gap[];
  layer: string;
  limit: number;
  unit: string;
  uuid: string;
  files: ToolPart[]; // pictures and others, which the archive has
  // loaded reports whether it is a part of an archived result.
  loaded: boolean;
  unkept: boolean;
  summarized: boolean;
  summaryModel: string;
  // approval says who decided whether the call ran; null: there was nothing to decide.
  approval?: ToolApproval | null;
  ms?: number;
  kept: number[]; // lines that are shown for an expression
  // text is what the model reads of it now, then what it read at first, with the lines
  // that were kept.
  text: string;
  then: () => Promise<{ text: string; kept?: KeptLine[] | null }>;
}

export interface Progress { done: number; total: number; message: string }

export interface Ask { approval: Approval; answer: string; left: number }

export interface CallState {
  status: "running" | "waits" | "done" | "failed" | "unfinished";
  progress?: Progress;
  result?: Result;
  folded?: boolean;
  approval?: Ask;
}

export interface Call { id: string; tool: string; args: unknown; state: Signal<CallState> }

export type Part =
  | { kind: "text"; text: Signal<string>; message: number }
  | { kind: "thought"; text: Signal<string> }
  | { kind: "call"; call: Call; message: number }
  | { kind: "note"; say: () => string }
  | { kind: "problem"; problem: { message: string; hint?: string } | (() => string); again?: boolean };

// Sums say how a turn went.
export interface Sums { model: string; tokens: number; ms: number; calls: number; produced: number; shown: number; reason: string; cost: string; trace?: number; rounds: number }

export class Turn {
  parts = signal<Part[]>([]);
  sums = signal<Sums | null>(null);
  // waits says what is waited for; null: the turn is over.
  waits = signal<{ say: () => string; since: number } | null>(null);
  sources = signal<AgentSource[]>([]); // of the answer
  lost = signal(false); // the connection
  lang = signal(""); // of the question and the answer
  borrowed = ""; // the part of the question that nobody typed
  // first is the number of the question's message, from 1; 0: not known yet.
  constructor(public question: string, public number: number, public first = 0) {}

  add(part: Part): void { this.parts.value = [...this.parts.value, part]; }
  note(say: () => string): void { this.add({ kind: "note", say }); }
  speaks(locale: string): void { this.lang.value = locale === "zh" ? "zh-CN" : "en"; }
  remark(r: AgentRemark): void {
    const why = r.failed?.[lang.value] || r.failed?.en;
    if (why) this.add({ kind: "problem", problem: why, again: true });
    else this.note(() => remarkText(r));
  }

  // write adds to the text, or the thinking, that is being written.
  write(kind: "text" | "thought", more: string, message = 0): void {
    const last = this.parts.value.at(-1);
    if (last?.kind === kind) last.text.value += more;
    else this.add({ kind, text: signal(more), message } as Part);
  }

  calls(): Call[] { return this.parts.value.flatMap((p) => (p.kind === "call" ? [p.call] : [])); }
  call(id: string): Call | undefined { return this.calls().find((c) => c.id === id); }

  begin(id: string, tool: string, args?: unknown, message = 0): Call {
    const call: Call = { id, tool, args, state: signal<CallState>({ status: "running" }) };
    this.add({ kind: "call", call, message });
    return call;
  }

  // began is when the turn began, for a page that joins it later.
  wait(say: () => string, began = Date.now()): void {
    this.waits.value = { say, since: Math.min(this.waits.value?.since ?? began, began) };
  }

  // answer is the text of the answer, for copying.
  answer(): string { return this.parts.value.flatMap((p) => (p.kind === "text" ? [p.text.value] : [])).join("\n\n"); }
}

export const set = (call: Call, more: Partial<CallState>): void => { call.state.value = { ...call.state.value, ...more }; };

// settle puts a result on its call.
export function settle(call: Call, result: Result, folded = false): void {
  const { approval } = call.state.value;
  call.state.value = { status: result.ok ? "done" : "failed", result, approval, folded };
}

export function ofEvent(d: ToolCallResult): Result {
  return {
    ...cutOf(d), ok: d.ok, error: d.error || undefined, linesShown: d.lines_shown,
    layer: d.layer || "", limit: d.limit || 0, unit: d.unit || "", uuid: d.kept_uuid || d.loaded_uuid || "", files: d.parts || [], loaded: Boolean(d.loaded_uuid) || d.tool === loader,
    summarized: Boolean(d.summarized), summaryModel: d.summary_cost?.model || "", approval: d.approval, ms: d.elapsed_ms, text: d.text,
    then: async () => ({ text: d.text, kept: d.kept }),
  };
}

export const loader = "load_tool_history";

// ofStored is a stored result. then asks for what the model read when it was new, and is
// needed only if something else is stored in its place.
export function ofStored(r: ShownResult, then: () => Promise<{ text: string; kept?: KeptLine[] | null }>): Result {
  const own = async () => ({ text: r.text, kept: r.kept_lines ? (await then()).kept : [] });
  const produced = r.chars || 0;
  return {
    ok: !r.err, error: r.err ? failureOf(r.text) : undefined, produced, shown: Math.min(r.shown || chars(r.text || ""), produced), lines: r.lines_produced || 0, linesShown: r.lines_shown || 0, gaps: r.gaps || [],
    layer: r.layer || "", limit: r.limit || 0, unit: r.unit || "", uuid: r.ref?.uuid || "", files: r.ref?.parts || [], loaded: r.tool === loader, unkept: Boolean(r.layer) && !r.ref?.uuid && r.tool !== loader,
    summarized: Boolean(r.summarized), summaryModel: r.summary_model || "", approval: r.approval, ms: r.elapsed_ms ?? 0, kept: r.kept_lines || [], text: r.text, then: r.folded ? then : own,
  };
}

// remarkText says what happened between messages.
function remarkText(r: AgentRemark): string {
  if (r.plan?.length) return t("plan", { steps: r.plan.map((s, i) => `${i + 1}. ${s}`).join("  ") });
  if (r.recalled) return r.loaded ? t("recallLoaded") : t("recallHinted", { n: num(r.recalled) });
  if (r.answering) return t("instead", { from: r.failing || "", to: r.answering });
  if (r.to) return t("switched", { from: family(`mode_${r.from}`), to: family(`mode_${r.to}`) });
  return t("malformed", { reason: family(`malformed_${r.malformed}`) });
}

// decision says who decided whether a call ran; empty: there was nothing to decide. The
// record of the result holds, live and opened again; until there is one, the answer.
export function decision({ result, approval }: CallState): string {
  const a = result?.approval;
  if (!a) return approval?.answer ? family(`leave_was_${approval.answer}`) : "";
  const [by, n] = a.by.split(" ");
  if (by === "person") return family(`leave_was_${!a.allowed ? "deny" : a.some ? "some" : a.always ? "always" : "once"}`);
  return family(a.allowed ? `allowed_${by}` : `denied_${by}`, { n: n || "" });
}

// failureOf reads a failure from the text for a model. A partial result follows in other
// lines.
function failureOf(text: string): { message: string; hint?: string } {
  const told = /^(?:Error|错误) \(\w+\): (.*?)(?: (?:Hint|提示): (.*))?$/m.exec(text);
  return told?.index === 0 ? { message: told[2] ? told[1].replace(/[.。]$/, "") : told[1], hint: told[2] } : { message: text.replaceAll("＜", "<") };
}

export function sumsOf(d: ChatEnd | TraceHead | Trace, model: string): Sums {
  return {
    model: ("model" in d && d.model) || model, tokens: d.usage.prompt_tokens + d.usage.completion_tokens, ms: d.elapsed_ms, calls: d.calls, produced: d.produced_chars,
    shown: d.shown_chars, reason: d.reason, cost: d.cost ? money([d.cost]) : "", trace: "id" in d ? d.id : undefined, rounds: "rounds" in d && typeof d.rounds === "number" ? d.rounds : ("requests" in d ? d.requests : 0),
  };
}

// sumsText is how a turn went, in one line.
export function sumsText(s: Sums): string {
  return [s.model, s.calls ? t("end", { calls: num(s.calls), produced: num(s.produced), shown: num(s.shown) }) : "", t("endTurn", { tokens: num(s.tokens), seconds: seconds(s.ms) }), s.cost].filter(Boolean).join(" · ");
}

// reasonText says why a turn ended, unless it was answered.
export const reasonText = (s: Sums): string => (s.reason && s.reason !== "answer" ? t("ended", { reason: family(`reason_${s.reason}`) }) : "");

export type Model = ConfiguredModel;

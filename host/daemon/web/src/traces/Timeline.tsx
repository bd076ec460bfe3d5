// A turn over time: requests to the model with their first piece, calls with the time that
// they waited for a person, loads, what a script called, calls that could not be read, and
// what became placeholders.
import type { ScriptCall, ToolCallMalformed, Trace, TraceCall, TraceRound } from "../api";
import { num, shortArgs, shown, took } from "../core/format";
import { to } from "../core/route";
import { family, t } from "../core/words";
import { Foreign } from "../parts/Foreign";

// A Row is a bar on the scale of the turn, in milliseconds, or a remark between bars.
export type Row =
  | { kind: "model"; round: TraceRound; from: number; first: number; to: number }
  | { kind: "call" | "load"; call: TraceCall; from: number; ran: number; to: number }
  | { kind: "inner"; call: ScriptCall }
  | { kind: "malformed"; malformed: ToolCallMalformed }
  | { kind: "fold"; chars: number };

// rows places what a trace has on one scale. The calls of a round begin when its reply has
// ended; those of a script have no beginning of their own in a trace, only an order.
export function rows(x: Trace): Row[] {
  const out: Row[] = [];
  let end = 0; // of what came before, for traces without the beginnings of requests
  for (const r of x.rounds || []) {
    const from = r.at_ms || end, replied = from + r.elapsed_ms;
    if (r.round > 0) out.push({ kind: "model", round: r, from, first: Math.min(from + (r.first_ms || r.elapsed_ms), replied), to: replied });
    end = replied;
    for (const c of r.calls || []) {
      out.push({ kind: c.loaded_uuid ? "load" : "call", call: c, from: replied, ran: replied + (c.waited_ms || 0), to: replied + (c.waited_ms || 0) + c.elapsed_ms });
      end = Math.max(end, replied + (c.waited_ms || 0) + c.elapsed_ms);
      for (const inner of c.calls || []) out.push({ kind: "inner", call: inner });
    }
    for (const m of r.malformed || []) out.push({ kind: "malformed", malformed: m });
    if (r.folded_chars) out.push({ kind: "fold", chars: r.folded_chars });
  }
  return out;
}

export function Timeline({ x }: { x: Trace }) {
  const all = rows(x), whole = Math.max(1, x.elapsed_ms, ...all.map((r) => ("to" in r ? r.to : 0)));
  const uses = (kind: string) => all.some((r) => r.kind === kind), waits = all.some((r) => r.kind === "call" && r.ran > r.from);
  return (
    <section aria-labelledby="time">
      <h2 id="time">{t("time")} <small>0 – {took(whole)}</small></h2>
      <p class="time-key" aria-hidden="true">
        <span><i class="before" />{t("keyBefore")}</span><span><i class="model" />{t("keyModel")}</span>
        {uses("call") && <span><i class="tool" />{t("keyTool")}</span>}{waits && <span><i class="person" />{t("keyPerson")}</span>}{uses("load") && <span><i class="load" />{t("loaded")}</span>}
      </p>
      <ol class="timeline">{all.map((r, i) => <li key={i} class={`is-${r.kind}`}><Line r={r} whole={whole} /></li>)}</ol>
    </section>
  );
}

function Line({ r, whole }: { r: Row; whole: number }) {
  const bar = (kind: string, from: number, end: number) => end > from && <i class={kind} style={{ left: `${(100 * from) / whole}%`, width: `${(100 * (end - from)) / whole}%` }} />;
  switch (r.kind) {
    case "model":
      return (
        <>
          <span class="name">{t("roundOf", { n: num(r.round.round) })}</span>
          <span class="lane" aria-hidden="true">{bar("before", r.from, r.first)}{bar(r.round.error ? "failed" : "model", r.first, r.to)}</span>
          <span class="about">{r.round.error ? <span class="bad">{t("failed")}: <code>{r.round.error}</code></span> : `${took(r.to - r.from)} · ${t("firstPiece", { ms: took(r.first - r.from) })}`}</span>
        </>
      );
    case "call": case "load":
      return (
        <>
          <span class="name" title={shown(shortArgs(r.call.arguments))}>{r.call.tool} <small class="args">{shortArgs(r.call.arguments)}</small></span>
          <span class="lane" aria-hidden="true">{bar("person", r.from, r.ran)}{bar(r.call.ok ? (r.kind === "load" ? "load" : "tool") : "failed", r.ran, Math.max(r.to, r.ran + whole / 400))}</span>
          <span class="about"><About c={r.call} /></span>
        </>
      );
    case "inner":
      return (
        <>
          <span class="name">{r.call.tool}</span>
          <span class="about wide">{took(r.call.elapsed_ms)} · {r.call.code && r.call.code !== "ok" ? <span class="bad">{t("failed")}: <code>{r.call.code}</code></span> : t("nCharacters", { n: num(r.call.produced) })}{r.call.uuid && <> · <a href={to("results", [r.call.uuid])}>{t("openIt")}</a></>}</span>
        </>
      );
    case "malformed":
      return <span class="about remark"><b class="bad" aria-hidden="true">✗</b> {r.malformed.tool && <code>{shown(r.malformed.tool)}</code>} {t("notReadable", { reason: family(`malformed_${r.malformed.reason}`) })} {r.malformed.note ? <details><summary>{t("corrected")}</summary><p><Foreign text={r.malformed.note} /></p></details> : t("notCorrected")}</span>;
    case "fold":
      return <span class="about remark">{t("foldedHere", { n: num(r.chars) })}</span>;
  }
}

// About says how long a call took, for whom it waited, and what of it was let through.
function About({ c }: { c: TraceCall }) {
  const uuid = c.kept_uuid || c.loaded_uuid, parts = [took(c.elapsed_ms)];
  if (c.waited_ms) parts.push(t("waitedFor", { ms: took(c.waited_ms) }));
  if (c.loaded_uuid) parts.push(t("loaded"));
  if (c.ok) parts.push(c.layer ? t("cutTo", { produced: num(c.produced), shown: num(c.shown), layer: family(`layer_${c.layer}`), limit: num(c.limit) }) : t("wholeOf", { n: num(c.produced) }));
  return <>{parts.join(" · ")}{!c.ok && <> · <span class="bad">{t("failed")}{c.error && <>: <code>{c.error}</code></>}</span></>}{uuid && <> · <a href={to("results", [uuid])} aria-label={t("openOf", { tool: c.tool })}>{t("openIt")}</a></>}</>;
}

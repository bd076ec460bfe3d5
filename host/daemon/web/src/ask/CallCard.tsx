// One call of a tool in an answer. A result that was shown whole takes one line; one that
// was cut has the cut map, the limit that decided, and what can be done about it.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { KeptLine } from "../api";
import { Problem, told } from "../core/daemon";
import { json, num, shortArgs, shown, took } from "../core/format";
import { go, to } from "../core/route";
import { family, t } from "../core/words";
import { loads } from "../results/loads";
import { Button } from "../parts/Button";
import { CutMap } from "../parts/CutMap";
import { ProblemBox } from "../parts/Problem";
import { ApprovalBox } from "./Approval";
import { Files } from "./Files";
import { answered } from "./follow";
import { type Call, type CallState, decision, type Result } from "./turn";

export function CallCard({ call, conversation }: { call: Call; conversation: string }) {
  const s = call.state.value, r = s.result, decided = decision(s);
  const whole = r?.ok && !r.error && !isCut(r) && !r.kept.length;
  return (
    <section class={`call ${s.status} ${r && isCut(r) ? "cut" : ""} ${whole ? "whole" : ""}`} aria-label={t("call", { tool: call.tool })}>
      {whole && decided && <p class="note" role="status">{decided}</p>}
      {whole ? <WholeCall call={call} r={r} conversation={conversation} /> : <CutCall call={call} s={s} conversation={conversation} />}
      {r && r.files.length > 0 && <Files uuid={r.uuid} files={r.files} />}
    </section>
  );
}

// isCut reports whether a model was shown less than the whole.
const isCut = (r: Result): boolean => Boolean(r.layer) || r.summarized || r.shown < r.produced;

function WholeCall({ call, r, conversation }: { call: Call; r: Result; conversation: string }) {
  const folded = call.state.value.folded;
  return (
    <details>
      <summary>
        <code>{call.tool}</code> <span class="args">{shortArgs(call.args)}</span>
        <span class="state">{r.loaded ? t("loadedWhole", { n: num(r.produced) }) : t("wholeOf", { n: num(r.produced) })}{r.ms === undefined ? "" : ` · ${took(r.ms)}`}</span>
        {folded && <small class="badge">{t("foldedNow")}</small>}
      </summary>
      <Args call={call} />
      {r.text && <Read r={r} folded={Boolean(folded)} />}
      <Acts call={call} r={r} conversation={conversation} />
    </details>
  );
}

function CutCall({ call, s, conversation }: { call: Call; s: CallState; conversation: string }) {
  const r = s.result;
  return (
    <>
      <header>
        <code>{call.tool}</code> <span class="args">{shortArgs(call.args)}</span>
        <span class="state">{stateText(s)}</span>
        <span class="space" />
        {r && <small class="badge">{badge(s, r)}</small>}
      </header>
      {s.status === "running" && s.progress && <progress aria-label={t("progressOf", { tool: call.tool })} max={s.progress.total || undefined} value={s.progress.total ? Math.min(s.progress.done, s.progress.total) : undefined} />}
      {r?.error && <ProblemBox message={r.error.message} hint={r.error.hint} />}
      {r && r.produced > 0 && isCut(r) && <CutMap cut={r} />}
      {r && r.produced > 0 && isCut(r) && <p class="figures"><strong>{t("through", { shown: num(r.shown), produced: num(r.produced) })}</strong> <span class="note">{why(r)}</span>{r.uuid && r.layer && <> <a href={to("results", [r.uuid], { limit: "1" })}>{t("change")}</a></>}</p>}
      {r?.unkept && <p class="bad">{t("unkept")}</p>}
      {s.folded && r && <p class="note">{t("folded")}</p>}
      {r && <Acts call={call} r={r} conversation={conversation} />}
      <Args call={call} />
      {r && r.kept.length > 0 && <Kept r={r} />}
      {r?.text && <Read r={r} folded={Boolean(s.folded)} />}
      {decision(s) && <p class="note" role="status">{decision(s)}</p>}
      {s.approval && !decision(s) && <ApprovalBox key={s.approval.approval.id} approval={s.approval.approval} answer="" left={s.approval.left} done={(word) => answered(call, word, s.approval!.approval.id)} />}
    </>
  );
}

function stateText(s: CallState): string {
  if (s.result) return s.result.ok ? (s.result.ms === undefined ? "" : took(s.result.ms)) : `${t("failed")}${s.result.ms === undefined ? "" : ` · ${took(s.result.ms)}`}`;
  if (s.status === "waits") return t("waits");
  if (s.status === "unfinished") return t("unfinished");
  const p = s.progress;
  return [t("running"), p && (p.total > 0 ? `${num(p.done)} / ${num(p.total)}` : p.done ? num(p.done) : ""), p?.message && shown(p.message)].filter(Boolean).join(" · ");
}

// badge says what has become of a result.
function badge(s: CallState, r: Result): string {
  if (r.loaded) return t("loaded");
  if (s.folded) return t("foldedNow");
  return r.unkept ? t("lostRest") : t("inFull");
}

// why names the limit that decided, and what it left out.
function why(r: Result): string {
  if (r.summarized) return t("summarized", { model: r.summaryModel });
  const left = { chars: num(Math.max(0, r.produced - r.shown)), lines: num(Math.max(0, r.lines - r.linesShown)), layer: family(`layer_${r.layer}`) };
  if (!r.layer) return "";
  if (!r.limit) return t("cutBy", left);
  return t("cut", { ...left, limit: num(r.limit), unit: family(`unit_${r.unit || "characters"}`) });
}

function Acts({ call, r, conversation }: { call: Call; r: Result; conversation: string }) {
  if (!r.uuid) return null;
  return (
    <div class="row acts">
      <a class="button" href={to("results", [r.uuid])}>{t("open", { n: num(r.produced) })}</a>
      <Button onClick={() => { loads.add(conversation, { uuid: r.uuid, tool: call.tool, part: {} }); go(to("ask", conversation ? [conversation] : [])); }}>{t("loadBack_whole")}</Button>
    </div>
  );
}

function Args({ call }: { call: Call }) {
  if (call.args === undefined || call.args === null || json(call.args) === "{}") return null;
  return <Fold title={t("args")}><pre>{json(call.args, 2)}</pre></Fold>;
}

// Fold is a part that is rendered when it is opened.
export function Fold({ title, children, opened }: { title: string; children: ComponentChildren; opened?: () => void }) {
  const [open, set] = useState(false);
  return (
    <details onToggle={(e) => { const now = e.currentTarget.open; if (now && !open) opened?.(); set(now); }}>
      <summary>{title}</summary>
      {open && children}
    </details>
  );
}

// Read shows what the model read at first, and beside it what it reads now, if that is
// something else.
function Read({ r, folded }: { r: Result; folded: boolean }) {
  const [text, set] = useState<string | null>(null);
  const load = () => { if (text === null) r.then().then((x) => set(shown(x.text)), (err: Problem) => set(err.status === 404 ? t("readGone") : told(err))); };
  return (
    <>
      <Fold title={t("read")} opened={load}><pre class="read" tabIndex={0}>{text ?? t("loading")}</pre></Fold>
      {folded && r.text.startsWith("📎") && <Fold title={t("readNow")}><pre tabIndex={0}>{shown(r.text)}</pre></Fold>}
    </>
  );
}

// Kept lists the lines that are shown because an expression matches them.
function Kept({ r }: { r: Result }) {
  const [lines, set] = useState<KeptLine[] | null>(null), [trouble, say] = useState("");
  const load = () => { if (!lines) r.then().then((x) => set(x.kept || []), (err: Problem) => say(err.status === 404 ? t("readGone") : told(err))); };
  return (
    <Fold title={t("why", { n: num(r.kept.length) })} opened={load}>
      {trouble && <p class="note">{trouble}</p>}
      <ul class="why">{(lines || []).map((k) => <li key={k.line}>{t("whyLine", { n: num(k.line), by: k.by, times: k.times > 1 ? ` ×${num(k.times)}` : "" })} <code>{shown(k.text)}</code></li>)}</ul>
    </Fold>
  );
}

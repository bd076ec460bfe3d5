// Traces: how turns went, and what tools produced by day.
import type { DayStats, FoldStats, Stats, Trace, TraceHead, TraceList } from "../api";
import { getJSON, operator, Problem, told } from "../core/daemon";
import { moment, money, num, seconds, shown } from "../core/format";
import { route, to } from "../core/route";
import { family, t } from "../core/words";
import { Copy } from "../parts/Copy";
import { Foreign } from "../parts/Foreign";
import { ProblemBox } from "../parts/Problem";
import { Table } from "../parts/Table";
import { useAsked, useTitle } from "../parts/use";
import { Timeline } from "./Timeline";
import { Held } from "./Held";

export function Traces() {
  const { parts } = route.value;
  return <main class="page">{parts.length ? <One key={parts.join("/")} parts={parts} /> : <All />}</main>;
}

// find returns the trace that an address names: its id, or a conversation and a turn.
async function find(parts: string[]): Promise<Trace> {
  if (parts.length === 1) return getJSON<Trace>(`api/traces/${encodeURIComponent(parts[0])}`);
  const { traces } = await getJSON<TraceList>(`api/traces?limit=1000&conversation_id=${encodeURIComponent(parts[0])}`);
  const head = (traces || []).find((x) => String(x.turn) === parts[1]);
  if (!head?.id) throw new Problem({ message: t("noTrace") }, 404);
  return getJSON<Trace>(`api/traces/${encodeURIComponent(String(head.id))}`);
}

function One({ parts }: { parts: string[] }) {
  const { data: x, problem } = useAsked(() => find(parts), []);
  useTitle(x?.question || "");
  if (problem) return <ProblemBox alert message={told(problem)} />;
  if (!x) return <p class="note">{t("loading")}</p>;
  const cut = (x.rounds || []).flatMap((r) => r.calls || []).filter((c) => c.layer).length;
  return (
    <>
      <p class="back always"><a href={to("traces")}>{t("allTraces")}</a></p>
      <header class="row">
        <h1>{shown(x.question).slice(0, 200)}</h1>
        <span class="space" />
        <Copy label={t("copyJSON")} of={() => JSON.stringify(x, null, 2)} />
      </header>
      <p class="chips">
        <span>{t("turnOf", { n: num(x.turn) })}</span><span>{x.model}</span><span>{x.profile}</span><span>{family(`mode_${x.mode}`)}</span><span>{t("seconds", { n: seconds(x.elapsed_ms) })}</span>
        <span>{t("requestsOf", { n: num(x.requests) })}</span><span>{t("callsOf", { n: num(x.calls), cut: num(cut) })}</span><span>{t("tokensOf", { in: num(x.usage.prompt_tokens), out: num(x.usage.completion_tokens) })}</span>
        {x.cost && <span>{money([x.cost])}</span>}
        {x.produced_chars > 0 && <span>{num(x.produced_chars)} → {t("nCharacters", { n: num(x.shown_chars) })}</span>}
        {x.reason !== "answer" && <span class="bad">{family(`reason_${x.reason}`)}</span>}
        <a href={to("ask", [x.conversation_id])}>{t("itsTalk")}</a>
      </p>
      {(x.switched || []).map((s) => <p key={s.to} class="note">{t("instead", { from: s.from, to: s.to })} <Foreign text={s.message} /></p>)}
      {(x.passed || []).map((s) => <p key={s.model} class="note">{t("passedOver", { model: s.model })} <Foreign text={s.message} /></p>)}
      <Timeline x={x} />
      <Held x={x} />
      {(x.tools?.length || 0) > 0 && <section><h2>{t("descriptionsCost")}</h2><Table label={t("descriptionsCost")} numbers={[1]} head={[t("view_tools"), t("unit_tokens")]} rows={[...x.tools!].sort((a, b) => b.tokens - a.tokens).map((c) => [c.name, num(c.tokens)])} /></section>}
    </>
  );
}

function All() {
  const { data, problem } = useAsked(() => getJSON<TraceList>("api/traces?limit=200"), []);
  const sums = useAsked(() => operator() ? getJSON<Stats>("api/stats?days=30") : Promise.resolve(null), [operator()]).data, days = sums?.days || [], folds = sums?.folds || [];
  return (
    <>
      <h1>{t("view_traces")}</h1>
      <p class="note">{t("tracesHelp")}</p>
      {problem && <ProblemBox alert message={told(problem)} />}
      {data && !data.traces?.length && <p class="note">{t("noTraces")}</p>}
      <ul class="results">{(data?.traces || []).map((x) => <li key={x.id}><Head x={x} /></li>)}</ul>
      {folds.length > 0 && <Folds folds={folds} />}
      {days.length > 0 && <Days days={days} />}
    </>
  );
}

function Head({ x }: { x: TraceHead }) {
  return (
    <a href={to("traces", [String(x.id)])}>
      <span class="first">{shown(x.question).slice(0, 160)}</span>
      <span class="size">{t("seconds", { n: seconds(x.elapsed_ms) })} · {num(x.usage.prompt_tokens + x.usage.completion_tokens)} {t("unit_tokens")}</span>
      <span class="sum">{x.model} · {t("requestsOf", { n: num(x.requests) })} · {t("callsOnly", { n: num(x.calls) })}{x.produced_chars ? ` · ${num(x.produced_chars)} → ${num(x.shown_chars)}` : ""}{x.reason !== "answer" ? ` · ${family(`reason_${x.reason}`)}` : ""}</span>
      <small>{moment(x.started_at)}</small>
    </a>
  );
}

// Folds says for each client with its own loop what was not sent of its requests.
function Folds({ folds }: { folds: FoldStats[] }) {
  return (
    <section>
      <h2>{t("folds")}</h2>
      <Table label={t("folds")} numbers={[1, 2, 3, 4, 5]} head={["client", "requests", "folded", "loads", "sent", "saved"].map((k) => family(`foldcol_${k}`))}
        rows={folds.map((f) => [f.client || "–", num(f.requests), num(f.folded), num(f.loads), num(f.sent), num(f.saved)])} />
    </section>
  );
}

// Days says for each day and tool what was produced, let through and loaded back.
function Days({ days }: { days: DayStats[] }) {
  return (
    <section>
      <h2>{t("byDay")}</h2>
      <Table label={t("byDay")} numbers={[2, 3, 4, 5, 6]} head={["day", "tool", "calls", "cut", "produced", "through", "loaded"].map((k) => family(`daycol_${k}`))}
        rows={days.slice(0, 200).map((d) => [d.day, d.tool, num(d.calls), num(d.cut), num(d.produced), num(d.shown), num(d.loaded_back)])} />
    </section>
  );
}

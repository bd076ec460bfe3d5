// What the model sees, by part, and what became of the results of this conversation.
import type { Trace } from "../api";
import { num } from "../core/format";
import { to } from "../core/route";
import { t } from "../core/words";
import { CutMap } from "../parts/CutMap";
import { Legend, type Piece, Stack } from "../parts/Parts";
import type { Conversation } from "./state";
import type { Call } from "./turn";

// pieces are the parts of a request, in tokens.
export function pieces(trace: Trace, round: number): Piece[] {
  const sent = trace.rounds?.[round]?.sent;
  if (!sent) return [];
  const tools = (trace.tools || []).reduce((n, x) => n + x.tokens, 0), described = sent.system >= tools ? tools : 0;
  return [
    { name: t("partSystem"), n: sent.system - described, kind: "p-system" },
    { name: t("partTools", { n: num(trace.tools?.length) }), n: described, kind: "p-tools" },
    { name: t("partHistory"), n: sent.history, kind: "p-history" },
    { name: t("partQuestion"), n: sent.question + sent.replies + sent.notes, kind: "p-question" },
    { name: t("partResults"), n: sent.results, kind: "p-results" },
  ];
}

export function Sees({ c }: { c: Conversation }) {
  const trace = c.trace.value, last = (trace?.rounds?.length || 0) - 1;
  const parts = trace ? pieces(trace, last) : [], used = parts.reduce((n, p) => n + p.n, 0), budget = c.stream.value ? c.budget.value : null;
  const window = budget?.window || trace?.window || c.start.value?.window || 0, tokens = budget?.tokens || used;
  const sums = c.turns.value.map((x) => x.sums.value).filter((s) => s !== null);
  const calls = c.turns.value.flatMap((x) => x.calls()).filter((call) => call.state.value.result?.uuid && !call.state.value.result.loaded);
  const produced = sums.reduce((n, s) => n + s.produced, 0), through = sums.reduce((n, s) => n + s.shown, 0);
  if (!tokens && !calls.length) return <p class="note">{t("seesNothing")}</p>;
  return (
    <>
      <section>
        <h2>{t("sees")}</h2>
        <p class="note">{window ? t("budget", { tokens: num(tokens), window: num(window) }) : t("budgetOpen", { tokens: num(tokens) })}</p>
        {parts.length > 0 ? <Stack pieces={parts} whole={window || used} label={t("sees")} /> : <Stack pieces={[{ name: "", n: tokens, kind: "p-history" }]} whole={window || tokens} label={t("sees")} />}
        {parts.length > 0 && <Legend pieces={window ? [...parts, { name: t("partRoom"), n: Math.max(0, window - used), kind: "p-room" }] : parts} />}
      </section>
      {produced > 0 && (
        <section>
          <h2>{t("thisTalk")}</h2>
          <dl class="facts">
            <dt>{t("sumProduced")}</dt><dd>{t("nCharacters", { n: num(produced) })}</dd>
            <dt>{t("sumThrough")}</dt><dd>{t("nCharacters", { n: num(through) })}</dd>
            <dt>{t("sumKept")}</dt><dd>{num(calls.length)}</dd>
          </dl>
        </section>
      )}
      {calls.length > 0 && (
        <section>
          <h2>{t("resultsHere")}</h2>
          <ul class="here-list">{calls.map((call) => <li key={call.id}><Here call={call} /></li>)}</ul>
        </section>
      )}
    </>
  );
}

function Here({ call }: { call: Call }) {
  const { result: r, folded } = call.state.value;
  return (
    <a href={to("results", [r!.uuid])}>
      <span><code>{call.tool}</code> <small>{folded ? t("foldedNow") : t("inFull")}</small></span>
      <CutMap small cut={r!} />
    </a>
  );
}

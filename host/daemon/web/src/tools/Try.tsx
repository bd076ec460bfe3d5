// Tries a tool: arguments by a form or as JSON, which the daemon checks, then what came,
// and what of it a model would read.
import { useSignal } from "@preact/signals";
import type { PluginToolInfo, ToolCallResult } from "../api";
import { Problem, send } from "../core/daemon";
import { json, num, shown, took } from "../core/format";
import { to } from "../core/route";
import { family, lang, t } from "../core/words";
import { Button } from "../parts/Button";
import { Copy } from "../parts/Copy";
import { CutMap, cutOf } from "../parts/CutMap";
import { Choice } from "../parts/Field";
import { ProblemBox } from "../parts/Problem";
import { type Args, Fields } from "./Form";
import { fieldsOf } from "./schema";

export function Try({ x }: { x: PluginToolInfo }) {
  const examples = x.spec.examples || [];
  const args = useSignal<Args>({}), tab = useSignal<"form" | "json">("form"), text = useSignal("{}"), wrong = useSignal("");
  const result = useSignal<ToolCallResult | null>(null), problem = useSignal<Problem | null>(null), busy = useSignal(false), locale = useSignal<string>(lang.value);
  const set = (now: Args) => { args.value = now; text.value = JSON.stringify(now, null, 2); wrong.value = ""; };
  const write = (now: string) => {
    text.value = now;
    try {
      const value = JSON.parse(now);
      wrong.value = value && typeof value === "object" && !Array.isArray(value) ? "" : t("notObject");
      if (!wrong.value) args.value = value;
    } catch (err) { wrong.value = (err as Error).message; }
  };
  const run = async () => {
    busy.value = true;
    problem.value = null;
    try { result.value = await send<ToolCallResult>("POST", `api/tools/${encodeURIComponent(x.spec.name)}/call`, { arguments: args.value, locale: locale.value }); } catch (err) { result.value = null; problem.value = err as Problem; }
    busy.value = false;
  };
  const parameters = (lang.value === "zh" && x.spec.parameters_zh) || x.spec.parameters;
  return (
    <section class="try" aria-label={t("tryIt")}>
      <h2>{t("tryIt")}</h2>
      <div class="row">
        <Button aria-pressed={tab.value === "form"} onClick={() => { tab.value = "form"; }}>{t("form")}</Button>
        <Button aria-pressed={tab.value === "json"} onClick={() => { tab.value = "json"; }}>JSON</Button>
        {examples.length > 0 && <><span class="note">{t("examples")}</span>{examples.slice(0, 4).map((e, i) => <Button key={i} onClick={() => set(((lang.value === "zh" && e.args_zh) || e.args || {}) as Args)}>{(lang.value === "zh" && e.ask_zh) || e.ask}</Button>)}</>}
      </div>
      <form class="params" onSubmit={(e) => { e.preventDefault(); run(); }}>
        {tab.value === "form" ? <Fields fields={fieldsOf(parameters)} args={args.value} set={set} /> : (
          <div class="param"><label for="args-json">{t("argsJSON")}</label><textarea id="args-json" rows={8} spellcheck={false} value={text.value} onInput={(e) => write(e.currentTarget.value)} />{wrong.value && <p class="bad" role="alert">{wrong.value}</p>}</div>
        )}
        <div class="row">
          <Button kind="main" submit disabled={busy.value || Boolean(wrong.value)}>{busy.value ? t("running") : t("run")}</Button>
          <Choice label={t("asReadIn")} value={locale.value} onChange={(e) => { locale.value = e.currentTarget.value; }} options={[{ value: "en", text: "English" }, { value: "zh", text: "中文" }]} />
          <span class="space" />
          <Copy label={t("copyWeir")} of={() => `weir call ${x.spec.name} ${quoted(JSON.stringify(args.value))}`} />
          <Copy label={t("copyCurl")} of={() => curl(x.spec.name, args.value)} />
          <Copy label={t("copyMCP")} of={() => JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: x.spec.name, arguments: args.value } })} />
        </div>
      </form>
      {problem.value && <ProblemBox alert message={problem.value.message} hint={problem.value.hint} />}
      {result.value && <Result r={result.value} />}
    </section>
  );
}

// quoted is a text as one word of a shell.
const quoted = (s: string): string => `'${s.replaceAll("'", "'\\''")}'`;

const curl = (name: string, args: Args): string => `curl -s ${location.origin}/api/tools/${name}/call -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" -d ${quoted(JSON.stringify({ arguments: args }))}`;

function Result({ r }: { r: ToolCallResult }) {
  return (
    <article class="call" aria-label={t("itsResult")}>
      <header><code>{r.tool}</code> <span class="state" role="status">{r.ok ? t("done") : t("failed")} · {took(r.elapsed_ms)}</span></header>
      {r.error && <ProblemBox message={r.error.message} hint={r.error.hint} />}
      {r.produced > 0 && (
        <>
          <CutMap cut={cutOf(r)} />
          <p class="figures"><strong>{t("through", { shown: num(r.shown), produced: num(r.produced) })}</strong> {r.layer && <span class="note">{t("decides", { layer: family(`layer_${r.layer}`), limit: num(r.limit), unit: family(`unit_${r.unit || "characters"}`) })}</span>}</p>
        </>
      )}
      {r.kept_uuid && <p><a class="button" href={to("results", [r.kept_uuid])}>{t("open", { n: num(r.produced) })}</a></p>}
      <h3>{t("wouldRead")}</h3>
      <pre tabIndex={0}>{shown(r.text)}</pre>
      {r.structured !== undefined && <details><summary>{t("structured")}</summary><pre tabIndex={0}>{json(r.structured, 2)}</pre></details>}
    </article>
  );
}

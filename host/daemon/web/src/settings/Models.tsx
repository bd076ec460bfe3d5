// The models that are configured, each with its test, and those that were found.
import { useSignal } from "@preact/signals";
import type { ConfiguredModel, ConfiguredModels, FoundModels, ModelStep, ModelTested, Stats } from "../api";
import { getJSON, Problem, send } from "../core/daemon";
import { num, shown, took } from "../core/format";
import { pulse } from "../core/pulse";
import { family, t } from "../core/words";
import { Button } from "../parts/Button";
import { Copy } from "../parts/Copy";
import { Foreign } from "../parts/Foreign";
import { ProblemBox } from "../parts/Problem";
import { useAsked } from "../parts/use";
import { Rows } from "./Rows";
import { change, changed, known } from "./state";

export function Models() {
  const models = useAsked(() => getJSON<ConfiguredModels>("api/models"), [pulse.value?.configuration]).data?.models || [];
  const found = useAsked(() => getJSON<FoundModels>("api/models/found"), []), stats = useAsked(() => getJSON<Stats>("api/stats"), []).data?.models || [];
  const keys = (known.value?.schema.keys || []).filter((k) => k.key?.[0] === "models");
  return (
    <>
      <section>
        {models.map((m) => (
          <article class="card" key={m.name} aria-label={m.name}>
            <h2>{m.name} {m.default && <small class="badge">{t("default")}</small>}</h2>
            <p class="note">{m.provider} · <code>{shown(m.model)}</code> · {m.window ? t("windowOf", { n: num(m.window) }) : t("windowUnknown")}</p>
            {m.simulated && <p class="warn">{t("demoTitle")}</p>}
            {stats.filter((s) => s.model === m.name && s.calls > 0).map((s) => <p key={s.format} class="note">{t("formatOf", { format: s.format, calls: num(s.calls), malformed: num(s.malformed) })}</p>)}
            <Test m={m} />
            {!m.default && <div><Button onClick={() => change(["agent", "model"], m.name)}>{changed(["agent", "model"])?.value === m.name ? t("gathered") : t("useModel")}</Button></div>}
            {!m.simulated && <details><summary>{t("itsSettings")}</summary><Rows keys={keys} names={[m.name]} /></details>}
          </article>
        ))}
      </section>
      <section>
        <h2>{t("foundModels")}</h2>
        {found.data && !found.data.found?.length && <p class="note">{t("noneFound")}</p>}
        {(found.data?.found || []).map((f) => (
          <article class="card" key={f.base_url + f.preset} aria-label={f.title}>
            <h3>{f.title}</h3>
            <p class="note"><Foreign text={f.base_url} />{f.key_env && ` · ${f.key_env}`}{f.models?.length ? ` · ${f.models.slice(0, 8).join(", ")}` : ""}</p>
            <div class="row"><pre tabIndex={0}>{f.command}</pre><Copy of={() => f.command} /></div>
          </article>
        ))}
        <p class="note">{t("addModel")} <code>weir model add</code></p>
      </section>
    </>
  );
}

function Test({ m }: { m: ConfiguredModel }) {
  const steps = useSignal<ModelStep[]>([]), tested = useSignal<ModelTested | null>(null), problem = useSignal<Problem | null>(null), busy = useSignal(false);
  const run = async () => {
    busy.value = true;
    steps.value = [];
    tested.value = problem.value = null;
    try {
      tested.value = await send<ModelTested>("POST", `api/models/${encodeURIComponent(m.name)}/test`);
      steps.value = tested.value.steps || [];
    } catch (err) { problem.value = err as Problem; }
    busy.value = false;
  };
  return (
    <>
      <div><Button disabled={busy.value} onClick={run}>{busy.value ? t("testing") : t("test")}</Button></div>
      {problem.value && <ProblemBox alert message={problem.value.message} hint={problem.value.hint} />}
      {steps.value.length > 0 && (
        <ol class="steps" aria-live="polite">
          {steps.value.map((s) => <li key={s.name} class={s.ok ? "good" : "bad"}>{s.ok ? "✓" : "✗"} {family(`step_${s.name}`)} · {took(s.elapsed_ms)}{s.message && <> · <Foreign text={s.message} /></>}{s.hint && <> · <Foreign text={s.hint} /></>}</li>)}
        </ol>
      )}
      {tested.value && <p class={tested.value.ok ? "note" : "bad"}>{t(tested.value.ok ? "testGood" : "testBad")}</p>}
    </>
  );
}


// Tests a model, each step as it ends.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { ModelStep, ModelTested } from "../api";
import { api, Problem } from "../core/daemon";
import { num, took } from "../core/format";
import { tell } from "../core/speech";
import { events } from "../core/stream.js";
import { family, t } from "../core/words";
import { Button } from "../parts/Button";
import { Foreign } from "../parts/Foreign";
import { ProblemBox } from "../parts/Problem";

// TestModel is a button and what the test tells. With now it begins at once.
export function TestModel({ name, now = false }: { name: string; now?: boolean }) {
  const steps = useSignal<ModelStep[]>([]), tested = useSignal<ModelTested | null>(null), problem = useSignal<Problem | null>(null), busy = useSignal(false);
  const run = async () => {
    busy.value = true;
    steps.value = [];
    tested.value = problem.value = null;
    try {
      const res = await api(`api/models/${encodeURIComponent(name)}/test`, { method: "POST", headers: { Accept: "text/event-stream" } });
      for await (const [event, data] of events(res.body!)) {
        if (event === "model.step") steps.value = [...steps.value, data as ModelStep];
        if (event === "model.tested") tested.value = data as ModelTested;
      }
      if (tested.value) tell(verdict(tested.value));
    } catch (err) { problem.value = err as Problem; }
    busy.value = false;
  };
  useEffect(() => { if (now) run(); }, []);
  return (
    <div class="model-test">
      <div class="row"><Button disabled={busy.value} onClick={run}>{t(busy.value ? "modelTesting" : "modelTest", { name })}</Button><small>{t("modelTestHelp")}</small></div>
      {problem.value && <ProblemBox alert message={problem.value.message} hint={problem.value.hint} />}
      <Steps steps={steps.value} tested={tested.value} />
    </div>
  );
}

// Steps are the steps so far, and the verdict.
export function Steps({ steps, tested }: { steps: ModelStep[]; tested: ModelTested | null }) {
  return (
    <>
      {steps.length > 0 && (
        <ol class="steps" aria-label={t("modelSteps")}>
          {steps.map((s) => (
            <li key={s.name} class={s.ok ? "good" : "bad"}>
              <b aria-hidden="true">{s.ok ? "✓" : "✗"}</b> {family(`tested_${s.name}`)}<span class="unseen">: {t(s.ok ? "stepGood" : "stepBad")}</span>
              <small>{took(s.elapsed_ms)}{s.first_token_ms ? ` · ${t("modelFirst", { ms: took(s.first_token_ms) })}` : ""}</small>
              {s.message && <p><Foreign text={s.message} /></p>}
              {s.hint && <p>→ <Foreign text={s.hint} /></p>}
            </li>
          ))}
        </ol>
      )}
      {tested && <p class={tested.ok ? "" : "bad"}><strong>{verdict(tested)}</strong>{tested.window > 0 && ` ${t("modelWindow", { n: num(tested.window) })}`} {tested.reply && <>{t("modelReply")} <Foreign own text={tested.reply} max={200} /></>}</p>}
    </>
  );
}

const verdict = (x: ModelTested): string => (x.ok ? t("modelGood", { name: x.name, how: family(`how_${x.native_tools === null ? "unknown" : x.native_tools ? "native" : "text"}`) }) : t("modelBad", { name: x.name }));

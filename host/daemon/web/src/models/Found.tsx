// Servers of models and keys that were found on this machine, each used with a click.
import { useSignal } from "@preact/signals";
import type { FoundModel, FoundModels, SettingsPatched } from "../api";
import { getJSON, Problem, send } from "../core/daemon";
import { beat } from "../core/pulse";
import { t } from "../core/words";
import { Button } from "../parts/Button";
import { Copy } from "../parts/Copy";
import { Choice, Field } from "../parts/Field";
import { Foreign } from "../parts/Foreign";
import { ProblemBox } from "../parts/Problem";
import { useAsked } from "../parts/use";
import { Diff } from "../settings/Save";
import { TestModel } from "./TestModel";

export function Found({ configured }: { configured: string[] }) {
  const { data, problem, again } = useAsked(() => getJSON<FoundModels>("api/models/found"), []), all = data?.found || [];
  return (
    <div class="found-models">
      {problem && problem.code !== "unreachable" && <ProblemBox alert message={problem.message} hint={problem.hint} />}
      {!data && !problem && <p class="note" role="status">{t("loading")}</p>}
      {data && !all.length && <p class="note">{t("bringNone")}</p>}
      {all.length > 0 && <ul>{all.map((f) => <li key={f.preset + f.base_url}><One f={f} configured={configured} /></li>)}</ul>}
      <div class="row"><Button onClick={again}>{t("bringLook")}</Button></div>
      <details>
        <summary>{t("bringElse")}</summary>
        <div class="block"><pre tabIndex={0}>{command}</pre><Copy of={() => command} label={t("copyCommand")} /></div>
      </details>
    </div>
  );
}

const command = "weir model use openai --model NAME --base-url ADDRESS --key-env VARIABLE --name mine";

// One is a server or a key, with the choice of its model.
function One({ f, configured }: { f: FoundModel; configured: string[] }) {
  const model = useSignal(f.models?.[0] || ""), used = useSignal(""), diff = useSignal(""), busy = useSignal(false), problem = useSignal<Problem | null>(null);
  const use = async (e: Event) => {
    e.preventDefault();
    busy.value = true;
    problem.value = null;
    const name = free(f.preset, configured);
    try {
      diff.value = (await send<SettingsPatched>("POST", "api/models", { preset: f.preset, base_url: f.base_url, model: model.value.trim(), name, default: true })).diff;
      used.value = name;
      beat();
    } catch (err) { problem.value = err as Problem; }
    busy.value = false;
  };
  if (used.value) return <><p role="status">{t("bringUsed", { name: used.value })}</p><Diff text={diff.value} /><TestModel name={used.value} now /></>;
  const label = t("bringWhich", { title: f.title }), set = (v: string) => { model.value = v; };
  return (
    <form class="row" aria-label={f.title} onSubmit={use}>
      <span class="grow"><strong>{f.title}</strong> <small>{f.key_env ? t("bringKey", { name: f.key_env }) : <Foreign text={t("bringServer", { url: f.base_url })} />}</small></span>
      {f.models?.length ? <Choice label={label} hideLabel value={model.value} onChange={(e) => set(e.currentTarget.value)} options={f.models.map((m) => ({ value: m, text: m }))} />
        : <Field label={label} hideLabel placeholder={t("model")} required value={model.value} onInput={(e) => set(e.currentTarget.value)} />}
      <Button kind="main" submit disabled={busy.value || !model.value.trim()}>{t(busy.value ? "bringUsing" : "bringUse")}</Button>
      {problem.value && <ProblemBox alert message={problem.value.message} hint={problem.value.hint} />}
    </form>
  );
}

// free is a name that no configured model has.
function free(preset: string, configured: string[]): string {
  for (let i = 1; ; i++) {
    const name = i > 1 ? `${preset}-${i}` : preset;
    if (!configured.includes(name)) return name;
  }
}

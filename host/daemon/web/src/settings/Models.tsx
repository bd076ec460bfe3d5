// The models that are configured, each with its test, and those that were found.
import type { ConfiguredModels, Stats } from "../api";
import { getJSON } from "../core/daemon";
import { num, shown } from "../core/format";
import { pulse } from "../core/pulse";
import { t } from "../core/words";
import { Found } from "../models/Found";
import { TestModel } from "../models/TestModel";
import { Button } from "../parts/Button";
import { useAsked } from "../parts/use";
import { Rows } from "./Rows";
import { change, changed, known } from "./state";

export function Models() {
  const models = useAsked(() => getJSON<ConfiguredModels>("api/models"), [pulse.value?.configuration]).data?.models || [];
  const stats = useAsked(() => getJSON<Stats>("api/stats"), []).data?.models || [];
  const keys = (known.value?.schema.keys || []).filter((k) => k.key?.[0] === "models");
  return (
    <>
      <section>
        {models.map((m) => (
          <article class="card" key={m.name} aria-label={m.name}>
            <h2>{m.name} {m.default && <small class="badge">{t("default")}</small>}</h2>
            <p class="note">{m.provider} · {!m.simulated && <><code>{shown(m.model)}</code> · </>}{m.window ? t("windowOf", { n: num(m.window) }) : t("windowUnknown")}</p>
            {m.simulated && <p class="warn">{t("demoTitle")}</p>}
            {stats.filter((s) => s.model === m.name && s.calls > 0).map((s) => <p key={s.format} class="note">{t("formatOf", { format: s.format, calls: num(s.calls), malformed: num(s.malformed) })}</p>)}
            <TestModel name={m.name} />
            {!m.default && <div><Button onClick={() => change(["agent", "model"], m.name)}>{changed(["agent", "model"])?.value === m.name ? t("gathered") : t("useModel")}</Button></div>}
            {!m.simulated && <details><summary>{t("itsSettings")}</summary><Rows keys={keys} names={[m.name]} /></details>}
          </article>
        ))}
      </section>
      <section aria-labelledby="found">
        <h2 id="found">{t("foundModels")}</h2>
        <Found configured={models.map((m) => m.name)} />
      </section>
    </>
  );
}

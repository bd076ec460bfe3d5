// What a new conversation shows: what this is, questions that the tools can answer, and
// while only the demo answers, models to use and where clients are connected.
import type { ConfiguredModels, ToolList } from "../api";
import { getJSON, operator } from "../core/daemon";
import { pulse } from "../core/pulse";
import { to } from "../core/route";
import { lang, t } from "../core/words";
import { Found } from "../models/Found";
import { Button } from "../parts/Button";
import { CutMap } from "../parts/CutMap";
import { useAsked } from "../parts/use";
import { draft, list } from "./state";
import { useState } from "preact/hooks";

const offered = 3; // questions

export function Welcome() {
  const { data } = useAsked(() => getJSON<ToolList>("api/tools"), [pulse.value?.tools]);
  const examples = pick((data?.tools || []).flatMap((x) => x.spec.examples?.slice(0, 1) || []).map((e) => (lang.value === "zh" && e.ask_zh) || e.ask));
  return (
    <div class="welcome">
      <CutMap cut={{ produced: 100, shown: 24, lines: 100, gaps: [{ first: 12, last: 38, lines: 27, chars: 27 }, { first: 41, last: 60, lines: 20, chars: 20 }, { first: 62, last: 92, lines: 31, chars: 31 }] }} />
      <p>{t("welcome")}</p>
      {examples.length > 0 && <p class="note">{t("tryOne")}</p>}
      <ul>{examples.map((q) => <li key={q}><Button onClick={() => { draft.value = q; document.getElementById("question")?.focus(); }}>{q}</Button></li>)}</ul>
      {operator() && <Begin />}
    </div>
  );
}

// Begin is what a person sets up at first. A model that was used here stays shown, with
// its test.
function Begin() {
  const { data } = useAsked(() => getJSON<ConfiguredModels>("api/models"), [pulse.value?.configuration]), [begun, begin] = useState(false);
  const models = data?.models || [], demo = models.some((m) => m.default && m.simulated);
  if (demo && !begun) begin(true);
  return (
    <>
      {begun && (
        <section aria-labelledby="bring">
          <h2 id="bring">{t("bring")}</h2>
          {demo && <p class="note">{t("bringHelp")}</p>}
          <Found configured={models.map((m) => m.name)} />
        </section>
      )}
      {(begun || list.value?.length === 0) && (
        <section aria-labelledby="bring-client">
          <h2 id="bring-client">{t("bringClient")}</h2>
          <p class="note">{t("bringClientHelp")}</p>
          <div><a class="button" href={to("clients")}>{t("bringClientGo")}</a></div>
        </section>
      )}
    </>
  );
}

// pick takes some of a list, evenly.
const pick = (all: string[]) => [...new Set(all)].filter((_, i, list) => i % Math.max(1, Math.floor(list.length / offered)) === 0).slice(0, offered);

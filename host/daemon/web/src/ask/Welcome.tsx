// What a new conversation shows: what this is, and questions that the tools can answer.
import type { ToolList } from "../api";
import { getJSON } from "../core/daemon";
import { lang, t } from "../core/words";
import { Button } from "../parts/Button";
import { CutMap } from "../parts/CutMap";
import { pulse } from "../core/pulse";
import { useAsked } from "../parts/use";
import { draft } from "./state";

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
    </div>
  );
}

// pick takes some of a list, evenly.
const pick = (all: string[]) => [...new Set(all)].filter((_, i, list) => i % Math.max(1, Math.floor(list.length / offered)) === 0).slice(0, offered);

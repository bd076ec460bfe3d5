// The plugins: those that wait first, and one of them as a person reviews it.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { PluginInfo, PluginList } from "../api";
import { getJSON, told } from "../core/daemon";
import { pulse } from "../core/pulse";
import { route, to } from "../core/route";
import { family, t } from "../core/words";
import { Foreign } from "../parts/Foreign";
import { ProblemBox } from "../parts/Problem";
import { useAsked, useTitle } from "../parts/use";
import { keptOut, Review } from "./Review";

const stopped = ["refused", "disabled", "quarantined"];

export function Plugins() {
  const name = route.value.parts[0] || "", changed = useSignal(0);
  const { data, problem, again } = useAsked(() => getJSON<PluginList>("api/plugins"), [pulse.value?.tools, String(pulse.value?.plugins?.waiting), changed.value]);
  useTitle(name);
  useEffect(() => { if (pulse.value) again(); }, [String(pulse.value?.plugins?.quarantined)]);
  const due = (p: PluginInfo) => p.state === "waiting" || Boolean(p.offer);
  const all = data?.plugins || [], waiting = all.filter(due), rest = all.filter((p) => !due(p));
  return (
    <main class={`two ${name ? "chosen" : ""}`}>
      <nav class="list" aria-label={t("view_plugins")}>
        <h1>{t("view_plugins")}</h1>
        <p class="note">{t("pluginsHelp")}</p>
        {problem && problem.code !== "unreachable" && <ProblemBox alert message={told(problem)} />}
        {waiting.length > 0 && <h2>{t("wait_person")}</h2>}
        <ul>{waiting.map((p) => <Row key={p.name} p={p} here={p.name === name} due />)}</ul>
        {rest.length > 0 && <h2>{t("others")}</h2>}
        <ul>{rest.map((p) => <Row key={p.name} p={p} here={p.name === name} />)}</ul>
      </nav>
      <div class="page">{name ? <Review key={name} name={name} changed={() => { changed.value++; }} /> : <p class="note empty">{t("choosePlugin")}</p>}</div>
    </main>
  );
}

// Row names a plugin; one that does not work says why, and what to do.
function Row({ p, here, due = false }: { p: PluginInfo; here: boolean; due?: boolean }) {
  const why = due ? (p.offer && !keptOut(p) ? family(`cause_${p.offer.cause}`) : p.why) : stopped.includes(p.state) ? p.why : "";
  return (
    <li>
      <a href={to("plugins", [p.name])} class={here ? "here" : ""} aria-current={here ? "page" : undefined}>
        <span><code>{p.name}</code> <small>{p.version}</small> <small class={`state ${p.state}`}>{family(`state_${p.state}`)}</small></span>
        {why && <small><Foreign text={why} /></small>}
        {stopped.includes(p.state) && p.fix && <small>→ <Foreign text={p.fix} /></small>}
      </a>
    </li>
  );
}

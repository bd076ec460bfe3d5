// How much of one result a model reads: every limit, which one decides, and a hand on each.
import { useSignal } from "@preact/signals";
import type { ConfiguredProfile, ProfileList, ToolList } from "../api";
import { getJSON } from "../core/daemon";
import { num } from "../core/format";
import { pulse } from "../core/pulse";
import { route } from "../core/route";
import { t } from "../core/words";
import { Choice, Field } from "../parts/Field";
import { useAsked } from "../parts/use";
import { Kinds } from "./Agents";
import { Rows } from "./Rows";
import { change, changed, known, valueOf, written } from "./state";

interface Rung { name: string; n: number; from: string; key?: string[] }

export function Limits() {
  const tools = useAsked(() => getJSON<ToolList>("api/tools"), [pulse.value?.configuration]).data?.tools || [];
  const profiles = useAsked(() => getJSON<ProfileList>("api/profiles"), [pulse.value?.configuration]).data?.profiles || [];
  const tool = useSignal(route.peek().query.get("tool") || ""), profile = useSignal("");
  const x = tools.find((y) => y.spec.name === tool.value) || tools[0], p = profiles.find((y) => y.name === profile.value) || profiles.find((y) => y.default) || profiles[0];
  if (!x || !p) return <p class="note">{t("loading")}</p>;
  const keys = known.value?.schema.keys || [];
  const rungs = ladder(x.spec.name, x.declared.max_chars || 0, p), top = Math.max(1, ...rungs.map((r) => r.n));
  const lowest = Math.min(...rungs.filter((r) => r.n > 0).map((r) => r.n)), decides = rungs.find((r) => r.n === lowest);
  return (
    <>
      <section class="card">
        <h2>{t("howMuch")}</h2>
        <div class="row">
          <Choice label={t("forTool")} value={x.spec.name} onChange={(e) => { tool.value = e.currentTarget.value; }} options={tools.map((y) => ({ value: y.spec.name, text: y.spec.name }))} />
          <Choice label={t("withProfile")} value={p.name} onChange={(e) => { profile.value = e.currentTarget.value; }} options={profiles.map((y) => ({ value: y.name, text: `${y.name} · ${y.model}` }))} />
        </div>
        <ol class="ladder">
          {rungs.map((r) => (
            <li key={r.name} class={r === decides ? "decides" : ""}>
              <span>{r.name}</span>
              <span class="map" aria-hidden="true">{r.n > 0 && <i class="through" style={{ left: 0, width: `${(100 * r.n) / top}%` }} />}</span>
              {r.key ? <Bound at={r.key} name={r.name} n={r.n} /> : <b>{r.n ? num(r.n) : "–"}</b>}
              <small>{r === decides ? t("isLowest") : r.from}</small>
            </li>
          ))}
        </ol>
        {decides && <p role="status">{t("lowestDecides", { limit: num(lowest), layer: decides.name })}</p>}
      </section>
      <section class="card">
        <h2><code>max_tool_result_length</code> <small>{t("lengthName")}</small></h2>
        <p class="note">{t("lengthHelp")}</p>
        {profiles.map((y) => <Length key={y.name} p={y} />)}
        <Kinds />
      </section>
      <section><h2>{t("otherLimits")}</h2><Rows keys={keys.filter((k) => k.key?.[0] === "limits")} /></section>
      <section><h2>{t("limitsOf", { tool: x.spec.name })}</h2><Rows keys={keys.filter((k) => k.key?.[0] === "tools")} names={[x.spec.name]} /></section>
    </>
  );
}

// ladder are the limits for one tool's result, as they are with the gathered changes.
function ladder(tool: string, declared: number, p: ConfiguredProfile): Rung[] {
  const at = (key: string[]): number => Number(changed(key) ? changed(key)!.value ?? 0 : valueOf(key) ?? 0);
  const own = ["tools", tool, "max_chars"], ceiling = ["limits", "ceiling_chars"], agent = lengthKey(p), set = changed(agent);
  return [
    { name: t("rungTool"), n: at(own) ? 0 : declared, from: declared ? (at(own) ? t("replaced") : "plugin.toml") : t("noOwnLimit") },
    { name: t("rungOperator"), n: at(own), from: lineOf(own), key: own },
    { name: t("rungAgent"), n: set ? length(Number(set.value ?? 0)) : p.limit, from: p.why },
    { name: t("layer_ceiling"), n: at(ceiling), from: lineOf(ceiling), key: ceiling },
  ];
}

const least = 1000, usual = 4000; // characters

// length is what a setting of max_tool_result_length means.
const length = (n: number): number => (n <= 0 ? usual : Math.max(least, n));

const lengthKey = (p: ConfiguredProfile): string[] => (p.default ? ["agent", "max_tool_result_length"] : ["agents", p.name, "max_tool_result_length"]);

function lineOf(key: string[]): string {
  const from = (known.value?.schema.keys || []).map((k) => written(k, key)).find(Boolean);
  return from ? t("fromLine", { line: String(from.line) }) : t("fromDefault");
}

function Bound({ at, name, n }: { at: string[]; name: string; n: number }) {
  return <Field label={name} hideLabel type="number" min={0} step={500} value={n || ""} placeholder={t("none")} onInput={(e) => change(at, e.currentTarget.value === "" ? null : Number(e.currentTarget.value))} />;
}

// Length is the row of one agent.
function Length({ p }: { p: ConfiguredProfile }) {
  const key = lengthKey(p), set = changed(key), value = set ? set.value : valueOf(key);
  return (
    <div class="length">
      <Field label={<code>{p.name}</code>} type="number" step={500} value={value === undefined || value === null ? "" : String(value)} placeholder={t("byWindow")} onInput={(e) => change(key, e.currentTarget.value === "" ? null : Number(e.currentTarget.value))}
        help={`${t("lengthNow", { n: num(set ? length(Number(set.value ?? 0)) : p.limit), model: p.model, why: p.why })} ${p.recommended_most ? t("recommended", { least: num(p.recommended_least), most: num(p.recommended_most) }) : ""}`} />
    </div>
  );
}

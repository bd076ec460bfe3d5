// How much of one result a model reads: every limit, which one decides, and a hand on each.
import { useSignal } from "@preact/signals";
import type { ConfiguredProfile, PluginDecision, ProfileList, ToolList } from "../api";
import { getJSON } from "../core/daemon";
import { num } from "../core/format";
import { pulse } from "../core/pulse";
import { route } from "../core/route";
import { family, t } from "../core/words";
import { Choice, Field } from "../parts/Field";
import { useAsked } from "../parts/use";
import { Kinds } from "./Agents";
import { Rows } from "./Rows";
import { change, changed, known, valueOf, written } from "./state";

export function Limits() {
  const tools = (useAsked(() => getJSON<ToolList>("api/tools"), [pulse.value?.configuration]).data?.tools || []).filter((y) => y.plugin);
  const profiles = useAsked(() => getJSON<ProfileList>("api/profiles"), [pulse.value?.configuration]).data?.profiles || [];
  const tool = useSignal(route.peek().query.get("tool") || ""), profile = useSignal("");
  const x = tools.find((y) => y.spec.name === tool.value) || tools[0], p = profiles.find((y) => y.name === profile.value) || profiles.find((y) => y.default) || profiles[0];
  const asked = x && p ? decision(x.spec.name, p) : "";
  const d = useAsked(async () => (asked ? await getJSON<PluginDecision>(asked) : null), [asked, pulse.value?.configuration]).data;
  if (!x || !p || !d) return <p class="note">{t("loading")}</p>;
  const keys = known.value?.schema.keys || [], top = Math.max(1, ...d.layers!.map((r) => r.chars)), keyOf: Record<string, string[]> = { operator: ["tools", x.spec.name, "max_chars"], ceiling: ["limits", "ceiling_chars"] };
  return (
    <>
      <section class="card">
        <h2>{t("howMuch")}</h2>
        <div class="row">
          <Choice label={t("forTool")} value={x.spec.name} onChange={(e) => { tool.value = e.currentTarget.value; }} options={tools.map((y) => ({ value: y.spec.name, text: y.spec.name }))} />
          <Choice label={t("withProfile")} value={p.name} onChange={(e) => { profile.value = e.currentTarget.value; }} options={profiles.map((y) => ({ value: y.name, text: `${y.name} · ${y.model}` }))} />
        </div>
        <ol class="ladder">
          {d.layers!.map((r) => (
            <li key={r.layer} class={r.layer === d.by ? "decides" : ""}>
              <span>{family(`layer_${r.layer}`)}</span>
              <span class="map" aria-hidden="true">{r.chars > 0 && !r.replaced && <i class="through" style={{ left: 0, width: `${(100 * r.chars) / top}%` }} />}</span>
              {keyOf[r.layer] ? <Bound at={keyOf[r.layer]} name={family(`layer_${r.layer}`)} n={r.chars} /> : <b>{r.chars ? num(r.chars) : "–"}</b>}
              <small>{r.layer === d.by ? t("decidesHere") : r.replaced ? t("replaced") : r.why || from(r.layer, keyOf[r.layer])}</small>
            </li>
          ))}
        </ol>
        <p role="status">{t("lowestDecides", { limit: num(d.chars), layer: family(`layer_${d.by}`) })}</p>
      </section>
      <section class="card">
        <h2><code>max_tool_result_length</code> <small>{t("lengthName")}</small></h2>
        <p class="note">{t("lengthHelp")}</p>
        {profiles.map((y) => <Length key={y.name} p={y} tool={x.spec.name} />)}
        <Kinds />
      </section>
      <section><h2>{t("otherLimits")}</h2><Rows keys={keys.filter((k) => k.key?.[0] === "limits")} /></section>
      <section><h2>{t("limitsOf", { tool: x.spec.name })}</h2><Rows keys={keys.filter((k) => k.key?.[0] === "tools")} names={[x.spec.name]} /></section>
    </>
  );
}

// decision is the address that says which limit decides, with the gathered changes.
function decision(tool: string, p: ConfiguredProfile): string {
  const q = new URLSearchParams({ profile: p.name });
  const note = (name: string, key: string[], unset: string) => { const set = changed(key); if (set) q.set(name, set.value === null || set.value === undefined ? unset : String(Math.max(0, Number(set.value)))); };
  note("max_chars", ["tools", tool, "max_chars"], "0");
  note("ceiling_chars", ["limits", "ceiling_chars"], "");
  note("max_tool_result_length", lengthKey(p), "");
  return `api/tools/${encodeURIComponent(tool)}/limits?${q}`;
}

const from = (layer: string, key?: string[]): string => (layer === "tool" ? "plugin.toml" : layer === "default" ? t("fromLimits") : key ? lineOf(key) : "");

const lengthKey = (p: ConfiguredProfile): string[] => (p.default ? ["agent", "max_tool_result_length"] : ["agents", p.name, "max_tool_result_length"]);

function lineOf(key: string[]): string {
  const from = (known.value?.schema.keys || []).map((k) => written(k, key)).find(Boolean);
  return from ? t("fromLine", { line: String(from.line) }) : t("fromDefault");
}

// Bound shows what was typed at once: the daemon's answer about it, which n is of, comes later.
function Bound({ at, name, n }: { at: string[]; name: string; n: number }) {
  const set = changed(at), value = set ? set.value : n || "";
  return <Field label={name} hideLabel type="number" min={0} step={500} value={value === undefined || value === null ? "" : String(value)} placeholder={t("none")} onInput={(e) => change(at, e.currentTarget.value === "" ? null : Number(e.currentTarget.value))} />;
}

// Length is the row of one agent.
function Length({ p, tool }: { p: ConfiguredProfile; tool: string }) {
  const key = lengthKey(p), set = changed(key), value = set ? set.value : valueOf(key), asked = set ? decision(tool, p) : "";
  const would = useAsked(async () => (asked ? await getJSON<PluginDecision>(asked) : null), [asked]).data?.layers?.find((r) => r.layer === "agent");
  const now = would && set ? { n: num(would.chars), why: would.why || "" } : { n: num(p.limit), why: p.why };
  return (
    <div class="length">
      <Field label={<code>{p.name}</code>} type="number" step={500} value={value === undefined || value === null ? "" : String(value)} placeholder={t("byWindow")} onInput={(e) => change(key, e.currentTarget.value === "" ? null : Number(e.currentTarget.value))}
        help={`${t("lengthNow", { ...now, model: p.model })} ${p.recommended_most ? t("recommended", { least: num(p.recommended_least), most: num(p.recommended_most) }) : t("recommendedNot")}`} />
    </div>
  );
}

// The tools that are ready: what each may do, what a model is shown of its results and
// which limit decides that, what it has cost so far, and a form to try it.
import { useSignal } from "@preact/signals";
import type { PluginToolInfo, Stats, ToolLimits, ToolList } from "../api";
import { getJSON, operator, told } from "../core/daemon";
import { num } from "../core/format";
import { pulse } from "../core/pulse";
import { route, to } from "../core/route";
import { family, lang, t } from "../core/words";
import { Field } from "../parts/Field";
import { Foreign } from "../parts/Foreign";
import { ProblemBox } from "../parts/Problem";
import { Table } from "../parts/Table";
import { useAsked, useKeys, useTitle } from "../parts/use";
import { Try } from "./Try";

export function Tools() {
  const words = useSignal(""), q = words.value.trim(), name = route.value.parts[0] || "";
  const { data, problem } = useAsked(() => getJSON<ToolList>(q ? `api/tools?query=${encodeURIComponent(q)}` : "api/tools"), [q, pulse.value?.tools]);
  const one = useAsked(async () => (name ? await getJSON<PluginToolInfo>(`api/tools/${encodeURIComponent(name)}`) : null), [name, pulse.value?.tools, pulse.value?.configuration]);
  const tools = data?.tools || [];
  useTitle(name);
  useKeys({ "/": () => document.getElementById("find-tool")?.focus() });
  return (
    <main class={`two ${name ? "chosen" : ""}`}>
      <nav class="list" aria-label={t("view_tools")}>
        <h1>{t("view_tools")}</h1>
        <p class="note">{t("toolsHelp")}</p>
        <Field id="find-tool" class="grow once" label={t("findTool")} hideLabel type="search" placeholder={t("findTool")} value={words.value} onInput={(e) => { words.value = e.currentTarget.value; }} />
        {problem && problem.code !== "unreachable" && <ProblemBox alert message={told(problem)} />}
        {data && !tools.length && <p class="note">{t(q ? "noToolFits" : "noTools")}</p>}
        <ul>{tools.map((x) => <li key={x.spec.name}><Row x={x} here={x.spec.name === name} /></li>)}</ul>
      </nav>
      <div class="page">
        <p class="back"><a href={to("tools")}>{t("allTools")}</a></p>
        {!name && <p class="note empty">{t("chooseTool")}</p>}
        {name && one.problem && <ProblemBox alert message={told(one.problem)} />}
        {name && one.data && one.data.spec.name === name && <One key={name} x={one.data} />}
      </div>
    </main>
  );
}

function Row({ x: { spec, plugin, effective, chars_by: by, in_force: d }, here }: { x: PluginToolInfo; here: boolean }) {
  return (
    <a href={to("tools", [spec.name])} class={here ? "here" : ""} aria-current={here ? "page" : undefined}>
      <span><code>{spec.name}</code> {plugin && plugin !== spec.name && <small>{plugin}</small>}</span>
      <small>{d ? t("nCharacters", { n: num(d.chars) }) : bound(effective)}{(d || by) && <> · {family(`layer_${d ? d.by : by}`)}</>}</small>
    </a>
  );
}

function One({ x }: { x: PluginToolInfo }) {
  const { spec } = x;
  const stats = useAsked(() => getJSON<Stats>("api/stats"), [spec.name]).data?.tools?.find((s) => s.tool === spec.name);
  return (
    <>
      <header>
        <h1><code>{spec.name}</code></h1>
        <p><Foreign text={(lang.value === "zh" && spec.description_zh) || spec.description} /></p>
        <p class="chips">
          {x.effect && <span>{family(`effect_${x.effect}`)}</span>}
          {x.tokens && <span>{t("costOf", { n: num(x.tokens) })}</span>}
          {stats && <span>{t("callsSoFar", { calls: num(stats.calls), cut: num(stats.cut), loaded: num(stats.loaded_back) })}</span>}
          {operator() && x.plugin && <a href={to("plugins", [x.plugin])}>{t("itsPlugin", { plugin: x.plugin })}</a>}
        </p>
      </header>
      <Try x={x} />
      <section>
        <h2>{t("bounds")}</h2>
        {x.in_force && <p>{t("agentReads", { profile: x.in_force.profile || "", limit: num(x.in_force.chars), layer: family(`layer_${x.in_force.by}`), next: num(x.in_force.next), nextLayer: family(`layer_${x.in_force.next_by}`) })}</p>}
        <Table label={t("bounds")} numbers={[1, 2]} head={["bound", "declared", "effective", "by"].map((k) => family(`boundcol_${k}`))} rows={bounds(x)} />
        {operator() && <p><a href={to("settings", ["limits"], { tool: spec.name })}>{t("changeLimits")}</a></p>}
      </section>
    </>
  );
}

// bound is how much of a result is shown; 0 lines: any number.
export const bound = (e: ToolLimits): string => [t("nCharacters", { n: num(e.max_chars) }), (e.max_lines || 0) > 0 ? t("nLines", { n: num(e.max_lines) }) : ""].filter(Boolean).join(" · ");

// bounds are the rows of what a tool declares, what holds, and which layer decides it.
function bounds(x: PluginToolInfo): string[][] {
  const d = x.declared, e = x.effective, by = (layer?: string) => (layer ? family(`layer_${layer}`) : "");
  const count = (n?: number) => (n ? num(n) : "–"), time = (ns?: number) => (ns ? `${num(ns / 1e9)} s` : "–");
  return [
    [t("bound_chars"), count(d.max_chars), count(e.max_chars), by(x.chars_by)],
    [t("bound_lines"), count(d.max_lines), count(e.max_lines), by(x.lines_by)],
    [t("strategy"), d.strategy ? family(`strategy_${d.strategy}`) : "–", e.strategy ? family(`strategy_${e.strategy}`) : "–", by(x.strategy_by)],
    [t("bound_keep"), (d.keep || []).join(", ") || "–", (e.keep || []).join(", ") || "–", ""],
    [t("bound_timeout"), time(d.timeout), time(e.timeout), by(x.timeout_by)],
    [t("bound_memory"), d.memory || "–", e.memory || "–", by(x.memory_by)],
    [t("bound_parallel"), "–", count(x.parallel), by(x.parallel_by)],
    [t("bound_minute"), "–", count(x.per_minute), ""],
    [t("bound_cache"), "–", time(x.cache_ttl), ""],
  ].filter((row) => row[1] !== "–" || row[2] !== "–");
}


// The tools that are ready, and what a model is shown of their results.
import { useSignal } from "@preact/signals";
import type { PluginToolInfo, ToolList } from "../api";
import { getJSON, told } from "../core/daemon";
import { num } from "../core/format";
import { pulse } from "../core/pulse";
import { family, lang, t } from "../core/words";
import { Field } from "../parts/Field";
import { Foreign } from "../parts/Foreign";
import { ProblemBox } from "../parts/Problem";
import { useAsked } from "../parts/use";

export function Tools() {
  const words = useSignal(""), q = words.value.trim();
  const { data, problem } = useAsked(() => getJSON<ToolList>(q ? `api/tools?query=${encodeURIComponent(q)}` : "api/tools"), [q, pulse.value?.tools]);
  const tools = data?.tools || [];
  return (
    <main class="page">
      <h1>{t("tools")}</h1>
      <p class="note">{t("toolsHelp")}</p>
      <Field label={t("findTool")} hideLabel type="search" placeholder={t("findTool")} value={words.value} onInput={(e) => { words.value = e.currentTarget.value; }} />
      {problem && problem.code !== "unreachable" && <ProblemBox alert message={told(problem)} />}
      {data && !tools.length && <p class="note">{t(q ? "noToolFits" : "noTools")}</p>}
      <ul class="tool-rows">{tools.map((x) => <li key={x.spec.name}><Row x={x} /></li>)}</ul>
    </main>
  );
}

function Row({ x: { spec, plugin, effective, chars_by: by } }: { x: PluginToolInfo }) {
  return (
    <>
      <code>{spec.name}</code> {plugin && plugin !== spec.name && <small>{plugin}</small>}
      <p><Foreign text={(lang.value === "zh" && spec.description_zh) || spec.description} /></p>
      <small>{t("toolLimit", { chars: num(effective.max_chars), lines: num(effective.max_lines), layer: family(`layer_${by || "default"}`) })}</small>
    </>
  );
}

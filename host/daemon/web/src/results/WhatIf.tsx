// "What if the limit were …": the result is cut again under other limits, and the map and
// the text follow. What pleases is saved for the tool.
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { ArchivePage, CutText, PluginDecision } from "../api";
import { getJSON, operator, send, told } from "../core/daemon";
import { num, shown } from "../core/format";
import { family, t } from "../core/words";
import { Button } from "../parts/Button";
import { CutMap, cutOf } from "../parts/CutMap";
import { Choice, Field } from "../parts/Field";
import { useAsked } from "../parts/use";
import { SaveSettings } from "../settings/Save";

const least = 500, most = 32_768, step = 500; // characters
const wait = 150; // milliseconds after the last movement

export function WhatIf({ page, cut, show }: { page: ArchivePage; cut: CutText | null; show: (cut: CutText | null) => void }) {
  const max = useSignal(page.shown?.limit && page.shown.unit === "characters" ? Math.min(most, page.shown.limit) : 0), strategy = useSignal(""), keep = useSignal(""), agent = useSignal(page.shown?.layer === "agent" ? String(page.shown.limit) : "");
  const moved = useSignal(false), trouble = useSignal(""), text = useSignal(false), asked = useRef(0);
  const inForce = useAsked(async () => (page.tool ? await getJSON<PluginDecision>(`api/tools/${encodeURIComponent(page.tool)}/limits`) : null), [page.tool]).data;
  useEffect(() => { if (!max.value && inForce) max.value = Math.min(most, inForce.chars); }, [inForce]);
  useEffect(() => {
    if (!moved.value) return;
    const turn = ++asked.current;
    const timer = setTimeout(async () => {
      try {
        const answer = await send<CutText>("POST", "api/cut", body());
        if (turn !== asked.current) return;
        trouble.value = "";
        show(answer);
      } catch (err) { if (turn === asked.current) trouble.value = told(err); }
    }, wait);
    return () => clearTimeout(timer);
  }, [moved.value, max.value, strategy.value, keep.value, agent.value]);
  const patterns = () => keep.value.split("\n").map((s) => s.trim()).filter(Boolean);
  const body = () => ({
    uuid: page.uuid, max_chars: max.value, ...(strategy.value && { strategy: strategy.value }), ...(patterns().length && { keep: patterns() }),
    ...(Number(agent.value) > 0 && { max_tool_result_length: Number(agent.value) }),
  });
  const move = (act: () => void) => { act(); moved.value = true; };
  const changes = () => [
    { key: ["tools", page.tool, "max_chars"], value: max.value },
    ...(strategy.value ? [{ key: ["tools", page.tool, "strategy"], value: strategy.value }] : []),
    ...(patterns().length ? [{ key: ["tools", page.tool, "keep"], value: patterns() }] : []),
  ];
  return (
    <section class="what-if" aria-label={t("whatIf")}>
      <h2>{t("whatIf")}</h2>
      <label for="what-if">{t("whatIfMax", { n: num(max.value) })}</label>
      <input id="what-if" type="range" min={least} max={most} step={step} value={max.value} aria-valuetext={t("nCharacters", { n: num(max.value) })} onInput={(e) => move(() => { max.value = Number(e.currentTarget.value); })} />
      <div class="row">
        <Choice label={t("strategy")} value={strategy.value} onChange={(e) => move(() => { strategy.value = e.currentTarget.value; })} options={[{ value: "", text: t("strategyOwn") }, ...["head_tail", "head_only", "tail_only", "json"].map((s) => ({ value: s, text: family(`strategy_${s}`) }))]} />
        <Field label={t("agentLimit")} type="number" min={0} size={7} value={agent.value} placeholder={t("none")} onInput={(e) => move(() => { agent.value = e.currentTarget.value; })} />
      </div>
      <label for="what-keep">{t("keepLines")}</label>
      <textarea id="what-keep" rows={2} spellcheck={false} placeholder="panic|FAIL" value={keep.value} onInput={(e) => move(() => { keep.value = e.currentTarget.value; })} />
      {trouble.value && <p class="bad" role="alert">{trouble.value}</p>}
      {cut && (
        <>
          <CutMap cut={cutOf(cut)} />
          <p role="status"><strong>{t("through", { shown: num(cut.shown), produced: num(cut.produced) })}</strong> {t("aboutTokens", { n: num(cut.tokens) })} {cut.layer && <span class="note">{t("decides", { layer: family(`layer_${cut.layer}`), limit: num(cut.limit), unit: family(`unit_${cut.unit || "characters"}`) })}</span>}</p>
          <div class="row">
            {operator() && <SaveSettings label={t("saveFor", { tool: page.tool })} changes={changes} />}
            <Button aria-expanded={text.value} onClick={() => { text.value = !text.value; }}>{t("seeText")}</Button>
            <Button onClick={() => { moved.value = false; text.value = false; show(null); }}>{t("asItWas")}</Button>
          </div>
          {text.value && <pre class="read" tabIndex={0}>{shown(cut.text)}</pre>}
        </>
      )}
    </section>
  );
}

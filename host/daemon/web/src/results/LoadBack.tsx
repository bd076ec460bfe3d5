// Loads what is selected of a result with the next question of its conversation, and says
// before how much of it fits.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { ArchivePage, Fit } from "../api";
import { Problem } from "../core/daemon";
import { num } from "../core/format";
import { go, to } from "../core/route";
import { family, t } from "../core/words";
import { modelIn } from "../ask/state";
import { Button } from "../parts/Button";
import { Field } from "../parts/Field";
import { fitsOf, fitText, kindOf, loads, most, type Selection } from "./loads";
import type { Range } from "./Virtual";

const form = /^\d+(\s*-\s*\d*)?$/; // of lines: 100-160, 100- or 100
const special = /[.*+?^${}()|[\]\\]/g;

export function LoadBack({ page, selected, hits, q, regex, pointer, drop }: { page: ArchivePage; selected: Range | null; hits: number; q: string; regex: boolean; pointer: string; drop: () => void }) {
  const typed = useSignal(""), fit = useSignal<{ fit?: Fit; problem?: Problem }>({}), matches = useSignal(false);
  useEffect(() => { if (selected) { typed.value = selected.first === selected.last ? String(selected.first) : `${selected.first}-${selected.last}`; matches.value = false; } }, [selected?.first, selected?.last]);
  useEffect(() => { matches.value = hits > 0 && !typed.value; }, [hits > 0]);
  const wrong = Boolean(typed.value.trim()) && !form.test(typed.value.trim());
  const part: Selection = pointer.startsWith("/") ? { pointer } : matches.value && hits ? { grep: regex ? q : `(?i)${q.replace(special, "\\$&")}` } : typed.value.trim() ? { lines: typed.value.trim() } : {};
  const key = JSON.stringify(part);
  useEffect(() => {
    fit.value = {};
    if (wrong) return;
    let over = false;
    const timer = setTimeout(() => fitsOf(page.conversation_id, modelIn(page.conversation_id), [...loads.of(page.conversation_id).slice(0, most - 1), { uuid: page.uuid, tool: page.tool, part }])
      .then((all) => { if (!over) fit.value = { fit: all.at(-1) }; }, (problem: Problem) => { if (!over) fit.value = { problem }; }), 200);
    return () => { over = true; clearTimeout(timer); };
  }, [key, wrong]);
  const take = () => { if (loads.add(page.conversation_id, { uuid: page.uuid, tool: page.tool, part })) go(to("ask", [page.conversation_id])); };
  return (
    <section class="load-back" aria-label={t("loadBack")}>
      <h2>{t("loadBack")}</h2>
      <Field label={t("lines")} size={14} placeholder={t("allLines")} value={typed.value} onInput={(e) => { typed.value = e.currentTarget.value; matches.value = false; if (!e.currentTarget.value) drop(); }} help={t("linesPick")} />
      {hits > 0 && <p><input type="checkbox" id="load-hits" checked={matches.value} onChange={(e) => { matches.value = e.currentTarget.checked; }} /> <label for="load-hits">{t("loadHits", { n: num(hits) })}</label></p>}
      <p role="status" class={fit.value.problem || (fit.value.fit && fit.value.fit.fits < fit.value.fit.chars) ? "bad" : "note"}>{wrong ? t("linesHow") : fitText(fit.value)}</p>
      <Button id="load-back" kind="main" disabled={wrong || Boolean(fit.value.problem)} onClick={take}>{family(`loadBack_${kindOf(part)}`)}</Button>
    </section>
  );
}

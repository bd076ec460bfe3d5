// The box for the question, what it brings along, and who is asked.
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { ConfiguredModels, ProfileList } from "../api";
import { getJSON } from "../core/daemon";
import { num } from "../core/format";
import { pulse } from "../core/pulse";
import { t } from "../core/words";
import { fitText, loads, nameOf, wanted } from "../results/loads";
import { Button } from "../parts/Button";
import { Choice } from "../parts/Field";
import { useAsked } from "../parts/use";
import { Choose } from "./Choose";
import { ask, borrowed, type Conversation, draft } from "./state";

export function Composer({ c }: { c: Conversation }) {
  const models = useAsked(() => getJSON<ConfiguredModels>("api/models"), [pulse.value?.configuration]).data?.models || [];
  const profiles = useAsked(() => getJSON<ProfileList>("api/profiles"), [pulse.value?.configuration]).data?.profiles || [];
  const box = useRef<HTMLTextAreaElement>(null), running = Boolean(c.stream.value);
  const { model, profile } = c.chosen.value, list = loads.of(c.id), chosen = models.find((m) => m.name === model) || models.find((m) => m.default) || models[0];
  useEffect(() => { loads.weigh(c.id, model || ""); }, [c.id, model, list.map((l) => l.uuid + JSON.stringify(l.part)).join()]);
  const focus = () => { if (!matchMedia("(pointer: coarse)").matches) box.current?.focus(); };
  useEffect(() => { if (!c.place.value) focus(); }, [c]);
  const submit = () => {
    const question = draft.value.trim(), foreign = borrowed.value;
    if (!question || running) return;
    draft.value = "";
    focus();
    ask(question, list.map(wanted), foreign);
  };
  const key = (e: KeyboardEvent) => {
    // While an input method composes, Enter chooses a word. Safari ends the composition
    // first and gives the key the code 229.
    if (e.key !== "Enter" || e.shiftKey || e.isComposing || e.keyCode === 229) return;
    e.preventDefault();
    submit();
  };
  if (c.client.value !== null) return <p class="note">{t("passedTalk", { client: c.client.value || t("anyClient") })}</p>;
  return (
    <>
      {chosen?.simulated && <Demo />}
      <form class="ask" onSubmit={(e) => { e.preventDefault(); submit(); }}>
        {list.length > 0 && (
          <ul class="loads" aria-label={t("loads")}>
            {list.map((l) => (
              <li key={l.uuid + JSON.stringify(l.part)}>
                <span>{nameOf(l)}</span>
                <small class={l.problem || (l.fit && l.fit.fits < l.fit.chars) ? "bad" : ""}>{fitText(l)}</small>
                <Button kind="bare" aria-label={t("loadNot", { what: nameOf(l) })} onClick={() => { loads.drop(c.id, l); box.current?.focus(); }}>×</Button>
              </li>
            ))}
          </ul>
        )}
        <label class="unseen" for="question">{t("question")}</label>
        <textarea id="question" ref={box} rows={1} placeholder={t("questionHint")} aria-describedby="keys" value={draft.value} onInput={(e) => { draft.value = e.currentTarget.value; }} onKeyDown={key} />
        <div class="row">
          {models.length > 1 && <Choice label={t("model")} hideLabel value={chosen?.name} onChange={(e) => c.choose({ model: e.currentTarget.value })} options={models.map((m) => ({ value: m.name, text: m.window ? `${m.name} · ${num(Math.round(m.window / 1024))}k` : m.name }))} />}
          {profiles.length > 1 && <Choice label={t("profile")} hideLabel value={profile || c.trace.value?.profile || profiles.find((p) => p.default)?.name} onChange={(e) => c.choose({ profile: e.currentTarget.value })} options={profiles.map((p) => ({ value: p.name, text: p.name }))} />}
          <Choose c={c} />
          <small id="keys">{t("keys")}</small>
          <span class="space" />
          {running && <Button onClick={() => { c.stream.value?.end(); box.current?.focus(); }}>{t("stop")}</Button>}
          <Button kind="main" submit disabled={running}>{t("send")}</Button>
        </div>
      </form>
    </>
  );
}

function Demo() {
  const hidden = useSignal(false);
  if (hidden.value) return null;
  return (
    <p class="demo" role="note">
      <span><strong>{t("demoTitle")}</strong> {t("demoHelp")}</span>
      <Button kind="bare" aria-label={t("hide")} onClick={() => { hidden.value = true; }}>×</Button>
    </p>
  );
}

// The second step of an approval: what was looked at, in one sentence, what it gets with
// it, and a yes to exactly that.
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { PluginAsk, PluginReview, PowerGrant } from "../api";
import { family, t } from "../core/words";
import { Button } from "../parts/Button";

export interface Wish { ask: PluginAsk; given: boolean; folder: string; only: string }

// wide reports whether an ask is for several hosts or ports, of which some can be granted.
const wide = (a: PluginAsk) => a.kind === "host" && a.what.includes("*");
const part = (w: Wish) => wide(w.ask) && w.only.trim() !== "" && w.only.trim() !== w.ask.what;

export function Confirm({ r, wishes, no, yes }: { r: PluginReview; wishes: Wish[]; no: () => void; yes: (grants: PowerGrant[]) => void }) {
  const list = useSignal(wishes), back = useRef<HTMLButtonElement>(null), v = (r.waiting || r.serving)!;
  useEffect(() => back.current?.focus(), []);
  const set = (i: number, more: Partial<Wish>) => { list.value = list.value.map((w, j) => (i === j ? { ...w, ...more } : w)); };
  const grants = () => list.value.filter((w) => w.given).map((w) => ({ kind: w.ask.kind, what: w.ask.what, ...(w.ask.kind === "path" && { folder: w.folder.trim() }), ...(part(w) && { only: w.only.trim() }) }));
  const missing = list.value.some((w) => !w.given);
  return (
    <div class="question">
      <p>{t(v.asks?.length ? "confirmPowers" : "confirmPlain", { name: r.plugin.name, digest: v.digest.slice(0, 12) })}</p>
      {list.value.length > 0 && (
        <ul class="wishes">
          {list.value.map((w, i) => (
            <li key={w.ask.kind + w.ask.what}>
              <input type="checkbox" id={`wish-${i}`} checked={w.given} onChange={(e) => set(i, { given: e.currentTarget.checked })} />
              <label for={`wish-${i}`}>{family(`can_${w.ask.kind}`)} <code>{w.ask.what}</code></label>
              {w.ask.kind === "path" && <span><label for={`folder-${i}`}>{t("grantFolder")}</label> <input id={`folder-${i}`} value={w.folder} size={12} autocomplete="off" spellcheck={false} onInput={(e) => set(i, { folder: e.currentTarget.value })} /></span>}
              {wide(w.ask) && <span><label for={`only-${i}`}>{t("grantOnly")}</label> <input id={`only-${i}`} value={w.only} size={24} autocomplete="off" spellcheck={false} onInput={(e) => set(i, { only: e.currentTarget.value })} /></span>}
            </li>
          ))}
        </ul>
      )}
      {missing && <p class="note">{t("notAllGiven")}</p>}
      <div class="row">
        <Button ref={back} onClick={no}>{t("notNow")}</Button>
        <Button kind="main" onClick={() => yes(grants())}>{t("yesRun")}</Button>
      </div>
    </div>
  );
}

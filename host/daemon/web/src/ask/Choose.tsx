// The choice of the tools that the model has in a conversation.
import { useSignal } from "@preact/signals";
import type { ToolList } from "../api";
import { getJSON } from "../core/daemon";
import { num, shown } from "../core/format";
import { pulse } from "../core/pulse";
import { t } from "../core/words";
import { Button } from "../parts/Button";
import { Dialog } from "../parts/Dialog";
import { Tick } from "../parts/Field";
import { useAsked } from "../parts/use";
import type { Conversation } from "./state";

export function Choose({ c }: { c: Conversation }) {
  const all = (useAsked(() => getJSON<ToolList>("api/tools"), [pulse.value?.tools]).data?.tools || []).map((x) => x.spec), open = useSignal(false);
  const without = c.chosen.value.without || [], names = all.map((x) => x.name), on = names.filter((name) => !without.includes(name));
  if (!names.length) return null;
  return (
    <>
      <Button aria-haspopup="dialog" onClick={() => { open.value = true; }}>{on.length === names.length ? t("allTools") : t("someTools", { n: num(on.length), all: num(names.length) })}</Button>
      {open.value && (
        <Dialog title={t("toolsHere")} close={() => { open.value = false; }}>
          <p class="note">{t("toolsHereHelp")}</p>
          <p class="row">
            <Button onClick={() => c.choose({ without: [] })}>{t("everyTool")}</Button>
            <Button onClick={() => c.choose({ without: names })}>{t("noTool")}</Button>
          </p>
          <ul class="choose">
            {all.map((x) => (
              <li key={x.name}>
                <Tick label={<code>{x.name}</code>} checked={!without.includes(x.name)} onChange={(e) => c.choose({ without: e.currentTarget.checked ? without.filter((name) => name !== x.name) : [...without, x.name] })} />
                <small>{shown(x.description)}</small>
              </li>
            ))}
          </ul>
        </Dialog>
      )}
    </>
  );
}

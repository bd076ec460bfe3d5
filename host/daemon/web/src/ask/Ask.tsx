// The view in which one asks: conversations, the log, and what the model sees.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { shown } from "../core/format";
import { t } from "../core/words";
import { Button } from "../parts/Button";
import { Composer } from "./Composer";
import { Log } from "./Log";
import { Sees } from "./Sees";
import { current } from "./state";
import { Talks } from "./Talks";

export function Ask() {
  const c = current.value, drawer = useSignal(""), title = shown(c.title.value).slice(0, 60) || (c.turns.value[0]?.question.slice(0, 60) ?? "");
  useEffect(() => {
    const key = (e: KeyboardEvent) => {
      if (e.isComposing) return;
      if (e.key.toLowerCase() === "k" && (e.ctrlKey || e.metaKey) && !document.querySelector("dialog[open]")) {
        e.preventDefault();
        drawer.value = "chats";
        document.getElementById("find")?.focus();
      }
      if (e.key === "Escape" && drawer.value && !document.querySelector("dialog[open]")) {
        document.getElementById(`show-${drawer.value}`)?.focus();
        drawer.value = "";
      }
    };
    document.addEventListener("keydown", key);
    return () => document.removeEventListener("keydown", key);
  }, []);
  const toggle = (name: string) => { drawer.value = drawer.value === name ? "" : name; };
  return (
    <div class="ask-view">
      <Talks open={drawer.value === "chats"} close={() => { drawer.value = ""; }} />
      <main class="talk">
        <header class="talk-head">
          <Button id="show-chats" class="narrow" aria-expanded={drawer.value === "chats"} aria-controls="chats" onClick={() => toggle("chats")}>{t("chats")}</Button>
          <h1 class={title ? "" : "unseen"}>{title || t("newChat")}</h1>
          <span class="space" />
          <Button id="show-sees" class="medium" aria-expanded={drawer.value === "sees"} aria-controls="sees" onClick={() => toggle("sees")}>{t("sees")}</Button>
        </header>
        <Log c={c} />
        <Composer c={c} />
      </main>
      <aside id="sees" class={`sees ${drawer.value === "sees" ? "open" : ""}`} aria-label={t("sees")} tabIndex={0}><Sees c={c} /></aside>
    </div>
  );
}

// The list of conversations, and the search in them.
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { ConversationRow, ConversationsFound } from "../api";
import { api, away, getJSON, Problem, told } from "../core/daemon";
import { num, shortly, shown } from "../core/format";
import { pulse } from "../core/pulse";
import { go, to } from "../core/route";
import { family, t } from "../core/words";
import { Button } from "../parts/Button";
import { Marked } from "../parts/Marked";
import { About } from "./About";
import { current, fresh, list, listed, next, older } from "./state";

const typed = 250; // milliseconds without a key before the search begins

export function Talks({ open, close }: { open: boolean; close: () => void }) {
  const words = useSignal(""), found = useSignal<ConversationsFound | null>(null), said = useSignal(""), about = useSignal<ConversationRow | null>(null);
  const asked = useRef(0);
  useEffect(() => {
    const turn = ++asked.current, q = words.value.trim();
    said.value = "";
    if (!q) { found.value = null; return; }
    const timer = setTimeout(async () => {
      try {
        const answer = await getJSON<ConversationsFound>(`api/conversations/search?limit=50&q=${encodeURIComponent(q)}`);
        if (turn !== asked.current) return;
        found.value = answer;
        said.value = t(answer.stopped ? "foundSome" : "found", { n: num(answer.hits?.length) });
      } catch (err) { if (turn === asked.current) said.value = told(err); }
    }, typed);
    return () => clearTimeout(timer);
  }, [words.value]);
  const begin = () => { if (location.hash !== to("ask")) go(to("ask")); fresh(); close(); document.getElementById("question")?.focus(); };
  const status = said.value || (away.value ? "" : listed.value);
  return (
    <nav id="chats" class={`side ${open ? "open" : ""}`} aria-label={t("chats")}>
      <Button kind="main" class="wide" onClick={begin}>{t("newChat")}</Button>
      <form role="search" onSubmit={(e) => e.preventDefault()}>
        <label class="unseen" for="find">{t("search")}</label>
        <input id="find" type="search" placeholder={t("search")} autocomplete="off" spellcheck={false} aria-keyshortcuts="Control+K" value={words.value} onInput={(e) => { words.value = e.currentTarget.value; }} />
      </form>
      <p class="note" role="status">{status}</p>
      {found.value ? <Hits found={found.value} words={words.value} close={close} /> : <Rows about={(row) => { about.value = row; }} close={close} />}
      {!found.value && next.value && <Button class="wide" onClick={() => older().catch((err: Problem) => { said.value = told(err); })}>{t("older")}</Button>}
      {about.value && <About row={about.value} close={() => { about.value = null; }} said={(text) => { said.value = text; }} />}
    </nav>
  );
}

function Rows({ about, close }: { about: (row: ConversationRow) => void; close: () => void }) {
  const rows = list.value;
  if (!rows) return null; // nothing is known yet
  if (!rows.length) return <p class="note">{t("noChats")}</p>;
  return (
    <ul class="talks">
      {rows.map((c) => {
        const title = shown(c.title || t("untitled")), here = c.id === current.value.id;
        return (
          <li key={c.id} class={here ? "here" : ""}>
            <Button kind="bare" class="open" aria-current={here ? "true" : undefined} onClick={() => { go(to("ask", [c.id])); close(); }}>
              <span>{title}</span>
              <small>{(pulse.value?.answering || []).includes(c.id) ? t("answering") : shortly(c.updated_at)}{c.passed && c.client ? ` · ${shown(c.client)}` : ""}{c.cut ? ` · ${t("cutOf", { n: num(c.cut) })}` : ""}</small>
            </Button>
            <Button kind="bare" class="about" title={t("about")} aria-haspopup="dialog" aria-label={t("aboutThis", { title })} onClick={() => about(c)}><span aria-hidden="true">⋯</span></Button>
          </li>
        );
      })}
    </ul>
  );
}

function Hits({ found, words, close }: { found: ConversationsFound; words: string; close: () => void }) {
  const hits = found.hits || [];
  if (!hits.length) return <p class="note">{t("foundNone")}</p>;
  return (
    <ul class="talks">
      {hits.map((h, i) => (
        <li key={i}>
          <Button kind="bare" class="open" onClick={() => { go(to("ask", [h.conversation_id], { m: String(h.message) })); close(); }}>
            {hits[i - 1]?.conversation_id !== h.conversation_id && <span>{shown(h.title || t("untitled"))}</span>}
            {h.where !== "title" && <small>{family(`where_${h.where}`)}: <Marked text={shown(h.snippet)} words={words} /></small>}
          </Button>
        </li>
      ))}
    </ul>
  );
}

export const rename = (id: string, title: string) => api(`api/conversations/${encodeURIComponent(id)}`, { method: "PATCH", body: JSON.stringify({ title }), headers: { "Content-Type": "application/json" } });

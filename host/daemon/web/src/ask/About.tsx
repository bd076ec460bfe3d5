// What is known of a conversation; here a person renames, saves or deletes it.
import { useSignal } from "@preact/signals";
import type { ConversationRow, DeletedConversation } from "../api";
import { api, send, told } from "../core/daemon";
import { moment, money, num, shown, size } from "../core/format";
import { go, to } from "../core/route";
import { fileName, save } from "../core/save";
import { family, lang, t, type Word } from "../core/words";
import { Button } from "../parts/Button";
import { Dialog } from "../parts/Dialog";
import { Field, Tick } from "../parts/Field";
import { current, refresh } from "./state";
import { rename } from "./Talks";

const formats: [string, string, Word][] = [["markdown", "md", "asMarkdown"], ["json", "json", "asJSON"], ["jsonl", "jsonl", "asLines"]];

export function About({ row, close, said }: { row: ConversationRow; close: () => void; said: (text: string) => void }) {
  const title = useSignal(row.title), told_ = useSignal(""), whole = useSignal(false), sure = useSignal(false);
  const path = (what = "") => `api/conversations/${encodeURIComponent(row.id)}${what}`;
  const doing = async (act: () => Promise<string>) => {
    told_.value = t("loading");
    try { told_.value = await act(); } catch (err) { told_.value = told(err); }
  };
  const newName = () => doing(async () => {
    title.value = (await (await rename(row.id, title.value)).json()).title;
    if (current.value.id === row.id) current.value.title.value = title.value;
    refresh();
    return t("renamed");
  });
  const take = (format: string, end: string) => doing(async () => {
    const query = new URLSearchParams({ format, archives: String(format === "jsonl" || whole.value), locale: lang.value }); // JSON Lines always has them
    const name = `${fileName(title.value, "conversation")}.${end}`;
    const n = await save(await api(path(`/export?${query}`)), name, (bytes) => { told_.value = t("saving", { size: size(bytes) }); });
    return t("saved", { name, size: size(n) });
  });
  const remove = () => doing(async () => {
    const gone = await send<DeletedConversation>("DELETE", path());
    if (row.id === current.value.id) go(to("ask"));
    close();
    await refresh();
    said(t("deleted", { messages: num(gone.messages), archives: num(gone.archives) }));
    return "";
  });
  return (
    <Dialog title={t("about")} close={close}>
      <form class="row" onSubmit={(e) => { e.preventDefault(); newName(); }}>
        <Field class="grow" label={t("where_title")} value={title.value} onInput={(e) => { title.value = e.currentTarget.value; }} help={t("renameHelp")} />
        <Button kind="main" submit>{t("rename")}</Button>
      </form>
      <dl class="facts">{facts(row).filter(([, v]) => v).map(([key, v]) => [<dt key={key}>{family(`fact_${key}`)}</dt>, <dd key={`${key}-v`}>{v}</dd>])}</dl>
      <h3>{t("takeAway")}</h3>
      <div class="row">
        {formats.map(([format, end, word]) => <Button key={format} onClick={() => take(format, end)}>{t(word)}</Button>)}
        <Tick label={t("withWhole")} checked={whole.value} onChange={(e) => { whole.value = e.currentTarget.checked; }} />
      </div>
      <p class="note" role="status">{told_.value}</p>
      <div class="row">
        {sure.value ? (
          <>
            <p role="alert">{t("deleteAsk")}</p>
            <Button autofocus onClick={() => { sure.value = false; }}>{t("keepIt")}</Button>
            <Button kind="danger" onClick={remove}>{t("deleteYes")}</Button>
          </>
        ) : <Button class="bad" onClick={() => { sure.value = true; }}>{t("delete")}</Button>}
      </div>
    </Dialog>
  );
}

const facts = (c: ConversationRow): [string, string][] => [
  ["turns", num(c.turns)], ["calls", t("factCut", { calls: num(c.calls), cut: num(c.cut) })], ["kept", t("factBytes", { n: num(c.archives), size: size(c.archive_bytes) })],
  ["models", (c.models || []).join(", ")], ["tokens", t("factInOut", { in: num(c.prompt_tokens), out: num(c.completion_tokens) })], ["cost", money(c.cost)], ["made", moment(c.created_at)],
  ["client", c.passed ? shown(c.client || t("anyClient")) : ""],
];

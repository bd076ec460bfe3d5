// The list of conversations, the search in them, and the dialog in which a
// person renames one, takes it away as a file or deletes it.
import { $, api, el, getJSON, moment, money, num, problemText, size, t } from "./base.js";

const path = (id, what = "") => `api/conversations/${encodeURIComponent(id)}${what}`;
const shortly = 250; // milliseconds without a key before the search begins

let list = [], next = "", asked = 0, timer = 0;
let talk; // what app.js does with the open conversation

// listChats fills the list: what is searched for, or else the conversations
// used last.
export async function listChats() {
  const words = $("find").value.trim();
  if (words) return search(words);
  const turn = ++asked;
  let page;
  try {
    page = await getJSON("api/conversations");
  } catch (err) { // what is listed may still be true; that there is nothing would not be
    if (turn === asked) $("found").textContent = err.code === "unreachable" ? "" : problemText(err); // which the page says elsewhere
    return;
  }
  if (turn !== asked) return; // somebody types meanwhile
  list = page.conversations || [];
  next = page.next || "";
  $("found").textContent = "";
  draw();
}

async function older() {
  const page = await getJSON(`api/conversations?cursor=${encodeURIComponent(next)}`).catch(talk.report);
  if (!page) return;
  const first = list.length;
  list = list.concat(page.conversations || []);
  next = page.next || "";
  draw();
  $("chat-list").children[first]?.querySelector("button").focus();
}

function draw() {
  const rows = list.map((c) => {
    const title = c.title || t("untitled");
    const button = el("button", { type: "button", class: "open", onclick: () => talk.openChat(c.id).catch(talk.report) },
      el("span", {}, title), el("small", {}, c.updated_at ? moment(c.updated_at) : ""));
    if (c.id === talk.here()) button.setAttribute("aria-current", "true");
    return el("li", {}, button, el("button", { type: "button", class: "about", title: t("about"), "aria-haspopup": "dialog", "aria-label": t("aboutThis", { title }), onclick: () => about.open(c) },
      el("span", { "aria-hidden": "true" }, "⋯")));
  });
  show(rows, t("noChats"));
  $("older").hidden = !next;
}

function show(rows, none) {
  $("chat-list").replaceChildren(...(rows.length ? rows : [el("li", { class: "note" }, none)]));
}

// search shows the messages that contain the words; a click opens the message.
async function search(words) {
  const turn = ++asked;
  let found;
  try {
    found = await getJSON(`api/conversations/search?limit=50&q=${encodeURIComponent(words)}`);
  } catch (err) {
    if (turn === asked) $("found").textContent = problemText(err);
    return;
  }
  if (turn !== asked) return;
  $("older").hidden = true;
  $("found").textContent = t(found.stopped ? "foundSome" : "found", { n: num(found.hits.length) });
  let before = "";
  show(found.hits.map((h) => {
    const title = h.conversation_id === before ? null : el("span", {}, h.title || t("untitled"));
    before = h.conversation_id;
    const where = t(`where_${h.where}`);
    return el("li", {}, el("button", { type: "button", class: "open", onclick: () => talk.openChat(h.conversation_id, h.message).catch(talk.report) },
      title, h.where === "title" ? null : el("small", {}, `${where}: `, ...marked(h.snippet, words))));
  }), t("foundNone"));
}

// marked sets the words apart in a text.
function marked(text, words) {
  const any = words.split(/\s+/).map((w) => w.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|");
  return text.split(new RegExp(`(${any})`, "giu")).map((part, i) => (i % 2 ? el("mark", {}, part) : part));
}

// ---- one conversation

const about = {
  open(c) {
    this.id = c.id;
    $("talk-title").value = c.title || "";
    $("talk-said").textContent = "";
    $("talk-whole").checked = false;
    const facts = [["turns", num(c.turns)], ["calls", t("factCut", { calls: num(c.calls), cut: num(c.cut) })],
      ["kept", t("factBytes", { n: num(c.archives), size: size(c.archive_bytes) })], ["models", (c.models || []).join(", ")],
      ["tokens", t("factInOut", { in: num(c.prompt_tokens), out: num(c.completion_tokens) })], ["cost", money(c.cost)], ["made", moment(c.created_at)]];
    $("talk-facts").replaceChildren(...facts.filter(([, v]) => v).flatMap(([key, v]) => [el("dt", {}, t(`fact_${key}`)), el("dd", {}, v)]));
    this.acts();
    $("talk").showModal();
    $("talk-title").focus();
  },

  // doing runs one request and says what came of it.
  async doing(f) {
    $("talk-said").textContent = t("loading");
    try { $("talk-said").textContent = await f(); } catch (err) { $("talk-said").textContent = problemText(err); }
  },

  rename() {
    return this.doing(async () => {
      const res = await api(path(this.id), { method: "PATCH", body: JSON.stringify({ title: $("talk-title").value }), headers: { "Content-Type": "application/json" } });
      $("talk-title").value = (await res.json()).title;
      listChats();
      return t("renamed");
    });
  },

  // save downloads the conversation as a file. A broken stream is an error, because
  // a partial file would look complete.
  save(format) {
    return this.doing(async () => {
      const whole = format === "jsonl" || $("talk-whole").checked; // that form always has them
      const query = new URLSearchParams({ format, archives: whole, locale: document.documentElement.lang.slice(0, 2) });
      const res = await api(path(this.id, `/export?${query}`));
      const name = `${$("talk-title").value.replace(/[\\/:*?"<>|\p{C}]+/gu, " ").trim().slice(0, 60) || "conversation"}.${format === "markdown" ? "md" : format}`;
      const reader = res.body.getReader(), parts = [];
      let n = 0;
      for (;;) {
        const { value, done } = await reader.read().catch(() => { throw new Error(t("saveBroke")); });
        if (done) break;
        parts.push(value);
        n += value.length;
        $("talk-said").textContent = t("saving", { size: size(n) });
      }
      const url = URL.createObjectURL(new Blob(parts, { type: res.headers.get("Content-Type") }));
      el("a", { href: url, download: name }).click();
      setTimeout(() => URL.revokeObjectURL(url), 60000);
      return t("saved", { name, size: size(n) });
    });
  },

  acts() {
    $("talk-acts").replaceChildren(el("button", { class: "quiet bad", type: "button", onclick: () => this.confirm() }, t("delete")));
  },

  // confirm asks before anything is gone for good.
  confirm() {
    const no = el("button", { class: "quiet", type: "button", onclick: () => { this.acts(); $("talk-acts").firstChild.focus(); } }, t("keepIt"));
    $("talk-acts").replaceChildren(el("p", { role: "alert" }, t("deleteAsk")), no,
      el("button", { class: "danger", type: "button", onclick: () => this.remove() }, t("deleteYes")));
    no.focus();
  },

  remove() {
    return this.doing(async () => {
      const gone = await (await api(path(this.id), { method: "DELETE" })).json();
      $("talk").close();
      const said = t("deleted", { messages: num(gone.messages), archives: num(gone.archives) });
      if (this.id === talk.here()) talk.newChat();
      await listChats();
      $("found").textContent = said;
      $("new-chat").focus();
      return "";
    });
  },
};

// startTalks gives the controls their work.
export function startTalks(given) {
  talk = given;
  $("find").addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(listChats, shortly); });
  $("find-form").addEventListener("submit", (e) => { e.preventDefault(); clearTimeout(timer); listChats(); });
  $("older").addEventListener("click", older);
  $("talk-form").addEventListener("submit", (e) => { e.preventDefault(); about.rename(); });
  for (const format of ["markdown", "json", "jsonl"]) $(`talk-${format}`).addEventListener("click", () => about.save(format));
  $("talk").addEventListener("close", () => { // the row that opened it was rendered again
    const row = $("chat-list").children[list.findIndex((c) => c.id === about.id)];
    (row?.querySelector(".about") || $("new-chat")).focus();
  });
  $("talk-close").addEventListener("click", () => $("talk").close());
  document.addEventListener("keydown", (e) => {
    const search = e.key.toLowerCase() === "k" && (e.ctrlKey || e.metaKey) && !e.isComposing;
    if (!search || $("app").hidden || document.querySelector("dialog[open]")) return;
    e.preventDefault();
    talk.drawer("chats", true);
    $("find").focus();
  });
}

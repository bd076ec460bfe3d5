// The page of the weir daemon. Whatever comes from a model, a tool or an
// archive is put in as text, never as markup.
import { startAccount, whoAmI } from "./account.js";
import { listPlugins } from "./plugins.js";
import { Stream } from "./stream.js";
import { listChats, startTalks } from "./talks.js";
import { words } from "./words.js";

export { $, api, askForToken, drawer, el, forget, getJSON, here, moment, money, newChat, num, openChat, report, size, t };

const $ = (id) => document.getElementById(id);
const chars = (s) => Array.from(s).length; // code points, as weir counts

function el(tag, props = {}, ...kids) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(props)) {
    if (key === "class") node.className = value;
    else if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value);
  }
  node.append(...kids.filter((k) => k !== null && k !== undefined));
  return node;
}

// ---- language

let lang = recall(() => localStorage.getItem("weir.lang")) || (/^zh\b/i.test(navigator.language || "") ? "zh" : "en");

function recall(read) {
  try { return read(); } catch { return null; } // storage may be switched off
}

function t(key, vars = {}) {
  const pair = words[key] || [key, key];
  return pair[lang === "zh" ? 1 : 0].replace(/\{(\w+)\}/g, (_, name) => vars[name] ?? "");
}

const tag = () => (lang === "zh" ? "zh-CN" : "en");
const num = (n) => new Intl.NumberFormat(tag()).format(n || 0);
const moment = (at) => new Intl.DateTimeFormat(tag(), { dateStyle: "medium", timeStyle: "short" }).format(new Date(at));

// money writes sums of several currencies.
const money = (costs) => (costs || []).map((c) => `${new Intl.NumberFormat(tag(), { maximumSignificantDigits: 4 }).format(c.amount)} ${c.currency}`).join(" + ");

// size writes bytes as people read them.
function size(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let n = bytes || 0, i = 0;
  while (n >= 1024 && i < units.length - 1) { n /= 1024; i++; }
  return `${new Intl.NumberFormat(tag(), { maximumFractionDigits: i && n < 10 ? 1 : 0 }).format(n)} ${units[i]}`;
}

function translate() {
  document.documentElement.lang = lang === "zh" ? "zh-CN" : "en";
  for (const n of document.querySelectorAll("[data-t]")) n.textContent = t(n.dataset.t);
  for (const n of document.querySelectorAll("[data-t-label]")) n.setAttribute("aria-label", t(n.dataset.tLabel));
  for (const n of document.querySelectorAll("[data-t-placeholder]")) n.placeholder = t(n.dataset.tPlaceholder);
  $("language").textContent = lang === "zh" ? "English" : "中文";
  $("language").lang = lang === "zh" ? "en" : "zh-CN";
}

// ---- the daemon

let token = "";

class Problem extends Error {
  constructor({ code, message, hint } = {}, status = 0) {
    super(message || `HTTP ${status}`);
    Object.assign(this, { code, hint, status });
  }
}

async function api(path, options = {}) {
  const headers = { Authorization: `Bearer ${token}`, "Accept-Language": tag(), ...options.headers };
  let res;
  try {
    res = await fetch(path, { ...options, headers });
  } catch (err) {
    if (err.name === "AbortError") throw err;
    throw new Problem({ message: t("unreachable") });
  }
  if (res.ok) return res;
  const body = await res.json().catch(() => ({}));
  if (res.status === 401) askForToken(t("wrongToken"));
  throw new Problem(body.error, res.status);
}

const getJSON = async (path) => (await api(path)).json();

// ---- text

// prose shows fenced code, inline code and bold; everything else stays as it is.
function prose(into, text) {
  into.replaceChildren();
  text.split(/^ {0,3}```[^\n]*\n?/m).forEach((part, i) => {
    if (i % 2) return into.append(el("pre", { tabindex: 0 }, el("code", {}, part.replace(/\n$/, ""))));
    for (const para of part.split(/\n{2,}/)) if (para.trim()) into.append(inline(para.replace(/^\n+|\n+$/g, "")));
  });
}

function inline(text) {
  const p = el("p");
  for (const piece of text.split(/(`[^`\n]+`|\*\*[^*\n]+\*\*)/)) {
    if (/^`.+`$/.test(piece)) p.append(el("code", {}, piece.slice(1, -1)));
    else if (/^\*\*.+\*\*$/.test(piece)) p.append(el("strong", {}, piece.slice(2, -2)));
    else p.append(piece);
  }
  return p;
}

// speak gives whole sentences to screen readers, so that they are not read
// letter by letter as they stream in.
const speech = {
  waiting: "",
  add(text) {
    this.waiting += text;
    const ends = [...this.waiting.matchAll(/[。！？!?\n]|\.(?=\s)/g)];
    if (ends.length) this.say(ends.at(-1).index + 1);
  },
  say(upTo = this.waiting.length) {
    const line = this.waiting.slice(0, upTo).trim();
    this.waiting = this.waiting.slice(upTo);
    if (!line) return;
    $("live").append(el("p", {}, line));
    while ($("live").childElementCount > 6) $("live").firstChild.remove();
  },
};

// keepDown runs change and stays at the end, if the person was there.
function keepDown(change) {
  const box = $("scroll");
  const atEnd = box.scrollHeight - box.scrollTop - box.clientHeight < 80;
  change();
  if (atEnd) box.scrollTop = box.scrollHeight;
}

// visible writes out what does not show in JSON or turns the order around.
const visible = (json) => json.replace(/(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (c) => c.split("").map((u) => `\\u${u.charCodeAt(0).toString(16).padStart(4, "0")}`).join(""));

// ---- one call

class Card {
  constructor(id, tool, args) {
    this.state = el("span", { class: "state" }, t("running"));
    this.node = el("section", { class: "card running", "aria-label": t("call", { tool }) },
      el("header", {}, el("code", {}, tool), this.state));
    this.tool = tool;
    if (args !== undefined) {
      const short = visible(JSON.stringify(args));
      this.node.append(el("details", {}, el("summary", {}, short === "{}" ? t("args") : short), el("pre", {}, visible(JSON.stringify(args, null, 2)))));
    }
  }

  // progress shows how far a call is that still runs, in the tool's own words.
  progress(d) {
    if (!this.node.classList.contains("running")) return;
    this.bar ||= this.node.appendChild(el("progress", { "aria-label": t("progressOf", { tool: this.tool }) }));
    if (d.total > 0) {
      this.bar.max = d.total;
      this.bar.value = Math.min(d.done, d.total);
    } else {
      this.bar.removeAttribute("value");
    }
    const far = d.total > 0 ? `${num(d.done)} / ${num(d.total)}` : d.done ? num(d.done) : "";
    this.state.textContent = [t("running"), far, d.message].filter(Boolean).join(" · ");
  }

  done(r) {
    this.node.classList.remove("running");
    this.bar?.remove();
    this.node.classList.toggle("failed", !r.ok);
    const time = r.elapsed_ms === undefined ? "" : ` · ${num(r.elapsed_ms)} ms`;
    this.state.textContent = (r.ok ? t("ok") : t("failed")) + time;
    if (r.error) this.node.append(problemBox(r.error));
    if (r.line) this.node.title = r.line;
    if (r.produced) this.node.append(...this.flow(r));
    if (r.text) this.node.append(el("details", {}, el("summary", {}, t("read")), el("pre", { tabindex: 0 }, r.text)));
    if (r.kept_uuid) this.keep(r.kept_uuid, r.produced);
  }

  // flow shows what was produced, shown and kept.
  flow(r) {
    const kept = Boolean(r.kept_uuid);
    const fate = kept ? t("kept", { n: num(r.produced) }) : r.unkept ? t("unkept") : r.loaded_uuid ? t("loaded") : t("keptNone");
    const numbers = el("div", { class: "numbers" },
      el("span", {}, t("produced", { n: num(r.produced) })), el("span", {}, t("shown", { n: num(r.shown) })), el("span", {}, fate));
    const fill = el("i");
    fill.style.width = `${Math.min(100, (100 * r.shown) / r.produced)}%`;
    const bar = el("div", { class: `bar ${kept ? "kept" : r.layer ? "lost" : ""}`, role: "img", "aria-label": t("bar", { shown: num(r.shown), produced: num(r.produced) }) }, fill);
    return [numbers, bar, el("p", { class: "note" }, this.notice(r))];
  }

  notice(r) {
    if (r.summarized) return t("summarized", { model: r.summary_cost?.model || "" });
    if (r.past && r.layer) return [t("cutBy", { chars: num(Math.max(0, r.produced - r.shown)), layer: t(`layer_${r.layer}`) }), r.folded ? t("folded") : ""].join(" ");
    if (r.folded) return t("folded");
    if (r.past && r.shown < r.produced) return t("bar", { shown: num(r.shown), produced: num(r.produced) });
    if (!r.layer) return t("uncut");
    return t("cut", {
      chars: num(Math.max(0, r.produced - r.shown)), lines: num(Math.max(0, r.lines_produced - r.lines_shown)),
      layer: t(`layer_${r.layer}`), limit: num(r.limit), unit: t(r.unit === "lines" ? "linesUnit" : "characters"),
    });
  }

  keep(uuid, n) {
    if (this.button) return;
    this.button = el("button", { class: "quiet", type: "button", "aria-haspopup": "dialog", onclick: () => archive.open(uuid, this.tool) }, t("open", { n: num(n) }));
    this.node.append(el("div", { class: "row" }, this.button,
      el("button", { class: "quiet", type: "button", onclick: () => loads.add(uuid, this.tool) }, t("loadBack"))));
  }

  drop() {
    if (!this.node.classList.contains("running")) return;
    this.bar?.remove();
    this.node.classList.replace("running", "failed");
    this.state.textContent = t("unfinished");
  }
}

function problemBox(p) {
  return el("div", { class: "error" }, el("p", {}, p.message || p.code || ""), p.hint ? el("p", {}, p.hint) : null);
}

// ---- leave

// Leave is a call that waits for the person's word. Its buttons come to life a
// moment after they are drawn: a click that was meant for what stood there must
// not allow anything.
class Leave {
  constructor(d) {
    this.id = d.id;
    this.args = el("pre", { tabindex: 0, "aria-label": t("args") }, d.arguments);
    const button = (answer, quiet) => el("button", { type: "button", class: quiet ? "quiet" : "", disabled: "", onclick: () => this.give(answer) }, t(`leave_${answer}`));
    this.buttons = [button("once"), button("always", true), button("deny", true)];
    this.all = d.left_out ? el("button", { class: "quiet", type: "button", onclick: () => this.showAll() }, t("leaveAll", { n: num(d.left_out) })) : null;
    this.row = el("div", { class: "row" }, ...this.buttons);
    this.status = el("p", { class: "note", role: "status" }, t("leaveUntil", { time: new Date(d.expires_at).toLocaleTimeString(tag()) }));
    this.node = el("div", { class: "leave", role: "group", "aria-label": t("leave", { tool: d.tool }) },
      el("p", {}, el("strong", {}, t("leave", { tool: d.tool }))), el("p", {}, d.why), this.args, this.all,
      el("p", { class: "note" }, t("leaveAlways", { always: d.always })), this.row, this.status);
    this.ready = setTimeout(() => this.enable(true), 700);
    waiting(1);
  }

  enable(yes) { for (const b of this.buttons) b.disabled = !yes; }

  async showAll() {
    try {
      this.args.textContent = (await getJSON(`api/approvals/${this.id}`)).arguments;
      this.all.remove();
    } catch (err) { this.status.textContent = err.message; }
  }

  async give(answer) {
    this.enable(false);
    try {
      await api(`api/approvals/${this.id}`, { method: "POST", body: JSON.stringify({ answer }), headers: { "Content-Type": "application/json" } });
      this.settle(answer);
    } catch (err) {
      this.status.textContent = [err.message, err.hint].filter(Boolean).join(" · ");
      if (!this.over && !err.status) this.enable(true);
    }
  }

  // left tells from time to time how long there is still to answer.
  left(d) {
    if (!this.over) this.status.textContent = t("leaveLeft", { n: num(d.seconds_left) });
  }

  settle(answer) {
    if (this.over) return;
    this.over = true;
    clearTimeout(this.ready);
    waiting(-1);
    const focused = this.row.contains(document.activeElement);
    this.row.remove();
    this.status.textContent = t(`leave_was_${answer}`);
    this.node.classList.add("over");
    if (focused) $("question").focus();
  }
}

// waiting tells in the tab's title that somebody is waited for.
let leaves = 0;
function waiting(n) {
  leaves += n;
  document.title = leaves ? `(${leaves}) weir` : "weir";
}

// ---- one answer

class Answer {
  constructor() {
    this.node = el("article", { class: "theirs" });
    this.cards = new Map();
    this.leaves = new Map();
    this.texts = [];
    this.ended = false;
    $("log").append(this.node);
  }

  add(node) { keepDown(() => this.node.append(node)); }

  note(text) { this.text = this.thought = null; this.add(el("p", { class: "note" }, text)); }

  // stream adds text to the open block, once per frame.
  stream(more) {
    this.thought = null;
    if (!this.text) {
      this.text = { raw: "", node: el("div", { class: "text" }) };
      this.texts.push(this.text);
      this.add(this.text.node);
    }
    const block = this.text;
    block.raw += more;
    if (block.due) return;
    block.due = requestAnimationFrame(() => {
      block.due = 0;
      keepDown(() => prose(block.node, block.raw));
    });
  }

  think(more) {
    this.text = null;
    if (!this.thought) {
      this.thought = el("div");
      this.add(el("details", { class: "thought" }, el("summary", {}, t("thought")), this.thought));
    }
    keepDown(() => this.thought.append(more));
  }

  call(d) {
    this.text = this.thought = null;
    const card = new Card(d.id, d.tool, d.arguments);
    this.cards.set(d.id, card);
    this.add(card.node);
    return card;
  }

  // lost tells that the connection is gone, unless it is back at once.
  lost() {
    this.late = setTimeout(() => {
      this.away = el("p", { class: "note" }, t("reconnecting"));
      this.add(this.away);
      speech.add(`${t("reconnecting")}\n`);
    }, 300);
  }

  back() {
    clearTimeout(this.late);
    this.away?.remove();
    this.away = null;
  }

  // missed puts the whole answer in place of the pieces that are shown: what came
  // between them is gone.
  missed(d) {
    for (const block of this.texts.splice(0)) {
      cancelAnimationFrame(block.due);
      block.node.remove();
    }
    this.note(t("missed", { n: num(d.events) }));
    this.gap = this.node.lastChild;
    speech.waiting = `${this.gap.textContent}\n`; // half a sentence has lost its end
    speech.say();
    if (d.text) this.stream(d.text);
  }

  // catchUp draws the calls whose results were missed.
  catchUp(results) {
    for (const r of results) {
      const card = this.cards.get(r.id) || new Card(r.id, r.tool);
      if (!card.node.isConnected) this.gap.before(card.node);
      this.cards.set(r.id, card);
      if (card.node.classList.contains("running")) card.done(r);
    }
  }

  fail(problem) {
    this.text = null;
    const box = problemBox(problem);
    box.setAttribute("role", "alert");
    this.add(box);
  }

  // leave asks for the person's word below the call that needs it.
  leave(d) {
    const leave = new Leave(d), card = this.cards.get(d.call_id);
    this.leaves.set(d.id, leave);
    this.text = this.thought = null;
    if (card) card.state.textContent = t("waits");
    keepDown(() => (card?.node || this.node).append(leave.node));
    speech.add(`${t("leave", { tool: d.tool })}\n`);
  }

  close() {
    this.back();
    for (const l of this.leaves.values()) l.settle("gone");
    for (const c of this.cards.values()) c.drop();
    speech.say();
  }
}

const on = {
  "chat.start"(a, d) {
    a.node.lang = d.locale === "zh" ? "zh-CN" : "en";
    $("demo").hidden = !d.simulated;
    conversation = d.conversation_id;
    loads.clear();
    history.replaceState(null, "", `#c=${encodeURIComponent(conversation)}`);
  },
  "message.delta"(a, d) { a.stream(d.text); speech.add(d.text); },
  "reasoning.delta"(a, d) { a.think(d.text); },
  "tool_call.start"(a, d) { a.call(d); },
  "tool_call.result"(a, d) { const card = a.cards.get(d.id) || a.call(d); keepDown(() => card.done(d)); speech.add(`${d.line || d.tool}\n`); },
  "tool_call.progress"(a, d) { const card = a.cards.get(d.id); if (card) keepDown(() => card.progress(d)); },
  "approval.asked"(a, d) { a.leave(d); },
  "approval.waiting"(a, d) { a.leaves.get(d.id)?.left(d); },
  "approval.answered"(a, d) {
    a.leaves.get(d.id)?.settle(d.answer);
    const card = a.cards.get(d.call_id);
    if (card) card.state.textContent = t("running");
  },
  "tool_call.truncated"(a, d) { a.cards.get(d.id)?.node.classList.add("cut"); },
  "tool_call.archived"(a, d) { a.cards.get(d.id)?.keep(d.uuid, d.chars); },
  "tool_call.malformed"(a, d) { a.note(t("malformed", d)); },
  "model.repeated"(a, d) { a.note(t("repeated", { message: d.message, seconds: num(Math.round(d.wait_ms / 100) / 10) })); },
  "stream.lost"(a) { a.lost(); },
  "stream.back"(a) { a.back(); },
  "chat.missed"(a, d) { a.missed(d); },
  "mode.switched"(a, d) { a.note(t("switched", d)); },
  "context.folded"(a, d) { a.note(t("foldEvent", { n: num((d.uuids || []).length), chars: num(d.saved_chars) })); },
  "context.recalled"(a, d) { if ((d.uuids || []).length) a.note(t(d.loaded ? "recallLoaded" : "recallHinted", { n: num((d.uuids || []).length) })); },
  "plan"(a, d) { a.note(t("plan", { steps: (d.steps || []).map((s, i) => `${i + 1}. ${s}`).join("  ") })); },
  "budget"(a, d) {
    $("budget").hidden = false;
    $("budget-text").textContent = t(d.window ? "budget" : "budgetOpen", { tokens: num(d.tokens), window: num(d.window) });
    $("budget-bar").hidden = !d.window;
    $("budget-bar").value = d.window ? Math.min(100, (100 * d.tokens) / d.window) : 0;
  },
  "error"(a, d) { a.fail(d); },
  "chat.end"(a, d) {
    a.ended = true;
    if (a.gap) keepDown(() => a.catchUp(d.results || []));
    if (d.unsaved) a.note(t("unsaved"));
    if (d.reason && d.reason !== "answer") a.note(t("ended", { reason: t(`reason_${d.reason}`) }));
    const tokens = (d.usage?.prompt_tokens || 0) + (d.usage?.completion_tokens || 0);
    if (d.calls) {
      a.note(t("end", {
        calls: num(d.calls), produced: num(d.produced_chars), shown: num(d.shown_chars), kept: num(d.kept_chars),
        tokens: num(tokens), seconds: num(Math.round((d.elapsed_ms || 0) / 100) / 10),
      }));
    }
  },
};

// ---- asking

let conversation = "";
let running = null;
const here = () => conversation;

// loads are the archived results that the next question brings along whole.
const loads = {
  kept: new Map(), // uuid → tool

  add(uuid, tool) {
    if (this.kept.size >= 8 && !this.kept.has(uuid)) return speech.add(`${t("loadMost")}\n`);
    this.kept.set(uuid, tool);
    this.draw();
    speech.add(`${t("loadAdded", { tool })}\n`);
    $("question").focus();
  },

  clear() {
    this.kept.clear();
    this.draw();
  },

  draw() {
    $("loads").hidden = !this.kept.size;
    $("loads").replaceChildren(...[...this.kept].map(([uuid, tool]) => el("li", {}, `📎 ${t("loadNext", { tool })} `, el("code", {}, uuid.slice(-8)),
      el("button", { class: "quiet", type: "button", "aria-label": t("loadNot", { tool }), onclick: () => { this.kept.delete(uuid); this.draw(); $("question").focus(); } }, "×"))));
  },
};

async function ask(question) {
  const stream = new Stream(api);
  running = stream;
  busy(true);
  $("log").querySelector(".welcome")?.remove();
  $("log").append(mine(question));
  $("scroll").scrollTop = $("scroll").scrollHeight;
  const answer = new Answer();
  const body = { message: question, approvals: true };
  if (conversation) body.conversation_id = conversation;
  if (loads.kept.size) body.load_uuids = [...loads.kept.keys()];
  if (!$("model").hidden && $("model").value) body.model = $("model").value;
  try {
    for await (const [name, data] of stream.read(body)) if (running === stream) on[name]?.(answer, data);
    if (!answer.ended && running === stream) answer.fail({ message: t("broken") });
  } catch (err) {
    if (err.name === "AbortError") answer.note(t("stopped"));
    else answer.fail(err instanceof Problem ? err : { message: t("broken") });
  }
  answer.close();
  if (running !== stream) return; // another conversation was opened meanwhile
  running = null;
  busy(false);
  listChats();
  whoAmI(); // the question may have used up a quota
}

const mine = (text) => el("div", { class: "mine", role: "article", "aria-label": t("you") }, text);

function busy(yes) {
  $("send").disabled = yes;
  $("stop").hidden = !yes;
  $("scroll").setAttribute("aria-busy", String(yes));
}

function leave() {
  const old = running;
  running = null;
  old?.end();
  busy(false);
}

function welcome() {
  $("log").replaceChildren(el("p", { class: "welcome" }, t("welcome")));
}

function newChat() {
  leave();
  conversation = "";
  loads.clear();
  history.replaceState(null, "", location.pathname);
  $("budget").hidden = true;
  welcome();
  listChats();
  drawer("chats", false);
  $("question").focus();
}

// openChat shows a stored conversation, from its end or from one message,
// counted from 1. Which limit decided over a result is kept, its figure is not.
async function openChat(id, from = 0) {
  leave();
  drawer("chats", false);
  const stored = await getJSON(`api/conversations/${encodeURIComponent(id)}`);
  conversation = id;
  loads.clear();
  history.replaceState(null, "", `#c=${encodeURIComponent(id)}`);
  $("budget").hidden = true;
  $("log").replaceChildren();
  const args = new Map();
  let answer = null, place = null;
  (stored.messages || []).forEach((m, i) => {
    if (m.role === "user") {
      $("log").append(mine(m.text || ""));
      answer = null;
    } else {
      answer ||= new Answer();
      if (m.reasoning) answer.think(m.reasoning);
      if (m.role === "assistant" && m.text) answer.stream(m.text);
      for (const c of m.calls || []) args.set(c.id, c.args);
      for (const r of m.results || []) past(answer, r, args.get(r.call_id));
    }
    if (i + 1 === from) place = m.role === "user" ? $("log").lastChild : answer.node.lastChild || answer.node;
  });
  $("scroll").scrollTop = $("scroll").scrollHeight;
  listChats();
  if (!place) return $("question").focus();
  requestAnimationFrame(() => { // after the texts are rendered
    place.scrollIntoView({ block: "center" });
    place.classList.add("found");
    place.tabIndex = -1;
    place.focus({ preventScroll: true });
    place.addEventListener("blur", () => place.classList.remove("found"), { once: true });
  });
}

function past(answer, r, args) {
  const shown = Math.min(r.shown || chars(r.text || ""), r.chars || 0);
  const card = answer.call({ id: r.call_id, tool: r.tool, arguments: args });
  card.done({
    ok: !r.err, produced: r.chars, shown, text: r.text, kept_uuid: r.ref?.uuid, folded: r.folded, past: true,
    layer: r.layer, elapsed_ms: r.elapsed_ms,
  });
  card.node.classList.toggle("cut", Boolean(r.layer));
}

function report(err) {
  new Answer().fail(err);
}

// ---- archive

const archive = {
  uuid: "", next: 0,

  async open(uuid, tool) {
    Object.assign(this, { uuid, tool, next: 0 });
    $("archive-title").textContent = t("archiveTitle", { tool });
    $("archive-lines").value = $("archive-grep").value = "";
    $("archive").showModal();
    await this.load(false);
  },

  async load(more) {
    const query = new URLSearchParams();
    for (const key of ["lines", "grep"]) {
      const value = $(`archive-${key}`).value.trim();
      if (value) query.set(key, value);
    }
    if (more) query.set("offset", this.next);
    $("archive-info").textContent = t("loading");
    const uuid = this.uuid;
    try {
      const page = await getJSON(`api/archives/${encodeURIComponent(uuid)}?${query}`);
      if (uuid !== this.uuid) return;
      $("archive-text").textContent = (more ? $("archive-text").textContent : "") + page.text;
      this.next = page.next_offset || 0;
      $("archive-info").textContent = t("archiveInfo", { chars: num(page.chars), lines: num(page.lines), shown: num(chars($("archive-text").textContent)) }) +
        (page.matches ? ` ${t("matches", { n: num(page.matches) })}` : "");
    } catch (err) {
      $("archive-info").textContent = [err.message, err.hint].filter(Boolean).join(" · ");
      if (!more) $("archive-text").textContent = "";
      this.next = 0;
    }
    $("archive-more").hidden = !this.next;
  },
};

// ---- side panels

function drawer(id, open) {
  const side = $(id);
  if (id === "tools") side.hidden = !open;
  side.classList.toggle("open", open);
  $(`show-${id}`).setAttribute("aria-expanded", String(open));
}

const isOpen = (id) => $(`show-${id}`).getAttribute("aria-expanded") === "true";

async function listTools() {
  if (!$("plugin-part").hidden) listPlugins().catch(report);
  const { tools = [] } = await getJSON("api/tools");
  const rows = tools.map(({ spec, plugin, effective, chars_by: by }) => el("li", {},
    el("code", {}, spec.name), plugin && plugin !== spec.name ? el("small", {}, plugin) : null,
    el("p", {}, (lang === "zh" && spec.description_zh) || spec.description),
    el("small", {}, t("toolLimit", { chars: num(effective?.max_chars), lines: num(effective?.max_lines), layer: t(`layer_${by || "default"}`) }))));
  $("tool-list").replaceChildren(...(rows.length ? rows : [el("li", { class: "note" }, t("noTools"))]));
}

async function listModels() {
  const { models = [] } = await getJSON("api/models").catch(() => ({}));
  const first = models.find((m) => m.default) || models[0];
  $("model").replaceChildren(...models.map((m) => el("option", { value: m.name }, m.name)));
  $("model").hidden = models.length < 2;
  if (first) $("model").value = first.name;
  const demo = () => { $("demo").hidden = !models.find((m) => m.name === $("model").value)?.simulated; };
  $("model").onchange = demo;
  demo();
}

// ---- start

function askForToken(message = "") {
  leave();
  enter(false);
  $("login-error").textContent = message;
  $("token").focus();
}

// forget removes the token everywhere.
function forget() {
  token = "";
  recall(() => sessionStorage.removeItem("weir.token"));
  newChat();
}

function enter(yes) {
  $("login").hidden = yes;
  for (const id of ["app", "show-chats", "show-tools", "show-account"]) $(id).hidden = !yes;
}

async function start() {
  const hash = new URLSearchParams(location.hash.slice(1));
  if (hash.has("token")) {
    token = hash.get("token");
    recall(() => sessionStorage.setItem("weir.token", token));
    history.replaceState(null, "", location.pathname); // out of the address bar and the history
  }
  token ||= recall(() => sessionStorage.getItem("weir.token")) || "";
  translate();
  if (!token) return askForToken();
  enter(true);
  welcome();
  await listModels();
  await listChats();
  $("plugin-part").hidden = !(await whoAmI()); // plugins are the operator's
  if ($("plugin-part").hidden) $("show-tools").classList.remove("due");
  else listPlugins().catch(() => {}); // marks the button when something waits
  if (hash.has("c")) await openChat(hash.get("c")).catch(welcome);
  if ($("app").hidden) return; // the token was refused meanwhile
  $("question").focus();
}

$("login-form").addEventListener("submit", (e) => {
  e.preventDefault();
  token = $("token").value.trim();
  $("token").value = "";
  recall(() => sessionStorage.setItem("weir.token", token));
  start();
});

$("ask").addEventListener("submit", (e) => {
  e.preventDefault();
  const question = $("question").value.trim();
  if (!question || running) return;
  $("question").value = "";
  ask(question);
});

$("question").addEventListener("keydown", (e) => {
  // While an input method composes, Enter chooses a word. Safari ends the
  // composition first and gives the key the code 229.
  if (e.key !== "Enter" || e.shiftKey || e.isComposing || e.keyCode === 229) return;
  e.preventDefault();
  $("ask").requestSubmit();
});

document.addEventListener("keydown", (e) => {
  if (e.key !== "Escape" || e.isComposing || document.querySelector("dialog[open]")) return;
  if (e.target === $("find") && $("find").value) return; // which it empties
  for (const id of ["chats", "tools"]) {
    if (isOpen(id)) {
      drawer(id, false);
      $(`show-${id}`).focus();
      return;
    }
  }
  running?.end();
});

addEventListener("pagehide", () => running?.end()); // who closes or reloads the page does not come back to it
$("stop").addEventListener("click", () => { running?.end(); $("question").focus(); });
$("new-chat").addEventListener("click", newChat);
$("show-chats").addEventListener("click", () => drawer("chats", !isOpen("chats")));
$("show-tools").addEventListener("click", () => {
  drawer("tools", !isOpen("tools"));
  if (isOpen("tools")) listTools().catch(report);
});
$("language").addEventListener("click", () => {
  lang = lang === "zh" ? "en" : "zh";
  recall(() => localStorage.setItem("weir.lang", lang));
  translate();
  if (!$("app").hidden) {
    listChats();
    whoAmI();
    loads.draw();
    if (isOpen("tools")) listTools().catch(report);
    if ($("log").querySelector(".welcome")) welcome();
  }
});
$("archive-form").addEventListener("submit", (e) => { e.preventDefault(); archive.load(false); });
$("archive-more").addEventListener("click", () => archive.load(true));
$("archive-load").addEventListener("click", () => { $("archive").close(); loads.add(archive.uuid, archive.tool); });
$("archive-close").addEventListener("click", () => $("archive").close());
$("plugin-close").addEventListener("click", () => $("plugin").close());
window.addEventListener("hashchange", () => { if (/[#&]token=/.test(location.hash)) start(); });
startTalks();
startAccount();

start();

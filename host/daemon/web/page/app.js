// The page of the weir daemon: asking, the conversation that is open, and its start.
import { startAccount, whoAmI } from "./account.js";
import { Answer, fold, keepDown, nameTab } from "./answer.js";
import { loads, startArchive } from "./archive.js";
import { $, api, chars, el, exchange, getJSON, keepToken, lang, num, Problem, problemText, recall, remembered, speech, switchLanguage, t, token, translate } from "./base.js";
import { listPlugins, startPlugins } from "./plugins.js";
import { Stream } from "./stream.js";
import { listChats, startTalks } from "./talks.js";

// ---- the events of an answer

const on = {
  "chat.start"(a, d) {
    a.model = d.model;
    a.node.lang = d.locale === "zh" ? "zh-CN" : "en";
    $("demo").hidden = !d.simulated;
    conversation = d.conversation_id;
    loads.clear();
    history.replaceState(null, "", `#c=${encodeURIComponent(conversation)}`);
    a.wait("model");
    listChats(); // which has this one now
  },
  "message.delta"(a, d) { a.wait("rest"); a.stream(d.text); speech.add(d.text); },
  "reasoning.delta"(a, d) { a.wait("thought"); a.think(d.text); },
  "tool_call.start"(a, d) { a.call(d); a.wait("tool", { tool: d.tool }); },
  "tool_call.result"(a, d) { const card = a.cards.get(d.id) || a.call(d); keepDown(() => card.done(d)); a.waitNext(); speech.add(`${d.line || d.tool}\n`); },
  "tool_call.progress"(a, d) { const card = a.cards.get(d.id); if (card) keepDown(() => card.progress(d)); },
  "approval.asked"(a, d) { a.leave(d); },
  "approval.waiting"(a, d) { a.leaves.get(d.id)?.left(d); },
  "approval.answered"(a, d) {
    a.leaves.get(d.id)?.settle(d.answer);
    const card = a.cards.get(d.call_id);
    if (card) card.state.textContent = t("running");
    a.waitNext();
  },
  "tool_call.truncated"(a, d) { a.cards.get(d.id)?.node.classList.add("cut"); },
  "tool_call.archived"(a, d) { a.cards.get(d.id)?.keep(d.uuid, d.chars); },
  "tool_call.malformed"(a, d) { a.note(t("malformed", { reason: t(`malformed_${d.reason}`) })); },
  "model.repeated"(a, d) { a.note(t("repeated", { message: d.message, seconds: num(Math.round(d.wait_ms / 100) / 10) })); },
  "stream.lost"(a) { a.lost(); },
  "stream.back"(a) { a.back(); },
  "chat.missed"(a, d) { a.missed(d); },
  "mode.switched"(a, d) { a.note(t("switched", { from: t(`mode_${d.from}`), to: t(`mode_${d.to}`) })); },
  "context.folded"(a, d) { keepDown(() => cardsOf(d.uuids || []).forEach(fold)); },
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
    sums(a, d);
  },
};

// cardsOf are the cards of the results with these ids.
const cardsOf = (uuids) => [...$("log").querySelectorAll("[data-uuid]")].filter((card) => uuids.includes(card.dataset.uuid));

// sums says at the end of a turn how it went.
function sums(a, d) {
  if (d.reason && d.reason !== "answer") a.note(t("ended", { reason: t(`reason_${d.reason}`) }));
  const tokens = (d.usage?.prompt_tokens || 0) + (d.usage?.completion_tokens || 0);
  a.note([d.calls ? t("end", { calls: num(d.calls), produced: num(d.produced_chars), shown: num(d.shown_chars) }) : "", d.model || a.model || "",
    t("endTurn", { tokens: num(tokens), seconds: num(Math.round((d.elapsed_ms || 0) / 100) / 10) })].filter(Boolean).join(" · "));
}

// ---- asking

let conversation = "";
let running = null;
const here = () => conversation;

// chosen is the model that a person has chosen.
const chosen = () => ($("model").hidden ? "" : $("model").value);

// ask sends a question and draws the answer.
async function ask(question) {
  const stream = new Stream(api);
  $("log").querySelector(".welcome")?.remove();
  $("log").append(mine(question));
  toEnd();
  const body = { message: question, approvals: true };
  if (conversation) body.conversation_id = conversation;
  if (loads.kept.size) body.load_uuids = loads.wanted();
  if (chosen()) body.model = chosen();
  await follow(stream, question, body);
  if (!stream.last && !$("question").value) $("question").value = question; // it was not asked
}

// follow draws an answer until its end. Where another conversation is opened meanwhile,
// it is read to its end all the same: the daemon ends answers that no one reads.
async function follow(stream, question, body, since) {
  const answer = new Answer(), again = () => askAgain(question);
  running = stream;
  busy(true);
  answer.begin(since);
  try {
    for await (const [name, data] of stream.read(body)) {
      if (name === "chat.start") open.set(data.conversation_id, stream);
      if (running === stream) on[name]?.(answer, data);
    }
    if (!answer.ended && running === stream) answer.fail({ message: t("broken") }, again());
  } catch (err) {
    if (err.name === "AbortError") answer.note(t("stopped"));
    else if (err.code === "no_stream") answer.fail({ message: t("restarted") }, again());
    else answer.fail(err instanceof Problem ? err : { message: t("broken") }, again());
  }
  answer.close();
  open.drop(stream);
  if (running === stream) {
    running = null;
    busy(false);
  }
  listChats();
  whoAmI(); // the question may have used up a quota
}

// askAgain puts a question back into the box.
const askAgain = (question) => el("button", { class: "quiet", type: "button", onclick: () => { $("question").value = question; $("question").focus(); } }, t("askAgain"));

// unanswered says that a question got no answer, as when the daemon was stopped.
const unanswered = (question) => new Answer().fail({ message: t("unanswered") }, askAgain(question));

// open are the turns that this tab reads, by conversation. A reload forgets the streams
// and not the turns.
const open = {
  streams: new Map(),

  set(id, stream) {
    this.streams.set(id, stream);
    this.keep({ ...this.kept(), [id]: { turn: stream.turn, since: this.kept()[id]?.since ?? Date.now() } });
  },

  drop(stream) {
    for (const [id, other] of this.streams) {
      if (other !== stream) continue;
      this.streams.delete(id);
      const { [id]: _, ...rest } = this.kept();
      this.keep(rest);
    }
  },

  kept: () => recall(() => JSON.parse(sessionStorage.getItem("weir.turns"))) || {},
  keep: (turns) => recall(() => sessionStorage.setItem("weir.turns", JSON.stringify(turns))),

  // join connects to the turn of a conversation, if it can be read from its start.
  async join(id) {
    const { turn, since } = this.kept()[id] || {};
    if (!turn) return [];
    const old = this.streams.get(id), stream = new Stream(api);
    this.streams.delete(id); // before the old stream ends, which would forget the turn
    old?.leave();
    try {
      await stream.join(turn);
      return [stream, since];
    } catch (err) {
      if (err.status) this.keep({ ...this.kept(), [id]: undefined });
      return [];
    }
  },
};

const mine = (text) => el("div", { class: "mine", role: "article", "aria-label": t("you") }, el("h2", {}, text));

function busy(yes) {
  $("send").disabled = yes;
  $("stop").hidden = !yes;
  $("scroll").setAttribute("aria-busy", String(yes));
}

// leave draws no more of the running answer.
function leave() {
  running = null;
  busy(false);
}

function welcome() {
  $("log").replaceChildren(el("p", { class: "welcome" }, t("welcome")));
}

function newChat({ back = false } = {}) {
  leave();
  if (!back && location.hash) history.pushState(null, "", location.pathname);
  conversation = "";
  nameTab();
  loads.clear();
  $("budget").hidden = true;
  welcome();
  listChats();
  drawer("chats", false);
  $("question").focus();
}

// openChat shows a stored conversation, from its end or from one message, counted
// from 1. back says that the browser's history leads there already.
async function openChat(id, from = 0, { back = false } = {}) {
  leave();
  drawer("chats", false);
  const [stream, since] = await open.join(id);
  const [stored, { traces = [] }] = await Promise.all([getJSON(`api/conversations/${encodeURIComponent(id)}`),
    getJSON(`api/traces?limit=1000&conversation_id=${encodeURIComponent(id)}`).catch(() => ({}))]);
  conversation = id;
  nameTab(stored.conversation.title);
  loads.clear();
  const address = `#c=${encodeURIComponent(id)}`;
  if (!back && location.hash !== address) history.pushState(null, "", address);
  $("budget").hidden = true;
  $("log").replaceChildren();
  const messages = stored.messages || [], last = messages.findLastIndex((m) => m.role === "user");
  const place = draw(stream ? messages.slice(0, last + 1) : messages, traces, from);
  toEnd();
  requestAnimationFrame(() => { if (!place) toEnd(); }); // what is near the end has its true height now
  listChats();
  const question = messages[last]?.text || "";
  if (stream) follow(stream, question, null, since);
  else if (last >= 0 && last === messages.length - 1) unanswered(question);
  if (!place) return $("question").focus();
  requestAnimationFrame(() => { // after the texts are rendered
    place.scrollIntoView({ block: "center" });
    place.classList.add("found");
    place.tabIndex = -1;
    place.focus({ preventScroll: true });
    place.addEventListener("blur", () => place.classList.remove("found"), { once: true });
  });
}

const toEnd = () => { $("scroll").scrollTop = $("scroll").scrollHeight; };

// draw shows stored messages, with how their turns went where that is still known,
// and returns the node of one of them, counted from 1.
function draw(messages, traces, from) {
  const args = new Map();
  let answer = null, place = null;
  messages.forEach((m, i) => {
    if (m.role === "user") {
      $("log").append(mine(m.text || ""));
      answer = null;
    } else {
      answer ||= new Answer();
      if (m.reasoning) answer.think(m.reasoning);
      if (m.role === "assistant" && m.text) answer.stream(m.text);
      for (const c of m.calls || []) args.set(c.id, c.args);
      for (const r of m.results || []) past(answer, r, m.turn, args.get(r.call_id));
    }
    const trace = m.turn !== messages[i + 1]?.turn && traces.find((x) => x.turn === m.turn);
    if (trace && answer) sums(answer, trace);
    if (i + 1 === from) place = m.role === "user" ? $("log").lastChild : answer.node.lastChild || answer.node;
  });
  return place;
}

// past draws a stored result as it was drawn when it came. What the model read then is
// asked for when someone wants to see it, if a placeholder has taken its place.
function past(answer, r, turn, args) {
  const then = () => getJSON(`api/conversations/${encodeURIComponent(conversation)}/call?${new URLSearchParams({ turn, call: r.call_id })}`);
  const shown = Math.min(r.shown || chars(r.text || ""), r.chars || 0);
  const card = answer.call({ id: r.call_id, tool: r.tool, arguments: args });
  card.done({
    ok: !r.err, produced: r.chars, shown, text: r.text, kept_uuid: r.ref?.uuid, folded: r.folded, past: true,
    layer: r.layer, elapsed_ms: r.elapsed_ms, limit: r.limit, unit: r.unit, summarized: r.summarized,
    lines_produced: r.lines_produced, lines_shown: r.lines_shown,
    then: r.folded && (async () => (await then()).text), why: r.kept_lines && (async () => (await then()).kept), kept_lines: r.kept_lines,
  });
  card.node.classList.toggle("cut", Boolean(r.layer));
}

function report(err) {
  new Answer().fail(err);
}

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
  const words = $("find-tool").value.trim();
  const { tools = [] } = await getJSON(words ? `api/tools?query=${encodeURIComponent(words)}` : "api/tools");
  if (words !== $("find-tool").value.trim()) return;
  const rows = tools.map(({ spec, plugin, effective, chars_by: by }) => el("li", {},
    el("code", {}, spec.name), plugin && plugin !== spec.name ? el("small", {}, plugin) : null,
    el("p", {}, (lang === "zh" && spec.description_zh) || spec.description),
    el("small", {}, t("toolLimit", { chars: num(effective?.max_chars), lines: num(effective?.max_lines), layer: t(`layer_${by || "default"}`) }))));
  $("tool-list").replaceChildren(...(rows.length ? rows : [el("li", { class: "note" }, t(words ? "noToolFits" : "noTools"))]));
}

async function listModels() {
  const { models = [] } = await getJSON("api/models");
  const first = models.find((m) => m.default) || models[0];
  $("model").replaceChildren(...models.map((m) => el("option", { value: m.name }, m.name)));
  $("model").hidden = models.length < 2;
  if (first) $("model").value = first.name;
  const demo = () => { $("demo").hidden = !models.find((m) => m.name === $("model").value)?.simulated; };
  $("model").onchange = () => { demo(); loads.weigh(); };
  demo();
}

// ---- start

function askForToken(message = "") {
  leave();
  enter(false);
  $("login-error").textContent = message;
  $("token").focus();
}

function logOut() {
  for (const stream of open.streams.values()) stream.leave();
  api("api/session", { method: "DELETE" }).catch(() => {});
  keepToken("");
  newChat();
  askForToken();
}

function enter(yes) {
  $("login").hidden = yes;
  for (const id of ["app", "show-chats", "show-tools", "show-account"]) $(id).hidden = !yes;
}

async function start() {
  const hash = new URLSearchParams(location.hash.slice(1));
  const given = hash.get("token"), code = hash.get("code");
  if (given) keepToken(given);
  if (given || code) history.replaceState(null, "", location.pathname); // out of the address bar and the history
  translate();
  const why = code && await exchange(code).catch(problemText);
  if (!token) return askForToken(why);
  enter(true);
  welcome();
  await fill();
  if (hash.has("c")) await openChat(hash.get("c"), 0, { back: true }).catch(missing);
  if ($("app").hidden) return; // the token was refused meanwhile
  $("question").focus();
}

// fill asks for everything beside the conversation.
async function fill() {
  await listModels().catch(() => {}); // the page says that the daemon does not answer
  await listChats();
  $("plugin-part").hidden = !(await whoAmI()); // plugins are the operator's
  if ($("plugin-part").hidden) $("show-tools").classList.remove("due");
  else listPlugins().catch(() => {}); // marks the button when something waits
}

// missing says why a conversation cannot be shown.
function missing(err) {
  if (err.code === "unreachable") return;
  $("log").replaceChildren();
  report(err.status === 404 ? { message: t("noSuchChat") } : err);
}

// away says that the daemon does not answer, until it does.
async function away() {
  if (!$("away").hidden) return;
  $("away").hidden = false;
  for (let ms = 500; !(await fetch("healthz").then((r) => r.ok, () => false)); ms = Math.min(2 * ms, 8000)) {
    await new Promise((done) => setTimeout(done, ms));
  }
  $("away").hidden = true;
  if ($("app").hidden) return;
  await fill();
  if (location.hash && !conversation) route();
}

// route shows what the address names.
function route() {
  const hash = new URLSearchParams(location.hash.slice(1));
  if (hash.has("token") || hash.has("code")) return start();
  if (!token || location.hash === "#question") return; // which the link to the question leads to
  if (!hash.has("c")) newChat({ back: true });
  else if (hash.get("c") !== conversation) openChat(hash.get("c"), 0, { back: true }).catch(missing);
}

$("login-form").addEventListener("submit", (e) => {
  e.preventDefault();
  keepToken($("token").value.trim());
  $("token").value = "";
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
});

$("stop").addEventListener("click", () => { running?.end(); $("question").focus(); });
$("new-chat").addEventListener("click", () => newChat());
$("show-chats").addEventListener("click", () => drawer("chats", !isOpen("chats")));
$("show-tools").addEventListener("click", () => {
  drawer("tools", !isOpen("tools"));
  if (isOpen("tools")) listTools().catch(report);
});
$("find-tool").addEventListener("input", () => listTools().catch(report));
$("language").addEventListener("click", () => {
  switchLanguage();
  if (!$("app").hidden) {
    listChats();
    whoAmI();
    loads.draw();
    if (isOpen("tools")) listTools().catch(report);
    if ($("log").querySelector(".welcome")) welcome();
    else if (conversation && !running) openChat(conversation, 0, { back: true }).catch(missing);
  }
});
addEventListener("popstate", route);
addEventListener("refused", () => askForToken(t("wrongToken")));
addEventListener("unreachable", away);
addEventListener("storage", (e) => { if (e.key === "weir.token" && remembered() !== token) location.reload(); }); // another tab logged in or out
startArchive(() => ({ conversation_id: conversation, ...(chosen() && { model: chosen() }) }));
startPlugins();
startTalks({ drawer, here, newChat, openChat, report });
startAccount({ logOut, report });

start();

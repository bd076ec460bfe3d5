// What all parts of the page use: elements, language, and requests to the daemon.
import { words } from "./words.js";

export { $, api, chars, el, exchange, getJSON, keepToken, lang, moment, money, num, Problem, problemText, recall, remembered, shown, size, speech, switchLanguage, t, tag, token, translate, visible };

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

function switchLanguage() {
  lang = lang === "zh" ? "en" : "zh";
  recall(() => localStorage.setItem("weir.lang", lang));
  translate();
}

// ---- the daemon

let token = remembered();

// remembered is the token as all tabs know it. It lies in the browser's storage and not
// in a cookie: a browser sends cookies to every port of this machine.
function remembered() { return recall(() => localStorage.getItem("weir.token")) || ""; }

// keepToken remembers the token for all tabs; an empty one is forgotten.
function keepToken(given) {
  token = given;
  recall(() => (given ? localStorage.setItem("weir.token", given) : localStorage.removeItem("weir.token")));
}

class Problem extends Error {
  constructor({ code, message, hint } = {}, status = 0) {
    super(message || `HTTP ${status}`);
    Object.assign(this, { code, hint, status });
  }
}

async function api(path, options = {}) {
  const headers = { Authorization: `Bearer ${token}`, "Accept-Language": tag(), ...options.headers }, [, key] = token.split("session:");
  if (key) { headers["X-Weir-Session"] = key; delete headers.Authorization; }
  let res;
  try {
    res = await fetch(path, { ...options, headers });
  } catch (err) {
    if (err.name === "AbortError") throw err;
    dispatchEvent(new Event("unreachable"));
    throw new Problem({ code: "unreachable", message: t("unreachable") });
  }
  if (res.ok) return res;
  const body = await res.json().catch(() => ({}));
  if (res.status === 401) dispatchEvent(new Event("refused"));
  throw new Problem(body.error, res.status);
}

const getJSON = async (path, options) => (await api(path, options)).json();

// exchange logs in with a code, which is good for once.
const exchange = async (code) => keepToken(`session:${(await getJSON("api/session", { method: "POST", body: JSON.stringify({ code }), headers: { "Content-Type": "application/json" } })).key}`);

// problemText is a problem in one line.
const problemText = (err) => [err.message, err.hint].filter(Boolean).join(" · ");

// ---- text

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

// visible writes out what does not show in JSON or turns the order around.
const visible = (json) => json.replace(/(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (c) => c.split("").map((u) => `\\u${u.charCodeAt(0).toString(16).padStart(4, "0")}`).join(""));

// shown is visible for the text of a tool, which may be indented by tabs and have
// joined characters.
const shown = (text) => text.replace(/(?![\n\t\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (c) => `⟨U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);

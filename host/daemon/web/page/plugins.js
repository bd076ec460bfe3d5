// The list of plugins, and the dialog in which a person looks at one and says
// what becomes of it. What a plugin says of itself is put in as text; its reasons are
// marked as its own words.
import { $, api, el, getJSON, num, problemText, shown, t } from "./base.js";

const path = (name, what = "") => `api/plugins/${encodeURIComponent(name)}${what}`;
const short = (digest) => (digest || "").slice(0, 12);
const stopped = ["refused", "disabled", "quarantined"];
const when = (at) => new Date(at).toLocaleString(document.documentElement.lang);

// listPlugins fills the list below the tools; what waits comes first.
export async function listPlugins() {
  const { plugins = [] } = await getJSON("api/plugins");
  const due = (p) => p.state === "waiting" || Boolean(p.offer);
  plugins.sort((a, b) => due(b) - due(a));
  $("show-tools").classList.toggle("due", plugins.some(due));
  $("plugin-list").replaceChildren(...plugins.map((p) => el("li", {},
    el("button", { class: "quiet", type: "button", "aria-haspopup": "dialog", onclick: () => review.open(p.name) }, t("look")),
    el("code", {}, p.name), " ", el("small", { class: `state ${p.state}` }, `${p.version || ""} ${t(`state_${p.state}`)}`),
    due(p) ? el("p", {}, p.offer ? t(`cause_${p.offer.cause}`) : p.why) : null,
    stopped.includes(p.state) ? el("p", {}, p.why) : null,
    stopped.includes(p.state) && p.fix ? el("p", {}, el("small", {}, `→ ${p.fix}`)) : null)));
}

const review = {
  async open(name) {
    this.name = name;
    $("plugin-said").textContent = t("loading");
    $("plugin-body").replaceChildren();
    $("plugin-acts").replaceChildren();
    $("plugin-title").textContent = name;
    if (!$("plugin").open) $("plugin").showModal();
    await this.take(() => getJSON(path(name)), "");
  },

  // take shows the plugin as an answer tells it, and then says so.
  async take(ask, said) {
    try {
      const r = await ask();
      this.show(r);
      $("plugin-said").textContent = typeof said === "string" ? said : said(r.plugin);
      listPlugins().catch(() => {});
    } catch (err) {
      $("plugin-said").textContent = problemText(err);
      if (err.code === "changed") this.show(await getJSON(path(this.name)));
      return err;
    }
  },

  say(what, said, body = {}) {
    const options = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ by: "page", ...body }) };
    return this.take(async () => (await api(path(this.name, `/${what}`), options)).json(), said);
  },

  // retry takes the plugin out of quarantine.
  retry() {
    return this.take(async () => {
      await api(path(this.name, "/retry"), { method: "POST" });
      return getJSON(path(this.name));
    }, t("retried"));
  },

  show(r) {
    const p = r.plugin, v = r.waiting || r.serving;
    $("plugin-title").textContent = `${p.name} ${v?.version || p.version || ""}`;
    const rows = [];
    if (r.waiting && r.serving) rows.push(el("p", {}, t("serves", { version: r.serving.version || short(r.serving.digest) })));
    const why = p.offer ? t(`cause_${p.offer.cause}`) : p.why, fix = p.why ? p.fix : "";
    if (why) rows.push(el("p", { class: "why" }, why));
    if (p.offer && p.offer.cause !== "new") rows.push(el("p", { class: "note" }, p.offer.why));
    if (fix && !r.waiting) rows.push(el("p", { class: "note" }, fix));
    if (v) rows.push(...this.powers(v, r.changes || []));
    if (v?.add) rows.push(el("details", {}, el("summary", {}, t("grantHelp")), el("pre", {}, grantText(p.name, v.add))));
    if (r.changes?.length) rows.push(el("h3", {}, t("changes")), el("ul", { class: "changes" }, ...r.changes.map(changeRow)));
    if (v) rows.push(el("h3", {}, t("tools")), el("ul", {}, ...(v.tools || []).map((x) => toolRow(x))), digests(p, v));
    if (r.history?.length) rows.push(el("h3", {}, t("history")), el("ul", {}, ...r.history.map((h) => this.past(h))));
    $("plugin-body").replaceChildren(...rows);
    $("plugin-body").scrollTop = 0;
    this.acts(r);
  },

  powers(v, changes) {
    if (!v.asks?.length) return [el("h3", {}, t("powers")), el("p", {}, t("noPowers"))];
    const fresh = (a) => changes.some((c) => c.kind === "power" && c.wider && c.name.endsWith(` ${a.what.split(" ")[0]}`));
    return [el("h3", {}, t("powers")), el("ul", { class: "powers" }, ...v.asks.map((a) => el("li", {},
      el("strong", {}, t(`ask_${a.kind}`)), " ", el("code", {}, a.what), " ",
      fresh(a) ? el("span", { class: "new" }, t("newPower")) : null, " ",
      el("small", {}, a.granted ? t("granted") : t("notGranted")),
      a.reason ? el("p", {}, el("q", {}, shown(a.reason))) : el("p", {}, t("noReason")))))];
  },

  past(h) {
    const row = el("li", {}, `${when(h.at)} · ${h.version || ""} `, el("code", {}, short(h.digest)), ` · ${h.by} `);
    if (h.current) row.append(el("small", {}, h.held ? t("heldBack") : t("inForce")));
    else if (h.kept) row.append(el("button", { class: "quiet", type: "button", onclick: () => this.say("rollback", t("wentBack"), { digest: h.digest }) }, t("goBack")));
    return row;
  },

  acts(r) {
    const p = r.plugin, button = (text, quiet, onclick) => el("button", { class: quiet ? "quiet" : "", type: "button", onclick }, text);
    const acts = [p.state === "disabled" ? button(t("enable"), true, () => this.say("enable", t("enabled"))) : button(t("disable"), true, () => this.say("disable", t("disabledNow")))];
    if (p.state === "quarantined") acts.unshift(button(t("retry"), true, () => this.retry()));
    if (r.waiting || lacking(r).length) acts.unshift(button(t(r.waiting ? "approve" : "grant"), false, () => this.confirm(r)));
    $("plugin-acts").replaceChildren(...acts);
  },

  // confirm is the second step: what was looked at, in one sentence, what it gets with
  // it, and a yes to exactly that.
  confirm(r) {
    const { name } = r.plugin, { asks = [], digest } = r.waiting || r.serving;
    const wants = lacking(r).map(wish);
    const yes = () => this.approve(r, { digest, grants: wants.map((w) => w.given()).filter(Boolean) });
    this.ask(t(asks.length ? "confirmPowers" : "confirmPlain", { name, digest: short(digest) }), t("notNow"), t("yesRun"), yes,
      wants.length ? el("ul", { class: "wishes" }, ...wants.map((w) => w.node)) : null);
  },

  // ask puts a question in place of the buttons. The answer that changes nothing has
  // the focus.
  ask(question, no, yes, act, more = null) {
    const back = el("button", { class: "quiet", type: "button", onclick: () => this.open(this.name) }, no);
    $("plugin-acts").replaceChildren(...[el("p", {}, question), more, back, el("button", { type: "button", onclick: act }, yes)].filter(Boolean));
    back.focus();
  },

  // approve grants and approves. A version that serves is stopped only after a question.
  async approve(r, body) {
    const err = await this.say("approve", (p) => (p.state === "ready" ? t("approved") : t("approvedWaits", { why: p.why || "" })), body);
    if (err?.code !== "stops_serving") return;
    $("plugin-said").textContent = "";
    this.ask(err.message, t("stay", { version: r.serving.version }), t("yesStop"), () => this.approve(r, { ...body, stop: true }));
  },
};

// lacking lists what a plugin asks for and is not granted.
const lacking = (r) => ((r.waiting || r.serving)?.asks || []).filter((a) => !a.granted);

// wish is an ask that can be granted: with a tick, and a folder where it is for one.
function wish(a, i) {
  const tick = el("input", { type: "checkbox", id: `wish-${i}`, checked: "" });
  const folder = a.kind === "path" ? el("input", { id: `wish-folder-${i}`, value: ".", size: 12, autocomplete: "off", spellcheck: "false" }) : null;
  return {
    node: el("li", {}, tick, el("label", { for: tick.id }, `${t(`grant_${a.kind}`)} `, el("code", {}, a.what)),
      folder && el("label", { for: folder.id }, t("grantFolder")), folder),
    given: () => tick.checked && { kind: a.kind, what: a.what, folder: folder?.value.trim() },
  };
}

function changeRow(c) {
  const title = `${t(`kind_${c.kind}`)} ${c.name || ""}`;
  const long = ["module", "manifest"].includes(c.kind) ? short : (s) => s;
  return el("li", {}, el("strong", {}, title), c.wider ? el("span", { class: "new" }, t("newPower")) : null,
    c.was ? el("del", {}, long(c.was)) : null, c.is ? el("ins", {}, long(c.is)) : null, c.reason ? el("p", {}, el("q", {}, shown(c.reason))) : null);
}

function toolRow({ spec, effective }) {
  const zh = document.documentElement.lang.startsWith("zh");
  return el("li", {}, el("code", {}, spec.name), el("p", {}, (zh && spec.description_zh) || spec.description),
    el("small", {}, t("toolShows", { chars: num(effective?.max_chars), lines: num(effective?.max_lines) })));
}

const digests = (p, v) => el("details", {}, el("summary", {}, t("files")),
  el("pre", {}, `${p.source}\n${v.file}\ndigest ${v.digest}\nmodule ${v.wasm_sha256}\nmanifest ${v.manifest_sha256}`));

// startPlugins gives the controls their work.
export function startPlugins() {
  $("plugin-close").addEventListener("click", () => $("plugin").close());
}

const grantText = (name, add) => [`[grants.${name}]`, ...Object.entries(add).map(([key, list]) => `${key} = [${list.join(", ")}]`)].join("\n");

// How an answer is drawn: its text, the calls of tools in it, and what a person is
// asked. Whatever comes from a model or a tool is put in as text, never as markup.
import { archive, loads } from "./archive.js";
import { $, api, el, getJSON, num, problemText, shown, speech, t, tag, visible } from "./base.js";
import { markdown } from "./markdown.js";

export { Answer, fold, keepDown, nameTab };

// keepDown runs change and stays at the end, if the person was there.
function keepDown(change) {
  const box = $("scroll");
  const atEnd = box.scrollHeight - box.scrollTop - box.clientHeight < 80;
  change();
  if (atEnd) box.scrollTop = box.scrollHeight;
}

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
    if (r.kept_lines || r.kept?.length) this.node.append(this.why(r));
    if (r.text) this.node.append(...this.read(r));
    if (r.kept_uuid) this.keep(r.kept_uuid, r.produced);
    if (r.folded) fold(this.node);
  }

  // read shows what the model read, and beside it the placeholder that it reads now.
  read(r) {
    const part = (what, text) => el("details", {}, el("summary", {}, what), el("pre", { tabindex: 0 }, text));
    if (!r.then) return [part(t("read"), shown(r.text))];
    const then = part(t("read"), t("loading")), pre = then.lastChild;
    then.addEventListener("toggle", async () => {
      pre.textContent = shown(await r.then().catch((err) => (err.status === 404 ? t("readGone") : problemText(err))));
    }, { once: true });
    return [then, part(t("readNow"), shown(r.text))];
  }

  // why lists the lines that are shown because an expression matches them.
  why(r) {
    const list = el("ul", { class: "why" }), details = el("details", {}, el("summary", {}, t("why", { n: num(r.kept_lines || r.kept.length) })), list);
    const draw = (lines) => list.append(...lines.map((k) => el("li", {}, t("whyLine", { n: num(k.line), by: k.by, times: k.times > 1 ? ` ×${num(k.times)}` : "" }), " ", el("code", {}, shown(k.text)))));
    if (r.kept) draw(r.kept);
    else details.addEventListener("toggle", () => r.why().then(draw, (err) => list.append(el("li", {}, err.status === 404 ? t("readGone") : problemText(err)))), { once: true });
    return details;
  }

  // flow shows what was produced, shown and kept.
  flow(r) {
    const kept = Boolean(r.kept_uuid);
    const loaded = r.loaded_uuid || this.tool === "load_tool_history";
    const fate = loaded ? t("loaded") : kept ? t("kept", { n: num(r.produced) }) : r.unkept ? t("unkept") : t("keptNone");
    const numbers = el("div", { class: "numbers" },
      el("span", {}, t("produced", { n: num(r.produced) })), el("span", {}, t("shown", { n: num(r.shown) })), el("span", {}, fate));
    const fill = el("i");
    fill.style.width = `${Math.min(100, (100 * r.shown) / r.produced)}%`;
    if (!r.layer && r.shown >= r.produced && !r.summarized) return [numbers]; // whole: there is nothing to compare
    const bar = el("div", { class: `bar ${kept || loaded ? "kept" : r.layer ? "lost" : ""}`, role: "img", "aria-label": t("bar", { shown: num(r.shown), produced: num(r.produced) }) }, fill);
    return [numbers, bar, el("p", { class: "note" }, this.notice(r))];
  }

  notice(r) {
    if (r.summarized) return t("summarized", { model: r.summary_cost?.model || "" });
    if (r.layer && !r.limit) return t("cutBy", { chars: num(Math.max(0, r.produced - r.shown)), layer: t(`layer_${r.layer}`) });
    if (!r.layer) return t("bar", { shown: num(r.shown), produced: num(r.produced) });
    return t("cut", {
      chars: num(Math.max(0, r.produced - r.shown)), lines: num(Math.max(0, r.lines_produced - r.lines_shown)),
      layer: t(`layer_${r.layer}`), limit: num(r.limit), unit: t(r.unit === "lines" ? "linesUnit" : "characters"),
    });
  }

  keep(uuid, n) {
    if (this.button) return;
    this.button = el("button", { class: "quiet", type: "button", "aria-haspopup": "dialog", onclick: () => archive.open(uuid, this.tool) }, t("open", { n: num(n) }));
    if (this.tool !== "load_tool_history") this.node.dataset.uuid = uuid;
    this.node.append(el("div", { class: "row" }, this.button,
      el("button", { class: "quiet", type: "button", onclick: () => loads.add(uuid, this.tool) }, t("loadBack_whole"))));
  }

  drop() {
    if (!this.node.classList.contains("running")) return;
    this.bar?.remove();
    this.node.classList.replace("running", "failed");
    this.state.textContent = t("unfinished");
  }
}

// fold says on a card that the model reads a placeholder from now on.
function fold(card) {
  if (card.classList.contains("folded")) return;
  card.classList.add("folded");
  card.append(el("p", { class: "note" }, t("folded")));
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
      this.status.textContent = problemText(err);
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

// The tab's title says which conversation is open, and that somebody is waited for.
let leaves = 0, name = "";
function waiting(n) {
  leaves += n;
  document.title = [leaves ? `(${leaves})` : "", name, name ? "–" : "", "weir"].filter(Boolean).join(" ");
}

function nameTab(title = "") {
  name = title.slice(0, 60);
  waiting(0);
}

// ---- one answer

class Answer {
  constructor() {
    this.pulse = null;
    this.node = el("article", { class: "theirs", "aria-label": t("answer") });
    this.cards = new Map();
    this.leaves = new Map();
    this.texts = [];
    this.ended = false;
    $("log").append(this.node);
  }

  add(node) { keepDown(() => this.node.insertBefore(node, this.pulse)); }

  // begin shows a clock, and what is waited for, until the answer is closed.
  begin(since = Date.now()) {
    this.pulse = this.node.appendChild(el("p", { class: "pulse" }));
    this.since = since;
    this.beat = setInterval(() => this.draw(), 1000);
    this.wait("connecting");
  }

  wait(what, vars = {}) {
    this.waits = [what, vars];
    this.draw();
  }

  draw() {
    if (this.pulse) this.pulse.textContent = `${t(`wait_${this.waits[0]}`, this.waits[1])} · ${t("seconds", { n: num(Math.max(0, Math.floor((Date.now() - this.since) / 1000))) })}`;
  }

  // waitNext says what is waited for after a call: another one that runs, or the model.
  waitNext() {
    const runs = [...this.cards.values()].find((c) => c.node.classList.contains("running"));
    if (runs) this.wait("tool", { tool: runs.tool });
    else this.wait("model");
  }

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
      keepDown(() => markdown(block.node, block.raw));
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

  // fail shows a problem, and a way on where there is one.
  fail(problem, ...ways) {
    this.text = null;
    const box = problemBox(problem);
    box.append(...ways);
    box.setAttribute("role", "alert");
    this.add(box);
  }

  // leave asks for the person's word below the call that needs it.
  leave(d) {
    const leave = new Leave(d), card = this.cards.get(d.call_id);
    this.leaves.set(d.id, leave);
    this.text = this.thought = null;
    if (card) card.state.textContent = t("waits");
    if (card) keepDown(() => card.node.append(leave.node));
    else this.add(leave.node);
    this.wait("person");
    speech.add(`${t("leave", { tool: d.tool })}\n`);
  }

  close() {
    this.back();
    clearInterval(this.beat);
    this.pulse?.remove();
    this.pulse = null;
    for (const l of this.leaves.values()) l.settle("gone");
    for (const c of this.cards.values()) c.drop();
    speech.say();
  }
}

// The reader of archived results, and those that the next question brings along.
import { $, api, chars, el, getJSON, num, problemText, shown, speech, t } from "./base.js";

export { archive, loads, startArchive };

const most = 8; // loads of one question

// loads are the archived results, or parts of them, that the next question brings along.
const loads = {
  kept: new Map(), // key → {uuid, tool, part, fit}; part is what selects: {}, {lines} or {grep}
  asks: () => ({}), // what the question will be asked with, which app.js knows
  weighed: 0,

  add(uuid, tool, part = {}) {
    const key = JSON.stringify([uuid, part]);
    if (this.kept.size >= most && !this.kept.has(key)) return speech.add(`${t("loadMost")}\n`);
    this.kept.set(key, { uuid, tool, part });
    this.draw();
    this.weigh();
    speech.add(`${t("loadAdded", { what: named(tool, part) })}\n`);
    $("question").focus();
  },

  drop(key) {
    this.kept.delete(key);
    this.draw();
    this.weigh();
    $("question").focus();
  },

  clear() {
    this.kept.clear();
    this.draw();
  },

  // wanted are the loads as the daemon takes them.
  wanted() { return [...this.kept.values()].map(wanted); },

  // weigh asks how much of each load the model will be shown.
  async weigh() {
    const turn = ++this.weighed, list = [...this.kept.values()];
    if (!list.length) return;
    const fits = await fitsOf(list.map(wanted)).catch((err) => list.map(() => ({ problem: err })));
    if (turn !== this.weighed) return;
    list.forEach((l, i) => { l.fit = fits[i]; });
    this.draw();
  },

  draw() {
    $("loads").hidden = !this.kept.size;
    $("loads").replaceChildren(...[...this.kept].map(([key, l]) => {
      const what = named(l.tool, l.part);
      return el("li", {}, el("span", {}, what), el("small", { class: l.fit?.fits < l.fit?.chars || l.fit?.problem ? "bad" : "" }, l.fit ? fitText(l.fit) : t("loading")),
        el("button", { class: "quiet", type: "button", "aria-label": t("loadNot", { what }), onclick: () => this.drop(key) }, "×"));
    }));
  },
};

const wanted = ({ uuid, part }) => (Object.keys(part).length ? { uuid, ...part } : uuid);

const fitsOf = async (list) => (await (await api("api/chat/fits", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ ...loads.asks(), load_uuids: list }) })).json()).loads;

// fitText says how much of a load the model will be shown.
function fitText(fit) {
  if (fit.problem) return problemText(fit.problem);
  return t(fit.fits < fit.chars ? "fitsPart" : "fitsAll", { fits: num(fit.fits), chars: num(fit.chars) });
}

// named says which part of which result a load is.
function named(tool, part) {
  return t(`load_${kindOf(part)}`, { tool, ...part });
}

const kindOf = (part) => (part.lines ? "lines" : part.grep ? "grep" : "whole");

// ---- archive

const archive = {
  uuid: "", next: 0, part: {}, asked: 0,

  async open(uuid, tool) {
    Object.assign(this, { uuid, tool, next: 0 });
    $("archive-title").textContent = t("archiveTitle", { tool });
    $("archive-lines").value = $("archive-grep").value = "";
    $("archive").showModal();
    await this.load(false);
  },

  // load shows the part that the form selects, or more of it.
  async load(more) {
    const turn = ++this.asked;
    if (!more) {
      const lines = $("archive-lines").value.trim(), grep = $("archive-grep").value;
      this.part = lines ? { lines } : grep ? { grep } : {};
      $("archive-load").textContent = t(`loadBack_${kindOf(this.part)}`);
      $("archive-fits").textContent = "";
    }
    const query = new URLSearchParams(this.part);
    if (more) query.set("offset", this.next);
    $("archive-info").textContent = t("loading");
    let good = false;
    try {
      if (this.part.lines && !/^\d+(\s*-\s*\d*)?$/.test(this.part.lines)) throw new Error(t("linesHow"));
      const page = await getJSON(`api/archives/${encodeURIComponent(this.uuid)}?${query}`);
      if (turn !== this.asked) return;
      $("archive-text").textContent = (more ? $("archive-text").textContent : "") + shown(page.text);
      this.next = page.next_offset || 0;
      $("archive-info").textContent = t("archiveInfo", { chars: num(page.chars), lines: num(page.lines), shown: num(chars($("archive-text").textContent)) }) +
        (page.matches ? ` ${t("matches", { n: num(page.matches) })}` : "");
      good = true;
    } catch (err) {
      if (turn !== this.asked) return;
      $("archive-info").textContent = this.trouble(err);
      if (!more) $("archive-text").textContent = "";
      this.next = 0;
    }
    $("archive-load").disabled = !good && !more;
    $("archive-more").hidden = !this.next;
    if (good && !more) this.weigh(turn);
  },

  // trouble says what is wrong for a person; the daemon's hint shows a model how to call.
  trouble(err) {
    if (err.status === 410) return t("textGone");
    return err.code === "bad_args" ? err.message : problemText(err);
  },

  // weigh says how much of what is shown a question could bring along.
  async weigh(turn) {
    const others = loads.wanted().slice(0, most - 1), mine = wanted({ uuid: this.uuid, part: this.part });
    const fits = await fitsOf([...others, mine]).catch((err) => [{ problem: err }]);
    if (turn === this.asked) $("archive-fits").textContent = fitText(fits.at(-1));
  },
};

// startArchive gives the controls their work.
function startArchive(asks) {
  loads.asks = asks;
  $("archive-form").addEventListener("submit", (e) => { e.preventDefault(); archive.load(false); });
  for (const [one, other] of [["archive-lines", "archive-grep"], ["archive-grep", "archive-lines"]]) {
    $(one).addEventListener("input", () => { $(other).value = ""; }); // the daemon takes one of them
  }
  $("archive-more").addEventListener("click", () => archive.load(true));
  $("archive-load").addEventListener("click", () => { $("archive").close(); loads.add(archive.uuid, archive.tool, archive.part); });
  $("archive-close").addEventListener("click", () => $("archive").close());
}

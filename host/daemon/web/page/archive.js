// The reader of archived results, and those that the next question brings along.
import { $, chars, el, getJSON, num, problemText, shown, speech, t } from "./base.js";

export { archive, loads, startArchive };

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
      $("archive-text").textContent = (more ? $("archive-text").textContent : "") + shown(page.text);
      this.next = page.next_offset || 0;
      $("archive-info").textContent = t("archiveInfo", { chars: num(page.chars), lines: num(page.lines), shown: num(chars($("archive-text").textContent)) }) +
        (page.matches ? ` ${t("matches", { n: num(page.matches) })}` : "");
    } catch (err) {
      $("archive-info").textContent = problemText(err);
      if (!more) $("archive-text").textContent = "";
      this.next = 0;
    }
    $("archive-more").hidden = !this.next;
  },
};

// startArchive gives the controls their work.
function startArchive() {
  $("archive-form").addEventListener("submit", (e) => { e.preventDefault(); archive.load(false); });
  $("archive-more").addEventListener("click", () => archive.load(true));
  $("archive-load").addEventListener("click", () => { $("archive").close(); loads.add(archive.uuid, archive.tool); });
  $("archive-close").addEventListener("click", () => $("archive").close());
}

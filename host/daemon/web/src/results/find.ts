// The search in one archived result: all hits, and the one that is looked at.
import { signal } from "@preact/signals";
import type { TextMatch, TextMatches } from "../api";
import { getJSON, told } from "../core/daemon";
import { path } from "./lines";

const most = 10_000; // hits that are loaded

export class Find {
  q = signal("");
  regex = signal(false);
  exact = signal(false); // upper and lower case differ
  hits = signal<TextMatch[]>([]);
  total = signal(0);
  more = signal(false);
  at = signal(0); // index of the hit that is looked at
  trouble = signal("");
  private asked = 0;
  private what = ""; // was asked for last

  constructor(private uuid: string) {}

  // run asks for all hits and looks at the first one at or after a line.
  async run(from: number): Promise<void> {
    const what = JSON.stringify([this.q.value, this.regex.value, this.exact.value]);
    if (what === this.what) return;
    this.what = what;
    const turn = ++this.asked;
    this.trouble.value = "";
    if (!this.q.value) { this.hits.value = []; this.total.value = 0; return; }
    try {
      const found = await getJSON<TextMatches>(path(this.uuid, "/matches", { q: this.q.value, limit: most, ...(this.regex.value && { regex: "true" }), ...(this.exact.value && { case: "true" }) }));
      if (turn !== this.asked) return;
      this.hits.value = found.matches || [];
      this.total.value = found.total;
      this.more.value = Boolean(found.more);
      this.at.value = Math.max(0, this.hits.value.findIndex((h) => h.line >= from));
    } catch (err) {
      if (turn !== this.asked) return;
      this.what = "";
      this.hits.value = [];
      this.total.value = 0;
      this.trouble.value = told(err);
    }
  }

  step(by: number): void {
    const n = this.hits.value.length;
    if (n) this.at.value = (this.at.value + by + n) % n;
  }

  get hit(): TextMatch | undefined { return this.hits.value[this.at.value]; }

  // in returns the hits of a line.
  in(line: number): TextMatch[] {
    const all = this.hits.value;
    let lo = 0, hi = all.length;
    while (lo < hi) { const mid = (lo + hi) >> 1; if (all[mid].line < line) lo = mid + 1; else hi = mid; }
    const out: TextMatch[] = [];
    while (all[lo]?.line === line) out.push(all[lo++]);
    return out;
  }
}

// The lines of one archived result, loaded a page at a time as they come into sight.
import { signal } from "@preact/signals";
import type { ArchivePage } from "../api";
import { getJSON, later, Problem } from "../core/daemon";
import { chars } from "../core/format";

export const pageLines = 500;
// clip is how many characters of a line are loaded: a page of clipped lines fits in one
// answer of the daemon.
export const clip = 300;

export interface Line {
  text: string;
  more: number; // characters that are clipped
}

export const path = (uuid: string, what = "", query: Record<string, string | number> = {}): string => `api/archives/${encodeURIComponent(uuid)}${what}?${new URLSearchParams(Object.entries(query).map(([k, v]) => [k, String(v)]))}`;

export class Lines {
  // loaded counts the pages that have arrived: whoever reads it is rendered again.
  loaded = signal(0);
  problem = signal<Problem | null>(null);
  head = signal<ArchivePage | null>(null);
  private pages = new Map<number, Line[] | null>(); // null: asked for
  private opened = new Map<number, string>();

  constructor(public uuid: string) { this.load(0); }

  // line returns a line, counted from 1, if it is here, and asks for it if not.
  line(n: number): Line | undefined {
    const whole = this.opened.get(n);
    if (whole !== undefined) return { text: whole, more: 0 };
    const page = Math.floor((n - 1) / pageLines);
    if (!this.pages.has(page)) this.load(page);
    return this.pages.get(page)?.[(n - 1) % pageLines];
  }

  private async load(page: number): Promise<void> {
    this.pages.set(page, null);
    const first = page * pageLines + 1;
    try {
      const answer = await getJSON<ArchivePage>(path(this.uuid, "", { lines: `${first}-${first + pageLines - 1}`, clip }));
      const clipped = new Map((answer.clipped || []).map((c) => [c.line, c.chars]));
      const texts = answer.text.split("\n");
      this.pages.set(page, texts.map((text, i) => ({ text, more: clipped.has(i + 1) ? clipped.get(i + 1)! - chars(text) : 0 })));
      if (!this.head.value) this.head.value = answer;
      this.problem.value = null;
    } catch (err) {
      this.problem.value = err as Problem;
      setTimeout(() => { // then it is asked for again, if it is looked at
        this.pages.delete(page);
        this.loaded.value++;
        if (!this.head.value) later(err, () => this.load(page));
      }, 1000);
    }
    this.loaded.value++;
  }

  // open loads a clipped line in whole, or as much of it as one answer of the daemon has.
  async open(n: number): Promise<void> {
    try {
      this.opened.set(n, (await getJSON<ArchivePage>(path(this.uuid, "", { lines: `${n}-${n}` }))).text.replace(/\n$/, ""));
      this.problem.value = null;
      this.loaded.value++;
    } catch (err) { this.problem.value = err as Problem; }
  }

  isOpen(n: number): boolean { return this.opened.has(n); }
}

// The cut map: one bar for a whole result, in which the parts that a model was shown lie
// where they lie in the whole.
import type { CutText, Gap, ToolCallResult } from "../api";
import { num } from "../core/format";
import { t } from "../core/words";

export interface Cut {
  produced: number; // characters of the whole
  shown: number; // characters that were let through
  lines: number; // of the whole; 0: unknown
  gaps?: Gap[] | null;
  kept?: number[] | null; // lines that an expression kept
  unkept?: boolean; // what was left out is not in the archive
}

// cutOf returns the cut that an answer of the daemon describes.
export const cutOf = (r: CutText | ToolCallResult) => ({ produced: r.produced, shown: r.shown, lines: r.lines_produced, gaps: r.gaps || [], kept: (r.kept || []).map((k) => k.line), unkept: "unkept" in r && Boolean(r.unkept) });

export interface Span { from: number; to: number }

// spans returns the parts that were let through, as fractions of the whole.
export function spans({ produced, shown, lines, gaps }: Cut): Span[] {
  if (!produced) return [];
  const known = (gaps || []).filter((g) => g.first > 0 && g.last >= g.first);
  if (!known.length || lines < 2) return shown ? [{ from: 0, to: Math.min(1, shown / produced) }] : [];
  const out: Span[] = [];
  let at = 0;
  for (const g of known) {
    const from = (g.first - 1) / lines;
    if (from > at) out.push({ from: at, to: from });
    at = Math.max(at, g.last / lines);
  }
  if (at < 1) out.push({ from: at, to: 1 });
  return out;
}

const percent = (n: number) => `${(100 * n).toFixed(3)}%`;

// CutMap draws the map. With down it runs from top to bottom.
export function CutMap({ cut, down = false, hits = [], small = false }: { cut: Cut; down?: boolean; hits?: number[]; small?: boolean }) {
  const place = (from: number, to: number) => (down ? { top: percent(from), height: percent(to - from) } : { left: percent(from), width: percent(to - from) });
  const tick = (line: number) => (cut.lines ? (line - 1) / cut.lines : 0);
  return (
    <div class={`map ${down ? "down" : ""} ${small ? "small" : ""} ${cut.unkept ? "lost" : ""}`} role="img" aria-label={t("bar", { shown: num(cut.shown), produced: num(cut.produced) })}>
      {spans(cut).map((s, i) => <i key={`s${i}`} class="through" style={place(s.from, s.to)} />)}
      {(cut.kept || []).slice(0, 300).map((line) => <i key={`k${line}`} class="kept" style={place(tick(line), tick(line))} />)}
      {hits.slice(0, 500).map((line) => <i key={`h${line}`} class="hit" style={place(tick(line), tick(line))} />)}
    </div>
  );
}

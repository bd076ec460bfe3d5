// Stacked bars: what fills a window, by part.
import { num } from "../core/format";

export interface Piece { name: string; n: number; kind: string }

// Stack draws pieces of a whole side by side; whole is the length of the bar.
export function Stack({ pieces, whole, label }: { pieces: Piece[]; whole: number; label: string }) {
  return (
    <div class="stack" role="img" aria-label={label}>
      {pieces.filter((p) => p.n > 0).map((p) => <i key={p.name} class={p.kind} style={{ width: `${(100 * p.n) / Math.max(whole, 1)}%` }} />)}
    </div>
  );
}

// Legend names the pieces with their numbers.
export function Legend({ pieces }: { pieces: Piece[] }) {
  return <dl class="legend">{pieces.map((p) => <div key={p.name}><dt><i class={p.kind} aria-hidden="true" />{p.name}</dt><dd>{num(p.n)}</dd></div>)}</dl>;
}

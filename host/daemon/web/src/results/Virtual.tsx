// The lines of a result: only those in sight are in the document. The cut map beside them
// is their scroll bar.
import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { chars, num, shown } from "../core/format";
import { t } from "../core/words";
import { Button } from "../parts/Button";
import { type Cut, CutMap } from "../parts/CutMap";
import type { Find } from "./find";
import type { Line, Lines } from "./lines";

export const rowHeight = 20; // pixels
const tallest = 8_000_000; // pixels that every browser can scroll; longer texts are scaled
const around = 8; // rows above and below those in sight

export interface Range { first: number; last: number }

export interface View {
  lines: Lines;
  find: Find;
  count: number;
  cut: Cut;
  hidden: boolean; // hidden characters are written out
  line: number; // that was asked for
  jump: number; // changes with each jump
  selected: Range | null;
  select: (r: Range | null) => void;
  // moved receives the first line in sight, and the line that brings this sight back when
  // it is asked for.
  moved: (first: number, line: number) => void;
}

// through reports for each line whether the model was shown it.
const through = (cut: Cut, n: number): boolean => !(cut.gaps || []).some((g) => n >= g.first && n <= g.last && g.first > 0);

export function Virtual(v: View) {
  const box = useRef<HTMLDivElement>(null), top = useSignal(0), height = useSignal(600), anchor = useRef(0);
  const wanted = useRef(0), put = useRef(0); // the line that was asked for, until somebody scrolls away from where that put the box
  const whole = v.count * rowHeight, scale = Math.max(1, whole / tallest), tall = whole / scale;
  const scrollTo = (line: number) => {
    if (!box.current) return;
    box.current.scrollTop = Math.max(0, ((line - 1) * rowHeight - box.current.clientHeight / 3) / scale);
    wanted.current = line;
    put.current = box.current.scrollTop;
  };
  useEffect(() => {
    const watch = new ResizeObserver(() => {
      height.value = box.current?.clientHeight || height.value;
      if (wanted.current) scrollTo(wanted.current);
    });
    watch.observe(box.current!);
    return () => watch.disconnect();
  }, []);
  useLayoutEffect(() => { if (v.line && v.count) scrollTo(v.line); }, [v.jump, v.count > 0]);
  void v.lines.loaded.value;
  const y = top.value * scale, first = Math.max(1, Math.floor(y / rowHeight) + 1 - around), last = Math.min(v.count, Math.ceil((y + height.value) / rowHeight) + around);
  const rows = [];
  for (let n = first; n <= last; n++) rows.push(<Row key={n} n={n} line={v.lines.line(n)} v={v} click={(e) => pick(n, e)} />);
  const pick = (n: number, e: MouseEvent) => {
    if (!e.shiftKey || !anchor.current) anchor.current = n;
    v.select({ first: Math.min(anchor.current, n), last: Math.max(anchor.current, n) });
  };
  const key = (e: KeyboardEvent) => {
    if (!e.shiftKey || !["ArrowDown", "ArrowUp"].includes(e.key)) return;
    e.preventDefault();
    const by = e.key === "ArrowDown" ? 1 : -1;
    if (!anchor.current || !v.selected) anchor.current = v.find.hit?.line || Math.floor(y / rowHeight) + 1;
    const end = v.selected ? (v.selected.first === anchor.current ? v.selected.last : v.selected.first) + by : anchor.current;
    const to = Math.max(1, Math.min(v.count, end));
    v.select({ first: Math.min(anchor.current, to), last: Math.max(anchor.current, to) });
  };
  return (
    <div class="lines">
      <div class="rows" id="lines" ref={box} tabIndex={0} role="region" aria-label={t("whole")} onKeyDown={key} onScroll={(e) => {
        top.value = e.currentTarget.scrollTop;
        if (Math.abs(top.value - put.current) > 1) wanted.current = 0;
        const from = top.value * scale;
        v.moved(Math.floor(from / rowHeight) + 1, from ? Math.round((from + e.currentTarget.clientHeight / 3) / rowHeight) + 1 : 1);
      }}>
        <div class="tall" style={{ height: `${tall}px` }}>
          <div class="seen" style={{ transform: `translateY(${top.value - (y - (first - 1) * rowHeight)}px)` }}>{rows}</div>
        </div>
      </div>
      <Bar v={v} from={tall ? top.value / tall : 0} part={tall ? Math.min(1, height.value / tall) : 1} go={(part) => { box.current!.scrollTop = part * tall - height.value / 2; }} by={(n) => { box.current!.scrollTop += (n * rowHeight) / scale; }} />
    </div>
  );
}

// Bar is the cut map as a scroll bar.
function Bar({ v, from, part, go, by }: { v: View; from: number; part: number; go: (part: number) => void; by: (rows: number) => void }) {
  const bar = useRef<HTMLDivElement>(null);
  const drag = (e: PointerEvent) => {
    const move = (at: PointerEvent) => { const r = bar.current!.getBoundingClientRect(); go((at.clientY - r.top) / r.height); };
    e.preventDefault();
    move(e);
    bar.current!.setPointerCapture(e.pointerId);
    bar.current!.onpointermove = move;
    bar.current!.onpointerup = () => { bar.current!.onpointermove = null; };
  };
  const keys: Record<string, () => void> = { ArrowDown: () => by(1), ArrowUp: () => by(-1), PageDown: () => by(30), PageUp: () => by(-30), Home: () => go(0), End: () => go(1) };
  return (
    <div class="map-bar" ref={bar} role="scrollbar" tabIndex={0} aria-label={t("mapBar")} aria-orientation="vertical" aria-controls="lines" aria-valuemin={0} aria-valuemax={100} aria-valuenow={Math.round(100 * from)}
      onPointerDown={drag} onKeyDown={(e) => { if (keys[e.key]) { e.preventDefault(); keys[e.key](); } }}>
      <CutMap down cut={v.cut} hits={[...new Set(v.find.hits.value.map((h) => h.line))]} />
      <i class="window" style={{ top: `${100 * from}%`, height: `max(${100 * part}%, 6px)` }} />
    </div>
  );
}

function Row({ n, line, v, click }: { n: number; line: Line | undefined; v: View; click: (e: MouseEvent) => void }) {
  const hits = v.find.in(n), here = v.find.hit?.line === n, seen = through(v.cut, n), gap = (v.cut.gaps || []).find((g) => g.first === n), kept = v.cut.kept?.includes(n);
  const chosen = v.selected && n >= v.selected.first && n <= v.selected.last;
  return (
    <div class={`row-line ${seen ? "through" : ""} ${kept ? "kept" : ""} ${chosen ? "chosen" : ""} ${here ? "here" : ""}`}>
      <button type="button" class="no" tabIndex={-1} aria-label={t("selectLine", { n })} aria-pressed={Boolean(chosen)} onClick={click}>{num(n)}</button>
      <span class="txt">{line ? <Text line={line} hits={hits} current={here ? v.find.hit!.from : -1} hidden={v.hidden} /> : " "}{line && line.more > 0 && <Button kind="bare" onClick={() => v.lines.open(n)}>{t("moreOfLine", { n: num(line.more) })}</Button>}</span>
      {gap && <span class="gap">{t("gapFrom", { first: num(gap.first), last: num(gap.last), chars: num(gap.chars) })}</span>}
    </div>
  );
}

// Text is a line with its hits set apart. A hit after what is loaded is not marked.
function Text({ line, hits, current, hidden }: { line: Line; hits: { from: number; to: number }[]; current: number; hidden: boolean }) {
  const write = hidden ? shown : (s: string) => s;
  if (!hits.length) return <bdi>{write(line.text) || " "}</bdi>;
  const points = Array.from(line.text), out = [];
  let at = 0;
  for (const h of hits) {
    if (h.from >= chars(line.text)) break;
    out.push(write(points.slice(at, h.from).join("")), <mark key={h.from} class={h.from === current ? "now" : ""}>{write(points.slice(h.from, h.to).join(""))}</mark>);
    at = h.to;
  }
  return <bdi>{out}{write(points.slice(at).join(""))}</bdi>;
}

// A turn over time: requests to the model with their first piece, and calls.
import type { Trace } from "../api";
import { num, took } from "../core/format";
import { to } from "../core/route";
import { family, t } from "../core/words";

interface Bar { name: string; from: number; wait: number; to: number; kind: "model" | "tool"; about: string; uuid?: string; bad?: boolean; child?: boolean }

// bars places what a trace has on one scale of milliseconds: a round's calls begin when
// its reply ends, and the next round when the last of them does.
export function bars(x: Trace): Bar[] {
  const out: Bar[] = [];
  let at = 0;
  for (const r of x.rounds || []) {
    out.push({ name: t("roundOf", { n: num(r.round) }), from: at, wait: at + Math.min(r.first_ms, r.elapsed_ms), to: at + r.elapsed_ms, kind: "model", bad: Boolean(r.error), about: r.error || `${t("firstPiece", { ms: took(r.first_ms) })} · ${took(r.elapsed_ms)}` });
    at += r.elapsed_ms;
    let end = at;
    for (const c of r.calls || []) {
      const cut = c.layer ? `${num(c.produced)} → ${num(c.shown)}, ${family(`layer_${c.layer}`)}` : c.produced ? t("wholeOf", { n: num(c.produced) }) : "";
      out.push({ name: c.tool, from: at, wait: at, to: at + c.elapsed_ms, kind: "tool", about: [took(c.elapsed_ms), c.error ? t("failed") : cut, c.loaded_uuid ? t("loaded") : ""].filter(Boolean).join(" · "), uuid: c.kept_uuid || c.loaded_uuid, bad: !c.ok, child: true });
      end = Math.max(end, at + c.elapsed_ms);
    }
    at = end;
  }
  return out;
}

export function Timeline({ x }: { x: Trace }) {
  const all = bars(x), whole = Math.max(1, x.elapsed_ms, ...all.map((b) => b.to)), part = (ms: number) => `${(100 * ms) / whole}%`;
  return (
    <section>
      <h2>{t("time")} <small>0 – {took(whole)}</small></h2>
      <ol class="timeline">
        {all.map((b, i) => (
          <li key={i} class={b.child ? "child" : ""}>
            <span class="name">{b.name}</span>
            <span class="lane" aria-hidden="true">
              {b.wait > b.from && <i class="before" style={{ left: part(b.from), width: part(b.wait - b.from) }} />}
              <i class={`${b.kind} ${b.bad ? "failed" : ""}`} style={{ left: part(b.wait), width: part(b.to - b.wait) }} />
            </span>
            <span class="about">{b.uuid ? <a href={to("results", [b.uuid])}>{b.about}</a> : b.about}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}

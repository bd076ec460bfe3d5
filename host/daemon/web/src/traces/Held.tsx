// What each request of a turn held, by part.
import type { Trace } from "../api";
import { num } from "../core/format";
import { t } from "../core/words";
import { Legend, Stack } from "../parts/Parts";
import { pieces } from "../ask/Sees";

export function Held({ x }: { x: Trace }) {
  const rounds = (x.rounds || []).map((r, i) => ({ r, parts: pieces(x, i) }));
  if (!rounds.length) return null;
  const sum = (parts: { n: number }[]) => parts.reduce((n, p) => n + p.n, 0), most = Math.max(...rounds.map(({ parts }) => sum(parts)));
  return (
    <section>
      <h2>{t("held")} <small>{t("heldHelp")}</small></h2>
      <ol class="timeline">
        {rounds.map(({ r, parts }) => (
          <li key={r.round}>
            <span class="name">{num(r.round)} · {num(sum(parts))}{r.usage.prompt_tokens ? ` (${num(r.usage.prompt_tokens)})` : ""}</span>
            <Stack pieces={parts} whole={most} label={`${t("roundOf", { n: num(r.round) })}: ${parts.filter((p) => p.n).map((p) => `${p.name} ${num(p.n)}`).join(", ")}`} />
          </li>
        ))}
      </ol>
      <Legend pieces={rounds.at(-1)!.parts} />
    </section>
  );
}

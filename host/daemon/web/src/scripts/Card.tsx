// One card for all calls of a script that wait at the same time. Its buttons come to life a
// moment after they are drawn, as those of other approvals.
import { useEffect, useState } from "preact/hooks";
import type { ScriptAnswer, ScriptQuestion } from "../api";
import { json, shown } from "../core/format";
import { to } from "../core/route";
import { family, t } from "../core/words";
import { Button } from "../parts/Button";
import { Foreign } from "../parts/Foreign";
import { armAfter } from "../ask/Approval";

const answers = ["allow", "always", "deny"] as const;

export function Card({ card, answer }: { card: ScriptQuestion[]; answer: (body: ScriptAnswer) => Promise<unknown> }) {
  const [armed, arm] = useState(false);
  useEffect(() => { const timer = setTimeout(() => arm(true), armAfter); return () => clearTimeout(timer); }, []);
  const give = (body: ScriptAnswer) => { arm(false); answer(body).then(() => arm(true)); };
  const title = t("scriptAsks", { n: card.length });
  return (
    <section class="approval" aria-label={title}>
      <h2>{title}</h2>
      <ol class="asked">{card.map((q) => <li key={q.number}><Question q={q} />{card.length > 1 && <div class="row">{(["allow", "deny"] as const).map((word) => <Button key={word} disabled={!armed} aria-label={`${family(`scriptOne_${word}`)} ${q.number}`} onClick={() => give({ answers: { [q.key]: word } })}>{family(`scriptOne_${word}`)}</Button>)}</div>}</li>)}</ol>
      <p class="note">{t("scriptAlways")}</p>
      <div class="row">{answers.map((word) => <Button key={word} kind={word === "allow" ? "main" : "quiet"} disabled={!armed} onClick={() => give({ answers: Object.fromEntries(card.map((q) => [q.key, word])) })}>{family(`scriptAll_${word}`)}</Button>)}</div>
    </section>
  );
}

// Question is one call: its arguments, and where what it sends comes from.
function Question({ q }: { q: ScriptQuestion }) {
  const args = Object.entries((q.arguments || {}) as Record<string, unknown>);
  return (
    <>
      <p><strong>{q.tool}</strong>{q.plugin && <> <small>{q.plugin}</small></>} – <Foreign text={q.why} /></p>
      <dl class="facts">
        {args.map(([name, value]) => {
          const from = q.sources?.find((s) => s.argument === name);
          return [
            <dt key={name}>{shown(name)}</dt>,
            <dd key={`${name} `}>{from ? <>{from.uuid ? <a href={to("results", [from.uuid])}><Foreign text={from.from} /></a> : <Foreign text={from.from} />}</> : <code><Foreign text={typeof value === "string" ? value : json(value)} max={1000} /></code>}</dd>,
          ];
        })}
      </dl>
    </>
  );
}

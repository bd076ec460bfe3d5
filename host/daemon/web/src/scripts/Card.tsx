// One card for all calls of a script that wait at the same time. Its buttons come to life a
// moment after they are drawn, as those of other approvals.
import { useEffect, useState } from "preact/hooks";
import type { ScriptAnswer, ScriptQuestion } from "../api";
import { family, t } from "../core/words";
import { Arguments } from "../parts/Arguments";
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
  return (
    <>
      <p><strong>{q.tool}</strong>{q.plugin && <> <small>{q.plugin}</small></>} – <Foreign text={q.why} /></p>
      <Arguments args={(q.arguments || {}) as Record<string, unknown>} sources={q.sources || []} />
    </>
  );
}

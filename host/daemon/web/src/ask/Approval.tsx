// A call that waits for a person's word. Its buttons come to life a moment after they are
// drawn, or another call comes or is answered, which moves them: a click that was meant for
// what was in this place must not allow anything.
import { signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import type { Approval, ApprovalCall } from "../api";
import { getJSON, Problem, send, told } from "../core/daemon";
import { clock, num } from "../core/format";
import { family, t } from "../core/words";
import { Arguments } from "../parts/Arguments";
import { Button } from "../parts/Button";
import { Tick } from "../parts/Field";

export const armAfter = 700; // milliseconds
const moves = signal(0); // number of calls that came or were answered
const answers = ["once", "always", "deny"] as const;

// ApprovalBox asks for the answer. answer is the one that was given, left the seconds that
// are left if that is known, and done is called with an answer that the daemon took.
export function ApprovalBox({ approval, answer, left, done }: { approval: Approval; answer: string; left: number; done: (answer: string) => void }) {
  const now = moves.value, [armed, arm] = useState(-1), [whole, setWhole] = useState(approval), [trouble, setTrouble] = useState(""), [denied, deny] = useState<number[]>([]);
  useEffect(() => { const timer = setTimeout(() => arm(now), armAfter); return () => clearTimeout(timer); }, [approval.id, now]);
  useLayoutEffect(() => { moves.value++; return () => { moves.value++; }; }, []);
  const calls = whole.calls || [], only = calls.map((c) => c.number).filter((n) => !denied.includes(n));
  const give = async (word: string) => {
    arm(-1);
    const some = word === "once" && only.length < calls.length;
    try {
      await send("POST", `api/approvals/${encodeURIComponent(approval.id)}`, { answer: word, ...(some && { only }) });
      done(some ? "some" : word);
    } catch (err) {
      setTrouble(told(err));
      if (!(err as Problem).status) arm(moves.value);
    }
  };
  const showAll = () => getJSON<Approval>(`api/approvals/${encodeURIComponent(approval.id)}`).then(setWhole, (err) => setTrouble(told(err)));
  const title = calls.length ? t("scriptAsks", { n: calls.length }) : t("leave", { tool: approval.tool });
  const label = (word: typeof answers[number]) => {
    if (!calls.length) return family(`leave_${word}`);
    return word === "once" && denied.length ? t("leaveSome", { n: only.length, all: calls.length }) : family(`scriptAll_${word === "once" ? "allow" : word}`);
  };
  const fits = (word: string) => word === "deny" || !denied.length || word === "once" && only.length > 0;
  if (answer) return <p class="note" role="status">{family(`leave_was_${answer}`)}</p>;
  return (
    <div class="approval" role="group" aria-label={title}>
      <p><strong>{title}</strong></p>
      <p>{approval.why}</p>
      {calls.length ? <ol class="asked">{calls.map((c) => <li key={c.number}><Tick label={t("leaveOne", { n: c.number, tool: c.tool })} checked={!denied.includes(c.number)} onChange={(e) => deny(e.currentTarget.checked ? denied.filter((n) => n !== c.number) : [...denied, c.number])} /><OfOne call={c} /></li>)}</ol>
        : <pre tabIndex={0} aria-label={t("args")}>{whole.arguments}</pre>}
      {whole.script && <details><summary>{t("scriptSource")}</summary><pre tabIndex={0}>{whole.script}</pre></details>}
      {Boolean(whole.left_out) && <Button onClick={showAll}>{t("leaveAll", { n: num(whole.left_out) })}</Button>}
      <p class="note">{calls.length ? t("scriptAlways") : t("leaveAlways", { always: approval.always })}</p>
      <div class="row">
        {answers.map((word) => <Button key={word} kind={word === "once" ? "main" : "quiet"} disabled={armed !== now || !fits(word)} onClick={() => give(word)}>{label(word)}</Button>)}
        <p class="note" role="status">{trouble || (left ? t("leaveLeft", { n: num(left) }) : t("leaveUntil", { time: clock(approval.expires_at) }))}</p>
      </div>
    </div>
  );
}

// OfOne shows the arguments of one call of a script: as a table, if all of them are there.
function OfOne({ call }: { call: ApprovalCall }) {
  const sources = Object.entries(call.from || {}).map(([argument, from]) => ({ argument, from }));
  try {
    const args = call.left_out ? null : JSON.parse(call.arguments);
    if (args && typeof args === "object" && !Array.isArray(args)) return <Arguments args={args} sources={sources} />;
  } catch { /* it is shown as it is */ }
  return <pre tabIndex={0} aria-label={t("args")}>{call.arguments}</pre>;
}

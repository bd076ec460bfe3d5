// A call that waits for a person's word. Its buttons come to life a moment after they are
// drawn: a click that was meant for what was in this place must not allow anything.
import { useEffect, useState } from "preact/hooks";
import type { Approval } from "../api";
import { getJSON, Problem, send, told } from "../core/daemon";
import { clock, num } from "../core/format";
import { family, t } from "../core/words";
import { Button } from "../parts/Button";

export const armAfter = 700; // milliseconds
const answers = ["once", "always", "deny"] as const;

// ApprovalBox asks for the answer. answer is the one that was given, left the seconds that
// are left if that is known, and done is called with an answer that the daemon took.
export function ApprovalBox({ approval, answer, left, done }: { approval: Approval; answer: string; left: number; done: (answer: string) => void }) {
  const [armed, arm] = useState(false), [args, setArgs] = useState(approval.arguments), [all, setAll] = useState(!approval.left_out), [trouble, setTrouble] = useState("");
  useEffect(() => { const timer = setTimeout(() => arm(true), armAfter); return () => clearTimeout(timer); }, [approval.id]);
  const give = async (word: string) => {
    arm(false);
    try {
      await send("POST", `api/approvals/${encodeURIComponent(approval.id)}`, { answer: word });
      done(word);
    } catch (err) {
      setTrouble(told(err));
      arm(!(err as Problem).status);
    }
  };
  const showAll = () => getJSON<Approval>(`api/approvals/${encodeURIComponent(approval.id)}`).then((a) => { setArgs(a.arguments); setAll(true); }, (err) => setTrouble(told(err)));
  const title = t("leave", { tool: approval.tool });
  if (answer) return <p class="note" role="status">{family(`leave_was_${answer}`)}</p>;
  return (
    <div class="approval" role="group" aria-label={title}>
      <p><strong>{title}</strong></p>
      <p>{approval.why}</p>
      <pre tabIndex={0} aria-label={t("args")}>{args}</pre>
      {!all && <Button onClick={showAll}>{t("leaveAll", { n: num(approval.left_out) })}</Button>}
      <p class="note">{t("leaveAlways", { always: approval.always })}</p>
      <div class="row">
        {answers.map((word) => <Button key={word} kind={word === "once" ? "main" : "quiet"} disabled={!armed} onClick={() => give(word)}>{family(`leave_${word}`)}</Button>)}
        <p class="note" role="status">{trouble || (left ? t("leaveLeft", { n: num(left) }) : t("leaveUntil", { time: clock(approval.expires_at) }))}</p>
      </div>
    </div>
  );
}

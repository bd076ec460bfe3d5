import { said } from "../core/speech";

// Live speaks the sentences that core/speech has.
export function Live() {
  return <div class="unseen" aria-live="polite">{said.value.map((s) => <p key={s.id}>{s.text}</p>)}</div>;
}

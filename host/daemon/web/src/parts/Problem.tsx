import type { ComponentChildren } from "preact";
import { Foreign } from "./Foreign";

// ProblemBox says what is wrong, what to do, and offers a way on.
export function ProblemBox({ message, hint, alert, children }: { message: string; hint?: string; alert?: boolean; children?: ComponentChildren }) {
  return (
    <div class="error" role={alert ? "alert" : undefined}>
      <p><Foreign text={message} /></p>
      {hint && <p><Foreign text={hint} /></p>}
      {children}
    </div>
  );
}

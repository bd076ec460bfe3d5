// Calls that wait for a person and were asked elsewhere: in another tab, over the API or
// by a command.
import { approvals, beat } from "../core/pulse";
import { t } from "../core/words";
import { ApprovalBox } from "./Approval";
import { current } from "./state";

// elsewhere are the approvals that the open conversation does not show itself.
function elsewhere() {
  const here = new Set(current.value.turns.value.flatMap((turn) => turn.calls()).map((call) => call.state.value.approval?.approval.id));
  return approvals.value.filter((a) => !here.has(a.id));
}

export const waitingElsewhere = (): number => elsewhere().length;

export function Inbox() {
  return (
    <section class="inbox" aria-label={t("inbox")}>
      <h2>{t("inbox")}</h2>
      {elsewhere().map((a) => <ApprovalBox key={a.id} approval={a} answer="" left={0} done={() => { approvals.value = approvals.value.filter((x) => x.id !== a.id); beat(); }} />)}
    </section>
  );
}

// The archive: its settings, and what retention removes.
import { useSignal } from "@preact/signals";
import type { Pruned } from "../api";
import { Problem, send } from "../core/daemon";
import { num, size } from "../core/format";
import { family, t } from "../core/words";
import { Button } from "../parts/Button";
import { ProblemBox } from "../parts/Problem";
import { Rows } from "./Rows";
import { known } from "./state";

export function Archive() {
  return (
    <>
      <Rows keys={(known.value?.schema.keys || []).filter((k) => k.key?.[0] === "archive")} />
      <Prune />
    </>
  );
}

function Prune() {
  const would = useSignal<Pruned | null>(null), problem = useSignal<Problem | null>(null);
  const run = async (dry: boolean) => {
    problem.value = null;
    try { would.value = await send<Pruned>("POST", "api/archives/prune", { dry_run: dry }); } catch (err) { problem.value = err as Problem; }
  };
  const x = would.value, reasons = [...new Set((x?.pruned || []).map((p) => p.reason))];
  return (
    <section class="card" aria-labelledby="prune">
      <h3 id="prune">{t("retention")}</h3>
      <p class="note">{t("retentionHelp")}</p>
      {problem.value && <ProblemBox alert message={problem.value.message} hint={problem.value.hint} />}
      {x && <p role="status">{t(x.dry_run ? "wouldPrune" : "didPrune", { n: num(x.count), size: size(x.bytes), kept: num(x.kept), keptSize: size(x.kept_bytes) })} {reasons.map((r) => family(`prune_${r}`)).join(", ")}</p>}
      <div class="row">
        <Button onClick={() => run(true)}>{t("pruneLook")}</Button>
        {x?.dry_run && x.count > 0 && <Button kind="danger" onClick={() => run(false)}>{t("pruneNow", { n: num(x.count) })}</Button>}
      </div>
    </section>
  );
}

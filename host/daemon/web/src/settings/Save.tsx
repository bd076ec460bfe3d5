// Saves settings: first the difference of tools.toml is shown, then it is written.
import { useSignal } from "@preact/signals";
import type { SettingChange, SettingsPatched } from "../api";
import { api, Problem, send, told } from "../core/daemon";
import { t } from "../core/words";
import { Button } from "../parts/Button";
import { Dialog } from "../parts/Dialog";

// patch changes settings. The file must be as it was when its version was asked for.
export async function patch(changes: SettingChange[], dryRun: boolean, etag = ""): Promise<SettingsPatched> {
  const version = etag || (await api("api/settings")).headers.get("ETag") || "";
  return send<SettingsPatched>("PATCH", "api/settings", { changes, dry_run: dryRun }, { "If-Match": version });
}

// SaveSettings is a button that shows what would be written and asks for a yes.
export function SaveSettings({ label, changes, done }: { label: string; changes: () => SettingChange[]; done?: () => void }) {
  const asked = useSignal<SettingsPatched | null>(null), said = useSignal(""), problem = useSignal<Problem | null>(null), open = useSignal(false), over = useSignal(false);
  const run = async (dryRun: boolean) => {
    problem.value = null;
    said.value = t("loading");
    try {
      const answer = await patch(changes(), dryRun);
      asked.value = answer;
      over.value = !dryRun;
      said.value = dryRun ? (answer.diff ? "" : t("nothingChanges")) : t(answer.restart?.length ? "savedRestart" : "savedNow", { keys: (answer.restart || []).join(", ") });
      if (!dryRun) done?.();
    } catch (err) {
      said.value = "";
      problem.value = err as Problem;
    }
  };
  return (
    <>
      <Button kind="main" onClick={() => { open.value = true; over.value = false; asked.value = null; run(true); }}>{label}</Button>
      {open.value && (
        <Dialog title={t("changesOf")} close={() => { open.value = false; }}>
          {asked.value?.diff && <Diff text={asked.value.diff} />}
          <p role="status">{said.value}</p>
          {problem.value && <div class="error" role="alert"><p>{problem.value.message}</p>{problem.value.hint && <pre tabIndex={0}>{problem.value.hint}</pre>}</div>}
          {(asked.value?.notes || []).map((n) => <p key={n} class="note">{n}</p>)}
          <div class="row">
            <span class="space" />
            {!over.value && <Button onClick={() => { open.value = false; }}>{t("discard")}</Button>}
            {!over.value && asked.value?.diff && <Button kind="main" onClick={() => run(false)}>{t("write")}</Button>}
            {over.value && <Button kind="main" onClick={() => { open.value = false; }}>{t("close")}</Button>}
          </div>
        </Dialog>
      )}
    </>
  );
}

// Diff shows the lines that go and come.
export function Diff({ text }: { text: string }) {
  const rows = text.split("\n").filter((l) => /^[+-]/.test(l) && !/^(\+\+\+|---)/.test(l));
  return <pre class="diff" tabIndex={0}>{rows.map((l, i) => (l[0] === "+" ? <ins key={i}>{`${l}\n`}</ins> : <del key={i}>{`${l}\n`}</del>))}</pre>;
}

export { told };

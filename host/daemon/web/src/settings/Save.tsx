// Saves settings: first the difference of tools.toml is shown, then it is written.
import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import type { SettingChange, SettingsPatched } from "../api";
import { api, Problem, send, told } from "../core/daemon";
import { t } from "../core/words";
import { Block } from "../clients/Clients";
import { Button } from "../parts/Button";
import { Dialog } from "../parts/Dialog";

// version is the ETag of tools.toml as it is now.
const version = async (): Promise<string> => (await api("api/settings")).headers.get("ETag") || "";

// patch changes settings, if the file is still of that version.
export const patch = (changes: SettingChange[], dryRun: boolean, etag: string): Promise<SettingsPatched> =>
  send<SettingsPatched>("PATCH", "api/settings", { changes, dry_run: dryRun }, { "If-Match": etag });

// SaveSettings is a button that shows what would be written and asks for a yes. done is
// called when the person has seen that it is written.
export function SaveSettings({ label, changes, done }: { label: string; changes: () => SettingChange[]; done?: () => void }) {
  const asked = useSignal<SettingsPatched | null>(null), said = useSignal(""), problem = useSignal<Problem | null>(null), open = useSignal(false), over = useSignal(false), seen = useRef(""), turn = useRef(0);
  const run = async (dryRun: boolean) => {
    problem.value = null;
    if (dryRun) asked.value = null; // nothing is written before it is shown
    said.value = t("loading");
    const mine = ++turn.current, all = changes();
    try {
      const etag = dryRun ? await version() : seen.current; // what is written is what was shown
      const answer = await patch(all, dryRun, etag);
      if (mine !== turn.current) return;
      seen.current = etag;
      asked.value = answer;
      over.value = !dryRun;
      said.value = dryRun ? (answer.diff ? "" : t("nothingChanges")) : t(answer.restart?.length ? "savedRestart" : "savedNow", { keys: (answer.restart || []).join(", ") });
    } catch (err) {
      if (mine !== turn.current) return;
      said.value = "";
      problem.value = err as Problem;
    }
  };
  const shut = () => {
    open.value = false;
    if (over.value) done?.();
  };
  return (
    <>
      <Button kind="main" onClick={() => { open.value = true; over.value = false; run(true); }}>{label}</Button>
      {open.value && (
        <Dialog title={t("changesOf")} close={shut}>
          {asked.value?.diff && <Diff text={asked.value.diff} />}
          <p role="status">{said.value}</p>
          {problem.value && <div class="error" role="alert"><p>{problem.value.message}</p>{problem.value.hint && <pre tabIndex={0}>{problem.value.hint}</pre>}</div>}
          {problem.value && ["config", "not_editable"].includes(problem.value.code) && <ToCopy changes={changes()} />}
          {problem.value?.code === "changed" && <div><Button onClick={() => run(true)}>{t("seeAgain")}</Button></div>}
          {(asked.value?.notes || []).map((n) => <p key={n} class="note">{n}</p>)}
          <div class="row">
            <span class="space" />
            {!over.value && <Button onClick={shut}>{t("discard")}</Button>}
            {!over.value && asked.value?.diff && <Button kind="main" onClick={() => run(false)}>{t("write")}</Button>}
            {over.value && <Button kind="main" onClick={shut}>{t("close")}</Button>}
          </div>
        </Dialog>
      )}
    </>
  );
}

// ToCopy has the lines for a file that cannot be written from here.
function ToCopy({ changes }: { changes: SettingChange[] }) {
  return <><p>{t("linesToCopy")}</p><Block text={changes.map(line).join("\n")} label={t("copyLines")} /></>;
}

// line writes a change as TOML: JSON's texts, numbers and lists are TOML's too.
function line({ key, value }: SettingChange): string {
  const parts = (key || []).map((part) => (/^[\w-]+$/.test(part) ? part : JSON.stringify(part))), last = parts.pop(), table = parts.length ? `[${parts.join(".")}]\n` : "";
  return table + (value === null || value === undefined ? `# ${last}` : `${last} = ${JSON.stringify(value)}`);
}

// Diff shows the lines that go and come.
export function Diff({ text }: { text: string }) {
  const rows = text.split("\n").filter((l) => /^[+-]/.test(l) && !/^(\+\+\+|---)/.test(l));
  return <pre class="diff" tabIndex={0}>{rows.map((l, i) => (l[0] === "+" ? <ins key={i}>{`${l}\n`}</ins> : <del key={i}>{`${l}\n`}</del>))}</pre>;
}

export { told };

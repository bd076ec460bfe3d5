// The settings of the daemon: tools.toml is their one source. Changes gather, are shown as
// a difference of that file, and are written together.
import type { ComponentChild } from "preact";
import type { HealthReport } from "../api";
import { getJSON, told } from "../core/daemon";
import { clock } from "../core/format";
import { pulse } from "../core/pulse";
import { route, to } from "../core/route";
import { chosenTheme, type Theme, theme } from "../core/theme";
import { family, lang, switchLanguage, t } from "../core/words";
import { Button } from "../parts/Button";
import { Choice } from "../parts/Field";
import { Foreign } from "../parts/Foreign";
import { ProblemBox } from "../parts/Problem";
import { useAsked, useTitle } from "../parts/use";
import { Agents } from "./Agents";
import { Approvals } from "./Approvals";
import { Archive } from "./Archive";
import { Limits } from "./Limits";
import { Models } from "./Models";
import { People } from "./People";
import { Powers } from "./Powers";
import { Rows } from "./Rows";
import { SaveSettings } from "./Save";
import { changes, discard, known, load } from "./state";

// sections are the parts of the view, each with the first parts of its keys.
const sections: Record<string, string[]> = {
  models: [], limits: [], agents: [], approvals: [], archive: [], mcp: ["mcp"], users: [], health: [], looks: [], powers: [],
};

export function Settings() {
  const at = route.value.parts[0] || "limits", asked = useAsked(load, [pulse.value?.configuration]);
  const section = sections[at] ? at : "limits";
  useTitle(family(`settings_${section}`));
  return (
    <main class="two chosen settings-view">
      <nav class="list" aria-label={t("view_settings")}>
        <h1>{t("view_settings")}</h1>
        {known.value && <p class="note">{known.value.schema.file}</p>}
        <ul>{Object.keys(sections).map((name) => <li key={name}><a href={to("settings", [name])} class={name === section ? "here" : ""} aria-current={name === section ? "page" : undefined}>{family(`settings_${name}`)}</a></li>)}</ul>
      </nav>
      <div class="page">
        <h2 class="big">{family(`settings_${section}`)}</h2>
        {asked.problem && asked.problem.code !== "unreachable" && <ProblemBox alert message={told(asked.problem)} />}
        {known.value && <Section name={section} />}
        {changes.value.length > 0 && (
          <section class="gathered" aria-label={t("gatheredChanges")}>
            <p><strong>{t("changesGathered", { n: changes.value.length })}</strong> {changes.value.map((c) => (c.key || []).join(".")).join(", ")}</p>
            <div class="row"><Button onClick={discard}>{t("discard")}</Button><SaveSettings label={t("seeChanges")} changes={() => changes.value} done={() => { discard(); load().catch(() => {}); }} /></div>
          </section>
        )}
      </div>
    </main>
  );
}

// own are the sections that are more than rows of keys.
const own: Record<string, () => ComponentChild> = { models: Models, limits: Limits, agents: Agents, approvals: Approvals, archive: Archive, users: People, health: Health, looks: Looks, powers: Powers };

function Section({ name }: { name: string }) {
  const Own = own[name];
  if (Own) return <Own />;
  const keys = (known.value!.schema.keys || []).filter((k) => sections[name].includes(k.key?.[0] || ""));
  return <Rows keys={keys} names={Object.keys((known.value!.now[name] as object | undefined) || {})} />;
}

function Health() {
  const { data, problem, again } = useAsked(() => getJSON<HealthReport>("api/doctor").then((report) => ({ ...report, at: new Date().toISOString() })), []);
  const found = data?.findings || [], count = (status: string) => found.filter((f) => f.status === status).length;
  const worst = (f: { status: string }) => ["fail", "warn", "note", "ok"].indexOf(f.status);
  return (
    <section>
      <div><Button onClick={again}>{t("checkAgain")}</Button></div>
      {problem && <ProblemBox alert message={told(problem)} />}
      <p role="status" class="note">{data ? t("healthSum", { fail: count("fail"), warn: count("warn"), time: clock(data.at) }) : !problem && t("loading")}</p>
      <ul class="health">
        {found.toSorted((a, b) => worst(a) - worst(b)).map((f, i) => <li key={i} class={`is-${f.status}`}><b>{family(`health_${f.status}`)}</b> <span><small>{f.area}</small> <Foreign text={f.what} />{f.fix && <p class="note">→ <Foreign text={f.fix} /> {f.area === "plugins" && <a href={to("plugins")}>{t("view_plugins")}</a>}</p>}</span></li>)}
      </ul>
    </section>
  );
}

// Looks is what this browser alone remembers.
function Looks() {
  return (
    <section>
      <p class="note">{t("looksHelp")}</p>
      <div class="row">
        <Choice label={t("theme")} value={theme.value} onChange={(e) => chosenTheme(e.currentTarget.value as Theme)} options={(["system", "light", "dark"] as Theme[]).map((x) => ({ value: x, text: family(`theme_${x}`) }))} />
        <Button lang={lang.value === "zh" ? "en" : "zh-CN"} onClick={switchLanguage}>{t("otherLanguage")}</Button>
      </div>
    </section>
  );
}


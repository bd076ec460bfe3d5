// Which calls wait for a person: the settings, and the rules in force, which are written in
// the file alone.
import { json } from "../core/format";
import { to } from "../core/route";
import { t } from "../core/words";
import { Table } from "../parts/Table";
import { Rows } from "./Rows";
import { known, valueOf } from "./state";

interface Rule { tool: string; args?: Record<string, string>; action: string }

export function Approvals() {
  const rules = (valueOf(["approvals", "rule"]) || []) as Rule[];
  return (
    <>
      <Rows keys={(known.value?.schema.keys || []).filter((k) => k.key?.[0] === "approvals")} />
      <section>
        <h3>{t("rules")}</h3>
        {!rules.length && <p class="note">{t("noRules")}</p>}
        {rules.length > 0 && <Table label={t("rules")} head={[t("daycol_tool"), t("args"), t("ruleAction")]} rows={rules.map((r) => [<code>{r.tool}</code>, r.args ? <code>{json(r.args)}</code> : "–", <code>{r.action}</code>])} />}
        <p class="note">{t("rulesHelp")} <a href={to("settings", ["powers"])}>{t("settings_powers")}</a></p>
      </section>
    </>
  );
}

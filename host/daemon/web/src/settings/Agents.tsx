// The agent profiles: each with the fields of its record, and what is recommended for the
// length of a result with its model's window and with the kind of tool.
import type { ConfiguredProfile, ProfileList } from "../api";
import { getJSON } from "../core/daemon";
import { num } from "../core/format";
import { pulse } from "../core/pulse";
import { t } from "../core/words";
import { Table } from "../parts/Table";
import { useAsked } from "../parts/use";
import { Rows } from "./Rows";
import { known } from "./state";

export const resultLength = "max_tool_result_length";

export function Agents() {
  const profiles = useAsked(() => getJSON<ProfileList>("api/profiles"), [pulse.value?.configuration]).data?.profiles || [];
  const keys = known.value?.schema.keys || [];
  return (
    <>
      {profiles.map((p) => (
        <section class="card" key={p.name} aria-label={p.name}>
          <h3>{p.name} {p.default && <small class="badge">{t("default")}</small>} <small>{p.model}</small></h3>
          <Rows keys={keys.filter((k) => k.key?.[0] === (p.default ? "agent" : "agents"))} names={[p.name]} more={(key) => key.at(-1) === resultLength && <Recommended p={p} />} />
        </section>
      ))}
      <Kinds />
      <section><h3>{t("allProfiles")}</h3><Rows keys={keys.filter((k) => ["prompt", "tool_search", "summarize", "scripts", "locale"].includes(k.key?.[0] || ""))} /></section>
    </>
  );
}

// Recommended says what a profile's limit is now, and what suits its model's window.
export function Recommended({ p }: { p: ConfiguredProfile }) {
  return <small class="recommended"><strong>{t("lengthName")}.</strong> {t("lengthNow", { n: num(p.limit), model: p.model, why: p.why })} {p.recommended_most ? t("recommended", { least: num(p.recommended_least), most: num(p.recommended_most) }) : t("recommendedNot")}</small>;
}

// kinds of tools, with the usual size of a result and the recommended characters.
const kinds: [string, number, number, number, number][] = [["search", 10_000, 50_000, 4000, 8000], ["files", 1000, 100_000, 2000, 8000], ["database", 100, 10_000, 2000, 4000], ["api", 100, 5000, 1000, 3000], ["calculator", 10, 100, 1000, 1000]];

// Kinds is what is recommended by the kind of tool.
export function Kinds() {
  const range = (a: number, b: number) => (a === b ? num(a) : t("fromTo", { least: num(a), most: num(b) }));
  return (
    <details>
      <summary>{t("byKind")}</summary>
      <Table label={t("byKind")} numbers={[1, 2]} head={[t("kindOfTool"), t("usualSize"), t("recommendedChars")]} rows={kinds.map(([name, a, b, c, d]) => [t(`kindtool_${name}` as "kindtool_search"), range(a, b), range(c, d)])} />
    </details>
  );
}

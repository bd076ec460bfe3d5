// Settings as rows: each key with its meaning, unit, default, where its value comes from,
// and whether a change waits for a restart.
import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import type { SettingKey } from "../api";
import { json, shown } from "../core/format";
import { family, t } from "../core/words";
import { change, changed, valueOf, written } from "./state";

// more is what a row has besides.
export function Rows({ keys, names = [], more }: { keys: SettingKey[]; names?: string[]; more?: (key: string[]) => ComponentChildren }) {
  const rows = keys.flatMap((k) => ((k.key || []).includes("*") ? names.map((n) => ({ k, key: (k.key || []).map((p) => (p === "*" ? n : p)) })) : [{ k, key: k.key || [] }]));
  return <ul class="settings">{rows.map(({ k, key }) => <li key={key.join(".")}><Row k={k} at={key} more={more?.(key)} /></li>)}</ul>;
}

function Row({ k, at, more }: { k: SettingKey; at: string[]; more?: ComponentChildren }) {
  const id = useId(), from = written(k, at), now = changed(at), value = now ? now.value : (from?.value ?? valueOf(at));
  return (
    <div class={`setting ${now ? "changed" : ""}`}>
      <label for={id}><code>{at.join(".")}</code></label>
      <Input id={id} k={k} value={value} locked={Boolean(from?.variable)} put={(v) => change(at, v)} />
      <small id={`${id}-help`}>{shown(k.meaning)}{k.unit ? ` · ${family(`unit_${k.unit}`)}` : ""} · {k.default === null || k.default === undefined ? t("noDefault") : t("defaultIs", { value: json(k.default) })} · {from ? t("fromLine", { line: String(from.line) }) : t("fromDefault")}{from?.variable ? ` · ${t("fromVariable", { name: from.variable })}` : ""} · {t(k.restart ? "afterRestart" : "atOnce")}</small>
      {more}
    </div>
  );
}

// modelsOf are the names of models, for a key that names one.
const modelsOf = (key: string[]): string[] | null => (key.at(-1) === "model" && /^agents?$/.test(key[0]) ? ["demo", ...Object.keys((valueOf(["models"]) as object | undefined) || {}).filter((n) => n !== "demo")] : null);

// options are those of keys whose type is text, by the whole key or its last part.
const options: Record<string, string[]> = {
  "approvals.default": ["ask", "allow", "deny"], "approvals.network": ["auto", "ask", "allow", "deny"], strategy: ["head_tail", "head_only", "tail_only", "json", "summarize"], mode: ["auto", "native", "prompt"], locale: ["auto", "en", "zh"], archive: ["auto", "always", "never"],
};

function Input({ id, k, value, locked, put }: { id: string; k: SettingKey; value: unknown; locked: boolean; put: (value: unknown) => void }) {
  const common = { id, disabled: locked, "aria-describedby": `${id}-help` }, path = k.key || [];
  const listed = options[path.join(".")] || options[path.at(-1) || ""];
  const names = modelsOf(path);
  if (k.type === "boolean" || (k.type === "string" && (names || listed))) {
    const list = k.type === "boolean" ? ["true", "false"] : names || listed;
    return (
      <select {...common} onChange={(e) => put(e.currentTarget.value === "" ? null : k.type === "boolean" ? e.currentTarget.value === "true" : e.currentTarget.value)}>
        <option value="">{t("asDefault")}</option>
        {list.map((o) => <option key={o} value={o} selected={String(value) === o}>{o}</option>)}
      </select>
    );
  }
  if (k.type === "integer" || k.type === "number") {
    return <input {...common} type="number" step={k.type === "integer" ? 1 : "any"} value={value === undefined || value === null ? "" : String(value)} placeholder={t("asDefault")} onChange={(e) => put(e.currentTarget.value === "" ? null : Number(e.currentTarget.value))} />;
  }
  if (k.type === "list" || Array.isArray(value)) {
    return <textarea {...common} rows={2} spellcheck={false} placeholder={t("oneALine")} value={Array.isArray(value) ? value.map(String).join("\n") : value ? String(value) : ""} onChange={(e) => { const list = e.currentTarget.value.split("\n").map((s) => s.trim()).filter(Boolean); put(list.length ? list : null); }} />;
  }
  return <input {...common} spellcheck={false} autocomplete="off" value={value === undefined || value === null ? "" : String(value)} placeholder={t("asDefault")} onChange={(e) => put(e.currentTarget.value === "" ? null : e.currentTarget.value)} />;
}

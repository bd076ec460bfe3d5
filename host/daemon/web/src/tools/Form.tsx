// The form of a tool's arguments. A field that is left empty is left out of them.
import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { shown } from "../core/format";
import { t } from "../core/words";
import type { Field } from "./schema";

export type Args = Record<string, unknown>;

export function Fields({ fields, args, set }: { fields: Field[]; args: Args; set: (args: Args) => void }) {
  const put = (name: string, value: unknown) => {
    const { [name]: _, ...rest } = args;
    set(value === undefined ? rest : { ...args, [name]: value });
  };
  return <>{fields.map((f) => <One key={f.name} f={f} value={args[f.name]} put={(v) => put(f.name, v)} />)}</>;
}

function One({ f, value, put }: { f: Field; value: unknown; put: (value: unknown) => void }) {
  const id = useId();
  if (f.kind === "object") {
    return (
      <fieldset>
        <legend><code>{f.name}</code> {f.required && <small>{t("required")}</small>}</legend>
        {f.about && <small>{shown(f.about)}</small>}
        <Fields fields={f.fields} args={(value as Args) || {}} set={(v) => put(Object.keys(v).length || f.required ? v : undefined)} />
      </fieldset>
    );
  }
  return (
    <div class="param">
      <label for={id}><code>{f.name}</code> {f.required && <small>{t("required")}</small>}</label>
      <Input id={id} f={f} value={value} put={put} />
      {f.about && <small id={`${id}-help`}>{shown(f.about)}</small>}
    </div>
  );
}

function Input({ id, f, value, put }: { id: string; f: Field; value: unknown; put: (value: unknown) => void }) {
  const text = useSignal<string | null>(null), common = { id, required: f.required, "aria-describedby": f.about ? `${id}-help` : undefined };
  switch (f.kind) {
    case "choice": case "boolean":
      return (
        <select {...common} value={value === undefined ? "" : JSON.stringify(value)} onChange={(e) => put(e.currentTarget.value ? JSON.parse(e.currentTarget.value) : undefined)}>
          <option value="">{t("leftOut")}</option>
          {f.options.map((o) => <option key={JSON.stringify(o)} value={JSON.stringify(o)} selected={value === o}>{String(o)}</option>)}
        </select>
      );
    case "number": case "integer":
      return <input {...common} type="number" step={f.kind === "integer" ? 1 : "any"} placeholder={f.placeholder} value={value === undefined ? "" : String(value)} onInput={(e) => put(e.currentTarget.value === "" ? undefined : Number(e.currentTarget.value))} />;
    case "list":
      return <textarea {...common} rows={2} placeholder={t("oneALine")} value={Array.isArray(value) ? value.join("\n") : ""} onInput={(e) => { const list = e.currentTarget.value.split("\n").filter((l) => l.trim()); put(list.length ? (f.item === "number" ? list.map(Number) : list) : undefined); }} />;
    case "json":
      return <textarea {...common} rows={3} spellcheck={false} placeholder="JSON" value={text.value ?? (value === undefined ? "" : JSON.stringify(value))} onInput={(e) => { text.value = e.currentTarget.value; try { put(text.value.trim() ? JSON.parse(text.value) : undefined); e.currentTarget.setCustomValidity(""); } catch { e.currentTarget.setCustomValidity(t("notJSON")); } }} />;
  }
  const long = typeof value === "string" && (value.includes("\n") || value.length > 80);
  return long ? <textarea {...common} rows={4} value={value} onInput={(e) => put(e.currentTarget.value || undefined)} />
    : <input {...common} autocomplete="off" spellcheck={false} placeholder={f.placeholder} value={value === undefined ? "" : String(value)} onInput={(e) => put(e.currentTarget.value || undefined)} />;
}

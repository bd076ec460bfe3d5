// What a form can be made of: the parameters of a tool, as their JSON Schema says.

export interface Field {
  name: string;
  about: string;
  required: boolean;
  kind: "text" | "number" | "integer" | "choice" | "boolean" | "list" | "object" | "json";
  options: unknown[]; // of a choice
  item: "text" | "number"; // of a list
  fields: Field[]; // of an object
  placeholder: string;
}

type Schema = Record<string, unknown> & { properties?: Record<string, Schema>; items?: Schema };

const deepest = 2; // objects in objects; a deeper value is a field of JSON

// fieldsOf returns the fields of an object's schema, required ones first.
export function fieldsOf(schema: unknown, depth = 0): Field[] {
  const s = (schema || {}) as Schema, required = (s.required as string[] | undefined) || [];
  const all = Object.entries(s.properties || {}).map(([name, p]) => fieldOf(name, p, required.includes(name), depth));
  return [...all.filter((f) => f.required), ...all.filter((f) => !f.required)];
}

function fieldOf(name: string, p: Schema, required: boolean, depth: number): Field {
  const field: Field = { name, about: String(p.description || ""), required, kind: "json", options: [], item: "text", fields: [], placeholder: p.default === undefined ? "" : String(p.default) };
  const type = Array.isArray(p.type) ? p.type.find((x) => x !== "null") : p.type;
  if (Array.isArray(p.enum)) return { ...field, kind: "choice", options: p.enum };
  switch (type) {
    case "string": return { ...field, kind: "text" };
    case "number": case "integer": return { ...field, kind: type };
    case "boolean": return { ...field, kind: "boolean", options: [true, false] };
    case "array": {
      const item = p.items?.type;
      return item === "string" && !p.items?.enum ? { ...field, kind: "list" } : item === "number" || item === "integer" ? { ...field, kind: "list", item: "number" } : field;
    }
    case "object": return depth < deepest && p.properties ? { ...field, kind: "object", fields: fieldsOf(p, depth + 1) } : field;
  }
  return field;
}

package generate

import (
	"encoding/json"
	"maps"
	"slices"
)

// Invalid returns a copy of args with one change that should violate the schema:
// a required argument is missing, one has another type or is out of bounds, or an
// undeclared one is added.
func (g *Generator) Invalid(args map[string]any) map[string]any {
	out := maps.Clone(args)
	if out == nil {
		out = map[string]any{}
	}
	names := slices.Sorted(maps.Keys(out))
	if needed := required(g.root); len(needed) > 0 && g.rnd.IntN(3) == 0 {
		delete(out, needed[g.rnd.IntN(len(needed))])
		return out
	}
	if len(names) == 0 || g.rnd.IntN(4) == 0 {
		out["no_such_argument"] = g.anything()
		return out
	}
	name := names[g.rnd.IntN(len(names))]
	props, _ := g.root["properties"].(map[string]any)
	schema, _ := props[name].(map[string]any)
	out[name] = g.wrong(schema)
	return out
}

// wrong returns a value that the schema should reject.
func (g *Generator) wrong(s map[string]any) any {
	if g.rnd.IntN(2) == 0 {
		switch {
		case s["maximum"] != nil:
			return numberOf(floatOf(s["maximum"], 0) + 1)
		case s["minimum"] != nil:
			return numberOf(floatOf(s["minimum"], 0) - 1)
		case s["maxLength"] != nil:
			return sized("a", intOf(s["maxLength"], 0)+1, 1<<20)
		case s["minLength"] != nil:
			return sized("", 0, max(intOf(s["minLength"], 0)-1, 0))
		case s["enum"] != nil:
			return "no such choice"
		}
	}
	for range 8 {
		v := g.anything()
		if typeOf(v) != stringOf(s["type"]) {
			return v
		}
	}
	return nil
}

func typeOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case json.Number:
		return "integer"
	case string:
		return "string"
	case []any:
		return "array"
	}
	return "object"
}

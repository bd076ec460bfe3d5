package toolschema

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/weirhost/weir/agent"
)

// Deliver returns a yield whose calls have the tools' own names.
func (t Tools) Deliver(yield func(agent.Delta, error) bool) func(agent.Delta, error) bool {
	return func(d agent.Delta, err error) bool {
		if d.Call != nil {
			own := t.Own(*d.Call)
			d.Call = &own
		}
		return yield(d, err)
	}
}

// Refused returns the tools that a provider's refusal of a request is about, by their own
// names; nil: it is about none, or that cannot be seen. Some providers name the tool, others
// give its place in the list, or the place of the fault in its schema.
func (t Tools) Refused(body []byte) []string {
	said := words(body)
	var out []string
	add := func(i int) {
		if i >= 0 && i < len(t.List) && !slices.Contains(out, t.List[i].spec.Name) {
			out = append(out, t.List[i].spec.Name)
		}
	}
	place := `(?:\btools\[|\btools\.|\bTool )(\d+)`
	if strings.Contains(said, "function_declarations[") { // all of which are in one tool
		place = `function_declarations\[(\d+)`
	}
	for _, m := range regexp.MustCompile(place).FindAllStringSubmatch(said, -1) {
		if i, err := strconv.Atoi(m[1]); err == nil {
			add(i)
		}
	}
	for i, d := range t.List {
		if len(out) == 0 && isAboutTools(said) && named(said, d.Name) {
			add(i)
		}
	}
	if len(out) > 0 || !aboutSchema(said) {
		return out
	}
	var meant []int
	for i, d := range t.List {
		if len(t.List) == 1 || d.isMeant(said) {
			meant = append(meant, i)
		}
	}
	if len(meant) == 1 {
		add(meant[0])
	}
	return out
}

// words returns the texts of a refusal: those of all its strings, for some providers wrap the
// refusals of others.
func words(body []byte) string {
	var b strings.Builder
	var collect func(v any, level int)
	collect = func(v any, level int) {
		switch v := v.(type) {
		case string:
			if inner, ok := parse([]byte(v)); ok && level < 4 && strings.HasPrefix(strings.TrimSpace(v), "{") {
				collect(inner, level+1)
				return
			}
			b.WriteString(v + "\n")
		case *object:
			for _, key := range v.keys {
				collect(v.values[key], level)
			}
		case []any:
			for _, e := range v {
				collect(e, level)
			}
		}
	}
	v, ok := parse(body)
	if !ok {
		return string(body)
	}
	collect(v, 0)
	return b.String()
}

// named reports whether a refusal has a name in quotation marks.
func named(said, name string) bool {
	for _, marks := range []string{"''", `""`, "``", "“”", "‘’"} {
		m := []rune(marks)
		if strings.Contains(said, string(m[0])+name+string(m[1])) {
			return true
		}
	}
	return false
}

// isAboutTools reports whether a refusal is about tools, and not about something else that
// has the name of one.
func isAboutTools(said string) bool {
	low := strings.ToLower(said)
	return slices.ContainsFunc([]string{"tool", "function", "schema"}, func(w string) bool { return strings.Contains(low, w) })
}

// aboutSchema reports whether a refusal is about the schema of some tool.
func aboutSchema(said string) bool {
	low := strings.ToLower(said)
	return strings.Contains(low, "schema") && !strings.Contains(low, "response_format") && !strings.Contains(low, "output_config")
}

// isMeant reports whether a refusal is about something that this schema has: the place of a
// property, or a part as it is written.
func (d Declared) isMeant(said string) bool {
	for _, m := range regexp.MustCompile(`\bproperties\.[^\s'"<>:,]+`).FindAllString(said, -1) {
		if v, ok := parse(d.Params); ok && leads(v, strings.Split(strings.TrimRight(m, "."), ".")) {
			return true
		}
	}
	_, part, ok := strings.Cut(said, "schema: ")
	var fragment json.RawMessage
	if !ok || json.NewDecoder(strings.NewReader(part)).Decode(&fragment) != nil || len(fragment) < 8 {
		return false
	}
	var want, all bytes.Buffer
	return json.Compact(&want, fragment) == nil && json.Compact(&all, d.Params) == nil && bytes.Contains(all.Bytes(), want.Bytes())
}

// leads reports whether a path leads to something in a schema. A name may have dots.
func leads(v any, path []string) bool {
	if len(path) == 0 {
		return true
	}
	o, ok := v.(*object)
	if !ok {
		list, ok := v.([]any)
		i, err := strconv.Atoi(path[0])
		return ok && err == nil && i < len(list) && i >= 0 && leads(list[i], path[1:])
	}
	for n := 1; n <= len(path); n++ {
		if w, ok := o.values[strings.Join(path[:n], ".")]; ok && leads(w, path[n:]) {
			return true
		}
	}
	return false
}

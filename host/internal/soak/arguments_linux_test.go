package soak

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/weirhost/weir/sdk/tool"
)

// A property is what these tests understand of a schema. What it does not allow
// may be made up all the same: the answer to that must be the same, too.
type property struct {
	Type                 string              `json:"type"` // empty: any
	Properties           map[string]property `json:"properties"`
	Required             []string            `json:"required"`
	AdditionalProperties json.RawMessage     `json:"additionalProperties"`
	Items                *property           `json:"items"`
	Enum                 []string            `json:"enum"`
	MinLength            int                 `json:"minLength"`
	MaxLength            int                 `json:"maxLength"`
	Minimum              int                 `json:"minimum"`
	Maximum              int                 `json:"maximum"`
}

// arguments makes arguments up that the tool's schema allows.
func arguments(t *testing.T, spec tool.Spec, r *rand.Rand) []byte {
	t.Helper()
	if len(spec.Examples) > 0 && r.IntN(5) == 0 {
		return spec.Examples[r.IntN(len(spec.Examples))].Args
	}
	var schema property
	if err := json.Unmarshal(spec.Params, &schema); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(schema.value(t, "", r))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// value is one that fits the property of that name.
func (p property) value(t *testing.T, name string, r *rand.Rand) any {
	t.Helper()
	switch p.Type {
	case "boolean":
		return r.IntN(2) == 0
	case "integer":
		return p.number(r)
	case "number":
		return float64(p.number(r)) / 8
	case "string":
		return p.text(name, r)
	case "array":
		list := make([]any, r.IntN(4))
		for i := range list {
			list[i] = p.Items.value(t, name, r)
		}
		return list
	case "object":
		return p.object(t, r)
	case "":
		return []any{nil, true, 7, "text", []any{1, "a"}, map[string]any{"a": 1}}[r.IntN(6)]
	}
	t.Fatalf("%s is of type %q, which is not made up here", name, p.Type)
	return nil
}

func (p property) object(t *testing.T, r *rand.Rand) map[string]any {
	t.Helper()
	out := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(p.Properties)) {
		if slices.Contains(p.Required, name) || r.IntN(2) == 0 {
			out[name] = p.Properties[name].value(t, name, r)
		}
	}
	var more property
	if json.Unmarshal(p.AdditionalProperties, &more) == nil && r.IntN(2) == 0 {
		out["X-More"] = more.value(t, "more", r)
	}
	return out
}

// number is small as often as large, and sometimes a bound.
func (p property) number(r *rand.Rand) int {
	top := p.Maximum
	if top == 0 {
		top = 1 << 30
	}
	switch r.IntN(10) {
	case 0:
		return p.Minimum
	case 1:
		return top
	}
	return p.Minimum + r.IntN(min(top-p.Minimum+1, 1<<(1+r.IntN(12))))
}

// words are texts that tools can do something with, and others.
var words = []string{
	"1+1", "(3 + 4) * 2^10", "sqrt(2)*sin(30°)", "1/0", "2^", "99999!", "func", "type [A-Z]\\w+", "a(b", "(?i)ERROR|warn", "^$", ".", "return",
	"*.go", "**/*.md", "*", "https://example.org/", "example.org/long", "http://127.0.0.1/", "golang", "天气 北京", "🦉", "A1", "B2:C3", "Sheet1", "none",
	"SELECT 1", "SELECT A, count(*) FROM data GROUP BY A", ".a[]|select(.n>1)", "keys", `{"a":[{"n":1},{"n":2}]}`, "A,B\n1,2\n3,4\n", "a\nb\nc\n", "a\nx\nc\n",
	"UTC", "Asia/Shanghai", "2026-02-28 12:00", "en", "zh",
	"\x00\n\t", "x", strings.Repeat("0123456789", 20),
}

// text is a name of the workspace where the parameter's own says that it wants
// one, mostly.
func (p property) text(name string, r *rand.Rand) string {
	if len(p.Enum) > 0 {
		return p.Enum[r.IntN(len(p.Enum))]
	}
	from := words
	if strings.Contains(name, "path") && r.IntN(6) > 0 {
		from = paths
	}
	text := []rune(from[r.IntN(len(from))])
	if r.IntN(8) == 0 { // any characters at all
		text = make([]rune, r.IntN(60))
		for i := range text {
			text[i] = rune(1 + r.IntN(0x2fff))
		}
	}
	for len(text) < p.MinLength {
		text = append(text, 'x')
	}
	if p.MaxLength > 0 {
		text = text[:min(len(text), p.MaxLength)]
	}
	return string(text)
}

package jsonedit

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tailscale/hujson"
	"pgregory.net/rapid"
)

func TestSet(t *testing.T) {
	const value = "{\n  \"command\": \"weir\"\n}"
	for _, row := range []struct{ name, text, want string }{
		{"nothing", "", "{\n  \"mcpServers\": {\n    \"weir\": {\n      \"command\": \"weir\"\n    }\n  }\n}\n"},
		{"an empty object", "{}", "{\n  \"mcpServers\": {\n    \"weir\": {\n      \"command\": \"weir\"\n    }\n  }\n}"},
		{"others", "{\n  \"theme\": \"dark\",\n  \"mcpServers\": {\n    \"other\": {\"command\": \"x\"}\n  }\n}\n",
			"{\n  \"theme\": \"dark\",\n  \"mcpServers\": {\n    \"other\": {\"command\": \"x\"},\n    \"weir\": {\n      \"command\": \"weir\"\n    }\n  }\n}\n"},
		{"comments and trailing commas", "// mine\n{\n  \"mcpServers\": {\n    \"other\": {}, // keep\n    // and this\n  },\n  // the end\n}\n",
			"// mine\n{\n  \"mcpServers\": {\n    \"other\": {}, // keep\n    // and this\n    \"weir\": {\n      \"command\": \"weir\"\n    }\n  },\n  // the end\n}\n"},
		{"an older one", "{\"mcpServers\": {\"weir\": {\"command\": \"old\", \"args\": []}, \"z\": 1}}", "{\"mcpServers\": {\"weir\": {\n      \"command\": \"weir\"\n    }, \"z\": 1}\n}"},
		{"the same one", "{\"mcpServers\": {\"weir\": {\"command\":\"weir\"}}\n}", "{\"mcpServers\": {\"weir\": {\"command\":\"weir\"}}\n}"},
	} {
		got, err := Set(row.text, "mcpServers", "weir", value)
		if err != nil || got != row.want {
			t.Errorf("%s: %v\n%s\nwant\n%s", row.name, err, got, row.want)
		}
		if again, err := Set(got, "mcpServers", "weir", value); err != nil || again != got {
			t.Errorf("%s: written twice it differs: %v\n%s", row.name, err, again)
		}
	}
	for _, text := range []string{"{", "[]", "7", `{"mcpServers": []}`, `{"mcpServers": {}, "mcpServers": {}}`, `{"a": 1} x`} {
		if got, err := Set(text, "mcpServers", "weir", value); err == nil {
			t.Errorf("%s: %s", text, got)
		}
	}
}

// All other text of the file stays, comments included.
func TestSetKeeps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"a", "b", "servers", "键"})
		extra := rapid.SampledFrom([]string{"", " ", "\n", "/*c1*/", "// c2\n", "\t"})
		var object func(depth int) string
		object = func(depth int) string {
			var b strings.Builder
			b.WriteString("{" + extra.Draw(t, "extra"))
			names := rapid.SliceOfNDistinct(name, 0, 3, rapid.ID).Draw(t, "names")
			for i, n := range names {
				if i > 0 {
					b.WriteString("," + extra.Draw(t, "extra"))
				}
				b.WriteString(`"` + n + `"` + extra.Draw(t, "extra") + ":" + extra.Draw(t, "extra"))
				if depth > 0 && (n == "servers" || rapid.Bool().Draw(t, "nested")) {
					b.WriteString(object(depth - 1))
				} else {
					b.WriteString(map[bool]string{true: "{}", false: "[1]"}[n == "servers"])
				}
			}
			if len(names) > 0 && rapid.Bool().Draw(t, "comma") {
				b.WriteString("," + extra.Draw(t, "extra"))
			}
			return b.String() + "}"
		}
		text := object(2)
		got, err := Set(text, "servers", "weir", `{"command":"weir"}`)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		for _, comment := range []string{"c1", "c2"} {
			if strings.Count(text, comment) != strings.Count(got, comment) {
				t.Fatalf("a comment is gone:\n%s\n%s", text, got)
			}
		}
		before, after := standard(t, text), standard(t, got)
		servers, _ := after["servers"].(map[string]any)
		if servers["weir"] == nil {
			t.Fatalf("it is not there:\n%s", got)
		}
		delete(servers, "weir")
		if before["servers"] == nil {
			delete(after, "servers")
		}
		a, _ := json.Marshal(before)
		b, _ := json.Marshal(after)
		if string(a) != string(b) {
			t.Fatalf("something else has changed:\n%s\n%s", text, got)
		}
	})
}

func standard(t *rapid.T, text string) map[string]any {
	b, err := hujson.Standardize([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return m
}

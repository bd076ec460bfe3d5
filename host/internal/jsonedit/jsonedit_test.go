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
		got, err := Set(row.text, []string{"mcpServers", "weir"}, value)
		if err != nil || got != row.want {
			t.Errorf("%s: %v\n%s\nwant\n%s", row.name, err, got, row.want)
		}
		if again, err := Set(got, []string{"mcpServers", "weir"}, value); err != nil || again != got {
			t.Errorf("%s: written twice it differs: %v\n%s", row.name, err, again)
		}
	}
	for _, text := range []string{"{", "[]", "7", `{"mcpServers": []}`, `{"mcpServers": {}, "mcpServers": {}}`, `{"a": 1} x`} {
		if got, err := Set(text, []string{"mcpServers", "weir"}, value); err == nil {
			t.Errorf("%s: %s", text, got)
		}
	}
}

// What was set and removed leaves the text as it was, and what was deeper the same.
func TestRemove(t *testing.T) {
	for _, text := range []string{
		"{\n  \"theme\": \"dark\"\n}\n",
		"{\n  \"theme\": \"dark\",\n  // servers\n  \"a\": {\n    \"b\": {\n      \"x\": 1 // one\n      // more\n    }\n  },\n  \"z\": []\n}\n",
		"// mine\n{\n  \"a\": {\n    \"y\": 1\n  }\n  // the end\n}\n",
	} {
		set, err := Set(text, []string{"a", "b", "c"}, "7")
		if err != nil {
			t.Fatal(err)
		}
		if v, ok, err := Get(set, []string{"a", "b", "c"}); v != "7" || !ok || err != nil {
			t.Errorf("%q %v %v", v, ok, err)
		}
		got, err := Remove(set, []string{"a", "b", "c"})
		if err != nil || got != text {
			t.Errorf("%v\n%s\nwas\n%s\nand before\n%s", err, got, set, text)
		}
	}
	for _, row := range [][3]string{
		{"{\"a\": {\"b\": 1}, \"c\": 2}", "a b", "{ \"c\": 2}"},
		{"{\"a\": {\"b\": 1 /* said */}, \"c\": 2}", "a b", "{\"a\": { /* said */}, \"c\": 2}"},
		{"{\"a\": 1}", "a b", "{\"a\": 1}"},
		{"{\"a\": 1,}", "a", "{}"},
		{"{\"b\": 1, \"a\": 1,}", "a", "{\"b\": 1,}"},
		{"{\"b\": 1, // kept\n\"a\": 1}", "a", "{\"b\": 1 // kept\n}"},
	} {
		if got, err := Remove(row[0], strings.Fields(row[1])); err != nil || got != row[2] {
			t.Errorf("%s without %s: %v\n%s", row[0], row[1], err, got)
		}
	}
	if _, ok, err := Get("{\"a\": 1}", []string{"a", "b"}); ok || err != nil {
		t.Errorf("%v %v", ok, err)
	}
	for _, path := range [][]string{{"a"}, {"a", "b"}} {
		if _, err := Remove("{\n  \"a\": 1,\n  x\n}", path); err == nil || !strings.Contains(err.Error(), "line 3, column 3") {
			t.Errorf("%v", err)
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
		got, err := Set(text, []string{"servers", "weir"}, `{"command":"weir"}`)
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
		gone, err := Remove(got, []string{"servers", "weir"})
		if err != nil {
			t.Fatalf("%s: %v", got, err)
		}
		last := standard(t, gone)
		if s, ok := before["servers"].(map[string]any); ok && len(s) == 0 {
			delete(before, "servers") // an object with nothing else goes, too
			delete(last, "servers")   // unless a comment is in it
		}
		a, _ = json.Marshal(before)
		b, _ = json.Marshal(last)
		if string(a) != string(b) {
			t.Fatalf("something else was removed:\n%s\n%s", got, gone)
		}
		for _, comment := range []string{"c1", "c2"} {
			if strings.Count(text, comment) != strings.Count(gone, comment) {
				t.Fatalf("a comment was removed:\n%s\n%s", got, gone)
			}
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

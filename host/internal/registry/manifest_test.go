package registry

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/weirhost/weir/host/internal/egress"
	"github.com/weirhost/weir/sdk/tool"
)

// base is a manifest without a fault. The rows below change one place of it.
const base = `schema = 1
name = "grep_search"
version = "1.0.0"
description = "Search files"
min_host = "0.1.0"

[permissions]
paths = [{ guest = "/workspace", mode = "ro", reason = "reads files" }]
hosts = [{ host = "api.x.com", reason = "asks it" }]
secrets = [{ name = "KEY", header = "Authorization", format = "Bearer {}", host = "api.x.com", reason = "pays" }]

[limits]
timeout = "10s"
memory = "64MiB"

[config.show_context]
type = "integer"
default = 2
description = "lines around"

[[tool]]
name = "grep_search"
description = "Search files by expression"
cache = { ttl = "0s" }
rate = { per_minute = 0 }
hints = { read_only = true }
examples = [{ ask = "Where?", args = { pattern = "x" } }]

[tool.output]
max_chars = 8000
max_lines = 100
strategy = "head_only"
head = 0.4
tail = 0.4
keep = ["error", "panic"]
archive = "auto"

[tool.params]
type = "object"
required = ["pattern"]

[tool.params.properties.pattern]
type = "string"
`

func parseText(text string) []string {
	_, problems := Parse("plugin.toml", []byte(text), false, func(name string) ([]byte, error) {
		return map[string][]byte{"good.json": []byte(`{"type":"object","properties":{"z":{},"a":{}}}`), "bad.json": []byte("{\n  oops\n}"), "list.json": []byte("[]")}[name], nil
	})
	var out []string
	for _, p := range problems {
		out = append(out, p.String())
	}
	return out
}

func TestBadManifests(t *testing.T) {
	if got := parseText(base); len(got) > 0 {
		t.Fatalf("the base is not clean:\n%s", strings.Join(got, "\n"))
	}
	for _, tt := range badManifests {
		if strings.Count(base, tt.old) == 0 {
			t.Errorf("%s: the base has no %q", tt.name, tt.old)
			continue
		}
		text := strings.Replace(base, tt.old, tt.new, 1)
		if got := strings.Join(parseText(text), "\n"); got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

func TestGoodManifest(t *testing.T) {
	m, problems := ParseManifest("plugin.toml", []byte(strings.Replace(base, `description = "Search files by expression"`, `description = "Search files by expression"
description_zh = "按表达式搜索"
export = "run"
format = "mcp"
empty_ok = true`, 1)))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	want := Manifest{
		Name: "grep_search", Version: "1.0.0", Description: "Search files", MinHost: "0.1.0", Wasm: "grep_search.wasm",
		Asks: Asks{
			Paths:   []PathAsk{{Guest: "/workspace", Reason: tool.Textf("reads files")}},
			Hosts:   []HostAsk{{Rule: egress.Rule{Scheme: "https", Host: "api.x.com", Port: 443}, Reason: tool.Textf("asks it")}},
			Secrets: []SecretAsk{{Name: "KEY", Header: "Authorization", Format: "Bearer {}", Host: "api.x.com", Reason: tool.Textf("pays")}},
		},
		Settings: []Setting{{Name: "show_context", Type: "integer", Default: int64(2), Description: "lines around"}},
		Tools: []Tool{{
			Spec: tool.Spec{
				Name: "grep_search", Description: "Search files by expression", DescriptionZh: "按表达式搜索",
				Params: json.RawMessage(`{"type":"object","required":["pattern"],"properties":{"pattern":{"type":"string"}}}`),
				Output: tool.Limits{
					MaxChars: 8000, MaxLines: 100, Strategy: tool.HeadOnly, Head: 0.4, Tail: 0.4, Keep: []string{"error", "panic"},
					Archive: tool.ArchiveAuto, Timeout: 10 * time.Second, Memory: 64 << 20,
				},
				Hints:    tool.Hints{ReadOnly: true},
				Examples: []tool.Example{{Ask: "Where?", Args: json.RawMessage(`{"pattern":"x"}`)}},
			},
			Export: "run", Format: FormatMCP, EmptyOK: true,
		}},
	}
	if diff := cmp.Diff(want, m, cmpopts.IgnoreFields(Tool{}, "Schema")); diff != "" {
		t.Error(diff)
	}
}

func TestLeastManifest(t *testing.T) {
	m, problems := ParseManifest("plugin.toml", []byte("schema = 1\nname = \"a\"\n[[tool]]\nname = \"b\"\ndescription = \"does b\"\n"))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	tl := m.Tools[0]
	if m.Wasm != "a.wasm" || m.Description != "does b" || tl.Export != "b" || tl.Format != FormatText || !cmp.Equal(m.Asks, Asks{}) ||
		!cmp.Equal(tl.Spec.Output, tool.Limits{}) || string(tl.Spec.Params) != `{"type":"object","properties":{}}` {
		t.Errorf("%+v", m)
	}
	if wrong := tl.Schema.Check(map[string]any{}); len(wrong) > 0 {
		t.Error(wrong)
	}
}

// The order of the document is the order of the schema: positional arguments
// depend on it.
func TestParamsKeepTheirOrder(t *testing.T) {
	head := "schema = 1\nname = \"a\"\n[[tool]]\nname = \"first\"\ndescription = \"d\"\n[tool.params]\ntype = \"object\"\n[[tool]]\nname = \"b\"\ndescription = \"d\"\n"
	tests := []struct{ name, params, want string }{
		{"tables", "[tool.params]\ntype = \"object\"\n[tool.params.properties.z]\ntype = \"string\"\n[tool.params.properties.a]\ntype = \"integer\"\n",
			`{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"integer"}}}`},
		{"dotted keys", "[tool.params]\nproperties.z.type = \"string\"\nproperties.\"a b\".type = \"integer\"\ntype = \"object\"\n",
			`{"properties":{"z":{"type":"string"},"a b":{"type":"integer"}},"type":"object"}`},
		{"inline tables", `params = { type = "object", properties = { z = { enum = [1, "two", true, 2.5] }, 'a' = {} } }` + "\n",
			`{"type":"object","properties":{"z":{"enum":[1,"two",true,2.5]},"a":{}}}`},
		{"lists of tables", "[tool.params]\ntype = \"object\"\n[[tool.params.anyOf]]\nrequired = [\"z\"]\n[[tool.params.anyOf]]\ndescription = \"x\"\nrequired = [\"a\"]\n",
			`{"type":"object","anyOf":[{"required":["z"]},{"description":"x","required":["a"]}]}`},
		{"children before their parent", "[tool.params.properties.z]\n[tool.params.properties.a]\n[tool.params]\ntype = \"object\"\n",
			`{"properties":{"z":{},"a":{}},"type":"object"}`},
		{"what HTML escapes", `params = { type = "object", description = "a <b> & \"c\"" }` + "\n",
			`{"type":"object","description":"a <b> & \"c\""}`},
		{"unseen characters in what people read", "params = { type = \"object\", description = \"a\\u202eb\", default = { x = \"ab\" } }\n",
			"{\"type\":\"object\",\"description\":\"ab\",\"default\":{\"x\":\"ab\"}}"},
		{"a file", `params_file = "good.json"` + "\n", `{"type":"object","properties":{"z":{},"a":{}}}`},
	}
	for _, tt := range tests {
		m, problems := Parse("plugin.toml", []byte(head+tt.params), false, func(string) ([]byte, error) {
			return []byte("{ \"type\": \"object\",\n \"properties\": {\"z\": {}, \"a\": {}} }"), nil
		})
		if len(problems) > 0 {
			t.Errorf("%s: %v", tt.name, problems)
			continue
		}
		if got := string(m.Tools[1].Spec.Params); got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, tt.want)
		}
		if names := m.Tools[1].Schema.Names(); strings.Contains(tt.want, `"z":{`) && (len(names) != 2 || names[0] != "z") {
			t.Errorf("%s: names %v", tt.name, names)
		}
	}
}

func TestHostileManifests(t *testing.T) {
	deep := strings.Repeat("[", 100) + strings.Repeat("]", 100)
	tests := []struct{ name, text, want string }{
		{"nested lists", "a = " + deep, "nests deeper than 64 levels"},
		{"nested tables", strings.Repeat("a = { ", 100) + strings.Repeat("}", 100), "nests deeper than 64 levels"},
		{"a long dotted key", strings.Repeat("a.", 50000) + "a = 1", "nests deeper than 64 levels"},
		{"a long header", "[" + strings.Repeat("a.", 50000) + "a]", "nests deeper than 64 levels"},
		{"too long", "schema = 1 #" + strings.Repeat("x", maxManifest), "bytes long; shorten it to 262144 bytes"},
		{"too many tools", "schema = 1\nname = \"a\"\n" + strings.Repeat("[[tool]]\n", 201), "tool holds 201, and at most 200 are read"},
		{"a byte order mark of UTF-16", "\xff\xfes\x00", "plugin.toml"},
		{"empty", "", "schema is missing"},
		{"binary", "\x00\x01\x02", "plugin.toml:1:1"},
	}
	for _, tt := range tests {
		got := strings.Join(parseText(tt.text), "\n")
		if !strings.Contains(got, tt.want) {
			t.Errorf("%s: %.300s", tt.name, got)
		}
	}
}

func TestPackedManifestHasNoFiles(t *testing.T) {
	_, problems := Parse("x.wasm", []byte("schema = 1\nname = \"a\"\n[[tool]]\nname = \"b\"\ndescription = \"d\"\nparams_file = \"p.json\"\n"), false, nil)
	if len(problems) != 1 || !strings.Contains(problems[0].String(), "x.wasm:6:15: tool.params_file is given in a packed manifest") {
		t.Error(problems)
	}
}

// FuzzManifest: whatever the text, reading it ends without a panic, every
// problem has a position inside the text, and what is accepted keeps the
// promises that the rest of the host relies on.
func FuzzManifest(f *testing.F) {
	f.Add(base)
	for _, r := range badManifests {
		f.Add(strings.Replace(base, r.old, r.new, 1))
	}
	f.Add(string(least("a", "a")) + "[tool.params]\ntype = \"object\"\n[tool.params.properties.\"\\u200b\"]\n")
	f.Add("schema = 1\n\"\\u202e\" = {a = [1, 1.5, nan, 1979-05-27, {}]}\n")
	f.Fuzz(func(t *testing.T, text string) {
		m, problems := Parse("plugin.toml", []byte(text), false, nil)
		seemly(t, m, problems)
		lines := strings.Count(text, "\n") + 1
		for _, p := range problems {
			if p.Line > lines || p.Line < 0 || p.Msg.IsZero() || strings.Contains(p.Msg.String(), "interface {}") {
				t.Errorf("%+v in %d lines", p, lines)
			}
		}
		if len(errorsOf(problems)) > 0 {
			return
		}
		for _, tl := range m.Tools {
			if !tool.ValidName(tl.Spec.Name) || tl.Schema == nil || !json.Valid(tl.Spec.Params) || tl.Spec.Description == "" ||
				len(tl.Spec.Description) > maxDescription || tl.Spec.Output.MaxChars < 0 || tl.Spec.Output.MaxChars != 0 && tl.Spec.Output.MaxChars < tool.MinMaxChars {
				t.Errorf("accepted: %+v", tl)
			}
			tl.Schema.Check(map[string]any{"pattern": "x"})
		}
	})
}

// The plugins of this repository are read without a complaint.
func TestShippedManifests(t *testing.T) {
	files, err := filepath.Glob("../../../plugins/*/" + ManifestName)
	if err != nil || len(files) < 4 {
		t.Fatalf("%d manifests: %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		m, problems := ParseManifest(file, text)
		for _, p := range problems {
			t.Error(p)
		}
		for _, tl := range m.Tools {
			if tl.Spec.DescriptionZh == "" || len(tl.Spec.Examples) == 0 {
				t.Errorf("%s: %s has no Chinese description or no example", file, tl.Spec.Name)
			}
		}
	}
}

func TestParamsFileBesideTheManifest(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, ManifestName)
	text := append(least("a", "b"), "params_file = \"p.json\"\n"...)
	if _, problems := ParseManifest(file, text); len(problems) != 1 || !strings.Contains(problems[0].Msg.String(), "p.json cannot be read") {
		t.Errorf("a missing file: %v", problems)
	}
	put(t, filepath.Join(dir, "p.json"), []byte(`{"type":"object","properties":{"n":{"type":"integer"}}}`))
	m, problems := ParseManifest(file, text)
	if len(problems) > 0 || len(m.Tools[0].Schema.Names()) != 1 {
		t.Errorf("%v", problems)
	}
}

// A version is one word or a few in tables and questions, whatever the file says.
func TestVersionIsOneLine(t *testing.T) {
	m, problems := ParseManifest("plugin.toml", []byte(strings.Replace(base, `version = "1.0.0"`, `version = "1.0\t\n  approved"`, 1)))
	if m.Version != "1.0 approved" {
		t.Errorf("%q %v", m.Version, problems)
	}
}

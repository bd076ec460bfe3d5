package registry

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"github.com/weirhost/weir/host/internal/text"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

func TestABIs(t *testing.T) {
	tests := []struct {
		exports []string
		want    ABI
	}{
		{[]string{"describe", "call"}, ABIDescribe},
		{[]string{"_initialize", "call", "describe", "memory"}, ABIDescribe},
		{[]string{"list_tools", "call_tool", "complete", "get_prompt"}, ABIList},
		{[]string{"list_tools", "call_tool", "describe", "call"}, ABIList}, // the newer one
		{[]string{"describe"}, ABIOwn},
		{[]string{"call", "list_tools"}, ABIOwn},
		{nil, ABIOwn},
	}
	for _, tt := range tests {
		if got := abiOf(tt.exports); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.exports, got, tt.want)
		}
	}
}

// Whatever a stranger is called, what is made of it can be called by a model.
func TestCleanNames(t *testing.T) {
	for in, want := range map[string]string{
		"get-weather": "get_weather", "GetWeather": "getweather", "a__b--c": "a_b_c", "_x_": "x", "7zip": "p7zip", "天气": "", "": "", "…": "",
		"my servlet (1)": "my_servlet_1",
	} {
		if got := cleanName(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	a, b := cleanName(strings.Repeat("n", 100)+"a"), cleanName(strings.Repeat("n", 100)+"b")
	if a == b || len(a) > 32 {
		t.Errorf("long names: %q and %q", a, b)
	}
	rapid.Check(t, func(t *rapid.T) {
		plugin, one := cleanName(rapid.String().Draw(t, "plugin")), cleanName(rapid.String().Draw(t, "tool"))
		if plugin == "" || one == "" {
			return
		}
		if name := plugin + "__" + one; !tool.ValidName(name) || strings.Count(name, "__") != 1 {
			t.Fatalf("%q", name)
		}
	})
}

// One scan asks all strangers at once, and one that fails or is slow leaves
// the others as they are.
func TestScanListsThirdPartyToolsOnce(t *testing.T) {
	dir := t.TempDir()
	thirdParty := module([]string{"describe", "call"}, nil)
	for _, name := range []string{"good", "bad", "slow", "good-"} {
		put(t, filepath.Join(dir, name+".wasm"), thirdParty)
	}
	put(t, filepath.Join(dir, "own.wasm"), module([]string{"own"}, map[string]string{SectionName: string(least("own", "own"))}))
	asked := 0
	describe := func(_ context.Context, plugins []*Plugin) []Description {
		asked++
		var out []Description
		for _, p := range plugins {
			switch p.Manifest.Name {
			case "bad":
				out = append(out, Description{Err: errors.New("it is out")})
			case "slow":
				out = append(out, Description{Pending: true})
			default:
				out = append(out, Description{Answer: []byte(`{"tools":[{"name":"a"}]}`)})
			}
		}
		return out
	}
	s := Scan(t.Context(), []plugin.Folder{{Path: dir}}, Options{Describe: describe})
	want := "ready good\nready own\nrefused good: good.wasm: the plugin name \"good\" belongs to good-.wasm already; rename or remove one of the two (and 1 more)\n" +
		"refused bad: bad.wasm: its export describe, which lists its tools, failed: it is out; ask its author, or remove the plugin; after ten minutes a reload asks it again"
	lines := strings.Split(report(s, dir), "\n")
	for _, w := range strings.Split(want, "\n") {
		found := false
		for _, l := range lines {
			found = found || l == w
		}
		if !found {
			t.Errorf("no line %q in:\n%s", w, strings.Join(lines, "\n"))
		}
	}
	if asked != 1 || len(s.Pending) != 1 || s.Pending[0].Manifest.Name != "slow" {
		t.Errorf("asked %d times, pending %v", asked, s.Pending)
	}
	if s := Scan(t.Context(), []plugin.Folder{{Path: dir}}, Options{}); len(s.Plugins) != 1 || !strings.Contains(s.Refused[0].Why().String(), "made for another host") {
		t.Errorf("without a Describer: %s", report(s, dir))
	}
}

// A list that says the same in another order of keys is the same list; the
// order of its tools, and everything else that a model reads, counts.
func TestListDigest(t *testing.T) {
	sum := func(answer string) string {
		p := &Plugin{ABI: ABIDescribe, Source: "x.wasm", Manifest: Manifest{Name: "x"}}
		if bad := errorsOf(p.describe(Description{Answer: []byte(answer)})); len(bad) > 0 {
			t.Fatal(bad)
		}
		return p.ManifestSHA256
	}
	a := sum(`{"tools":[{"name":"a","description":"d","inputSchema":{"type":"object","properties":{"x":{"type":"string"},"y":{}}}},{"name":"b"}]}`)
	if b := sum(`{"tools":[{"inputSchema":{"properties":{"y":{},"x":{"type":"string"}},"type":"object"},"description":"d","name":"a","_meta":{"at":7}},{"name":"b"}]}`); a != b {
		t.Error("another order of keys is another list")
	}
	for _, other := range []string{
		`{"tools":[{"name":"a","description":"D","inputSchema":{"type":"object","properties":{"x":{"type":"string"},"y":{}}}},{"name":"b"}]}`,
		`{"tools":[{"name":"A","description":"d","inputSchema":{"type":"object","properties":{"x":{"type":"string"},"y":{}}}},{"name":"b"}]}`,
		`{"tools":[{"name":"a","description":"d","inputSchema":{"type":"object","properties":{"x":{"type":"number"},"y":{}}}},{"name":"b"}]}`,
		`{"tools":[{"name":"b"},{"name":"a","description":"d","inputSchema":{"type":"object","properties":{"x":{"type":"string"},"y":{}}}}]}`,
	} {
		if sum(other) == a {
			t.Errorf("%s has the digest of another list", other)
		}
	}
}

// Nothing that a stranger says can make more of it than a tool with a name, a
// short visible text and a schema that holds.
func FuzzDescribe(f *testing.F) {
	for _, s := range []string{
		`{"tools":[{"name":"a","description":"d","inputSchema":{"type":"object","properties":{"x":{"type":"string"}}}}]}`,
		`{"tools":[{"name":"\u202e","inputSchema":[]},{"name":"a","inputSchema":{"$ref":"#"}}]}`, `{"tools":null}`, `[]`, ``,
		`{"tools":[{"name":"a","inputSchema":{"pattern":"(x{900}){900}"}}]}`, `{"tools":[{"name":"a","inputSchema":{"type":["object"],"title":"\u200b"}}]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		p := &Plugin{ABI: ABIDescribe, Source: "x.wasm", Manifest: Manifest{Name: "x"}}
		problems := p.describe(Description{Answer: answer})
		if len(errorsOf(problems)) == 0 && len(p.Manifest.Tools) == 0 {
			t.Fatal("no tool and no reason")
		}
		hidden := func(s string) bool {
			return strings.ContainsFunc(s, func(r rune) bool {
				return r != '\n' && r != '\t' && (unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Cf, r))
			})
		}
		for _, one := range p.Manifest.Tools {
			if !tool.ValidName(one.Spec.Name) || one.Schema == nil || len(one.Spec.Description) > maxDescription || one.Spec.Description == "" ||
				text.Clean(one.Spec.Description) != one.Spec.Description || hidden(string(one.Spec.Params)) {
				t.Fatalf("%+v", one)
			}
			one.Schema.Check(map[string]any{})
		}
	})
}

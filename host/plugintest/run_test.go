package plugintest_test

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/internal/guesttest"
	"github.com/weirhost/weir/host/plugintest"
	"github.com/weirhost/weir/sdk/tool"
)

func TestMain(m *testing.M) {
	if code, ok := host.WorkerMain(); ok {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// config runs plugins in this process.
func config(t *testing.T) plugintest.Config {
	return plugintest.Config{CacheDir: guesttest.Cache(t)}
}

// isolated runs them in separate processes, if the system supports this, like the
// daemon.
func isolated(t *testing.T) plugintest.Config {
	cfg := config(t)
	if host.CanIsolate() {
		cfg.WorkerCommand = []string{"/proc/self/exe"}
	}
	return cfg
}

// river writes the plugin to a folder, with the named suites as its cases, and
// changes to the parent of that folder.
func river(t *testing.T, suites ...string) {
	t.Helper()
	from, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	copyFile(t, filepath.Join(from, "river", "plugin.toml"), filepath.Join(dir, "river", "plugin.toml"))
	for _, s := range suites {
		copyFile(t, filepath.Join(from, "suites", s), filepath.Join(dir, "river", "tests", s))
	}
	guesttest.Build(t, filepath.Join(from, "river"), filepath.Join(dir, "river", "river.wasm"))
	t.Chdir(dir)
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

func run(t *testing.T, cfg plugintest.Config) plugintest.Report {
	t.Helper()
	r, err := plugintest.Run(t.Context(), "river", cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// linesOf returns all problems of a report, a line each.
func linesOf(r plugintest.Report) string {
	var b strings.Builder
	for _, p := range r.Problems {
		b.WriteString(p.String() + "\n")
	}
	for _, o := range r.Outcomes {
		for _, p := range o.Problems {
			b.WriteString(o.Name + ": " + p.String() + "\n")
		}
	}
	return b.String()
}

// TestGood: all keys of a case work. The first run writes golden files and later
// runs compare with them. The tool's cache and its rate, one call a minute, do
// not affect later cases.
func TestGood(t *testing.T) {
	river(t, "good.toml")
	cfg := isolated(t)
	first := run(t, cfg)
	if n := first.Failed(); n != 1 {
		t.Fatalf("without golden files %d cases fail:\n%s", n, linesOf(first))
	}
	cfg.Update = true
	if r := run(t, cfg); !r.OK() {
		t.Fatalf("golden files were not written:\n%s", linesOf(r))
	}
	cfg.Update = false
	r := run(t, cfg)
	if !r.OK() || len(r.Outcomes) != 15 {
		t.Fatalf("%d outcomes:\n%s", len(r.Outcomes), linesOf(r))
	}
	shown, err := os.ReadFile("river/tests/golden/lines_shown.txt")
	if err != nil || !strings.Contains(string(shown), `uuid="00000000-0000-4000-8000-000000000000"`) {
		t.Errorf("the golden file of what is shown: %v\n%s", err, shown)
	}
	for _, o := range r.Outcomes {
		if o.Calls != 1 || o.Took <= 0 {
			t.Errorf("%s: %d calls in %s", o.Name, o.Calls, o.Took)
		}
	}
}

// TestBad: each difference from the expectation is reported with line and column.
func TestBad(t *testing.T) {
	river(t, "bad.toml")
	got := regexp.MustCompile(`\d+[KM]iB of memory|took [^,]+`).ReplaceAllString(linesOf(run(t, config(t))), "…")
	golden := filepath.Join(repository(t), "host", "plugintest", "testdata", "bad.golden")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Error(d)
	}
}

func repository(t *testing.T) string { return guesttest.Root(t) }

// TestOnly: cases are selected by name, and files are independent.
func TestOnly(t *testing.T) {
	river(t, "good.toml", "bad.toml")
	cfg := config(t)
	cfg.Only = regexp.MustCompile("^good/(flows|has settings)$|^fuzz/")
	cfg.FuzzCalls = -1
	var names []string
	cfg.Observe = func(o plugintest.Outcome) { names = append(names, o.Name) }
	r := run(t, cfg)
	if d := cmp.Diff([]string{"good/flows", "good/has settings"}, names); d != "" || !r.OK() {
		t.Errorf("%s\n%s", d, linesOf(r))
	}
}

// TestFuzz: fuzzing finds the crash and the smallest arguments that cause it, the
// same in each run.
func TestFuzz(t *testing.T) {
	river(t)
	cfg := config(t)
	cfg.FuzzCalls, cfg.Seed = 300, 3
	r := run(t, cfg)
	if len(r.Outcomes) != 1 || len(r.Outcomes[0].Problems) != 1 {
		t.Fatalf("%d outcomes:\n%s", len(r.Outcomes), linesOf(r))
	}
	p := r.Outcomes[0].Problems[0]
	if p.File != filepath.Join("river", "plugin.toml") || p.Line != 20 || !strings.Contains(p.Msg.String(), "trapped") || !strings.Contains(p.Msg.String(), "the dam broke") {
		t.Errorf("%s", p)
	}
	if want := `args_json = '{"do":"crash","n":11,"text":"aaa"}'`; !strings.Contains(p.Detail, want) {
		t.Errorf("not the smallest arguments, which are %s:\n%s", want, p.Detail)
	}
	if again := run(t, cfg); again.Outcomes[0].Problems[0].Detail != p.Detail {
		t.Errorf("another run finds %s", again.Outcomes[0].Problems[0].Detail)
	}
}

// TestUnsound: an invalid plugin or case is reported, and nothing runs.
func TestUnsound(t *testing.T) {
	river(t)
	for _, tt := range []struct{ name, text, want string }{
		{"a misspelt expectation", "[[case]]\nname = \"a\"\n[case.expect]\n  contain = \"x\"\n", "river/tests/x.toml:4:3: case.expect.contain is no key of a case; perhaps contains is meant"},
		{"TOML", "[[case]]\nname = \n", "river/tests/x.toml:2:8: "},
		{"no cases", "", "river/tests/x.toml: the file holds no case"},
		{"no name", "[[case]]\nargs = { do = \"flow\" }\n", "river/tests/x.toml:1:1: the case has no name"},
		{"one name twice", "[[case]]\nname = \"a\"\n[[case]]\nname = \"a\"\n", "river/tests/x.toml:3:1: another case of this file has the same name: that of line 1"},
		{"an unknown tool", "tool = \"lake\"\n[[case]]\nname = \"a\"\n", "river/tests/x.toml:1:1: the plugin has no tool \"lake\"; write one of: river"},
		{"types", "[[case]]\nname = 7\nargs = 8\n", "river/tests/x.toml:2:1: case.name is a whole number"},
		{"an expression", "[[case]]\nname = \"a\"\nexpect = { matches = \"(\" }\n", "river/tests/x.toml:3:12: case.expect.matches: missing closing ): `(`"},
		{"a range", "[[case]]\nname = \"a\"\nexpect = { chars = \"9..3\" }\n", "river/tests/x.toml:3:12: case.expect.chars is 9..3"},
		{"a code", "[[case]]\nname = \"a\"\nexpect = { error = \"oops\" }\n", "river/tests/x.toml:3:12: there is no error \"oops\""},
		{"a file elsewhere", "[[case]]\nname = \"a\"\nfiles = { a = { from = \"../../x\" } }\n", "river/tests/x.toml:3:17: case.files.a.from is \"../../x\", which leads out"},
		{"JSON", "[[case]]\nname = \"a\"\nargs_json = '{'\n", "river/tests/x.toml:3:1: case.args_json is not valid JSON"},
		{"a date", "[[case]]\nname = \"a\"\nargs = { a = [2024-01-01] }\n", "river/tests/x.toml:3:1: case.args holds a date"},
		{"two bodies", "[[case]]\nname = \"a\"\nhttp = [{ url = \"https://a/\", body = \"b\", json = 1 }]\n", "the answer's body is given twice"},
	} {
		if err := os.MkdirAll("river/tests", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile("river/tests/x.toml", []byte(tt.text), 0o644); err != nil {
			t.Fatal(err)
		}
		cfg := config(t)
		cfg.FuzzCalls = -1
		r := run(t, cfg)
		if got := filepath.ToSlash(linesOf(r)); !strings.Contains(got, tt.want) || len(r.Outcomes) > 0 || r.OK() {
			t.Errorf("%s: it does not say %s\n%s", tt.name, tt.want, got)
		}
	}
	if err := os.WriteFile("river/plugin.toml", []byte("schema = 1\nname = \"river\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if r := run(t, config(t)); r.OK() || !strings.Contains(linesOf(r), "declares no tool") {
		t.Errorf("of an unsound manifest it says:\n%s", linesOf(r))
	}
}

// TestJUnit: the report is XML with the number and the position of failures.
func TestJUnit(t *testing.T) {
	r := plugintest.Report{Plugin: "river", Problems: []plugintest.Problem{{File: "a.toml", Line: 3, Col: 1, Msg: tool.Textf("no <case>")}}, Outcomes: []plugintest.Outcome{
		{Name: "good/flows", File: "good.toml", Line: 2, Calls: 1, Took: 1500e6},
		{Name: "good/stands", File: "good.toml", Line: 9, Problems: []plugintest.Problem{{File: "good.toml", Line: 10, Col: 2, Msg: tool.Textf("it is not & \"that\""), Detail: "got:\n  it"}}},
		{Name: "fuzz/river", Calls: 100},
	}}
	var b strings.Builder
	if err := plugintest.WriteJUnit(&b, r); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Errors   int `xml:"errors,attr"`
		Suites   []struct {
			Name  string `xml:"name,attr"`
			Time  string `xml:"time,attr"`
			Cases []struct {
				Name    string  `xml:"name,attr"`
				Line    int     `xml:"line,attr"`
				Failure *string `xml:"failure"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal([]byte(b.String()), &got); err != nil {
		t.Fatal(err)
	}
	if got.Tests != 4 || got.Failures != 1 || got.Errors != 1 || len(got.Suites) != 3 || got.Suites[1].Time != "1.500" {
		t.Errorf("%+v", got)
	}
	if f := got.Suites[1].Cases[1]; f.Name != "stands" || f.Line != 9 || f.Failure == nil || !strings.Contains(*f.Failure, "good.toml:10:2: it is not & \"that\"\n  got:\n    it") {
		t.Errorf("%+v", f)
	}
}

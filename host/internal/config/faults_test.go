package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/internal/dotenv"
)

// Every fault of a file is in one report, values of the wrong type included, each at
// its place.
func TestEveryFaultInOneRun(t *testing.T) {
	_, faults := Parse("tools.toml", `locael = "en"
[limits]
max_chars = "x"
strategy = "middle"
[tools.grep_search]
max_lines = "many"
timeout = "soon"
max_chars = 100
[agent]
tools = "grep_search"
[[plugins.folder]]
path = 5
[archive]
threshold = true
[tool_search]
question_model = "missing"
[mcpServers.x]
command = "x"
env = ["A=1"]
[models.demo2]
provider = "demo"
extra = 5
[summarize]
enabled = true
model = "missing"
[clients.OpenCode]
[clients.qwen]
fold = "yes"
`)
	var got []string
	for _, f := range faults {
		got = append(got, strings.SplitN(f.String(), " ", 2)[0])
	}
	want := []string{"tools.toml:1:1:", "tools.toml:3:1:", "tools.toml:4:1:", "tools.toml:6:1:", "tools.toml:7:1:", "tools.toml:8:1:", "tools.toml:10:1:", "tools.toml:12:1:", "tools.toml:14:1:", "tools.toml:16:1:", "tools.toml:19:1:", "tools.toml:22:1:", "tools.toml:25:1:", "tools.toml:26:2:", "tools.toml:28:1:"}
	lines := func(list []string) (out []string) {
		for _, s := range list {
			out = append(out, strings.SplitN(s, ":", 3)[1])
		}
		return out
	}
	if d := cmp.Diff(lines(want), lines(got)); d != "" {
		t.Errorf("lines with faults (-want +got):\n%s\n%v", d, faults)
	}
}

// .env.local takes precedence over .env; a file that others may read is not read.
func TestDotEnvLocal(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "tools.toml")
	write := func(name, text string, mode os.FileMode) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	write(".env.local", "A=local\nC=3\n", 0o600)
	if vars, skipped, err := dotenv.Read(config); err != nil || !skipped.IsZero() || !cmp.Equal(vars, map[string]string{"A": "local", "C": "3"}) {
		t.Errorf("alone: %v %v %v", vars, skipped, err)
	}
	write(".env", "A=1\nB=2\n", 0o600)
	if vars, skipped, err := dotenv.Read(config); err != nil || !skipped.IsZero() || !cmp.Equal(vars, map[string]string{"A": "local", "B": "2", "C": "3"}) {
		t.Errorf("both: %v %v %v", vars, skipped, err)
	}
	if err := os.Chmod(filepath.Join(dir, ".env.local"), 0o644); err != nil {
		t.Fatal(err)
	}
	if vars, skipped, err := dotenv.Read(config); err != nil || !strings.Contains(skipped.String(), ".env.local") || !cmp.Equal(vars, map[string]string{"A": "1", "B": "2"}) {
		t.Errorf("readable by others: %v %v %v", vars, skipped, err)
	}
	if hidden := (Paths{Config: config}).Hidden(); !strings.Contains(strings.Join(hidden, " "), ".env.local") {
		t.Errorf("a tool may see it: %v", hidden)
	}
}

// The operator's rate, cache and threshold of a tool reach the host.
func TestRateCacheAndThresholdOfATool(t *testing.T) {
	s, faults := Parse("tools.toml", "[tools.a]\nrate = { per_minute = 5 }\ncache = '10m'\ntrigger_threshold = 10000\n[tools.b]\ncache = '0s'\nrate = { per_minute = 0 }\n[tools.c]\n")
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	set := s.WithDefaults().Host(Paths{}, nil, hclog.NewNullLogger(), "").Tools
	if a := set["a"]; *a.PerMinute != 5 || *a.CacheTTL != 10*time.Minute || a.SummariseOver != 10000 {
		t.Errorf("a: %+v", a)
	}
	if b := set["b"]; *b.PerMinute != 0 || *b.CacheTTL != 0 {
		t.Errorf("b: %+v", b)
	}
	if c := set["c"]; c.PerMinute != nil || c.CacheTTL != nil || c.SummariseOver != 0 {
		t.Errorf("c: %+v", c)
	}
	_, faults = Parse("tools.toml", "[tools.a]\nrate = { per_minute = -1 }\ntrigger_threshold = -1\nkeep_context = -1\n")
	if len(faults) != 3 {
		t.Errorf("%v", faults)
	}
}

// TestWhatARestoreSetsAsideIsHidden: it holds a token and an archive, like the data folder.
func TestWhatARestoreSetsAsideIsHidden(t *testing.T) {
	data := filepath.Join(t.TempDir(), "a[b")
	for _, name := range []string{"before-restore-20261127-1", ".restore-1", "plugins"} {
		if err := os.MkdirAll(filepath.Join(data, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	// Where the configuration lies in the data folder, that is not hidden as a whole.
	hidden := Paths{Data: data, Config: filepath.Join(data, "tools.toml")}.Hidden()
	for name, want := range map[string]bool{"before-restore-20261127-1": true, ".restore-1": true, "plugins": false} {
		if got := slices.Contains(hidden, filepath.Join(data, name)); got != want {
			t.Errorf("%s: hidden %v", name, got)
		}
	}
}

// An archive that cannot be opened says what to do.
func TestOpenProblem(t *testing.T) {
	p := Paths{Data: "d", Archive: "d/archive.db"}
	for err, fix := range map[error]string{
		fmt.Errorf("opening: %w", archive.ErrUnreachable):              "start the database, or correct [store] url",
		fmt.Errorf("opening: %w", archive.ErrFull):                     Elsewhere,
		&fs.PathError{Op: "open", Path: p.Data, Err: fs.ErrPermission}: Elsewhere,
		archive.ErrDamaged: "",
	} {
		got, _ := errors.AsType[*api.Problem](OpenProblem(p, err))
		if got == nil && fix != "" || got != nil && got.Hint.Format != fix {
			t.Errorf("%v: %+v, want %q", err, got, fix)
		}
	}
}

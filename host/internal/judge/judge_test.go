//go:build linux

package judge

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/internal/frames"
	"github.com/weirhost/weir/host/internal/modindex"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/internal/wasmtest"
	"github.com/weirhost/weir/host/internal/worker"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// TestMain is also the child, in which some manifests have no bound.
func TestMain(m *testing.M) {
	if code, ok := worker.Main(worker.Tasks{worker.Manifests: unbounded}); ok {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// unbounded is Serve without the counted bounds: a manifest does to the child what its
// description says.
func unbounded(in *frames.Reader, out *frames.Writer, _ func() error) error {
	return serve(in, out, func(file string, text []byte, sound bool, beside func(string) ([]byte, error)) (registry.Manifest, []registry.Problem) {
		said := func(what string) bool { return bytes.Contains(text, []byte(`description = "`+what+`"`)) }
		var all [][]byte
		switch {
		case said("memory"):
			for {
				all = append(all, bytes.Repeat([]byte("x"), 1<<20))
			}
		case said("time"):
			for {
				all = nil
			}
		case said("crash"):
			os.Exit(7)
		case said("no verdict"):
			_ = out.Write(kindVerdict, verdictMeta{}, []byte("{"))
		case said("much"):
			_ = out.Write(kindVerdict, verdictMeta{}, []byte(`{"Problems":[`+strings.Repeat("{},", maxValues)+`{}]}`))
		case said("many problems"):
			_ = out.Write(kindVerdict, verdictMeta{}, []byte(`{"Problems":[`+strings.Repeat("{},", maxSaid)+`{}]}`))
		case said("a bad name"):
			_ = out.Write(kindVerdict, verdictMeta{}, []byte(`{"Name":"../x"}`))
		case said("a bad text"):
			_ = out.Write(kindVerdict, verdictMeta{}, []byte(`{"Problems":[{"Msg":{"Format":"%s","Args":[{},{}]}}]}`))
		case said("files"):
			for range maxWanted + 1 {
				_, _ = want(in, out, "p.json")
			}
		}
		return registry.Parse(file, text, sound, beside)
	})
}

// open returns Judges with little memory and time.
func open(t *testing.T, quarantine string) *Judges {
	t.Helper()
	p, err := worker.New(t.Context(), worker.Config{Command: []string{os.Args[0]}, CacheDir: t.TempDir(), Quarantine: quarantine})
	if err != nil {
		t.Fatal(err)
	}
	j := New(t.Context(), p, hclog.New(&hclog.LoggerOptions{Output: t.Output()}))
	j.memory, j.cpu = 256<<20, 1e9
	t.Cleanup(func() {
		j.Close()
		if err := p.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return j
}

func manifest(name, description, more string) string {
	return fmt.Sprintf("schema = 1\nname = %q\n[[tool]]\nname = %q\ndescription = %q\n%s", name, name, description, more)
}

// A child finds the same problems as this process, in both languages.
func TestVerdicts(t *testing.T) {
	j := open(t, "")
	long := strings.Repeat("x", 5000)
	for _, text := range []string{
		manifest("a", "d", ""), manifest("a", "d", "unknown = 1\n"), manifest("A", "d", ""), "schema = ", "", "min_host = \"9.0\"\n" + manifest("a", "", ""),
		manifest("a", "d", "params_file = \"p.json\"\n"), manifest("a", "d", "params_file = \"none.json\"\n"), manifest("a", "d", "params_file = \""+long+"\"\n"),
		manifest("a", "d", "[tool.params]\ntype = \"string\"\n"), manifest("a", "d", "params = { type = \"object\", required = [\"q\"] }\n"),
		manifest("a", long, ""), manifest("a", "\u202e", "[[tool.examples]]\nargs = 5\n"), strings.Repeat("[", 200),
		manifest("a", "d", "params = { type = \"object\", properties = { a = {type=\"string\"}, b = {type=\"string\"}, c = {type=\"string\"}, d = {type=\"string\"} } }\n"+
			"[[tool.examples]]\nask = \"x\"\nargs = { a = 1, e = 5 }\n"),
	} {
		for _, beside := range []func(string) ([]byte, error){nil, func(name string) ([]byte, error) {
			if name != "p.json" {
				return nil, errMissing
			}
			return []byte(`{"type":"object","properties":{"a":{"type":"wrong"}}}`), nil
		}} {
			want, problems := registry.Parse("plugin.toml", []byte(text), false, beside)
			m, got, err := j.Judge("a", "plugin.toml", []byte(text), beside)
			if err != nil || m.Name != want.Name || m.MinHost != want.MinHost || len(got) != len(problems) {
				t.Fatalf("%.60q: %+v, %v, %v; want %v", text, m, got, err, problems)
			}
			for i, p := range problems {
				for _, l := range []tool.Locale{tool.En, tool.Zh} {
					if a, b := msg.In(l, got[i].Text()), msg.In(l, p.Text()); a != b || got[i].Key != p.Key || got[i].Warning != p.Warning {
						t.Errorf("%.60q: %.300q, want %.300q", text, a, b)
					}
				}
			}
		}
	}
	if len(j.idle) != 1 || j.started != 1 {
		t.Errorf("%d children are idle, of %d", len(j.idle), j.started)
	}
}

// A check that was stopped twice, by other programs, holds no manifest that was checked since.
func TestStoppedChecksAreForgotten(t *testing.T) {
	j := open(t, "")
	text := []byte(manifest("a", "d", ""))
	sum := sha256.Sum256(text)
	digest := hex.EncodeToString(sum[:])
	for range 3 {
		if err := j.hold(digest, "a", worker.LostKilled); !strings.Contains(err.Error(), "tried again") {
			t.Fatal(err)
		}
		if _, _, err := j.Judge("a", "plugin.toml", text, nil); err != nil {
			t.Fatal(err)
		}
	}
}

// The end of the sandbox during a check is no fault of the manifest.
func TestAClosedSandboxBlamesNoManifest(t *testing.T) {
	j := open(t, "")
	closed := make(chan error, 1)
	asked := sync.OnceFunc(func() {
		go func() { closed <- j.pool.Close(context.Background()) }()
		for { // the child asks on, until it is killed
			h, err := j.pool.NewHelper(t.Context(), worker.Manifests, int64(j.memory), j.cpu)
			if err != nil {
				return
			}
			h.Close()
		}
	})
	_, _, err := j.Judge("a", "plugin.toml", []byte(manifest("a", "files", "")), func(string) ([]byte, error) { asked(); return nil, errMissing })
	if err == nil || err.Error() != "the sandbox is closed" {
		t.Error(err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

// A process that a manifest has taken over adds no file to a plugin.
func TestFilesOfAJudge(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"plugin.toml": manifest("a", "d", "params_file = \"p.json\"\n"), "p.json": `{"type":"object"}`, "q.json": "{}", "a.wasm": string(wasmtest.Echo("a"))} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	curious := func(context.Context) (registry.Judge, func()) {
		return func(_, _ string, _ []byte, beside func(string) ([]byte, error)) (registry.Manifest, []registry.Problem, error) {
			for i := range 1000 {
				_, _ = beside(strings.Repeat("./", i) + "q.json")
			}
			return registry.Manifest{}, nil, nil
		}, func() {}
	}
	s := registry.Scan(t.Context(), []plugin.Folder{{Path: filepath.Dir(dir)}}, registry.Options{Judges: curious})
	for _, p := range s.Plugins {
		if got := p.Paths(); p.Manifest.Name == "a" && slices.ContainsFunc(got, func(path string) bool { return filepath.Base(path) == "q.json" }) {
			t.Errorf("its files are %v", got)
		}
	}
	if len(s.Plugins) != 1 {
		t.Errorf("%d plugins, %v", len(s.Plugins), s.Refused)
	}
}

// A manifest that ends the process of its check is refused and quarantined, whatever it
// does; the good plugin beside it is there, and the next scan starts no process.
func TestManifestsThatEndTheirProcess(t *testing.T) {
	why := map[string]string{
		"memory": "checking its manifest needs more than 256MiB of memory", "time": "checking its manifest needs more than 1s of CPU time",
		"crash": "checking its manifest crashed", "no verdict": "checking its manifest crashed", "much": "checking its manifest crashed", "many problems": "checking its manifest crashed",
		"a bad name": "checking its manifest crashed", "a bad text": "checking its manifest crashed", "files": "checking its manifest crashed",
	}
	dir, quarantine := t.TempDir(), filepath.Join(t.TempDir(), "quarantine.json")
	put := func(name, description string) {
		for file, text := range map[string]string{"plugin.toml": manifest(name, description, "params_file = \"p.json\"\n"), name + ".wasm": string(wasmtest.Echo(name)), "p.json": `{"type":"object"}`} {
			if err := errors.Join(os.MkdirAll(filepath.Join(dir, name), 0o755), os.WriteFile(filepath.Join(dir, name, file), []byte(text), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for what := range why {
		if raced && what == "memory" {
			continue // the detector's child has no bound of memory
		}
		put(strings.ReplaceAll(what, " ", "_"), what)
	}
	put("good", "d")
	j := open(t, quarantine)
	opt := registry.Options{Index: modindex.Open("", ""), Judges: func(context.Context) (registry.Judge, func()) { return j.Judge, j.Close }}
	check := func(s *registry.Snapshot) {
		t.Helper()
		if len(s.Plugins) != 1 || s.Plugins[0].Manifest.Name != "good" || len(s.Refused) < len(why)-1 {
			t.Fatalf("%d plugins, %d refused", len(s.Plugins), len(s.Refused))
		}
		for _, r := range s.Refused {
			if want := why[strings.ReplaceAll(r.Name, "_", " ")]; !strings.Contains(r.Why().String(), want) || want == "" || !r.ListFailed {
				t.Errorf("%s: %s, want %s", r.Name, r.Why(), want)
			}
			if _, held := j.pool.Quarantine().Held(r.WasmSHA256); !held {
				t.Errorf("%s is not in quarantine", r.Name)
			}
		}
	}
	s := registry.Scan(t.Context(), []plugin.Folder{{Path: dir}}, opt)
	check(s)
	text, err := os.ReadFile(quarantine)
	var listed map[string]any
	if err != nil || json.Unmarshal(text, &listed) != nil || len(listed) != len(s.Refused) {
		t.Errorf("%d are listed in %s, %v", len(listed), text, err)
	}
	opt.Previous, j.checked = s, 0
	check(registry.Scan(t.Context(), []plugin.Folder{{Path: dir}}, opt))
	if j.checked != 0 {
		t.Errorf("%d manifests were checked again", j.checked)
	}
}

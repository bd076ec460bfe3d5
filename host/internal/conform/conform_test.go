package conform

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/internal/guesttest"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/internal/testsize"
	"github.com/weirhost/weir/sdk/tool"
)

var worker []string

func TestMain(m *testing.M) {
	var err error
	if worker, err = guesttest.Worker("../../.."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// TestSDKs asks every SDK for everything in the vectors; where everything is tested, on both
// engines.
func TestSDKs(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(serve))
	t.Cleanup(server.Close)
	root := guesttest.Root(t)
	vectors := load(t, filepath.Join(root, "sdk/testdata/abi"), server.URL)
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(filepath.Join(dir, "conform"), os.DirFS(filepath.Join(root, "sdk/testdata/abi"))); err != nil {
				t.Fatal(err)
			}
			l.build(t, filepath.Join(root, l.source), filepath.Join(dir, "conform", "conform.wasm"))
			for _, engine := range []string{host.EngineWazero, host.EngineExtism}[:testsize.Of(1, 2)] {
				t.Run(engine, func(t *testing.T) {
					hosts := &hosts{t: t, dir: dir, engine: engine, open: map[settings]*opened{}}
					for _, v := range vectors {
						t.Run(v.name, func(t *testing.T) { v.run(t, hosts.with(v.host)) })
					}
				})
			}
		})
	}
}

// serve is the server that the vectors know.
func serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain")
	switch r.URL.Path {
	case "/hello":
		io.WriteString(w, "你好")
	case "/echo":
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s", r.Method, r.Header.Get("X-Conform"), body)
	default:
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, "gone")
	}
}

// hosts are opened once for each settings.
type hosts struct {
	t           *testing.T
	dir, engine string
	open        map[settings]*opened
}

type opened struct {
	*host.Host
	log *guesttest.LogBook
}

func (h *hosts) with(s settings) *opened {
	h.t.Helper()
	if o := h.open[s]; o != nil {
		return o
	}
	log := &guesttest.LogBook{}
	set := host.ToolConfig{Limits: tool.Limits{MaxChars: s.MaxChars, MaxLines: s.MaxLines}}
	if s.Config.Greeting != "" {
		set.Config = map[string]any{"greeting": s.Config.Greeting}
	}
	cfg := host.Config{
		Settings: host.Settings{
			Folders: []plugin.Folder{{Path: h.dir, Trust: plugin.TrustGranted}},
			Tools:   map[string]host.ToolConfig{"conform": set},
			Grants:  map[string]plugin.Grant{"conform": {Hosts: []plugin.HostGrant{{Host: "http://127.0.0.1:*", Private: true}}}},
			Sandbox: host.Sandbox{Engine: h.engine},
		},
		CacheDir:      guesttest.Cache(h.t),
		Version:       "1.0.0",
		WorkerCommand: worker,
		Logger:        log.Logger(),
	}
	o, err := host.Open(h.t.Context(), cfg)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() {
		if err := o.Close(); err != nil {
			h.t.Error(err)
		}
	})
	for _, p := range o.Plugins() {
		if p.State != plugin.Ready {
			h.t.Fatalf("the plugin is %s: %s", p.State, p.Why)
		}
	}
	h.open[s] = &opened{Host: o, log: log}
	return h.open[s]
}

func (v vector) run(t *testing.T, h *opened) {
	var told []progress
	h.log.Reset()
	s := h.Session("me", "here").In(v.host.Locale).ByPerson().Reporting(func(p host.Progress) {
		told = append(told, progress{p.Done, p.Total, p.Msg})
	})
	r, err := s.Call(t.Context(), tool.Call{ID: "1", Tool: "conform", Args: json.RawMessage(v.args)})
	if err != nil {
		t.Fatal(err)
	}
	if v.want.Error != nil {
		v.failed(t, r.Err)
		return
	}
	if r.Err != nil {
		t.Fatalf("it failed: %v", r.Err)
	}
	text := v.want.Text + strings.Repeat(v.want.Repeat, v.want.Count)
	got := r.Whole()
	if r.Incomplete != v.want.Incomplete || r.Incomplete && !utf8.ValidString(got) {
		t.Errorf("incomplete %v, wanted %v; the answer ends with %q", r.Incomplete, v.want.Incomplete, got[max(0, len(got)-100):])
	}
	if v.want.Incomplete {
		got = got[:min(len(got), len(text))]
	}
	if got != text {
		t.Errorf("the answer has %d bytes, %.300q; wanted are %d, %.300q", len(got), got, len(text), text)
	}
	v.beside(t, r, told)
	if !strings.Contains(h.log.String(), v.want.Log) {
		t.Errorf("the log has no %q:\n%s", v.want.Log, h.log)
	}
}

// beside compares what an answer holds beside its text.
func (v vector) beside(t *testing.T, r tool.Result, told []progress) {
	t.Helper()
	if len(r.Sources)+len(v.want.Sources) > 0 && !reflect.DeepEqual(r.Sources, v.want.Sources) {
		t.Errorf("sources %v, wanted %v", r.Sources, v.want.Sources)
	}
	if len(r.Parts)+len(v.want.Parts) > 0 && !reflect.DeepEqual(r.Parts, v.want.Parts) {
		t.Errorf("parts %v, wanted %v", r.Parts, v.want.Parts)
	}
	if got, want := plain(t, r.More), plain(t, v.want.More); got != want {
		t.Errorf("more %s, wanted %s", got, want)
	}
	if !reflect.DeepEqual(r.Entries, v.want.Entries) {
		t.Errorf("entries %+v, wanted %+v", r.Entries, v.want.Entries)
	}
	if len(told)+len(v.want.Progress) > 0 && !reflect.DeepEqual(told, v.want.Progress) {
		t.Errorf("progress %v, wanted %v", told, v.want.Progress)
	}
}

func plain(t *testing.T, m *tool.More) string {
	t.Helper()
	if m == nil {
		return "none"
	}
	var args map[string]any
	if err := json.Unmarshal(m.Args, &args); err != nil {
		t.Errorf("arguments to continue: %v", err)
	}
	return fmt.Sprint(m.Shown, " of ", m.Total, " ", args)
}

func (v vector) failed(t *testing.T, got *tool.Error) {
	t.Helper()
	want := v.want.Error
	switch {
	case got == nil:
		t.Errorf("it did not fail, and should with %s", want.Code)
	case got.Code != want.Code,
		want.Message != "" && got.Msg != want.Message,
		want.Hint != "" && got.Hint != want.Hint,
		want.HasHint && got.Hint == "",
		!strings.Contains(got.Msg, want.Names):
		t.Errorf("it failed with %v, wanted %+v", got, *want)
	}
}

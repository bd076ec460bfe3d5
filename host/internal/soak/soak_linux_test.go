package soak

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	decoded "github.com/weirhost/weir/host/internal/answer"
	"github.com/weirhost/weir/host/internal/guesttest"
	"github.com/weirhost/weir/host/internal/jail"
	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/host/internal/worker"
	"github.com/weirhost/weir/internal/testsize"
	"github.com/weirhost/weir/sdk/tool"
)

const (
	callers = 16
	// patience is the deadline of a call that is not to meet one, however busy
	// the machine is.
	patience = 10 * time.Minute
	// cutShort is how many calls there are to one that is cancelled, or given too
	// little time.
	cutShort = 50
	// mounted and apart are how many calls there are to one of a tool that works on
	// files, which needs an instance of its own, and to one in a worker.
	mounted, apart = 50, 8
	// waiting is how many workers may wait: enough for each plugin to have some, for
	// to start one takes as long as a thousand calls.
	waiting = 4 * callers
	// long is the duration of a call, in this process, that is made once where others are
	// made slowly times: else a few megabytes of text are what all is about.
	long, slowly = 10 * time.Millisecond, 100
	// parts is how often it is looked whether something has grown.
	parts = 5
)

// A form is how long the test is.
type form struct {
	calls int
	args  int // for each tool
	seed  uint64
	few   bool // of the shipped tools
}

// some are the tools of the short form: to compile them all for both engines and
// for workers takes minutes.
var some = []string{"calculator", "current_time", "grep_search", "read_file"}

// chosen is the short form, or what the environment says: WEIR_SOAK_CALLS and,
// for a run to be done again, WEIR_SOAK_SEED.
func chosen(t *testing.T) form {
	f := form{calls: 400, args: 5, seed: rand.Uint64(), few: true}
	if text := os.Getenv("WEIR_SOAK_CALLS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			t.Fatalf("WEIR_SOAK_CALLS=%q is no number of calls", text)
		}
		f.calls, f.args, f.few = n, min(max(n/1000, 5), 100), false
	}
	if text := os.Getenv("WEIR_SOAK_SEED"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("WEIR_SOAK_SEED=%q is no seed", text)
		}
		f.seed = n
	}
	t.Logf("%d calls; WEIR_SOAK_SEED=%d chooses the same arguments again", f.calls, f.seed)
	return f
}

// A caller runs calls of one plugin, in this process or in workers.
type caller interface {
	Call(ctx context.Context, inv sandbox.Invocation) (sandbox.Output, *tool.Error)
}

// A subject is a tool on its way to be called.
type subject struct {
	name  string
	files bool // it works on the workspace
	clock bool // its answers depend on the time
	calls []sandbox.Invocation
	want  []answer // of fresh instances
	slow  []bool   // they take long

	reference, inline, worker caller
}

// clocks are the tools whose answers differ from one moment to the next.
var clocks = []string{"current_time"}

// An answer is what a model would read.
type answer struct {
	text string
	code tool.Code
}

func told(out sandbox.Output, fail *tool.Error) answer {
	if fail != nil {
		return answer{fail.Msg, fail.Code}
	}
	a := decoded.DecodeText(out.Bytes)
	if !out.Text && bytes.HasPrefix(out.Bytes, []byte(`{"content":`)) { // the other engine has a text alone in JSON
		a = decoded.DecodeMCP(out.Bytes, "")
	}
	a.RawSize = 0
	text, _ := json.Marshal(a) // it has no channels
	return answer{text: string(text)}
}

func TestSoak(t *testing.T) {
	if os.Getenv("WEIR_SOAK_CALLS") == "" {
		testsize.Only(t)
	}
	f := chosen(t)
	before := look(t)
	t.Run("calls", func(t *testing.T) {
		b := newBench(t)
		subjects := b.subjects(t, f)
		warm, began := max(f.calls/4, 1), time.Now()
		storm(t, subjects, warm, f.seed)
		settled := look(t)
		for n := range parts {
			storm(t, subjects, (f.calls-warm)/parts, f.seed+1+uint64(n))
			t.Logf("%d of %d parts in %s", n+1, parts, time.Since(began).Round(time.Second))
			settled.grown(t, look(t))
		}
	})
	before.left(t)
}

// storm makes n calls.
func storm(t *testing.T, subjects []*subject, n int, seed uint64) {
	var left atomic.Int64
	left.Store(int64(n))
	var wrong atomic.Int64
	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(c)))
			for left.Add(-1) >= 0 && wrong.Load() < 10 {
				if err := pick(subjects, r).once(t.Context(), r); err != nil {
					wrong.Add(1)
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if wrong.Load() > 0 {
		t.FailNow()
	}
}

// pick takes one of the tools; those that work on files more seldom.
func pick(subjects []*subject, r *rand.Rand) *subject {
	files := r.IntN(mounted) == 0
	for {
		if s := subjects[r.IntN(len(subjects))]; s.files == files {
			return s
		}
	}
}

// once makes one of the tool's calls and compares its answer.
func (s *subject) once(ctx context.Context, r *rand.Rand) error {
	i := r.IntN(len(s.calls))
	if s.slow[i] && r.IntN(slowly) > 0 {
		i = s.quick(i)
	}
	inv, want, way, through := s.calls[i], s.want[i], "inline", s.inline
	if r.IntN(apart) == 0 {
		way, through = "worker", s.worker
	}
	mayEnd := tool.Code("")
	switch r.IntN(2 * cutShort) {
	case 0:
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer time.AfterFunc(time.Duration(r.IntN(5000))*time.Microsecond, cancel).Stop()
		mayEnd = tool.Cancelled
	case 1:
		inv.Timeout = time.Duration(1+r.IntN(5000)) * time.Microsecond
		mayEnd = tool.TimedOut
	}
	got := told(through.Call(ctx, inv))
	if got == want || mayEnd != "" && got.code == mayEnd || s.clock && got.code == want.code {
		return nil
	}
	return fmt.Errorf("%s %s, %s: %.300q (%s), and a fresh instance answers %.300q (%s)", s.name, inv.Input, way, got.text, got.code, want.text, want.code)
}

// quick is the next call that does not take long, if there is one.
func (s *subject) quick(i int) int {
	for n := range s.calls {
		if k := (i + n) % len(s.calls); !s.slow[k] {
			return k
		}
	}
	return i
}

// A bench has the ways to call a plugin.
type bench struct {
	inline    *sandbox.Engine
	reference *sandbox.Engine // a fresh instance for each call, on the other engine
	workers   *worker.Pool
	workspace string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	command, err := guesttest.Worker(guesttest.Root(t))
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{workspace: workspace(t)}
	engine := func(c sandbox.Config) *sandbox.Engine {
		c.CacheDir = guesttest.Cache(t)
		e, err := sandbox.New(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := e.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
		return e
	}
	b.inline, b.reference = engine(sandbox.Config{Spares: 2}), engine(sandbox.Config{Engine: sandbox.EngineExtism})
	if b.workers, err = worker.New(t.Context(), worker.Config{Command: command, CacheDir: guesttest.Cache(t), Max: waiting}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.workers.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return b
}

// subjects are all shipped tools, with the answers of fresh instances.
func (b *bench) subjects(t *testing.T, f form) []*subject {
	t.Helper()
	manifests, err := filepath.Glob(filepath.Join(guesttest.Root(t), "plugins", "*", registry.ManifestName))
	if err != nil || len(manifests) == 0 {
		t.Fatal("no plugins", err)
	}
	var names []string
	for _, m := range manifests {
		if name := filepath.Base(filepath.Dir(m)); !f.few || slices.Contains(some, name) {
			names = append(names, name)
		}
	}
	dir := guesttest.Shipped(t, names...)
	var all []*subject
	for n, name := range names {
		p, problems := registry.Check(filepath.Join(dir, name), "")
		if p == nil {
			t.Fatal(name, problems)
		}
		all = append(all, b.load(t, p, f.args, rand.New(rand.NewPCG(f.seed, uint64(n))))...)
	}
	var wg sync.WaitGroup
	for at := range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := at; i < len(all); i += runtime.GOMAXPROCS(0) {
				all[i].ask(t.Context())
			}
		})
	}
	wg.Wait()
	if err := b.reference.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return all
}

// load makes subjects of a plugin's tools.
func (b *bench) load(t *testing.T, p *registry.Plugin, args int, r *rand.Rand) []*subject {
	t.Helper()
	wasm, err := os.ReadFile(p.WasmPath)
	if err != nil {
		t.Fatal(err)
	}
	pl := sandbox.Plugin{Name: p.Manifest.Name, Wasm: wasm, Memory: p.Manifest.Tools[0].Spec.Output.Memory}
	for _, def := range p.Manifest.Tools {
		pl.Exports = append(pl.Exports, def.Export)
	}
	inline, err := b.inline.Load(t.Context(), pl)
	if err != nil {
		t.Fatal(err)
	}
	reference, err := b.reference.Load(t.Context(), pl)
	if err != nil {
		t.Fatal(err)
	}
	apart, err := b.workers.Load(t.Context(), pl)
	if err != nil {
		t.Fatal(err)
	}
	grant := b.grant(p.Manifest)
	var all []*subject
	for _, def := range p.Manifest.Tools {
		s := &subject{
			name: def.Spec.Name, files: len(p.Manifest.Asks.Paths) > 0, clock: slices.Contains(clocks, def.Spec.Name),
			reference: reference, inline: inline, worker: apart,
		}
		for range args {
			s.calls = append(s.calls, sandbox.Invocation{
				Export: def.Export, Input: arguments(t, def.Spec, r), Timeout: patience, Limits: def.Spec.Output, Grant: grant, MaxOutput: 2 * tool.MaxWhole,
			})
		}
		all = append(all, s)
	}
	return all
}

// grant gives a plugin what it asks for: the workspace, a web that is made up,
// and its settings as they are declared.
func (b *bench) grant(m registry.Manifest) sandbox.Grant {
	g := sandbox.Grant{Config: map[string]string{"weir.locale": "en"}}
	for _, a := range m.Asks.Paths {
		g.Mounts = append(g.Mounts, jail.Mount{Guest: a.Guest, Host: b.workspace})
	}
	if len(m.Asks.Hosts) > 0 {
		g.HTTP = web{}
	}
	for _, s := range m.Settings {
		if s.Default != nil {
			g.Config[s.Name] = fmt.Sprint(s.Default)
		}
	}
	return g
}

// ask finds out what is right.
func (s *subject) ask(ctx context.Context) {
	for _, inv := range s.calls {
		s.want = append(s.want, told(s.reference.Call(ctx, inv)))
		inv.Timeout = long
		_, fail := s.inline.Call(ctx, inv) // compared when it is made again
		s.slow = append(s.slow, !s.files && fail != nil && fail.Code == tool.TimedOut)
	}
	s.reference = nil
}

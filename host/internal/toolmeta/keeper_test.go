package toolmeta

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/internal/postgres/pgtest"
	"github.com/weirhost/weir/host/internal/sqlite"
)

// A model answers prompts, and counts them by the name of the tool.
type model struct {
	mu    sync.Mutex
	asked map[string]int
	say   func(ctx context.Context, tool string) (string, error)
}

func (m *model) ask(ctx context.Context, prompt string) (string, error) {
	name := ""
	for line := range strings.Lines(prompt) {
		if rest, ok := strings.CutPrefix(line, "name: "); ok {
			name = strings.TrimSpace(rest)
		}
	}
	m.mu.Lock()
	if m.asked == nil {
		m.asked = map[string]int{}
	}
	m.asked[name]++
	m.mu.Unlock()
	if m.say != nil {
		return m.say(ctx, name)
	}
	return "How do I " + name + "?\n怎么用这个\n", nil
}

func (m *model) count() (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range m.asked {
		n += c
	}
	return n
}

func TestMain(m *testing.M) { os.Exit(pgtest.Main{M: m}.Run()) }

func openDB(t *testing.T, path string) *sqlite.DB {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: path, URL: pgtest.URL(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// keeper returns an open Keeper whose clock is now.
func keeper(t *testing.T, db *sqlite.DB, cfg Config, now func() time.Time) *Keeper {
	t.Helper()
	k := new(Keeper)
	if err := k.Open(t.Context(), db, hclog.NewNullLogger(), now, func() {}); err != nil {
		t.Fatal(err)
	}
	k.Configure(cfg)
	return k
}

func named(names ...string) (out []Tool) {
	for _, n := range names {
		out = append(out, Tool{Name: n, Source: "s", Description: "Does " + n + "."})
	}
	return out
}

// follow replaces the tools and runs a round.
func follow(t *testing.T, k *Keeper, tools ...Tool) {
	t.Helper()
	k.Follow(tools)
	<-k.wake
	k.round(t.Context())
}

// A model is asked once about each text of a tool: not again after a restart, again when
// the text changes; then what it said about the earlier text is gone.
func TestAskedOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	db, m := openDB(t, path), new(model)
	cfg := Config{QuestionModel: "small", Ask: m.ask}
	k := keeper(t, db, cfg, time.Now)
	tools := named("mow", "dig")
	follow(t, k, append(tools, tools[0])...) // one of them twice
	follow(t, k, tools...)
	if m.count() != 2 || !slices.Equal(k.Questions(tools[0]), []string{"How do I mow?", "怎么用这个"}) {
		t.Errorf("asked %v; %q", m.asked, k.Questions(tools[0]))
	}
	k = keeper(t, db, cfg, time.Now) // a restart
	changed := Tool{Name: "mow", Source: "s", Description: "Mows twice."}
	if follow(t, k, tools...); m.count() != 2 || k.Questions(tools[1]) == nil {
		t.Errorf("after a restart: asked %v", m.asked)
	}
	if follow(t, k, changed, tools[1]); m.asked["mow"] != 2 || m.asked["dig"] != 1 || k.Questions(changed) == nil || k.Questions(tools[0]) != nil {
		t.Errorf("after a change: asked %v", m.asked)
	}
	var rows int
	if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM tool_questions").Scan(&rows); err != nil || rows != 2 {
		t.Errorf("%d rows, %v", rows, err)
	}
	// A server that is away keeps what is known about its tools.
	if follow(t, k, changed); k.Questions(tools[1]) == nil {
		t.Error("what was known about a tool that is away is lost")
	}
	k.Configure(Config{})
	if k.Questions(changed) != nil {
		t.Error("questions are used although they are off")
	}
	// A process that ends soon uses them and asks nothing.
	k.Configure(Config{QuestionModel: "small", Ask: m.ask, KeptOnly: true})
	if follow(t, k, changed, named("new")[0]); k.Questions(changed) == nil || m.asked["new"] != 0 {
		t.Errorf("asked %v", m.asked)
	}
}

// A model that fails is asked again hours later, another model at once.
func TestFailuresAreKept(t *testing.T) {
	now := time.Now()
	db, m := openDB(t, filepath.Join(t.TempDir(), "a.db")), new(model)
	m.say = func(context.Context, string) (string, error) { return "{}", nil }
	cfg := Config{QuestionModel: "small", Ask: m.ask}
	tools := named("mow")
	k := keeper(t, db, cfg, func() time.Time { return now })
	for range 3 {
		follow(t, k, tools...)
		k = keeper(t, db, cfg, func() time.Time { return now })
	}
	if m.count() != 1 {
		t.Errorf("asked %v", m.asked)
	}
	now = now.Add(retryTime + time.Minute)
	if follow(t, k, tools...); m.count() != 2 {
		t.Errorf("hours later: asked %v", m.asked)
	}
	m.say = nil
	k.Configure(Config{QuestionModel: "large", Ask: m.ask})
	<-k.wake
	if follow(t, k, tools...); m.count() != 3 || k.Questions(tools[0]) == nil {
		t.Errorf("another model: asked %v", m.asked)
	}
}

// A model that is away is left alone after a few tools, and the search goes on without.
func TestAModelThatIsAwayIsLeftAlone(t *testing.T) {
	m := &model{say: func(context.Context, string) (string, error) { return "", errors.New("connection refused") }}
	k := keeper(t, openDB(t, filepath.Join(t.TempDir(), "a.db")), Config{QuestionModel: "small", Ask: m.ask}, time.Now)
	var tools []Tool
	for i := range 100 {
		tools = append(tools, named(fmt.Sprint("tool", i))...)
	}
	follow(t, k, tools...)
	if n := m.count(); n < maxFailures || n > maxFailures+atOnce {
		t.Errorf("asked %d times about one source", n)
	}
	for i := range tools {
		tools[i].Name, tools[i].Source = "other"+tools[i].Name, fmt.Sprint("s", i)
	}
	m.asked = nil
	follow(t, k, tools...)
	if n := m.count(); n < maxInRow || n > maxInRow+atOnce {
		t.Errorf("asked %d times about many sources", n)
	}
}

// A stranger whose texts make a model fail keeps no other plugin's tools from it.
func TestAStrangersTextsFailAlone(t *testing.T) {
	m := &model{say: func(_ context.Context, tool string) (string, error) {
		if strings.HasPrefix(tool, "poison") {
			return "", errors.New("the text is refused")
		}
		return "What does it do?", nil
	}}
	e := &embedder{model: "m"}
	k := keeper(t, openDB(t, filepath.Join(t.TempDir(), "a.db")), Config{QuestionModel: "small", Ask: m.ask, EmbeddingModel: "m", Embed: e.embed}, time.Now)
	var tools []Tool
	for i := range 500 {
		tools = append(tools, Tool{Name: fmt.Sprint("poison", i), Source: "stranger"})
	}
	mine := named("mow", "dig")
	follow(t, k, append(tools, mine...)...)
	for _, tool := range mine {
		if k.Questions(tool) == nil || k.Vector(tool) == nil {
			t.Errorf("%s has %q", tool.Name, k.Questions(tool))
		}
	}
	if n := m.count(); n > len(mine)+maxFailures+atOnce {
		t.Errorf("asked %d times", n)
	}
}

// A model that hangs holds a request until its deadline, and never the end of the process.
func TestAModelThatHangs(t *testing.T) {
	db := openDB(t, filepath.Join(t.TempDir(), "a.db"))
	begun := make(chan struct{}, 100)
	m := &model{say: func(ctx context.Context, _ string) (string, error) {
		begun <- struct{}{}
		<-ctx.Done()
		return "Too late, is it?", ctx.Err()
	}}
	k := keeper(t, db, Config{QuestionModel: "small", Ask: m.ask}, time.Now)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); k.Run(ctx) }()
	tools := named("mow", "dig", "sow")
	k.Follow(tools)
	<-begun
	<-begun
	if k.Questions(tools[0]) != nil {
		t.Error("there are questions before the model answers")
	}
	cancel()
	<-done
	if k = keeper(t, db, Config{QuestionModel: "small", KeptOnly: true}, time.Now); len(k.answers) != 0 {
		t.Errorf("the end of the process is kept as a failure: %+v", k.answers)
	}
}

// A source whose texts change all the time costs a bounded number of requests.
func TestASourceIsBounded(t *testing.T) {
	m := new(model)
	k := keeper(t, openDB(t, filepath.Join(t.TempDir(), "a.db")), Config{QuestionModel: "small", Ask: m.ask}, time.Now)
	k.asked = daily{time.Now(), map[string]int{"s": maxPerSource - 5}}
	var tools []Tool
	for i := range 20 {
		tools = append(tools, named(fmt.Sprint("tool", i))...)
	}
	other := Tool{Name: "other", Source: "o"}
	follow(t, k, append(tools, other)...)
	for i := range tools {
		tools[i].Description += " Changed."
	}
	follow(t, k, append(tools, other)...)
	if m.count() != 6 || m.asked["other"] != 1 {
		t.Errorf("asked %v", m.asked)
	}
}

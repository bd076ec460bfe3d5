package toolmeta

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// An embedder makes vectors, unless it fails.
type embedder struct {
	texts []string
	fail  error
	hang  bool
	model string
}

func (e *embedder) embed(ctx context.Context, texts []string) ([][]float32, string, error) {
	e.texts = append(e.texts, texts...)
	if e.hang {
		<-ctx.Done()
		return nil, "", ctx.Err()
	}
	var out [][]float32
	for _, t := range texts {
		if strings.Contains(t, "poison") {
			return nil, "", errors.New("the text is refused")
		}
		out = append(out, []float32{float32(len(t)), 1})
	}
	return out, e.model, e.fail
}

// Vectors are made once for each text and model, and survive a restart. A text that the
// service refuses keeps no other tool from its vector.
func TestVectorsAreMadeOnce(t *testing.T) {
	db, e := openDB(t, filepath.Join(t.TempDir(), "a.db")), &embedder{model: "m"}
	cfg := Config{EmbeddingModel: "m", Embed: e.embed}
	k := keeper(t, db, cfg, time.Now)
	tools := named("mow", "poison", "dig")
	follow(t, k, tools...)
	if k.Vector(tools[0]) == nil || k.Vector(tools[1]) != nil || k.Vector(tools[2]) == nil {
		t.Error("a vector is missing")
	}
	tools = slices.Delete(tools, 1, 2)
	e.texts = nil
	k = keeper(t, db, cfg, time.Now)
	if follow(t, k, tools...); len(e.texts) != 0 || k.Vector(tools[1]) == nil {
		t.Errorf("after a restart: embedded %q", e.texts)
	}
	old := tools[0]
	tools[0].Description = "Mows twice."
	if follow(t, k, tools...); len(e.texts) != 1 || k.Vector(tools[0]) == nil || k.Vector(old) != nil {
		t.Errorf("after a change: embedded %q", e.texts)
	}
	e.model = "n"
	k.Configure(Config{EmbeddingModel: "n", Embed: e.embed})
	<-k.wake
	if k.Vector(tools[0]) != nil {
		t.Error("the vector of another model is used")
	}
	if follow(t, k, tools...); len(e.texts) != 3 || k.Vector(tools[0]) == nil {
		t.Errorf("with another model: embedded %q", e.texts)
	}
	k.Configure(Config{})
	if k.Vector(tools[0]) != nil || k.Query(t.Context(), "mow") != nil {
		t.Error("vectors are used although they are off")
	}
}

// A search waits for a vector within a bound, and after a failure not at all for a while.
func TestASearchDoesWithoutVectors(t *testing.T) {
	now := time.Now()
	e := &embedder{model: "m", hang: true}
	k := keeper(t, openDB(t, filepath.Join(t.TempDir(), "a.db")), Config{EmbeddingModel: "m", Embed: e.embed}, func() time.Time { return now })
	if v := k.Query(t.Context(), "mow"); v != nil || len(e.texts) != 1 { // returns, although no answer comes
		t.Errorf("%v, asked %q", v, e.texts)
	}
	if v := k.Query(t.Context(), "dig"); v != nil || len(e.texts) != 1 {
		t.Errorf("right after a failure: asked %q", e.texts)
	}
	e.hang = false
	now = now.Add(pauseTime + time.Second)
	if v := k.Query(t.Context(), strings.Repeat("割草", 5000)); v == nil || utf8.RuneCountInString(e.texts[1]) != maxQuery {
		t.Errorf("later: %v", v)
	}
	if k.Query(t.Context(), "dig"); k.Query(t.Context(), "dig") == nil || len(e.texts) != 3 {
		t.Errorf("the same words again: asked %d times", len(e.texts))
	}
	for i := range 3 * maxQueries {
		k.Query(t.Context(), strings.Repeat("x", i+1))
	}
	if len(k.queries.vectors) != maxQueries || len(k.queries.order) != maxQueries {
		t.Errorf("%d searches are remembered", len(k.queries.vectors))
	}
	for what, bad := range map[string]*embedder{"another model": {model: "other"}, "an error": {model: "m", fail: errors.New("away")}} {
		k.Configure(Config{EmbeddingModel: "m", Embed: bad.embed})
		k.queries = queries{}
		if k.Query(t.Context(), "dig") != nil || k.queries.paused.IsZero() {
			t.Errorf("%s gives a vector", what)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	k.Configure(Config{EmbeddingModel: "m", Embed: (&embedder{hang: true}).embed})
	k.queries = queries{}
	if k.Query(ctx, "dig"); !k.queries.paused.IsZero() {
		t.Error("a caller that has gone is a failure of the model")
	}
}

func TestWordsAreBounded(t *testing.T) {
	got := Tool{Name: "get_user-name", Description: strings.Repeat("long ", 5000), DescriptionZh: "用户", Params: []byte(`{"properties":{"b":{},"a":{}}}`)}.words()
	if !strings.HasPrefix(got, "get user name: long") || utf8.RuneCountInString(got) > maxText || !strings.HasSuffix(got, "用户\na, b") {
		t.Errorf("%d characters, %.40q", utf8.RuneCountInString(got), got)
	}
}

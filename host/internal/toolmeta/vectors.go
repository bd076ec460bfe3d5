package toolmeta

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/weirhost/weir/host/internal/text"
	"github.com/weirhost/weir/host/internal/vector"
)

const (
	// batch is how many texts are embedded by one request, maxText the length of each in
	// characters.
	batch   = 16
	maxText = 2000
	// maxWait is how long a search waits for the vector of its words, maxQuery how many
	// characters of them are embedded.
	maxWait  = 2 * time.Second
	maxQuery = 1000
	// pauseTime is how long searches do without vectors after a failure.
	pauseTime = 30 * time.Second
	// maxQueries bounds the vectors of recent searches that are remembered.
	maxQueries = 64
)

// words returns what is embedded of a tool.
func (t Tool) words() string {
	var schema struct{ Properties map[string]json.RawMessage }
	_ = json.Unmarshal(t.Params, &schema) // without parameters there are fewer words
	name := strings.NewReplacer("_", " ", "-", " ", ".", " ").Replace(t.Name)
	about := head(t.Description, maxText/2) + "\n" + head(t.DescriptionZh, maxText/4)
	return text.Clip(text.Clean(name+": "+about+"\n"+strings.Join(slices.Sorted(maps.Keys(schema.Properties)), ", ")), maxText)
}

// Vector returns the vector of a tool's text; nil: there is none by the model.
func (k *Keeper) Vector(t Tool) []byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.cfg.EmbeddingModel == "" || len(k.vectors) == 0 {
		return nil
	}
	if v := k.vectors[t.Digest()]; v.model == k.cfg.EmbeddingModel {
		return v.values
	}
	return nil
}

// embedAll makes the vectors of a list, and returns how many there are. Of a batch that
// fails each text is tried alone, as long as the breaker lets it pass: the model may
// refuse one of them.
func (k *Keeper) embedAll(ctx context.Context, cfg Config, list []request) (made int) {
	var stops breaker
	try := func(part []request) bool {
		source := part[0].tool.Source
		if len(part) > 1 {
			source = ""
		}
		if k.isOver(ctx) || !stops.passes(source) {
			return true
		}
		err := k.embed(ctx, cfg, part)
		if stops.count(source, err == nil); err != nil {
			if ctx.Err() == nil {
				k.logOnce("a tool is found by words only: there is no vector of its text", "tool", part[0].tool.Name, "model", cfg.EmbeddingModel, "error", err)
			}
			return false
		}
		made += len(part)
		return true
	}
	for part := range slices.Chunk(list, batch) {
		part = slices.DeleteFunc(slices.Clone(part), func(r request) bool { return !stops.passes(r.tool.Source) })
		if len(part) > 0 && !try(part) {
			for i := range part {
				try(part[i : i+1])
			}
		}
	}
	return made
}

// errVectors is the error of an answer that is not one vector for each text.
var errVectors = errors.New("not one vector for each text, by the model that is configured")

func (k *Keeper) embed(ctx context.Context, cfg Config, part []request) error {
	inner, cancel := context.WithTimeout(ctx, maxAsk)
	defer cancel()
	var texts []string
	k.mu.Lock()
	for _, r := range part {
		texts = append(texts, r.tool.words())
		k.read.count[r.tool.Source]++
	}
	k.mu.Unlock()
	vectors, model, err := cfg.Embed(inner, texts)
	if err != nil {
		return err
	}
	if len(vectors) != len(texts) || model != cfg.EmbeddingModel {
		return errVectors
	}
	for i, r := range part {
		v := stored{r.tool.Name, model, vector.Bytes(vectors[i])}
		if v.values == nil {
			return errVectors
		}
		if err := saveVector(context.WithoutCancel(ctx), k.db, r.digest, v, k.now()); err != nil {
			k.log.Warn("the vector of a tool is not saved", "tool", r.tool.Name, "error", err)
		}
		k.mu.Lock()
		k.vectors[r.digest] = v
		k.mu.Unlock()
	}
	return nil
}

// queries are the vectors of recent searches.
type queries struct {
	vectors map[string][]float32
	order   []string  // the oldest first
	paused  time.Time // until then the model is not asked
}

// Query returns the vector of a search; nil: there is none, and the search goes on with
// words. It waits for two seconds at most, and after a failure not at all for a while.
func (k *Keeper) Query(ctx context.Context, query string) []float32 {
	query = head(query, maxQuery)
	k.mu.Lock()
	cfg, known, isPaused := k.cfg, k.queries.vectors[query], k.cfg.EmbeddingModel == "" || k.now().Before(k.queries.paused)
	k.mu.Unlock()
	if known != nil || isPaused {
		return known
	}
	inner, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	vectors, model, err := cfg.Embed(inner, []string{query})
	if err == nil && (len(vectors) != 1 || model != cfg.EmbeddingModel || !vector.Normalise(vectors[0])) {
		err = errVectors
	}
	switch {
	case err == nil:
		k.remember(query, vectors[0])
		return vectors[0]
	case ctx.Err() == nil: // the model is slow or away, not the caller
		k.mu.Lock()
		k.queries.paused = k.now().Add(pauseTime)
		k.mu.Unlock()
		k.logOnce("a search for tools goes on by words only: its words have no vector", "model", cfg.EmbeddingModel, "error", err)
	}
	return nil
}

// remember keeps the vector of a search for the next one with the same words.
func (k *Keeper) remember(query string, v []float32) {
	k.mu.Lock()
	defer k.mu.Unlock()
	q := &k.queries
	if q.vectors == nil {
		q.vectors = map[string][]float32{}
	}
	if q.vectors[query] == nil {
		q.order = append(q.order, query)
	}
	q.vectors[query] = v
	if len(q.order) > maxQueries {
		delete(q.vectors, q.order[0])
		q.order = q.order[1:]
	}
}

// logOnce logs a failure once until the models change: there may be thousands of tools.
func (k *Keeper) logOnce(text string, args ...any) {
	k.mu.Lock()
	isFirst := !k.warned[text]
	if isFirst {
		k.warned[text] = true
	}
	k.mu.Unlock()
	if isFirst {
		k.log.Warn(text, args...)
	}
}

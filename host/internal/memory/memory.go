package memory

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/sdk/tool"
)

const (
	// maxQueue bounds the results that wait for their vectors or their summary.
	maxQueue = 256
	// maxWork bounds the work on one result, maxQuestion the wait for a query's vector.
	maxWork     = 2 * time.Minute
	maxQuestion = 10 * time.Second
	// batch is how many passages are embedded by one request.
	batch = 16
)

// Embed returns a vector for each text, and the name of the model that made them.
type Embed func(ctx context.Context, texts []string) (vectors [][]float32, model string, err error)

// Summarise returns a summary of a result for its placeholder.
type Summarise func(ctx context.Context, e archive.Entry, l tool.Locale) (string, error)

// A Store is the part of the archive that is used.
type Store interface {
	Get(ctx context.Context, sc archive.Scope, uuid string) (archive.Entry, error)
	PutVectors(ctx context.Context, sc archive.Scope, uuid, model string, vectors []archive.Vector) error
	SetSummary(ctx context.Context, sc archive.Scope, uuid, summary string) error
	Near(ctx context.Context, sc archive.Scope, model string, query []float32, limit int) ([]archive.Near, error)
}

// A Config says what is done for each result. It may change while results wait.
type Config struct {
	Embed     Embed     // nil: no vectors
	Summarise Summarise // nil: no summaries
	// SummariseOver is the length, in characters, over which a result gets a summary.
	SummariseOver int
}

// A Memory works on results in the background. Make it with New; it is safe for
// concurrent use.
type Memory struct {
	store     Store
	log       hclog.Logger
	config    func() Config
	vectors   chan job
	summaries chan job
	dropped   atomic.Int64
}

// A job is one result that waits.
type job struct {
	scope  archive.Scope
	uuid   string
	locale tool.Locale
}

// New returns a Memory that works after Run is called.
func New(store Store, log hclog.Logger, config func() Config) *Memory {
	return &Memory{store: store, log: log, config: config, vectors: make(chan job, maxQueue), summaries: make(chan job, maxQueue)}
}

// Added queues a result that was archived. It does not wait.
func (m *Memory) Added(e archive.Entry, l tool.Locale) {
	cfg, j := m.config(), job{e.Scope, e.UUID, l}
	if cfg.Embed != nil {
		m.queue(m.vectors, j)
	}
	if cfg.Summarise != nil && e.Chars > cfg.SummariseOver {
		m.queue(m.summaries, j)
	}
}

func (m *Memory) queue(to chan job, j job) {
	select {
	case to <- j:
	default:
		if n := m.dropped.Add(1); n&(n-1) == 0 { // 1, 2, 4, …: a flood is a few lines
			m.log.Warn("results wait for the embedding or summary model; some are found by words only", "left_out", n)
		}
	}
}

// Run works until ctx ends.
func (m *Memory) Run(ctx context.Context) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.each(ctx, m.summaries, m.summarise)
	}()
	m.each(ctx, m.vectors, m.embed)
	<-done
}

func (m *Memory) each(ctx context.Context, jobs chan job, work func(context.Context, job) error) {
	for {
		select {
		case <-ctx.Done():
			return
		case j := <-jobs:
			inner, cancel := context.WithTimeout(ctx, maxWork)
			err := work(inner, j)
			cancel()
			if err != nil && ctx.Err() == nil && !errors.Is(err, archive.ErrNotFound) && !errors.Is(err, archive.ErrExpired) {
				m.log.Warn("a result is found by words only, or keeps its extract as summary", "uuid", j.uuid, "error", err)
			}
		}
	}
}

// embed stores the vectors of a result.
func (m *Memory) embed(ctx context.Context, j job) error {
	ask := m.config().Embed
	if ask == nil {
		return nil
	}
	e, err := m.store.Get(ctx, j.scope, j.uuid)
	if err != nil {
		return err
	}
	parts := passages(e)
	var out []archive.Vector
	name := ""
	for len(parts) > 0 {
		n := min(batch, len(parts))
		texts := make([]string, n)
		for i, p := range parts[:n] {
			texts[i] = p.text
		}
		vectors, model, err := ask(ctx, texts)
		if err != nil {
			return err
		}
		if len(vectors) != n || name != "" && model != name {
			return errors.New("not one vector for each passage, by one model")
		}
		for i, v := range vectors {
			out = append(out, archive.Vector{First: parts[i].first, Last: parts[i].last, Values: v})
		}
		name, parts = model, parts[n:]
	}
	return m.store.PutVectors(ctx, j.scope, j.uuid, name, out)
}

// summarise stores a summary of a result.
func (m *Memory) summarise(ctx context.Context, j job) error {
	ask := m.config().Summarise
	if ask == nil {
		return nil
	}
	e, err := m.store.Get(ctx, j.scope, j.uuid)
	if err != nil {
		return err
	}
	summary, err := ask(ctx, e, j.locale)
	if err != nil || summary == "" {
		return err
	}
	return m.store.SetSummary(ctx, j.scope, j.uuid, summary)
}

// Near returns the results of a scope that are nearest to a text, with their passages.
// Nil without an error: there is no embedding model, or nothing has vectors by it.
func (m *Memory) Near(ctx context.Context, sc archive.Scope, text string, limit int) ([]archive.Near, error) {
	ask := m.config().Embed
	if ask == nil || text == "" {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, maxQuestion)
	defer cancel()
	vectors, model, err := ask(ctx, []string{text})
	if err != nil {
		return nil, err
	}
	if len(vectors) != 1 {
		return nil, errors.New("not one vector for the text")
	}
	return m.store.Near(ctx, sc, model, vectors[0], limit)
}

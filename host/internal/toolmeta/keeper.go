package toolmeta

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/internal/signal"
	"github.com/weirhost/weir/host/internal/sqlite"
)

const (
	// maxAsk bounds one request to a model, atOnce the requests at the same time.
	maxAsk = 90 * time.Second
	atOnce = 2
	// roundTime is the time between two rounds. One begins also when the tools change.
	roundTime = 10 * time.Minute
	// retryTime is how long a tool whose questions failed waits for the next attempt.
	retryTime = 6 * time.Hour
	// maxPerSource bounds the texts of one source of tools that each model reads in a day
	// of this process: a server may change its texts as often as it likes.
	maxPerSource = 1024
	// someAnswers is after how many answers a long round reports a change.
	someAnswers = 16
)

// A Config names the models that are asked.
type Config struct {
	// QuestionModel is the name of the model that writes questions; empty: none are
	// written, and those that are kept are not used.
	QuestionModel string
	// Ask sends a prompt to that model and returns its reply, of which at most MaxReply
	// bytes are read.
	Ask func(ctx context.Context, prompt string) (string, error)
	// EmbeddingModel is the name of the model that makes vectors; empty: none are used.
	EmbeddingModel string
	// Embed returns a vector for each text, by that model.
	Embed func(ctx context.Context, texts []string) (vectors [][]float32, model string, err error)
	// KeptOnly is for a process that ends soon: what is kept about tools is used, and
	// nothing is asked about them.
	KeptOnly bool
}

// A Keeper has what models said about tools. The zero value has nothing and asks no model.
// Open makes it work; it is safe for concurrent use.
type Keeper struct {
	db      *sqlite.DB
	log     hclog.Logger
	now     func() time.Time
	changed func() // there are new answers

	wake chan struct{}

	mu      sync.Mutex // guards the fields below
	cfg     Config
	tools   []Tool
	answers map[string]answer // by digest
	vectors map[string]stored // by digest
	asked   daily             // for questions
	read    daily             // for vectors
	warned  map[string]bool   // by the text of the warning
	queries queries
}

// A daily counts something by the source of a tool, in one day.
type daily struct {
	since time.Time
	count map[string]int
}

// at begins to count again if a day has passed.
func (d *daily) at(now time.Time) {
	if d.count == nil || now.Sub(d.since) > 24*time.Hour {
		d.since, d.count = now, map[string]int{}
	}
}

// Open reads what is kept in db. changed is called, in Run's goroutines, when there are
// new answers.
func (k *Keeper) Open(ctx context.Context, db *sqlite.DB, log hclog.Logger, now func() time.Time, changed func()) error {
	if err := db.Migrate(ctx, Schema()); err != nil {
		return err
	}
	answers, err := load(ctx, db)
	if err != nil {
		return sqlite.Wrap(ctx, "reading what is known about tools", err)
	}
	vectors, err := loadVectors(ctx, db)
	if err != nil {
		return sqlite.Wrap(ctx, "reading the vectors of tools", err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.db, k.log, k.now, k.changed, k.answers, k.vectors = db, log, now, changed, answers, vectors
	k.wake, k.warned = make(chan struct{}, 1), map[string]bool{}
	return nil
}

// Configure replaces the models.
func (k *Keeper) Configure(cfg Config) {
	k.mu.Lock()
	isOther := k.cfg.QuestionModel != cfg.QuestionModel || k.cfg.EmbeddingModel != cfg.EmbeddingModel
	k.cfg = cfg
	if isOther {
		k.warned, k.queries = map[string]bool{}, queries{}
	}
	k.mu.Unlock()
	if isOther && k.changed != nil {
		k.changed()
	}
	k.begin()
}

// Follow replaces the tools. What is kept about an earlier text of one of them is
// removed.
func (k *Keeper) Follow(tools []Tool) {
	k.mu.Lock()
	k.tools = tools
	k.mu.Unlock()
	k.begin()
}

// begin wakes Run.
func (k *Keeper) begin() {
	signal.One(k.wake) // it is about to begin, or the Keeper is not open
}

// Questions returns the questions that a tool would answer; nil: none are known.
func (k *Keeper) Questions(t Tool) []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.cfg.QuestionModel == "" || len(k.answers) == 0 {
		return nil
	}
	return k.answers[t.Digest()].questions
}

// Run asks until ctx ends.
func (k *Keeper) Run(ctx context.Context) {
	again := time.NewTicker(roundTime)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.wake:
		case <-again.C:
		}
		k.round(ctx)
	}
}

// A request is one tool about which a model is asked.
type request struct {
	tool   Tool
	digest string
}

// round makes the vectors and the questions that are missing.
func (k *Keeper) round(ctx context.Context) {
	m := k.missing(ctx)
	if len(m.embed) > 0 && k.embedAll(ctx, m.cfg, m.embed) > 0 {
		k.changed()
	}
	k.askAll(ctx, m.cfg, m.ask)
}

// askAll asks about the tools of a list, as long as the breaker lets them pass.
func (k *Keeper) askAll(ctx context.Context, cfg Config, list []request) {
	var wg sync.WaitGroup
	var mu sync.Mutex // guards list, stops and fresh
	var stops breaker
	fresh := 0
	take := func() (r request, ok bool) {
		mu.Lock()
		defer mu.Unlock()
		for len(list) > 0 && !k.isOver(ctx) {
			if r, list = list[0], list[1:]; stops.passes(r.tool.Source) {
				return r, true
			}
		}
		return r, false
	}
	done := func(r request, ok bool) {
		mu.Lock()
		defer mu.Unlock()
		if stops.count(r.tool.Source, ok); !ok {
			return
		}
		if fresh++; fresh%someAnswers == 0 {
			k.changed()
		}
	}
	for range atOnce {
		wg.Go(func() {
			for r, ok := take(); ok; r, ok = take() {
				done(r, k.ask(ctx, cfg, r))
			}
		})
	}
	wg.Wait()
	if fresh%someAnswers > 0 {
		k.changed()
	}
}

// isOver reports whether a round ends: with the process, and when there are other tools
// or models.
func (k *Keeper) isOver(ctx context.Context) bool { return len(k.wake) > 0 || ctx.Err() != nil }

// What is missing: the tools that models have not read, and those of which an earlier
// text is known.
type missing struct {
	cfg             Config
	ask, embed, old []request
}

// missing returns what is missing, and removes what is known about texts that their tools
// do not have any more.
func (k *Keeper) missing(ctx context.Context) missing {
	m := k.compare()
	for _, r := range m.old {
		if err := drop(ctx, k.db, r.digest, r.tool.Name); err != nil && ctx.Err() == nil {
			k.log.Warn("what is known about an earlier text of a tool is not removed", "tool", r.tool.Name, "error", err)
		}
	}
	return m
}

// compare holds what is known against the tools.
func (k *Keeper) compare() missing {
	k.mu.Lock()
	defer k.mu.Unlock()
	m := missing{cfg: k.cfg}
	if k.cfg.QuestionModel == "" && k.cfg.EmbeddingModel == "" && len(k.answers)+len(k.vectors) == 0 {
		return m // as in most hosts
	}
	now := k.now()
	k.asked.at(now)
	k.read.at(now)
	current, asks, reads := map[string]request{}, map[string]int{}, map[string]int{}
	for _, t := range k.tools {
		if _, isThere := current[t.Name]; isThere {
			continue
		}
		r := request{t, t.Digest()}
		current[t.Name] = r
		if k.isUnasked(r.digest, now) && k.asked.count[t.Source]+asks[t.Source] < maxPerSource {
			asks[t.Source]++
			m.ask = append(m.ask, r)
		}
		if k.isUnread(r.digest) && k.read.count[t.Source]+reads[t.Source] < maxPerSource {
			reads[t.Source]++
			m.embed = append(m.embed, r)
		}
	}
	for digest, a := range k.answers {
		if r, ok := current[a.tool]; ok && r.digest != digest {
			delete(k.answers, digest)
			m.old = append(m.old, r)
		}
	}
	for digest, v := range k.vectors {
		if r, ok := current[v.tool]; ok && r.digest != digest {
			delete(k.vectors, digest)
			m.old = append(m.old, r)
		}
	}
	return m
}

// isUnasked reports whether the model has to write questions for a text.
func (k *Keeper) isUnasked(digest string, now time.Time) bool {
	if k.cfg.QuestionModel == "" || k.cfg.KeptOnly {
		return false
	}
	a, isKnown := k.answers[digest]
	return !isKnown || a.questions == nil && (a.model != k.cfg.QuestionModel || now.Sub(a.asked) >= retryTime)
}

// isUnread reports whether a text has no vector by the model.
func (k *Keeper) isUnread(digest string) bool {
	return k.cfg.EmbeddingModel != "" && !k.cfg.KeptOnly && k.vectors[digest].model != k.cfg.EmbeddingModel
}

// errNoQuestions is the error of a reply without a question.
var errNoQuestions = errors.New("the reply has no question")

// ask asks about one tool and keeps the answer, also that there is none. It reports
// whether there is one.
func (k *Keeper) ask(ctx context.Context, cfg Config, r request) bool {
	k.mu.Lock()
	k.asked.count[r.tool.Source]++
	k.mu.Unlock()
	inner, cancel := context.WithTimeout(ctx, maxAsk)
	defer cancel()
	reply, err := cfg.Ask(inner, prompt(r.tool))
	if ctx.Err() != nil {
		return false // the process ends: the next one asks
	}
	a := answer{tool: r.tool.Name, model: cfg.QuestionModel, asked: k.now()}
	if err == nil {
		if a.questions = parse(reply); a.questions == nil {
			err = errNoQuestions
		}
	}
	if err != nil {
		k.logOnce("a model wrote no questions for a tool, which is found by its own words only", "tool", r.tool.Name, "model", cfg.QuestionModel, "error", err)
	}
	if err := save(context.WithoutCancel(ctx), k.db, r.digest, a); err != nil { // it is paid for, also where the process ends now
		k.log.Warn("the questions for a tool are not saved", "tool", r.tool.Name, "error", err)
	}
	k.mu.Lock()
	k.answers[r.digest] = a
	k.mu.Unlock()
	return err == nil
}

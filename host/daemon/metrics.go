package daemon

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/parse"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/sdk/tool"
)

// other stands for every label value that is not among the known ones. A model
// or a guest can write any name; none of them may make a new series.
const other = "other"

// outcomes are the values that the label outcome can have beside other.
var outcomes = []tool.Code{
	"ok", tool.UnknownTool, tool.BadArgs, tool.Failed, tool.TimedOut, tool.OutOfMemory, tool.Trapped,
	tool.TooLarge, tool.Denied, tool.RateLimited, tool.Cancelled, tool.Expired,
}

// maxTools bounds the tools that have a series of their own. A server of others
// can rename its tools as often as it likes; what comes later counts as other.
const maxTools = 500

// metrics counts what the daemon does since it started, on a registry of its
// own. Its methods are safe for concurrent use.
type metrics struct {
	known    func(name string) bool // is it a tool of ours?
	registry *prometheus.Registry
	handler  http.Handler

	calls, malformed, cuts, switches, turns                  *prometheus.CounterVec
	produced, shown, saved, archived                         *prometheus.CounterVec
	tokens, cacheTokens, costs, modelErrors, asks, approvals *prometheus.CounterVec
	folds, faults, refaults                                  prometheus.Counter
	callSeconds, instanceSeconds, modelSeconds, turnSeconds  *prometheus.HistogramVec

	mu     sync.Mutex
	tools  map[string]*toolSeries // of tools that have some of their own
	others toolSeries
}

// newMetrics makes metrics that know the tools that known knows, and that ask
// stats for the archive's size when they are scraped.
func newMetrics(known func(string) bool, stats func(context.Context) (archive.Stats, error), now func() time.Time, log hclog.Logger) *metrics {
	reg := prometheus.NewRegistry()
	counters := func(name, help string, labels ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "weir", Name: name, Help: help}, labels)
		reg.MustRegister(c)
		return c
	}
	counter := func(name, help string) prometheus.Counter { return counters(name, help).WithLabelValues() }
	seconds := func(name, help string, buckets []float64, label string) *prometheus.HistogramVec {
		h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: "weir", Name: name, Help: help, Buckets: buckets}, []string{label})
		reg.MustRegister(h)
		return h
	}
	m := &metrics{
		known: known, registry: reg, tools: map[string]*toolSeries{}, others: toolSeries{label: other, calls: map[callKind]prometheus.Counter{}},
		calls:       counters("calls_total", "Calls of tools that models and clients made, by how they were written and what they came to.", "model", "tool", "format", "outcome"),
		malformed:   counters("malformed_calls_total", "What was meant to be a call and could not be read as one.", "model", "format", "reason"),
		produced:    counters("produced_characters_total", "Characters that tools produced.", "tool"),
		shown:       counters("shown_characters_total", "Characters of results that models were shown, notices not counted.", "tool"),
		saved:       counters("saved_characters_total", "Characters of results that models were not shown: produced less shown.", "tool"),
		archived:    counters("archived_characters_total", "Characters of results that are kept whole in the archive.", "tool"),
		cuts:        counters("cut_results_total", "Results that were not shown whole, by the layer whose limit decided.", "tool", "layer"),
		switches:    counters("mode_switches_total", "Changes between native and prompt tool calling.", "from", "to"),
		turns:       counters("turns_total", "Questions, by why their turn ended.", "model", "reason"),
		tokens:      counters("tokens_total", "Tokens as providers count them, by kind: prompt, completion or embedding.", "model", "kind"),
		cacheTokens: counters("prompt_cache_tokens_total", "Those of the prompt tokens that the provider's cache served (read) or was charged for (write).", "model", "kind"),
		costs:       counters("cost_total", "What tokens cost by the prices of tools.toml; models without a price are not among them.", "model", "currency"),
		modelErrors: counters("model_errors_total", "Failures of providers: those after which they were asked again, and those that ended a turn.", "model", "code", "outcome"),
		folds:       counter("folds_total", "Results that were folded into placeholders."),
		faults:      counter("faults_total", "Folded results that a model loaded back."),
		refaults:    counter("refaults_total", "Those of the faults whose result had been loaded before and had left again."),
		asks:        counters("approvals_asked_total", "Calls that a person was asked about.", "tool"),
		approvals:   counters("approvals_total", "Decisions about calls that could do more than answer, and by whose word.", "tool", "decision", "by"),
		callSeconds: seconds("call_duration_seconds", "Time of a tool call, from its request to its result, a person's time not.",
			[]float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}, "tool"),
		instanceSeconds: seconds("instance_duration_seconds", "Time until a plugin's instance was ready for a call.",
			[]float64{.00001, .000025, .00005, .0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .5, 1}, "tool"),
		modelSeconds: seconds("model_request_duration_seconds", "Time of one request to a model, from its start to the reply's end, repeats included.",
			[]float64{.01, .05, .1, .25, .5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320}, "model"),
		turnSeconds: seconds("turn_duration_seconds", "Time of a turn, from the question to its end.",
			[]float64{.05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600}, "model"),
	}
	reg.MustRegister(newArchiveSize(stats, now, log))
	m.handler = promhttp.HandlerFor(reg, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
	return m
}

// modelAsked counts one request to a model.
func (m *metrics) modelAsked(model string, took time.Duration) {
	m.modelSeconds.WithLabelValues(label(model)).Observe(took.Seconds())
}

// asked counts a request to a person.
func (m *metrics) asked(name string) { m.asks.WithLabelValues(m.tool(name)).Inc() }

// decided counts a decision; rules and people each count as one.
func (m *metrics) decided(r api.ToolCallResult) {
	if r.Approval == nil {
		return
	}
	by, _, _ := strings.Cut(r.Approval.By, " ")
	decision := "denied"
	if r.Approval.Allowed {
		decision = "allowed"
	}
	m.approvals.WithLabelValues(m.tool(r.Tool), decision, by).Inc()
}

// unreadable counts what could not be read as a call.
func (m *metrics) unreadable(model string, bad parse.Malformed) {
	m.malformed.WithLabelValues(label(model), string(bad.Format), string(bad.Reason)).Inc()
}

// switched counts a change of the way in which tools are called.
func (m *metrics) switched(e agent.ModeSwitched) {
	m.switches.WithLabelValues(string(e.From), string(e.To)).Inc()
}

// folded counts results that turned into placeholders.
func (m *metrics) folded(e agent.Folded) { m.folds.Add(float64(len(e.UUIDs))) }

// modelFailed counts a failure of a provider.
func (m *metrics) modelFailed(model, code, outcome string) {
	m.modelErrors.WithLabelValues(label(model), strings.TrimPrefix(code, "model_"), outcome).Inc()
}

// ended counts a turn, its tokens, what they cost (nil: unknown), and its time.
func (m *metrics) ended(model string, e agent.TurnEnd, cost *agent.Cost) {
	model = label(model)
	m.turns.WithLabelValues(model, string(e.Reason)).Inc()
	m.turnSeconds.WithLabelValues(model).Observe(e.Elapsed.Seconds())
	m.took(model, e.Usage, cost)
	m.faults.Add(float64(e.Faults.Faults))
	m.refaults.Add(float64(e.Refaults))
}

// took counts tokens and what they cost; nil: unknown.
func (m *metrics) took(model string, u agent.Usage, cost *agent.Cost) {
	model = label(model)
	// A counter cannot go back, and a provider can send anything.
	count := func(c *prometheus.CounterVec, kind string, n int) {
		c.WithLabelValues(model, kind).Add(float64(max(n, 0)))
	}
	count(m.tokens, "prompt", u.Prompt)
	count(m.tokens, "completion", u.Completion)
	count(m.cacheTokens, "read", u.CachedPrompt)
	count(m.cacheTokens, "write", u.CacheWrite)
	if cost != nil {
		m.costs.WithLabelValues(model, label(cost.Currency)).Add(cost.Amount)
	}
}

// embedded counts tokens of texts that vectors were made of.
func (m *metrics) embedded(model string, u agent.Usage) {
	m.tokens.WithLabelValues(label(model), "embedding").Add(float64(max(u.Prompt, 0)))
}

// label makes a configured name fit to be a label, which must be UTF-8.
func label(name string) string { return strings.ToValidUTF8(name, "�") }

// statsAge is how long the archive's sums are served again, and statsTime how
// long reading them may take: they read the whole call log.
const (
	statsAge  = 15 * time.Second
	statsTime = 5 * time.Second
)

// archiveSize tells the archive's size when it is scraped.
type archiveSize struct {
	stats func(context.Context) (archive.Stats, error)
	now   func() time.Time
	log   hclog.Logger

	results, pruned, text, stored, file *prometheus.Desc

	mu   sync.Mutex
	last archive.Stats
	read time.Time // when last was read; zero: never
}

func newArchiveSize(stats func(context.Context) (archive.Stats, error), now func() time.Time, log hclog.Logger) *archiveSize {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc("weir_archive_"+name, help, nil, nil)
	}
	return &archiveSize{
		stats: stats, now: now, log: log,
		results: desc("results", "Results whose text the archive holds."),
		pruned:  desc("pruned_results", "Results whose text retention removed."),
		text:    desc("text_bytes", "Length of the kept texts."),
		stored:  desc("stored_bytes", "What the kept texts take, compressed, with parts and raw bytes."),
		file:    desc("file_bytes", "Size of the archive's file."),
	}
}

// Describe names the gauges.
func (a *archiveSize) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{a.results, a.pruned, a.text, a.stored, a.file} {
		ch <- d
	}
}

// Collect tells the gauges, of the last good reading where a new one fails.
func (a *archiveSize) Collect(ch chan<- prometheus.Metric) {
	s, ok := a.current()
	if !ok {
		return
	}
	for d, v := range map[*prometheus.Desc]int64{
		a.results: int64(s.Archives), a.pruned: int64(s.Pruned), a.text: s.TextBytes, a.stored: s.StoredBytes, a.file: s.FileBytes,
	} {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(v))
	}
}

// current reads the sums when those it has are old; false: there are none.
func (a *archiveSize) current() (archive.Stats, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if now := a.now(); a.read.IsZero() || now.Sub(a.read) >= statsAge {
		ctx, cancel := context.WithTimeout(context.Background(), statsTime)
		defer cancel()
		s, err := a.stats(ctx)
		if err != nil {
			a.log.Warn("the archive's size cannot be read", "error", err)
			return a.last, !a.read.IsZero()
		}
		a.last, a.read = s, now
	}
	return a.last, true
}

// scrape answers with every metric as Prometheus reads them.
func (d *Daemon) scrape(w http.ResponseWriter, r *http.Request) error {
	d.metrics.handler.ServeHTTP(w, r)
	return nil
}

// knows reports whether a tool of that name can be called here.
func (d *Daemon) knows(name string) bool {
	if name == describeTool {
		return true
	}
	_, ok := d.cfg.Host.Tool(name)
	return ok
}

// describeTool is the agent's own tool, which the host does not know.
const describeTool = tool.DescribeTool

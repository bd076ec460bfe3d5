package daemon

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/parse"
	"github.com/weirhost/weir/host/archive"
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

// metrics counts what the daemon does since it started, on a registry of its
// own. Its methods are safe for concurrent use.
type metrics struct {
	known   func(name string) bool // is it a tool of ours?
	handler http.Handler

	calls, malformed, chars, cuts, switches, turns, tokens *prometheus.CounterVec
	costs, modelErrors                                     *prometheus.CounterVec
	folds                                                  prometheus.Counter
	asks, approvals                                        *prometheus.CounterVec
	callSeconds, turnSeconds                               *prometheus.HistogramVec
}

// newMetrics makes metrics that know the tools that known knows, and that ask
// stats for the archive's size when they are scraped.
func newMetrics(known func(string) bool, stats func(context.Context) (archive.Stats, error), now func() time.Time, log hclog.Logger) *metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "weir", Name: name, Help: help}, labels)
	}
	seconds := func(name, help string, buckets []float64, label string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: "weir", Name: name, Help: help, Buckets: buckets}, []string{label})
	}
	m := &metrics{
		known:       known,
		calls:       counter("calls_total", "Calls of tools that models made, by how they were written and what they came to.", "model", "tool", "format", "outcome"),
		malformed:   counter("malformed_total", "What was meant to be a call and could not be read as one.", "model", "format", "reason"),
		chars:       counter("chars_total", "Characters of results: produced by the tool, shown to the model, kept in the archive.", "tool", "kind"),
		cuts:        counter("cuts_total", "Results that were not shown whole, by the layer whose limit decided.", "tool", "layer"),
		switches:    counter("mode_switches_total", "Changes between native and prompt tool calling.", "from", "to"),
		turns:       counter("turns_total", "Questions, by why their turn ended.", "model", "reason"),
		tokens:      counter("tokens_total", "Tokens as providers count them; cached_prompt and cache_write are parts of prompt.", "model", "kind"),
		costs:       counter("cost_total", "What tokens cost by the prices of tools.toml; models without a price are not among them.", "model", "currency"),
		modelErrors: counter("model_errors_total", "Failures of providers: those after which they were asked again, and those that ended a turn.", "model", "code", "outcome"),
		folds: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: "weir", Name: "folds_total", Help: "Results that were folded into placeholders.",
		}),
		asks:      counter("approvals_asked_total", "Calls that a person was asked about.", "tool"),
		approvals: counter("approvals_total", "Decisions about calls that could do more than answer, and by whose word.", "tool", "decision", "by"),
		callSeconds: seconds("call_seconds", "Time of a tool call, from its request to its result.",
			[]float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}, "tool"),
		turnSeconds: seconds("turn_seconds", "Time of a turn, from the question to its end.",
			[]float64{.05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600}, "model"),
	}
	reg := prometheus.NewRegistry()
	reg.MustRegister(m.calls, m.malformed, m.chars, m.cuts, m.switches, m.turns, m.tokens, m.costs, m.modelErrors, m.folds, m.callSeconds, m.turnSeconds, m.asks, m.approvals,
		newArchiveSize(stats, now, log))
	m.handler = promhttp.HandlerFor(reg, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
	return m
}

// called counts a call and its result, written as format.
func (m *metrics) called(model, format string, r ToolCallResult, elapsed time.Duration) {
	name, outcome := m.tool(r.Tool), tool.Code("ok")
	if r.Error != nil {
		outcome = r.Error.Code
	}
	if !slices.Contains(outcomes, outcome) {
		outcome = other
	}
	m.calls.WithLabelValues(label(model), name, format, string(outcome)).Inc()
	m.callSeconds.WithLabelValues(name).Observe(elapsed.Seconds())
	m.chars.WithLabelValues(name, "produced").Add(float64(r.Produced))
	m.chars.WithLabelValues(name, "shown").Add(float64(r.Shown))
	if r.KeptUUID != "" {
		m.chars.WithLabelValues(name, "kept").Add(float64(r.Produced))
	}
	if r.Layer != tool.LayerNone {
		m.cuts.WithLabelValues(name, string(r.Layer)).Inc()
	}
}

// asked counts a request to a person.
func (m *metrics) asked(name string) { m.asks.WithLabelValues(m.tool(name)).Inc() }

// decided counts a decision; rules and people each count as one.
func (m *metrics) decided(r ToolCallResult) {
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
	for kind, n := range map[string]int{
		"prompt": e.Usage.Prompt, "completion": e.Usage.Completion, "cached_prompt": e.Usage.CachedPrompt, "cache_write": e.Usage.CacheWrite,
	} {
		// A counter cannot go back, and a provider can send anything.
		m.tokens.WithLabelValues(model, kind).Add(float64(max(n, 0)))
	}
	if cost != nil {
		m.costs.WithLabelValues(model, label(cost.Currency)).Add(cost.Amount)
	}
}

// tool is the label of a tool: its name, if it is one of ours.
func (m *metrics) tool(name string) string {
	if m.known(name) {
		return label(name)
	}
	return other
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
const describeTool = "describe_tool"

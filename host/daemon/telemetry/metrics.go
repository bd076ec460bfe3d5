package telemetry

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

// other replaces every label value that is not a known one: a model or a guest can
// write any name, and no name may create a series.
const other = "other"

// outcomes are the values of the label outcome; every other one becomes other.
var outcomes = []tool.Code{
	"ok", tool.UnknownTool, tool.BadArgs, tool.Failed, tool.TimedOut, tool.OutOfMemory, tool.Trapped,
	tool.TooLarge, tool.Denied, tool.RateLimited, tool.Cancelled, tool.Expired, tool.Quoted, tool.OutcomeUnknown, tool.Waiting,
}

// maxTools bounds the tools with a series of their own; later ones count as other. A
// remote server can rename its tools as often as it likes.
const maxTools = 500

// Metrics counts what the daemon does since it started, in a registry of its own. It
// is safe for concurrent use. The label model is a model's configured name.
type Metrics struct {
	known    func(name string) bool // reports whether a tool exists
	registry *prometheus.Registry
	handler  http.Handler

	calls, malformed, cuts, switches, turns                  *prometheus.CounterVec
	produced, shown, saved, archived                         *prometheus.CounterVec
	tokens, cacheTokens, costs, modelErrors, asks, approvals *prometheus.CounterVec
	searches, structured                                     *prometheus.CounterVec
	folds, faults, refaults                                  prometheus.Counter
	foundRanks                                               prometheus.Histogram
	callSeconds, instanceSeconds, modelSeconds, turnSeconds  *prometheus.HistogramVec

	mu     sync.Mutex
	tools  map[string]*toolSeries // of tools that have some of their own
	others toolSeries
}

// A MetricsConfig is what Metrics need. All fields are required.
type MetricsConfig struct {
	// Known reports whether a tool of that name exists. Other names share the label
	// value "other".
	Known func(name string) bool
	// Stats returns the archive's size, when a client reads the metrics.
	Stats  func(context.Context) (archive.Stats, error)
	Now    func() time.Time
	Logger hclog.Logger
}

// NewMetrics returns Metrics without counts.
func NewMetrics(cfg MetricsConfig) *Metrics {
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
	m := &Metrics{
		known: cfg.Known, registry: reg, tools: map[string]*toolSeries{}, others: toolSeries{label: other, calls: map[callKind]prometheus.Counter{}},
		calls:      counters("calls_total", "Calls of tools that models and clients made, by how they were written and what they came to.", "model", "tool", "format", "outcome"),
		malformed:  counters("malformed_calls_total", "What was meant to be a call and could not be read as one.", "model", "format", "reason"),
		produced:   counters("produced_characters_total", "Characters that tools produced.", "tool"),
		shown:      counters("shown_characters_total", "Characters of results that models were shown, notices not counted.", "tool"),
		saved:      counters("saved_characters_total", "Characters of results that models were not shown: produced less shown.", "tool"),
		archived:   counters("archived_characters_total", "Characters of results that are kept whole in the archive.", "tool"),
		cuts:       counters("cut_results_total", "Results that were not shown whole, by the layer whose limit decided.", "tool", "layer"),
		structured: counters("mcp_structured_bytes_total", "Bytes of structured answers that MCP clients got (whole or short), or that were over the bound (refused).", "outcome"),
		searches:   counters("tool_searches_total", "Searches for tools, by whose words they were (model, question or client) and whether a tool fitted (found or none).", "by", "outcome"),
		foundRanks: prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: "weir", Name: "tool_found_rank",
			Help: "Tools that were called after a search had found them, by their place in the list of the first search that did.", Buckets: []float64{1, 2, 3, 5, 10, 20}}),
		switches:    counters("mode_switches_total", "Changes between native and prompt tool calling.", "from", "to"),
		turns:       counters("turns_total", "Questions, by why their turn ended.", "model", "reason"),
		tokens:      counters("tokens_total", "Tokens as providers count them, by kind: prompt, completion or embedding.", "model", "kind"),
		cacheTokens: counters("prompt_cache_tokens_total", "Those of the prompt tokens that the provider's cache served (read) or was charged for (write).", "model", "kind"),
		costs:       counters("cost_total", "What tokens cost by the prices of tools.toml; models without a price are not among them.", "model", "currency"),
		modelErrors: counters("model_errors_total", "Failures of providers: those after which they were asked again (repeated) or another model answered (switched), and those that ended a turn (failed).", "model", "code", "outcome"),
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
	reg.MustRegister(m.foundRanks, newArchiveSize(cfg.Stats, cfg.Now, cfg.Logger))
	m.handler = promhttp.HandlerFor(reg, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
	return m
}

// ServeHTTP answers with all metrics in Prometheus' text format.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) { m.handler.ServeHTTP(w, r) }

// ModelAsked counts one request to a model.
func (m *Metrics) ModelAsked(model string, took time.Duration) {
	m.modelSeconds.WithLabelValues(label(model)).Observe(took.Seconds())
}

// ApprovalAsked counts a request for a person's approval of a tool's call.
func (m *Metrics) ApprovalAsked(name string) { m.asks.WithLabelValues(m.tool(name)).Inc() }

// ApprovalDecided counts the decision about a call, by a rule or a person. A result
// without a decision does not count.
func (m *Metrics) ApprovalDecided(r api.ToolCallResult) {
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

// CallMalformed counts a call that could not be parsed.
func (m *Metrics) CallMalformed(model string, bad parse.Malformed) {
	m.malformed.WithLabelValues(label(model), string(bad.Format), string(bad.Reason)).Inc()
}

// ModeSwitched counts a change of the way tools are called.
func (m *Metrics) ModeSwitched(e agent.ModeSwitched) {
	m.switches.WithLabelValues(string(e.From), string(e.To)).Inc()
}

// Searched counts a search for tools by the words of a model, a question or a client,
// which found so many.
func (m *Metrics) Searched(by string, found int) {
	outcome := "found"
	if found == 0 {
		outcome = "none"
	}
	m.searches.WithLabelValues(by, outcome).Inc()
}

// Structured counts the bytes of a structured answer to an MCP client: whole, short, or
// refused because it was too long.
func (m *Metrics) Structured(outcome string, bytes int) {
	m.structured.WithLabelValues(outcome).Add(float64(bytes))
}

// FoundCalled counts a tool that was called after a search had found it at a place of
// its list, from 1.
func (m *Metrics) FoundCalled(rank int) { m.foundRanks.Observe(float64(rank)) }

// Folded counts results that became placeholders.
func (m *Metrics) Folded(e agent.Folded) { m.folds.Add(float64(len(e.UUIDs))) }

// ModelFailed counts a failure of a provider. code is a problem's code, outcome
// "repeated", "switched" or "failed".
func (m *Metrics) ModelFailed(model, code, outcome string) {
	m.modelErrors.WithLabelValues(label(model), strings.TrimPrefix(code, "model_"), outcome).Inc()
}

// TurnEnded counts a turn, its tokens, their cost (nil: unknown) and its time.
func (m *Metrics) TurnEnded(model string, e agent.TurnEnd, cost *agent.Cost) {
	model = label(model)
	m.turns.WithLabelValues(model, string(e.Reason)).Inc()
	m.turnSeconds.WithLabelValues(model).Observe(e.Elapsed.Seconds())
	m.TokensUsed(model, e.Usage, cost)
	m.faults.Add(float64(e.Faults.Faults))
	m.refaults.Add(float64(e.Refaults))
}

// TokensUsed counts tokens and their cost; nil: unknown.
func (m *Metrics) TokensUsed(model string, u agent.Usage, cost *agent.Cost) {
	model = label(model)
	// A counter cannot decrease, and a provider can send any number.
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

// Embedded counts the tokens of texts that became vectors.
func (m *Metrics) Embedded(model string, u agent.Usage) {
	m.tokens.WithLabelValues(label(model), "embedding").Add(float64(max(u.Prompt, 0)))
}

// label returns a configured name as a label value, which must be UTF-8.
func label(name string) string { return strings.ToValidUTF8(name, "�") }

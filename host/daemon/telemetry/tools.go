package telemetry

import (
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/sdk/tool"
)

// toolSeries are the series of one tool, or of all tools without series of their own.
// They are looked up once: a lookup by labels takes longer than to count. The lock of
// Metrics guards it.
type toolSeries struct {
	label string
	calls map[callKind]prometheus.Counter
	// These are nil until they are needed.
	seconds, instance      prometheus.Observer
	produced, shown, saved prometheus.Counter
}

// callKind contains the labels that separate the calls of a tool.
type callKind struct {
	model, format string
	outcome       tool.Code
}

// tool returns the label of a tool: its name if the tool is known and has series of its
// own.
func (m *Metrics) tool(name string) string {
	known := m.known(name)
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.series(name, known).label
}

// series returns the series of a tool; the caller holds m.mu.
func (m *Metrics) series(name string, known bool) *toolSeries {
	s := m.tools[name]
	switch {
	case !known, s == nil && len(m.tools) >= maxTools:
		return &m.others
	case s == nil:
		name = strings.Clone(name)
		s = &toolSeries{label: label(name), calls: map[callKind]prometheus.Counter{}}
		m.tools[name] = s
	}
	return s
}

// ofCall returns the series for a call, with or without the time of its instance.
func (m *Metrics) ofCall(name string, k callKind, instance bool) (toolSeries, prometheus.Counter) {
	known := m.known(name)
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.series(name, known)
	if s.seconds == nil {
		s.seconds, s.produced = m.callSeconds.WithLabelValues(s.label), m.produced.WithLabelValues(s.label)
		s.shown, s.saved = m.shown.WithLabelValues(s.label), m.saved.WithLabelValues(s.label)
	}
	if s.instance == nil && instance {
		s.instance = m.instanceSeconds.WithLabelValues(s.label)
	}
	calls := s.calls[k]
	if calls == nil {
		calls = m.calls.WithLabelValues(label(k.model), s.label, k.format, string(k.outcome))
		s.calls[k] = calls
	}
	return *s, calls
}

// ToolCalled counts a call in the given format, its result and its time.
func (m *Metrics) ToolCalled(model, format string, r api.ToolCallResult, cost tool.Stats, elapsed time.Duration) {
	outcome := tool.Code("ok")
	if r.Error != nil {
		outcome = r.Error.Code
	}
	if !slices.Contains(outcomes, outcome) {
		outcome = other
	}
	instance := cost.Instance > 0 // a cached answer has none
	s, calls := m.ofCall(r.Tool, callKind{model, format, outcome}, instance)
	calls.Inc()
	s.seconds.Observe(elapsed.Seconds())
	if instance {
		s.instance.Observe(cost.Instance.Seconds())
	}
	s.produced.Add(float64(r.Produced))
	s.shown.Add(float64(r.Shown))
	s.saved.Add(float64(max(r.Produced-r.Shown, 0)))
	if r.KeptUUID != "" {
		m.archived.WithLabelValues(s.label).Add(float64(r.Produced))
	}
	if r.Layer != tool.LayerNone {
		m.cuts.WithLabelValues(s.label, string(r.Layer)).Inc()
	}
}

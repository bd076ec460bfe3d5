package daemon

import (
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/sdk/tool"
)

// toolSeries are the series of one tool, or of all that have none of their own.
// They are found once, for to find a series by its labels takes longer than to
// count. The lock of metrics guards it.
type toolSeries struct {
	label string
	calls map[callKind]prometheus.Counter
	// What follows is nil until it is needed.
	seconds, instance      prometheus.Observer
	produced, shown, saved prometheus.Counter
}

// callKind is what calls of a tool are told apart by.
type callKind struct {
	model, format string
	outcome       tool.Code
}

// tool is the label of a tool: its name, if it is one of ours and not one of
// very many.
func (m *metrics) tool(name string) string {
	known := m.known(name)
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.series(name, known).label
}

// series finds those of a tool; m.mu is held.
func (m *metrics) series(name string, known bool) *toolSeries {
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

// ofCall finds what counts a call, with the time of its instance or without.
func (m *metrics) ofCall(name string, k callKind, instance bool) (toolSeries, prometheus.Counter) {
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

// called counts a call and its result, written as format; cost is what it took.
func (m *metrics) called(model, format string, r api.ToolCallResult, cost tool.Stats, elapsed time.Duration) {
	outcome := tool.Code("ok")
	if r.Error != nil {
		outcome = r.Error.Code
	}
	if !slices.Contains(outcomes, outcome) {
		outcome = other
	}
	instance := cost.Instance > 0 // a call that the cache answered has none
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

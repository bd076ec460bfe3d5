package modelcmd

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/provider"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/daemon"
	"github.com/weirhost/weir/host/internal/app"
	"github.com/weirhost/weir/host/internal/config"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/term"
)

// tested is one model's report.
type tested struct {
	name   string
	report provider.Report
}

// MarshalJSON writes the report with the name beside its members.
func (t tested) MarshalJSON() ([]byte, error) {
	raw, err := json.Marshal(t.report)
	if err != nil {
		return nil, err
	}
	name, err := json.Marshal(t.name)
	return slices.Concat([]byte(`{"name":`), name, []byte(","), raw[1:]), err
}

// Test tests the named models at the same time. Their steps come in the order of the
// names.
func (c *Commands) Test(ctx context.Context, names []string, all bool, o provider.TestOptions) error {
	p, l, err := c.Load()
	if err != nil {
		return err
	}
	s := l.Settings.WithDefaults()
	switch {
	case all && len(names) > 0:
		return msg.Usagef("leave one of them out", "--all tests every model, and %s is named too", names[0])
	case all && len(s.Models) == 0:
		return msg.Usagef("`weir model use` adds one", "no model is configured")
	case all:
		names = slices.Sorted(maps.Keys(s.Models))
	case len(names) == 0:
		names = []string{s.Agent.Model}
	}
	o.Locale = c.Locale()
	log := c.Log(s.Log)
	models := make([]agent.Model, len(names))
	show := &testLog{Commands: c, models: make([]testedModel, len(names))}
	for i, name := range names {
		m, ok := modelNamed(s, name)
		if !ok {
			return unknownModel(name, s)
		}
		model := app.NewModel(name, m, l.Secrets, log)
		models[i], show.models[i].title = model.Model, strings.TrimSpace(fmt.Sprintf("%s: %s %s", name, model.Info.Provider, model.Info.Model))
	}
	if o.Measure > 0 {
		prompts, tokens := provider.MeasureCost(o.Measure)
		c.Errf("measuring the window: at most %d prompts with %s tokens together, for each model\n", prompts, term.Grouped(tokens))
	}
	out := make([]tested, len(names))
	update, done := c.Progress(show.asking())
	defer done()
	show.update = update
	try, end := app.TryScripts(p.Cache, host.Isolation(s.Sandbox.Isolation))
	defer end()
	var wg sync.WaitGroup
	for i, m := range models {
		wg.Go(func() {
			o := o
			o.Tell = func(s provider.Step) { show.step(i, s) }
			out[i] = tested{names[i], app.TestModel(ctx, m, try(o))}
			app.KeepTested(p, s.Models[names[i]], out[i].report)
			show.end(i)
		})
	}
	wg.Wait()
	done()
	if err := ctx.Err(); err != nil {
		return err
	}
	return c.tellTested(out)
}

// modelNamed returns the settings of a model; false: there is none of that name.
func modelNamed(s config.Settings, name string) (config.ModelSettings, bool) {
	m, ok := s.Models[name]
	if name == daemon.DemoModel && !ok {
		return config.ModelSettings{Provider: daemon.DemoModel}, true
	}
	return m, ok
}

// A testLog prints the steps of tests that run at the same time, each when it ends and
// no model's before those of the model before it.
type testLog struct {
	*Commands
	update func(string) // of the line of progress

	mu     sync.Mutex
	models []testedModel
	at     int // the model whose steps are printed as they come
}

// testedModel is what is not printed yet of one model.
type testedModel struct {
	title  string // the line before its steps
	titled bool   // it is printed
	steps  []provider.Step
	ended  bool
}

// asking is the line of progress.
func (l *testLog) asking() string { return l.Sprintf("asking %s", l.models[l.at].title) }

func (l *testLog) step(i int, s provider.Step) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.models[i].steps = append(l.models[i].steps, s)
	l.print()
}

func (l *testLog) end(i int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.models[i].ended = true
	l.print()
}

// print prints what can be printed now. The caller holds the mutex.
func (l *testLog) print() {
	if l.JSON {
		return
	}
	l.update("")
	for {
		m := &l.models[l.at]
		if !m.titled && len(m.steps) > 0 {
			fmt.Fprintln(l.Out, m.title)
			m.titled = true
		}
		for _, s := range m.steps {
			l.tellStep(msg.Localize(l.Locale(), s))
		}
		m.steps = nil
		if !m.ended || l.at == len(l.models)-1 {
			break
		}
		l.at++
	}
	l.update(l.asking())
}

func (c *Commands) tellTested(all []tested) error {
	for i := range all {
		all[i].report = msg.Localize(c.Locale(), all[i].report)
	}
	ok := !slices.ContainsFunc(all, func(t tested) bool { return !t.report.OK })
	switch {
	case c.JSON && len(all) == 1:
		c.Print(all[0])
	case c.JSON:
		c.Print(map[string]any{"ok": ok, "models": all})
	}
	if !ok {
		return term.ExitError(term.ExitModel)
	}
	return nil
}

func (c *Commands) tellStep(s provider.Step) {
	mark := "ok  "
	switch {
	case s.OK:
	case s.Name == provider.StepMeasure && s.Code == "", s.Name == provider.StepTools || s.Name == provider.StepScript && s.Code == "": // there is another way
		mark = "no  "
	default:
		mark = "FAIL"
	}
	fmt.Fprintf(c.Out, "  %s %-9s %6d ms  %s\n", mark, s.Name, s.Elapsed.Milliseconds(), s.Msg)
	if !s.Hint.IsZero() {
		fmt.Fprintf(c.Out, "       → %s\n", s.Hint)
	}
}

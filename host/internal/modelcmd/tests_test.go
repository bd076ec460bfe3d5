package modelcmd

import (
	"bytes"
	"testing"

	"github.com/weirhost/weir/agent/model/provider"
	"github.com/weirhost/weir/host/internal/term"
)

// Steps are printed as they end, but no model's before those of the model before it.
func TestStepsArePrintedAsTheyEnd(t *testing.T) {
	var out bytes.Buffer
	l := &testLog{Commands: &Commands{Printer: &term.Printer{Env: term.Env{Out: &out}}}, update: func(string) {}, models: []testedModel{{title: "a: openai m"}, {title: "b: openai m"}}}
	ok := func(n provider.StepName) provider.Step { return provider.Step{Name: n, OK: true} }
	for _, row := range []struct {
		why  string
		do   func()
		want string
	}{
		{"the second waits", func() { l.step(1, ok("question")); l.end(1) }, ""},
		{"the first is printed at once", func() { l.step(0, ok("describe")) }, "a: openai m\n  ok   describe       0 ms  \n"},
		{"without its name again", func() { l.step(0, ok("question")) }, "  ok   question       0 ms  \n"},
		{"and the second after it", func() { l.end(0) }, "b: openai m\n  ok   question       0 ms  \n"},
	} {
		out.Reset()
		if row.do(); out.String() != row.want {
			t.Errorf("%s: %q; want %q", row.why, out.String(), row.want)
		}
	}
}

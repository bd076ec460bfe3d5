package modelcmd

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/eval"
	"github.com/weirhost/weir/host/internal/app"
	"github.com/weirhost/weir/host/internal/history"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/sdk/tool"
)

// Eval puts the questions of package eval to one model; "": that of the default profile. It
// prints each as it ends, then a row for each mode, then what to set.
func (c *Commands) Eval(ctx context.Context, name string, o eval.Options) error {
	_, l, err := c.Load()
	if err != nil {
		return err
	}
	s := l.Settings.WithDefaults()
	if name == "" {
		name = s.Agent.Model
	}
	set, ok := modelNamed(s, name)
	if !ok {
		return unknownModel(name, s)
	}
	model := app.NewModel(name, set, l.Secrets, c.Log(s.Log))
	if err := app.Unusable(model.Model); err != nil {
		return err
	}
	i := slices.IndexFunc(history.Specs(c.Locale(), false), func(t tool.Spec) bool { return t.Name == tool.LoadHistory })
	o.Load = history.Specs(c.Locale(), false)[i]
	modes := eval.Modes(ctx, model.Model)
	e := eval.Expect(modes, o.Load)
	if o.Tokens == 0 {
		o.Tokens = e.Bound()
	}
	o.Time = cmp.Or(o.Time, eval.DefaultTime)
	if !c.JSON {
		c.tellEstimate(strings.TrimSpace(fmt.Sprintf("%s: %s %s", name, model.Info.Provider, model.Info.Model)), e, o, model.Price)
	}
	update, done := c.Progress("")
	defer done()
	o.Tell = c.evalLog(e.Questions, update)
	r := eval.Run(ctx, model.Model, modes, o)
	done()
	if r = msg.Localize(c.Locale(), r); !c.AsJSON(evaluated{name, r}) {
		c.tellEvaluated(r)
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case r.Set == "":
		return term.ExitError(term.ExitModel)
	}
	return nil
}

// evaluated is a report with the model's name, as JSON.
type evaluated struct {
	Name string `json:"name"`
	eval.Report
}

// tellEstimate says what an evaluation will take.
func (c *Commands) tellEstimate(title string, e eval.Estimate, o eval.Options, p agent.Price) {
	c.Outf("%s: %d questions, %d requests, about %s tokens", title, e.Questions, e.Requests, term.Grouped(e.Tokens()))
	if cost := p.Cost(agent.Usage{Prompt: e.Prompt, Completion: e.Completion}); cost != nil {
		fmt.Fprintf(c.Out, " (%s %s)", term.Money(cost.Amount), cost.Currency)
	}
	c.Outf("; at most %s and %s tokens\n", o.Time, term.Grouped(o.Tokens))
}

// evalLog shows which questions are under way, and prints those that have ended.
func (c *Commands) evalLog(all int, update func(string)) func(eval.Question, agent.Mode, *eval.Outcome) {
	var asking []string
	ended := 0
	return func(q eval.Question, mode agent.Mode, out *eval.Outcome) {
		if out == nil {
			asking = append(asking, q.Name)
		} else {
			ended++
			asking = slices.DeleteFunc(asking, func(name string) bool { return name == q.Name })
			update("")
			if !c.JSON {
				c.tellOutcome(*out)
			}
		}
		update(fmt.Sprintf("%d/%d %s: %s", ended, all, mode, strings.Join(asking, ", ")))
	}
}

func (c *Commands) tellOutcome(o eval.Outcome) {
	mark := "right"
	switch {
	case o.Failed:
		mark = "FAIL"
	case !o.Right:
		mark = "wrong"
	}
	why := c.Text(o.Why)
	if o.Malformed > 0 {
		why = strings.TrimPrefix(why+"; "+c.Sprintf("%d malformed", o.Malformed), "; ")
	}
	fmt.Fprintf(c.Out, "  %-5s %-6s %s  %s\n", mark, o.Mode, term.Milliseconds(o.Millis), term.Reveal(strings.TrimSpace(o.Question+"  "+why)))
}

func (c *Commands) tellEvaluated(r eval.Report) {
	c.Table("MODE\tRIGHT\tWRONG\tMALFORMED\tTOKENS\tSECONDS", func(w io.Writer) {
		for _, row := range r.Rows {
			if row.Asked > 0 {
				fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%s\t%.1f\n", row.Mode, row.Right, row.Wrong, row.Malformed, term.Grouped(row.Tokens), float64(row.Millis)/1000)
			}
		}
	})
	for _, row := range r.Rows {
		if !row.Refused.IsZero() {
			c.Outf("%s: %v\n", string(row.Mode), row.Refused)
		}
		if row.Failed > 0 {
			c.Outf("%s: %d questions got no answer\n", string(row.Mode), row.Failed)
		}
	}
	if !r.Ended.IsZero() {
		c.Outf("not all questions were asked: %v\n", r.Ended)
	}
	c.Outf("%v\n", r.Advice)
}

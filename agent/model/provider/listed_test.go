package provider

import (
	"context"
	"errors"
	"testing"

	"github.com/weirhost/weir/agent"
)

// A listing model has a server with a list of models.
type listing struct {
	canned
	names []string
	err   error
}

func (l *listing) Models(context.Context) ([]string, error) { return l.names, l.err }

func TestUnlisted(t *testing.T) {
	many := []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}
	for _, c := range []struct {
		name  string
		model agent.Model
		want  string
	}{
		{"a", &listing{names: many}, ""},
		{"x", &listing{names: many[:2]}, "x is not among the models that the server lists: a, b"},
		{"x", &listing{names: many}, "x is not among the models that the server lists: a, b, c, d, e, f, g, h and 2 more"},
		{"qwen3", &listing{names: []string{"qwen3:latest"}}, ""},
		{"x", &listing{}, ""},
		{"x", &listing{names: many, err: errors.New("no list")}, ""},
		{"x", &canned{}, ""},
	} {
		if got := Unlisted(t.Context(), c.model, c.name).String(); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	r := Test(t.Context(), &listing{canned: canned{info: agent.ModelInfo{Model: "x"}, replies: []func(func(agent.Delta, error) bool){fails(errors.New("unknown"))}}, names: many[:2]}, TestOptions{})
	if got := r.Steps[0].Msg.String(); got != "x is not among the models that the server lists: a, b" {
		t.Errorf("the report says %q", got)
	}
}

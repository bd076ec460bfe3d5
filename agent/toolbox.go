package agent

import (
	"context"

	"github.com/weirhost/weir/sdk/tool"
)

// A Toolbox runs tools for one conversation of one principal. Both methods may
// be called concurrently. A failing tool is a Result with Err set; the error
// return means that the loop must stop (the context ended, the host is closed).
// Results carry their whole text and arrive cut by the host's limits; the loop
// may cut lower, from the whole, and never higher, except for loads.
type Toolbox interface {
	// Tools returns the tools that can be called now, in a stable order. The loop
	// calls it once per turn. The slice and its contents must not be modified.
	Tools() []tool.Spec
	Call(ctx context.Context, c tool.Call) (tool.Result, error)
}

// A Localiser is a Toolbox that can answer in the language of the question. It
// is optional.
type Localiser interface {
	In(l tool.Locale) Toolbox
}

// A Rememberer is a Toolbox that finds archived results beside those whose placeholders
// are in the conversation. It is optional.
type Rememberer interface {
	// Near returns the results that a question is nearest to by its meaning, the
	// nearest first. Nil without an error: it has no vectors to compare.
	Near(ctx context.Context, question string, n int) ([]Remembered, error)
	// Earlier returns the newest results of the user's other conversations; nil: they
	// cannot be read here.
	Earlier(ctx context.Context, n int) ([]Remembered, error)
	// Ref returns an archived result as it is now; nil: its text was removed.
	Ref(ctx context.Context, uuid string) *tool.Ref
}

// A Remembered is an archived result that a question may be about.
type Remembered struct {
	Tool string
	Ref  *tool.Ref
	// First and Last are the lines of the passage that is nearest, Score its cosine;
	// all are 0 where no vectors were compared.
	First, Last int
	Score       float64
}

// A Finder is a Toolbox that finds its tools by what a question says. It is optional:
// with one, the prompt lists the sources of the tools if they need more than
// Config.ToolsChars, and the model searches for them.
type Finder interface {
	// FindTools returns the names of at most n tools, best first; nil: no tool fits.
	FindTools(ctx context.Context, query string, n int) []string
	// Source returns where a tool comes from, such as a plugin or a server. A tool
	// without a source cannot be found and is always in the prompt.
	Source(name string) string
}

// An Explainer is a Toolbox that knows why a tool is not among its Tools. It is
// optional.
type Explainer interface {
	// Absent returns why the tool cannot be called, in the language of the toolbox;
	// nil: it does not know the tool.
	Absent(name string) *tool.Error
}

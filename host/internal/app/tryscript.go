package app

import (
	"context"
	"sync"
	"time"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/provider"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/internal/scriptproc"
	"github.com/weirhost/weir/host/script"
	"github.com/weirhost/weir/host/script/offer"
	"github.com/weirhost/weir/sdk/tool"
)

// TryScripts returns what adds a script to the test of a model. It opens an engine when
// the first model writes one, and end closes it. isolation is where plugins run.
func TryScripts(cache string, isolation host.Isolation) (try func(provider.TestOptions) provider.TestOptions, end func()) {
	var mu sync.Mutex
	var engine *scriptproc.Engine
	run := func(ctx context.Context, code string, box agent.Toolbox) (tool.Result, error) {
		mu.Lock()
		defer mu.Unlock()
		if engine == nil {
			var err error
			if engine, err = OpenScripts(ctx, cache, offer.Settings{}, isolation); err != nil {
				return tool.Result{}, err
			}
		}
		out, err := script.New(engine, noArchive{}, script.Options{Time: time.Minute}).Run(ctx, boxed{box}, script.Script{Source: code, Tools: box.Tools(), As: offer.Spec(), CallID: "test"})
		return out.Result, err
	}
	try = func(o provider.TestOptions) provider.TestOptions {
		o.Script, o.RunScript = offer.Spec(), run
		return o
	}
	return try, func() {
		mu.Lock()
		defer mu.Unlock()
		if engine != nil {
			_ = engine.Close(context.Background()) // the test is over
		}
	}
}

// boxed is a toolbox as the session of a script whose results nothing keeps.
type boxed struct{ agent.Toolbox }

// IngestAs implements script.Session.
func (boxed) IngestAs(_ context.Context, spec tool.Spec, c tool.Call, whole []byte, _ string) (tool.Result, error) {
	r := tool.Result{CallID: c.ID, Tool: spec.Name}.WithWhole(string(whole))
	r.Shown = tool.View{Text: r.Whole(), TotalChars: len(whole), TotalLines: 1}
	return r, nil
}

// FindToolsAmong implements script.Session.
func (boxed) FindToolsAmong(context.Context, string, int, func(string) bool) []string { return nil }

// noArchive is empty.
type noArchive struct{}

// Get implements script.Archive.
func (noArchive) Get(context.Context, archive.Scope, string) (archive.Entry, error) {
	return archive.Entry{}, archive.ErrNotFound
}

// Peek implements script.Archive.
func (noArchive) Peek(context.Context, archive.Scope, string, archive.Part) (archive.Page, error) {
	return archive.Page{}, archive.ErrNotFound
}

// Package toolfind keeps an index of the tools of a host, and finds among those that a
// caller sees. The index is made in the background and replaced as a whole: a search
// uses the one of now, however many tools change.
package toolfind

import (
	"bytes"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/weirhost/weir/host/internal/toolindex"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// A Finder finds tools. The zero value has none. It is safe for concurrent use.
type Finder struct {
	index atomic.Pointer[toolindex.Index]

	mu     sync.Mutex
	tools  []plugin.ToolInfo // of the last Update
	change int               // counts the Updates
	busy   bool              // an index is being made
	made   sync.Cond         // the index of the last Update is there; L is mu
}

// Update makes an index of other tools in the background. The slice must not be
// modified afterwards.
func (f *Finder) Update(tools []plugin.ToolInfo) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.change > 0 && slices.EqualFunc(f.tools, tools, same) {
		return
	}
	f.tools = tools
	f.change++
	if !f.busy {
		f.busy = true
		go f.build()
	}
}

// same reports whether two tools are found by the same questions.
func same(a, b plugin.ToolInfo) bool {
	x, y := a.Spec, b.Spec
	return a.Plugin == b.Plugin && x.Name == y.Name && x.Description == y.Description && x.DescriptionZh == y.DescriptionZh &&
		bytes.Equal(x.Params, y.Params) &&
		slices.EqualFunc(x.Examples, y.Examples, func(a, b tool.Example) bool { return a.Ask == b.Ask && a.AskZh == b.AskZh })
}

// build makes indexes until one has the tools of the last Update.
func (f *Finder) build() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for done := 0; done != f.change; {
		tools, change := f.tools, f.change
		f.mu.Unlock()
		var indexed []toolindex.Tool
		for _, t := range tools {
			indexed = append(indexed, Indexed(t))
		}
		f.index.Store(toolindex.New(indexed))
		f.mu.Lock()
		done = change
	}
	f.busy = false
	f.cond().Broadcast()
}

// cond returns f.made; f.mu must be held.
func (f *Finder) cond() *sync.Cond {
	f.made.L = &f.mu
	return &f.made
}

// Wait waits until the index has the tools of the last Update.
func (f *Finder) Wait() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.busy {
		f.cond().Wait()
	}
}

// Find returns the names of at most n tools that a question is about, best first, among
// those that sees accepts. Only a search before the first index waits for it.
func (f *Finder) Find(query string, n int, sees func(name string) bool) []string {
	x := f.index.Load()
	if x == nil {
		f.Wait()
		if x = f.index.Load(); x == nil {
			return nil
		}
	}
	var out []string
	for _, h := range x.FindAmong(query, n, func(i int) bool { return sees(x.Tool(i).Name) }) {
		if name := x.Tool(h.Tool).Name; !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// Indexed returns what a tool is found by. Both languages of its description count.
func Indexed(t plugin.ToolInfo) toolindex.Tool {
	out := toolindex.Tool{
		Name: t.Spec.Name, Server: t.Plugin, Parameters: t.Spec.Parameters(tool.En),
		Description: strings.TrimSpace(t.Spec.Description + "\n" + t.Spec.DescriptionZh),
	}
	for _, e := range t.Spec.Examples {
		out.Examples = append(out.Examples, e.Ask)
		if e.AskZh != "" {
			out.Examples = append(out.Examples, e.AskZh)
		}
	}
	return out
}

// Package toolfind keeps an index of the tools of a host, and finds among those that a
// caller sees. The first search makes the index: many a process calls one tool and searches
// none. Later it is made in the background and replaced as a whole: a search uses the one of
// now, however many tools change.
package toolfind

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/internal/sqlite"
	"github.com/weirhost/weir/host/internal/toolindex"
	"github.com/weirhost/weir/host/internal/toolmeta"
	"github.com/weirhost/weir/host/internal/tooluse"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// A Config names the models that help to find tools.
type Config = toolmeta.Config

// MaxReply is how many bytes of a reply to Config.Ask are read.
const MaxReply = toolmeta.MaxReply

// A Finder finds tools. The zero value has none, and no model helps it. It is safe for
// concurrent use.
type Finder struct {
	// Uses are the calls of users: what often follows the tool used last comes earlier.
	Uses tooluse.Uses

	made   atomic.Pointer[searched]
	models toolmeta.Keeper

	mu     sync.Mutex
	tools  []plugin.ToolInfo // of the last Update
	change int               // counts the Updates
	wanted bool              // there was a search
	busy   bool              // an index is being made
	done   sync.Cond         // the index of the last Update is there; L is mu
}

// Open lets models help: what they say about tools is kept in db.
func (f *Finder) Open(ctx context.Context, db *sqlite.DB, log hclog.Logger, now func() time.Time) error {
	return f.models.Open(ctx, db, log, now, f.rebuild)
}

// Configure replaces the models.
func (f *Finder) Configure(cfg Config) { f.models.Configure(cfg) }

// Run asks the models about tools until ctx ends.
func (f *Finder) Run(ctx context.Context) { f.models.Run(ctx) }

// Update makes an index of other tools in the background, after the first search. The slice
// must not be modified afterwards.
func (f *Finder) Update(tools []plugin.ToolInfo) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.change > 0 && slices.EqualFunc(f.tools, tools, same) {
		return
	}
	f.tools = tools
	f.begin()
	var texts []toolmeta.Tool
	for _, t := range tools {
		if t.Plugin != "" { // weir's own are always told
			texts = append(texts, textOf(t))
		}
	}
	f.models.Follow(texts)
}

// rebuild makes an index of the same tools again: more is known about them.
func (f *Finder) rebuild() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.change > 0 {
		f.begin()
	}
}

// begin makes an index in the background, if one is wanted; f.mu must be held.
func (f *Finder) begin() {
	f.change++
	if f.wanted && !f.busy {
		f.busy = true
		go f.build()
	}
}

// same reports whether two tools are found by the same questions.
func same(a, b plugin.ToolInfo) bool {
	x, y := a.Spec, b.Spec
	return a.Plugin == b.Plugin && x.Name == y.Name && x.Written == y.Written && x.Description == y.Description && x.DescriptionZh == y.DescriptionZh &&
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
		f.made.Store(f.search(tools))
		f.mu.Lock()
		done = change
	}
	f.busy = false
	f.cond().Broadcast()
}

// search returns what tools are searched in.
func (f *Finder) search(tools []plugin.ToolInfo) *searched {
	s := &searched{vectors: make([][]byte, len(tools))}
	var indexed []toolindex.Tool
	for i, t := range tools {
		t.Questions = f.Questions(t)
		indexed = append(indexed, Indexed(t))
		s.vectors[i] = f.models.Vector(textOf(t))
		s.hasVectors = s.hasVectors || s.vectors[i] != nil
	}
	s.Index = toolindex.New(indexed)
	return s
}

// cond returns f.done; f.mu must be held.
func (f *Finder) cond() *sync.Cond {
	f.done.L = &f.mu
	return &f.done
}

// Wait waits until the index has the tools of the last Update.
func (f *Finder) Wait() {
	f.mu.Lock()
	if !f.wanted && f.change > 0 {
		f.wanted = true
		f.begin()
	}
	f.mu.Unlock()
	f.Rest()
}

// Rest waits until no index is being made.
func (f *Finder) Rest() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.busy {
		f.cond().Wait()
	}
}

// A Query is what tools are searched by.
type Query struct {
	Text  string
	Count int // at most so many are found
	// Sees reports whether the caller may find a tool. If nil, every tool can be found.
	Sees func(name string) bool
	// Principal and Conversation are the caller's. If they are empty, what was used before
	// does not count.
	Principal, Conversation string
	Explain                 bool // with the reasons
}

// A Found is a tool that a query is about.
type Found struct {
	Name    string             `json:"name"`
	Server  string             `json:"server,omitempty"` // its plugin or MCP server
	Score   float64            `json:"score"`
	Share   float64            `json:"share"`             // of the query that its words match, 0 to 1
	Named   bool               `json:"named,omitempty"`   // the query has its name
	Near    float64            `json:"near,omitempty"`    // the cosine of its vector with that of the query, where both are compared
	Follows float64            `json:"follows,omitempty"` // how often it followed the tool used last, 0 to 1
	Reasons []toolindex.Reason `json:"reasons,omitempty"`
}

// Find returns the tools that a query is about, best first. Only a search before the
// first index waits for it.
func (f *Finder) Find(ctx context.Context, q Query) []Found {
	s := f.made.Load()
	if s == nil {
		f.Wait()
		if s = f.made.Load(); s == nil {
			return nil
		}
	}
	if !toolindex.SaysSomething(q.Text) {
		return Search(s.Index, q)
	}
	var query []float32
	if s.hasVectors {
		query = f.models.Query(ctx, q.Text)
	}
	follows := func(string) float64 { return 0 }
	if q.Conversation != "" {
		follows = f.Uses.After(ctx, q.Principal, q.Conversation)
	}
	return s.rank(query, follows, q)
}

// Search returns the tools of an index that the words of a query are about, best first,
// each name once.
func Search(x *toolindex.Index, q Query) []Found {
	hits := q.hits(x, q.Count)
	out := names(x, hits, q.Count)
	if len(out) < len(hits) { // several tools have one name
		out = names(x, q.hits(x, x.Len()), q.Count)
	}
	return out
}

// hits returns at most n tools of an index that the words of a query are about.
func (q Query) hits(x *toolindex.Index, n int) []toolindex.Hit {
	if q.Explain {
		return x.Explain(q.Text, n, q.among(x))
	}
	return x.FindAmong(q.Text, n, q.among(x))
}

// among returns which tools of an index the caller may find.
func (q Query) among(x *toolindex.Index) func(tool int) bool {
	return func(i int) bool { return q.Sees == nil || q.Sees(x.Tool(i).Name) }
}

// names returns the first count different names of hits.
func names(x *toolindex.Index, hits []toolindex.Hit, count int) []Found {
	var out []Found
	for _, h := range hits {
		t := x.Tool(h.Tool)
		if !slices.ContainsFunc(out, func(f Found) bool { return f.Name == t.Name }) {
			out = append(out, Found{Name: t.Name, Server: t.Server, Score: h.Score, Share: h.Share, Named: h.Named, Reasons: h.Reasons})
		}
	}
	return out[:min(len(out), max(count, 0))]
}

// Questions returns the questions that a tool would answer, as a model wrote them; nil:
// none are known.
func (f *Finder) Questions(t plugin.ToolInfo) []string { return f.models.Questions(textOf(t)) }

func textOf(t plugin.ToolInfo) toolmeta.Tool {
	return toolmeta.Tool{Name: t.Spec.Name, Source: t.Plugin, Description: begin(t.Spec.Description), DescriptionZh: t.Spec.DescriptionZh, Params: t.Spec.Params}
}

// maxAbout is how much of a description a tool is found by, in bytes. The long ones of
// other servers go on with rules of use, whose words say little of what the tool is for.
const maxAbout = 1 << 10

func begin(about string) string {
	if len(about) <= maxAbout {
		return about
	}
	return strings.ToValidUTF8(about[:maxAbout-len("…")], "") + "…"
}

// Indexed returns what a tool is found by. Both languages of its description count.
func Indexed(t plugin.ToolInfo) toolindex.Tool {
	out := toolindex.Tool{
		Name: t.Spec.Name, Written: t.Spec.Written, Server: t.Plugin, Questions: t.Questions, Parameters: t.Spec.Parameters(tool.En),
		Description: strings.TrimSpace(begin(t.Spec.Description) + "\n" + t.Spec.DescriptionZh),
	}
	for _, e := range t.Spec.Examples {
		out.Examples = append(out.Examples, e.Ask)
		if e.AskZh != "" {
			out.Examples = append(out.Examples, e.AskZh)
		}
	}
	return out
}

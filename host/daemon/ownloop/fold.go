package ownloop

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/passthrough"
	"github.com/weirhost/weir/agent/passthrough/inner"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/setup"
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/host/daemon/usage"
	"github.com/weirhost/weir/host/internal/history"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// A Fold is what is needed to fold the results of a client with a loop of its own. All fields
// are required.
type Fold struct {
	Notes   Notes
	Archive Archive
	// Count adds to the sums of a client.
	Count func(ctx context.Context, principal string, f store.FoldStats) error
	// Ceiling returns the most characters of a result that are sent.
	Ceiling func() int
}

// Notes stores what was decided about messages. *store.Store is one.
type Notes interface {
	BranchOf(ctx context.Context, principal, model, setting string, chain []string) (store.Branch, bool, error)
	Notes(ctx context.Context, principal, kind string, digests []string) (map[string]string, error)
	AddNotes(ctx context.Context, sc archive.Scope, kind string, notes map[string]string) (map[string]string, error)
}

// An Archive holds the whole results. archive.Store is one.
type Archive interface {
	history.Store
	PutOnce(ctx context.Context, e archive.Entry) (_ archive.Entry, again bool, err error)
}

// The kinds of notes.
const (
	noteResult = "fold-result"
	noteTurn   = "fold-turn"
	noteRounds = "rounds"
)

// exchange returns how a request is answered whose client's results are folded, or whose model
// gets weir's tools; nil: it is passed on alone. What fails here is logged, and the request is
// sent as the client sent it: nothing is cut or folded that could not be archived.
func (s *Service) exchange(ctx context.Context, r *record, view setup.View, account usage.Account) *exchange {
	f := &folding{s: s, r: r, account: account, folds: r.client.Fold && r.keeps()}
	if r.ask.WeirTools {
		f.own = s.ownTools(ctx, r, view)
	}
	if !f.folds && f.own == nil || wantsSeveral(r.ask.Body) {
		return nil
	}
	f.limits = s.limits(r.ask.Principal)
	x, err := f.exchange(ctx)
	if err != nil {
		s.Logger.Error("a request is passed on without folding, and without weir's tools", "model", r.ask.Model, "user", r.ask.Principal, "error", err)
		return nil
	}
	return x
}

// wantsSeveral reports whether a request is for several answers at once: each would need rounds
// of its own.
func wantsSeveral(b passthrough.Body) bool {
	var n float64
	return json.Unmarshal(b.Get("n"), &n) == nil && n > 1
}

// limits returns which results are long.
func (s *Service) limits(principal string) inner.Limits {
	v := s.Setup.View(principal)
	l := inner.Limits{Ceiling: s.Fold.Ceiling(), Over: v.Profiles[v.First].Agent.ArchiveThreshold}
	if l.Over == 0 {
		l.Over = agent.DefaultArchiveThreshold
	}
	return l
}

// A folding folds the results of one request, and has the model call weir's tools.
type folding struct {
	folds   bool
	own     *ownTools // nil: none
	s       *Service
	r       *record
	account usage.Account
	limits  inner.Limits
	scope   archive.Scope
	h       *inner.History
	load    string // the name by which the model calls load_tool_history
}

func (f *folding) exchange(ctx context.Context) (*exchange, error) {
	body, offered := f.offer()
	var ok bool
	if f.h, ok = inner.Read(body); !ok || !f.folds && !offered.Any() {
		return nil, nil
	}
	f.load = offered.Called(tool.LoadHistory)
	if err := f.place(ctx); err != nil {
		return nil, err
	}
	known, err := f.known(ctx)
	if err == nil && f.folds {
		err = f.decide(ctx, &known)
	}
	if err != nil {
		return nil, err
	}
	x := &exchange{history: f.h, sent: f.h.Apply(known), offered: offered, locale: f.r.ask.Locale, keep: f.keep, scope: f.scope, folds: f.folds, own: f.own}
	x.tools = f.tools(x.sent.Own.IDs)
	x.guard = inner.NewGuard(f.r.ask.Body, f.h, known, f.shown(offered), f.r.ask.Locale)
	f.own.open(f)
	maps.Copy(x.tools, f.own.tools())
	return x, nil
}

// offer adds weir's tools to those of the request: as many as servers take.
func (f *folding) offer() (passthrough.Body, inner.Offered) {
	archived := f.specs()
	if f.own == nil {
		return inner.Offer(f.r.ask.Body, archived)
	}
	if !f.folds {
		archived = slices.DeleteFunc(archived, func(s tool.Spec) bool { return !f.own.sees(s) })
	}
	body, offered := inner.Offer(f.r.ask.Body, slices.Concat(f.own.specs, archived))
	if !offered.Any() {
		if len(f.own.clients) > 0 {
			f.s.Logger.Warn("weir's tools are not offered: with them the request has too many tools", "user", f.r.ask.Principal, "client", f.r.client.Name,
				"tools", len(f.own.clients), "of_weir", len(f.own.specs))
		}
		f.own = nil
		if f.folds {
			return inner.Offer(f.r.ask.Body, archived)
		}
	}
	return body, offered
}

// specs are the tools that bring back what was folded, in the language of the request. They
// are the same in each request: the prompt begins with them.
func (f *folding) specs() []tool.Spec {
	out := slices.Clone(history.Specs(f.r.ask.Locale, false))
	for i := range out {
		if out[i].Name == tool.LoadHistory {
			out[i].Params = history.LoadOnce(f.r.ask.Locale)
		}
		if f.r.ask.Locale == tool.Zh {
			out[i].Description = out[i].DescriptionZh
		}
	}
	return out
}

// place finds the conversation to which the archived results belong.
// A request that is not stored gets one of its own.
func (f *folding) place(ctx context.Context) error {
	f.scope = archive.Scope{Principal: f.r.ask.Principal}
	h, ok := f.r.ask.Body.History()
	if ok && f.r.keeps() {
		chain := make([]string, len(h.Messages))
		for i, m := range h.Messages {
			chain[i] = m.Chain
		}
		b, found, err := f.s.Fold.Notes.BranchOf(ctx, f.r.ask.Principal, f.r.asked, h.Setting, chain)
		if err != nil {
			return err
		}
		if found {
			f.scope.Conversation = b.ID
		}
	}
	if f.scope.Conversation == "" {
		id, err := uuid.NewV7()
		if err != nil {
			return err
		}
		f.scope.Conversation = id.String()
	}
	return nil
}

// known reads what was decided before.
func (f *folding) known(ctx context.Context) (k inner.Known, err error) {
	if !f.r.keeps() {
		return k, nil
	}
	results, turns, rounds := f.h.Digests()
	if !f.folds {
		results, turns = nil, nil
	}
	for _, q := range []struct {
		kind    string
		digests []string
		to      *map[string]string
	}{{noteResult, results, &k.Results}, {noteTurn, turns, &k.Turns}, {noteRounds, rounds, &k.Rounds}} {
		if *q.to, err = f.s.Fold.Notes.Notes(ctx, f.scope.Principal, q.kind, q.digests); err != nil {
			return k, err
		}
	}
	return k, nil
}

// decide archives the long results that came, then stores what is sent of them. What another
// daemon has decided meanwhile counts.
func (f *folding) decide(ctx context.Context, k *inner.Known) error {
	results, ended := f.h.Undecided(*k, f.limits)
	notes, failed := map[string]string{}, map[string]bool{}
	for _, r := range results {
		ref, err := f.archive(ctx, r)
		if err != nil {
			f.s.Logger.Error("a result could not be archived and is sent whole", "tool", r.Tool, "user", f.scope.Principal, "error", err)
			failed[r.Ends] = true
			continue
		}
		notes[r.Digest] = r.Note(ref, f.limits, f.r.ask.Locale, f.load)
	}
	if err := f.add(ctx, noteResult, notes, k.Results); err != nil {
		return err
	}
	done := map[string]string{}
	for _, d := range ended {
		if !failed[d] {
			done[d] = "1"
		}
	}
	return f.add(ctx, noteTurn, done, k.Turns)
}

func (f *folding) add(ctx context.Context, kind string, notes, to map[string]string) error {
	if len(notes) == 0 {
		return nil
	}
	held, err := f.s.Fold.Notes.AddNotes(ctx, f.scope, kind, notes)
	maps.Copy(to, held)
	return err
}

func (f *folding) archive(ctx context.Context, r inner.Result) (*tool.Ref, error) {
	if err := f.s.Meter.CheckArchive(ctx, f.account); err != nil {
		return nil, err
	}
	e, _, err := f.s.Fold.Archive.PutOnce(ctx, archive.Entry{
		Scope: f.scope, Turn: r.Turn, CallID: r.CallID, Tool: r.Tool, Input: r.Args, Full: r.Text, Rules: limit.RulesVersion,
	})
	if err != nil {
		return nil, err
	}
	return e.Ref(), nil
}

// keep stores the rounds in front of an answer.
func (f *folding) keep(ctx context.Context, digest, note string) {
	if !f.r.keeps() {
		return
	}
	if _, err := f.s.Fold.Notes.AddNotes(context.WithoutCancel(ctx), f.scope, noteRounds, map[string]string{digest: note}); err != nil {
		f.s.Logger.Error("what the model has loaded will be missing in the next request", "user", f.scope.Principal, "error", err)
	}
}

// tools returns the tools that bring back the results of this conversation, whose ids are given.
func (f *folding) tools(ids func() map[string]bool) map[string]Beside {
	out, repeats := map[string]Beside{}, &history.Repeats{}
	tools := &history.Tools{Store: only{f.s.Fold.Archive, ids}, Log: f.s.Logger}
	for _, spec := range f.specs() {
		out[spec.Name] = Beside{spec, func(ctx context.Context, c tool.Call) (a inner.Answered) {
			sc := f.scope
			if c.Tool == tool.LoadHistory { // an earlier branch may have archived it
				sc.Everywhere = true
			}
			res := tools.Answer(ctx, history.Request{Scope: sc, Locale: f.r.ask.Locale, Call: c, Repeats: repeats})
			res.Err = msg.ToolError(f.r.ask.Locale, res.Err)
			a.Text = inner.Named(limit.RenderExact(res, f.r.ask.Locale), f.load)
			if len(a.Text) > longLoad && res.Err == nil {
				a.Stub = f.stub(res, a.Text)
			}
			return a
		}}
	}
	return out
}

func (f *folding) stub(res tool.Result, text string) string {
	var ref *tool.Ref
	if res.Load != nil {
		ref = &tool.Ref{UUID: res.Load.UUID}
	}
	return inner.Named(agent.Stub(ref, res.Tool, text, f.r.ask.Locale), f.load)
}

// only reads the results of one conversation alone.
type only struct {
	Archive
	ids func() map[string]bool
}

// Read implements history.Store.
func (o only) Read(ctx context.Context, sc archive.Scope, id string, p archive.Part) (archive.Page, error) {
	if !o.ids()[id] {
		return archive.Page{}, archive.ErrNotFound
	}
	return o.Archive.Read(ctx, sc, id, p)
}

// Search implements history.Store.
func (o only) Search(ctx context.Context, sc archive.Scope, query string, opt archive.SearchOptions) (archive.SearchResult, error) {
	found, err := o.Archive.Search(ctx, sc, query, opt)
	found.Hits = slices.DeleteFunc(found.Hits, func(h archive.Hit) bool { return !o.ids()[h.Entry.UUID] })
	return found, err
}

// count adds what the request came to to the sums, and to the report.
func (s *Service) count(ctx context.Context, r *record, x *exchange) {
	r.inner = x.own.ran()
	if x.own != nil {
		r.changed = append(r.changed, tool.Textf("weir's own tools that were offered beside the client's: %d, calls of them that weir ran by itself: %d", len(x.own.specs), len(r.inner)))
	}
	if !x.folds {
		return
	}
	if x.sent.Cut+x.sent.Folded+x.loads+x.refused > 0 {
		r.changed = append(r.changed, tool.Textf("results sent as placeholders: %d, results sent cut: %d, characters not sent: %d; calls that weir answered by itself: %d, calls not handed over because of a placeholder in them: %d",
			x.sent.Folded, x.sent.Cut, x.sent.Saved, x.loads, x.refused))
	}
	f := store.FoldStats{Client: r.client.Name, Requests: 1, Cut: x.sent.Cut, Folded: x.sent.Folded, Saved: int64(x.sent.Saved), Sent: int64(x.sent.Chars()),
		Loads: x.loads, Refused: x.refused}
	if err := s.Fold.Count(context.WithoutCancel(ctx), r.ask.Principal, f); err != nil {
		s.Logger.Warn("a folded request is missing in the statistics", "user", r.ask.Principal, "error", err)
	}
}

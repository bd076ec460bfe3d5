package host

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/weirhost/weir/host/internal/answer"
	"github.com/weirhost/weir/host/internal/callargs"
	"github.com/weirhost/weir/host/internal/egress"
	"github.com/weirhost/weir/host/internal/history"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/internal/runner"
	"github.com/weirhost/weir/host/internal/snapshot"
	"github.com/weirhost/weir/host/internal/tooluse"
	"github.com/weirhost/weir/host/internal/worker"
	"github.com/weirhost/weir/sdk/tool"
)

// hintOperator is shared by several failures.
const hintOperator = "use another tool; the operator must check this one"

// maxArgs bounds the arguments of a call, in bytes. It is the bound of the sandbox.
const maxArgs = 16 << 20

// Call runs one tool. A failure of the call or of the tool is the Result's Err, in
// the session's language. The error means that the caller must stop: ctx has ended,
// or the Host is closed (ErrClosed).
func (s *Session) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	return s.admit(ctx, c, func(ctx context.Context) tool.Result { return s.callUnchanged(ctx, c) })
}

// call is the way of one call through the host. stale reports that the plugin's
// files have changed since the snapshot and nothing has run.
func (s *Session) call(ctx context.Context, snap *snapshot.Snapshot, c tool.Call) (r tool.Result, stale bool) {
	// Find the tool and read the arguments. The host answers its own tools.
	t, args, fail := s.resolve(snap, c)
	switch {
	case fail != nil:
		return tool.Result{Err: fail}, false
	case t == nil:
		return s.h.builtin.Answer(ctx, history.Request{Scope: s.scope(), Across: s.sharesArchive(), Locale: s.locale, Call: c, Repeats: s.repeats, Short: s.short}), false
	}
	// Replace "@result:…" by archived text, and check the arguments.
	input, fail := s.expandRefs(ctx, t, args)
	if fail != nil {
		return tool.Result{Err: fail}, false
	}
	// Ask a person, if the policy says so.
	approval, fail := s.authorize(ctx, t, c, args.values, input)
	if fail != nil {
		return tool.Result{Err: fail, Approval: approval}, false
	}
	if fail := s.mayBegin(ctx, c); fail != nil {
		return tool.Result{Err: fail, Approval: approval}, false
	}
	// Run the tool, or take its answer from the cache.
	a, stats, fail, stale := s.answer(ctx, t, c, input)
	if t.ReadsFolders() {
		s.markPrivate()
	}
	if fail != nil {
		return tool.Result{Err: fail, Stats: stats, Approval: approval, Refused: a.Refused, Note: a.Note}, stale
	}
	s.h.finder.Uses.Add(string(s.principal), tooluse.Call{Conversation: s.conversation, Tool: c.Tool})
	// Archive the whole text, then cut what is shown.
	r = s.record(ctx, t, c, a)
	r = s.summarise(ctx, t, c, r)
	r.Stats, r.Approval = stats, approval
	return r, false
}

// admit runs f as a call of the host: it measures, localises and logs its result.
func (s *Session) admit(ctx context.Context, c tool.Call, f func(context.Context) tool.Result) (tool.Result, error) {
	inner, leave, err := s.h.enter(ctx)
	if err != nil {
		return tool.Result{}, err
	}
	defer leave()
	began := s.h.cfg.Now()
	r := f(inner)
	switch {
	case ctx.Err() != nil:
		return tool.Result{}, ctx.Err()
	case inner.Err() != nil:
		return tool.Result{}, ErrClosed
	}
	r.CallID, r.Tool, r.Err = c.ID, c.Tool, msg.ToolError(s.locale, r.Err)
	r.Stats.Duration = s.h.cfg.Now().Sub(began)
	if r.Approval != nil { // without the time that a person needed
		r.Stats.Duration = max(0, r.Stats.Duration-r.Approval.Waited)
	}
	s.log(r)
	return r, nil
}

// settleTime is how long a call waits for changed files to come to rest.
const settleTime = 10 * time.Second

// callUnchanged repeats call with a new snapshot while the plugin's files change. A
// file that is being written may be incomplete: where the folders are watched, the
// call waits for it, at most settleTime.
func (s *Session) callUnchanged(ctx context.Context, c tool.Call) tool.Result {
	var deadline time.Time // zero before the first repetition
	for {
		snap, changed := s.h.current.Load(), s.h.Changed()
		r, stale := s.call(ctx, snap, c)
		if !stale || !deadline.IsZero() && !s.h.awaitSettled(ctx, changed, deadline) {
			return r
		}
		if deadline.IsZero() {
			deadline = time.Now().Add(settleTime)
		}
		if err := s.h.reloadFrom(ctx, snap); err != nil {
			return r
		}
	}
}

// arguments are the decoded arguments of a call. canonical is their canonical JSON
// if that is known, else nil.
type arguments struct {
	values    map[string]any
	canonical json.RawMessage
	size      int // of the JSON from the caller, in bytes
}

// resolve returns the tool of a call, nil for one of the host's own, and the
// arguments.
func (s *Session) resolve(snap *snapshot.Snapshot, c tool.Call) (t *snapshot.Tool, args arguments, fail *tool.Error) {
	t = snap.Tools[c.Tool]
	if t != nil && len(c.Args) > maxArgs {
		return nil, args, tool.Errorf(tool.TooLarge, "pass less text", "the arguments have %d bytes; %s accepts at most %d", len(c.Args), c.Tool, maxArgs)
	}
	if t == nil && !history.Has(c.Tool) {
		return nil, args, s.unknownTool(c.Tool)
	}
	args.size = len(c.Args)
	s.h.largeText.Do(args.size, func() { args.values, args.canonical, fail = callargs.Decode(c.Args) })
	return t, args, fail
}

// unknownTool says why the tool cannot be called, or names those with the most similar
// names.
func (s *Session) unknownTool(name string) *tool.Error {
	if fail := s.Absent(name); fail != nil {
		return fail
	}
	var names []string
	for _, t := range s.Tools() {
		names = append(names, t.Name)
	}
	return noTool(name, names, tool.Textf("use only the tools that are listed"))
}

// answer returns the answer to a call, from the cache if the tool allows it.
func (s *Session) answer(ctx context.Context, t *snapshot.Tool, c tool.Call, input json.RawMessage) (a answer.Answer, stats tool.Stats, fail *tool.Error, stale bool) {
	key := t.AnswerKey(string(s.principal), s.locale, c.MaxChars, input)
	if key != "" {
		a, ok, done := s.h.answers.Join(ctx, key, s.h.cfg.Now)
		if ok {
			return a, tool.Stats{Cached: true, RawBytes: a.RawSize}, nil, false
		}
		defer done()
	}
	if fail := t.CheckRate(s.h.cfg.Now); fail != nil {
		return a, stats, fail, false
	}
	a, stats, fail, stale = s.run(ctx, t, c, input)
	if key != "" && fail == nil && a.Err == nil {
		s.h.answers.Put(key, a, s.h.cfg.Now().Add(t.Info.CacheTTL))
	}
	return a, stats, fail, stale
}

// run acquires the tool's module or server, calls it and decodes the answer.
func (s *Session) run(ctx context.Context, t *snapshot.Tool, c tool.Call, input json.RawMessage) (a answer.Answer, stats tool.Stats, fail *tool.Error, stale bool) {
	// The module may have to be compiled. That needs no slot.
	m, err := t.Source.Acquire(ctx)
	if err != nil {
		fail, stale = s.unavailable(ctx, t, err)
		return a, stats, fail, stale
	}
	defer t.Source.Release()
	inv, err := t.Invocation(s.locale, c.MaxChars, input, &s.h.remote)
	if err != nil {
		return a, stats, tool.Errorf(tool.BadArgs, "", "the arguments are not valid JSON: %s", err), false
	}
	if f := s.report; f != nil {
		inv.Progress = func(done, total int, msg string) { f(Progress{Call: c, Done: done, Total: total, Msg: msg}) }
	}
	client, ok := inv.Grant.HTTP.(*egress.Client)
	if !ok {
		client = s.h.offline
	}
	sent := client.Record(s.locale)
	inv.Grant.HTTP = sent
	o, fail := m.Call(ctx, inv)
	if o.NoSlot && ctx.Err() != nil {
		return a, stats, tool.Errorf(tool.Cancelled, "", "too many tools are running"), false
	}
	if o.Relist && t.ThirdParty != nil {
		s.h.lister.Forget(t.ThirdParty)
	}
	if fail == nil {
		s.h.largeText.Do(len(o.Bytes), func() { a = answer.Decode(o.Bytes, o.Text || !inv.MCP, o.Flat, s.locale) })
		fail = t.CheckAnswer(a)
	}
	stats = tool.Stats{Instance: o.Instance, Memory: o.Memory, RawBytes: a.RawSize}
	a.Refused, a.Note = s.noteRefused(t, sent.Refused())
	if o.Asked {
		a.Note = strings.TrimSpace(a.Note + " " + msg.In(s.locale, tool.Textf("[weir passes on nothing that a server asks of a person or a model (elicitation, sampling, roots), whatever the client supports: do without this tool.]")))
	}
	if a.Cut {
		a = s.markCut(a)
	}
	return a, stats, fail, false
}

// noteRefused remembers the refused hosts of a call. It returns their names, and what
// the model reads about them: tools often report a refusal as another failure.
func (s *Session) noteRefused(t *snapshot.Tool, refused []egress.Refusal) (names []string, note string) {
	if len(refused) == 0 || t.Refused == nil {
		return nil, ""
	}
	for _, one := range t.Refused.Add(refused, s.h.cfg.Now()) {
		s.h.log.Warn("a plugin requested a host that it may not reach", "plugin", t.Info.Plugin, "tool", t.Info.Spec.Name, "host", one.Host, "fix", t.Refused.Fix([]egress.Refusal{one}))
	}
	for _, one := range refused {
		names = append(names, one.Host)
	}
	return names, msg.In(s.locale, t.Refused.Note(refused))
}

// unavailable returns the failure of a call whose module cannot be acquired.
func (s *Session) unavailable(ctx context.Context, t *snapshot.Tool, err error) (fail *tool.Error, stale bool) {
	name := t.Info.Spec.Name
	switch {
	case ctx.Err() != nil:
		return tool.Errorf(tool.Cancelled, "", "too many tools are running"), false
	case errors.Is(err, registry.ErrChanged), errors.Is(err, runner.ErrRetired):
		return tool.Errorf(tool.Failed, hintOperator, "the plugin of %s cannot be read at the moment", name), true
	case t.Source.Refusal() != nil || errors.Is(err, worker.ErrAgain):
		return tool.Errorf(tool.Failed, hintOperator, "the plugin of %s cannot be used: %s", name, err), false
	}
	s.h.log.Error("a plugin cannot be read", "tool", name, "error", err)
	return tool.Errorf(tool.Failed, hintOperator, "the plugin of %s cannot be read at the moment", name), s.h.watching.Load() != nil
}

// markCut says of an answer of which only the beginning was read that there was more:
// before the text, where a model reads it whatever is shown, and at its end, where the
// archive has it.
func (s *Session) markCut(a answer.Answer) answer.Answer {
	most := tool.Bytes(tool.MaxWhole)
	a.Text += "\n" + msg.In(s.locale, tool.Textf("[weir: the text goes on here; only its first %s were kept]", most))
	a.Note = strings.TrimSpace(a.Note + " " + msg.In(s.locale, tool.Textf("[The result is longer than %s. weir kept its first %s and the rest is gone: ask for a smaller part.]", most, most)))
	return a
}

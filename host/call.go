package host

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/weirhost/weir/host/internal/answer"
	"github.com/weirhost/weir/host/internal/callargs"
	"github.com/weirhost/weir/host/internal/egress"
	"github.com/weirhost/weir/host/internal/history"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/internal/runner"
	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/host/internal/text"
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
func (s *Session) call(ctx context.Context, snap *snapshot, c tool.Call) (r tool.Result, stale bool) {
	// Find the tool and read the arguments. The host answers its own tools.
	t, args, fail := s.resolve(snap, c)
	switch {
	case fail != nil:
		return tool.Result{Err: fail}, false
	case t == nil:
		return s.h.builtin.Answer(ctx, history.Request{Scope: s.scope(), Across: s.sharesArchive(), Locale: s.locale, Call: c, Repeats: s.repeats}), false
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
	s.noteRead(t)
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
	inner, err := s.h.enter(ctx)
	if err != nil {
		return tool.Result{}, err
	}
	defer s.h.leave(inner)
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
func (s *Session) resolve(snap *snapshot, c tool.Call) (t *boundTool, args arguments, fail *tool.Error) {
	t = snap.tools[c.Tool]
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
	hint := tool.Textf("use only the tools that are listed")
	if near := text.Nearest(name, names); len(near) > 0 {
		hint = tool.Textf("did you mean one of these: %s", strings.Join(near, ", "))
	}
	return tool.NewError(tool.UnknownTool, tool.Textf("there is no tool named %q", text.OneLine(name, 80)), hint)
}

// answer returns the answer to a call, from the cache if the tool allows it.
func (s *Session) answer(ctx context.Context, t *boundTool, c tool.Call, input json.RawMessage) (a answer.Answer, stats tool.Stats, fail *tool.Error, stale bool) {
	key := ""
	if t.def.TTL > 0 && t.identity != "" {
		l, _ := t.within(c.MaxChars)
		key = strings.Join([]string{t.identity, string(s.principal), string(s.locale), strconv.Itoa(l.MaxChars), string(input)}, "\x00")
		a, ok, done := s.h.answers.Join(ctx, key, s.h.cfg.Now)
		if ok {
			return a, tool.Stats{Cached: true, RawBytes: a.RawSize}, nil, false
		}
		defer done()
	}
	if fail := s.checkRate(t); fail != nil {
		return a, stats, fail, false
	}
	a, stats, fail, stale = s.run(ctx, t, c, input)
	if key != "" && fail == nil && a.Err == nil {
		s.h.answers.Put(key, a, s.h.cfg.Now().Add(t.def.TTL))
	}
	return a, stats, fail, stale
}

// checkRate counts the call against the tool's rate limit.
func (s *Session) checkRate(t *boundTool) *tool.Error {
	if t.limiter == nil {
		return nil
	}
	now := s.h.cfg.Now()
	reservation := t.limiter.ReserveN(now, 1)
	wait := reservation.DelayFrom(now)
	if wait <= 0 {
		return nil
	}
	reservation.CancelAt(now)
	return tool.NewError(tool.RateLimited, tool.Textf("rate limit reached: %s allows %d calls per minute", t.info.Spec.Name, t.def.PerMinute),
		tool.Textf("retry in %d seconds, or continue without it", int((wait+time.Second-1)/time.Second)))
}

// run acquires the tool's module or server, calls it and decodes the answer.
func (s *Session) run(ctx context.Context, t *boundTool, c tool.Call, input json.RawMessage) (a answer.Answer, stats tool.Stats, fail *tool.Error, stale bool) {
	// The module may have to be compiled. That needs no slot.
	m, err := t.source.Acquire(ctx)
	if err != nil {
		fail, stale = s.unavailable(ctx, t, err)
		return a, stats, fail, stale
	}
	defer t.source.Release()
	if t.abi != registry.ABIOwn {
		if input, err = runner.ThirdPartyInput(t.abi, t.def.Remote, input, s.h.remote.Add(1)); err != nil {
			return a, stats, tool.Errorf(tool.BadArgs, "", "the arguments are not valid JSON: %s", err), false
		}
	}
	inv := s.invocation(t, c, input)
	sent := s.h.offline.Record(s.locale)
	if client, ok := t.grant.HTTP.(*egress.Client); ok {
		sent = client.Record(s.locale)
	}
	inv.Grant.HTTP = sent
	o, fail := m.Call(ctx, inv)
	if o.NoSlot && ctx.Err() != nil {
		return a, stats, tool.Errorf(tool.Cancelled, "", "too many tools are running"), false
	}
	if o.Relist && t.abi != registry.ABIOwn {
		s.h.lister.Forget(t.module.Plugin())
	}
	if fail == nil {
		text := o.Text || t.def.Format != registry.FormatMCP
		s.h.largeText.Do(len(o.Bytes), func() { a = answer.Decode(o.Bytes, text, o.Flat, s.locale) })
		fail = t.checkAnswer(a)
	}
	stats = tool.Stats{Instance: o.Instance, Memory: o.Memory, RawBytes: a.RawSize}
	a.Refused, a.Note = s.noteRefused(t, sent.Refused())
	if a.Cut {
		a = s.markCut(a)
	}
	return a, stats, fail, false
}

// noteRefused remembers the refused hosts of a call. It returns their names, and what
// the model reads about them: tools often report a refusal as another failure.
func (s *Session) noteRefused(t *boundTool, refused []egress.Refusal) (names []string, note string) {
	if len(refused) == 0 || t.refused == nil {
		return nil, ""
	}
	for _, one := range t.refused.Add(refused, s.h.cfg.Now()) {
		s.h.log.Warn("a plugin requested a host that it may not reach", "plugin", t.info.Plugin, "tool", t.info.Spec.Name, "host", one.Host, "fix", t.refused.Fix([]egress.Refusal{one}))
	}
	for _, one := range refused {
		names = append(names, one.Host)
	}
	return names, msg.In(s.locale, t.refused.Note(refused))
}

// unavailable returns the failure of a call whose module cannot be acquired.
func (s *Session) unavailable(ctx context.Context, t *boundTool, err error) (fail *tool.Error, stale bool) {
	name := t.info.Spec.Name
	switch {
	case ctx.Err() != nil:
		return tool.Errorf(tool.Cancelled, "", "too many tools are running"), false
	case errors.Is(err, registry.ErrChanged), errors.Is(err, runner.ErrRetired):
		return tool.Errorf(tool.Failed, hintOperator, "the plugin of %s cannot be read at the moment", name), true
	case t.source.Refusal() != nil || errors.Is(err, worker.ErrAgain):
		return tool.Errorf(tool.Failed, hintOperator, "the plugin of %s cannot be used: %s", name, err), false
	}
	s.h.log.Error("a plugin cannot be read", "tool", name, "error", err)
	return tool.Errorf(tool.Failed, hintOperator, "the plugin of %s cannot be read at the moment", name), s.h.watching.Load() != nil
}

func (s *Session) invocation(t *boundTool, c tool.Call, input json.RawMessage) sandbox.Invocation {
	l, _ := t.within(c.MaxChars)
	grant := t.grant
	if grant.Config = t.configs[s.locale]; grant.Config == nil { // another server's tool
		grant.Config = t.configIn(s.locale)
	}
	inv := sandbox.Invocation{Export: t.def.Export, Tool: t.info.Spec.Name, Input: input, Timeout: l.Timeout, Limits: l, Grant: grant, MaxOutput: tool.MaxWhole + 1, Fresh: t.def.Fresh, Slot: t.slot}
	if t.def.Format == registry.FormatMCP {
		inv.MCP, inv.MaxOutput = true, answer.MaxMCP+1 // a byte more shows that there is more
	}
	if f := s.report; f != nil {
		inv.Progress = func(done, total int, msg string) { f(Progress{Call: c, Done: done, Total: total, Msg: msg}) }
	}
	return inv
}

// configIn returns the tool's configuration with the language of the session.
func (t *boundTool) configIn(l tool.Locale) map[string]string {
	c := maps.Clone(t.grant.Config)
	if c == nil {
		c = map[string]string{}
	}
	c["weir.locale"] = string(l)
	return c
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

// checkAnswer refuses an answer that is empty where the manifest does not allow that.
func (t *boundTool) checkAnswer(a answer.Answer) *tool.Error {
	if a.Err == nil && strings.TrimSpace(a.Text) == "" && len(a.Parts) == 0 && !t.def.EmptyOK {
		return tool.Errorf(tool.Failed, "try other arguments", "%s returned an empty answer", t.info.Spec.Name)
	}
	return nil
}

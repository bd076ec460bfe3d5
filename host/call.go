package host

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"time"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/internal/answer"
	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/internal/runner"
	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/host/internal/worker"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// run takes a call of a plugin's tool from its arguments to its Result. again
// says that the module's file is not the scanned one, and nothing has run.
func (s *Session) run(ctx context.Context, b *bound, c tool.Call, args map[string]any, canonical json.RawMessage) (r tool.Result, again bool) {
	var input json.RawMessage
	var fail *tool.Error
	s.h.inBulk(len(c.Args), func() { input, fail = s.prepare(ctx, b, args, canonical) })
	if fail != nil {
		return failed(fail), false
	}
	approval, fail := s.authorize(ctx, b, c, args, input)
	if fail != nil {
		r = failed(fail)
		r.Approval = approval
		return r, false
	}
	out, stats, fail, again := s.answer(ctx, b, c, input)
	s.noteRead(b)
	if fail != nil {
		r = failed(fail)
		r.Stats, r.Approval = stats, approval
		return r, again
	}
	r = s.result(ctx, b, c, out)
	r.Stats, r.Approval = stats, approval
	return r, false
}

// answer gets the output of a call, from the cache where the tool allows it.
func (s *Session) answer(ctx context.Context, b *bound, c tool.Call, input json.RawMessage) (out answer.Answer, stats tool.Stats, fail *tool.Error, again bool) {
	key := ""
	if b.def.TTL > 0 && b.identity != "" {
		key = strings.Join([]string{b.identity, string(s.principal), string(s.locale), string(input)}, "\x00")
		out, ok, done := s.h.answers.Join(ctx, key, s.h.cfg.Now)
		if ok {
			return out, tool.Stats{Cached: true, RawBytes: out.RawSize}, nil, false
		}
		defer done()
	}
	if fail := s.admit(b); fail != nil {
		return out, stats, fail, false
	}
	out, stats, fail, again = s.execute(ctx, b, c, input)
	if key != "" && fail == nil && out.Err == nil {
		s.h.answers.Put(key, out, s.h.cfg.Now().Add(b.def.TTL))
	}
	return out, stats, fail, again
}

// admit counts the call against the tool's rate.
func (s *Session) admit(b *bound) *tool.Error {
	if b.limiter == nil {
		return nil
	}
	now := s.h.cfg.Now()
	reservation := b.limiter.ReserveN(now, 1)
	wait := reservation.DelayFrom(now)
	if wait <= 0 {
		return nil
	}
	reservation.CancelAt(now)
	w := in(s.locale)
	e := w.failure(tool.RateLimited, w.rate, "", b.info.Spec.Name, b.def.PerMinute)
	e.Hint = w.failure("", w.hintRate, "", int((wait+time.Second-1)/time.Second)).Msg
	return e
}

// execute runs the guest.
func (s *Session) execute(ctx context.Context, b *bound, call tool.Call, input json.RawMessage) (out answer.Answer, stats tool.Stats, fail *tool.Error, again bool) {
	w := in(s.locale)
	// It may have to be compiled, for long: that takes nobody's place.
	m, err := b.source.Acquire(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		return out, stats, w.failure(tool.Cancelled, w.busy, ""), false
	case errors.Is(err, registry.ErrChanged), errors.Is(err, runner.ErrRetired):
		return out, stats, w.failure(tool.Failed, w.gone, w.hintOperator, b.info.Spec.Name), true
	case err != nil && (b.source.Refusal() != nil || errors.Is(err, worker.ErrAgain)):
		return out, stats, w.brokenPlugin(b.info.Spec.Name, err), false
	case err != nil:
		s.h.log.Error("a plugin cannot be read", "tool", b.info.Spec.Name, "error", err)
		return out, stats, w.failure(tool.Failed, w.gone, w.hintOperator, b.info.Spec.Name), s.h.watching.Load() != nil
	}
	defer b.source.Release()
	if b.abi != registry.ABIOwn {
		if input, err = runner.ThirdPartyInput(b.abi, b.def.Remote, input, s.h.foreign.Add(1)); err != nil {
			return out, stats, w.failure(tool.Failed, w.unreadable, ""), false
		}
	}
	o, fail := m.Call(ctx, s.invocation(b, call, input))
	if o.NoSlot && ctx.Err() != nil {
		return out, stats, w.failure(tool.Cancelled, w.busy, ""), false
	}
	if o.Relist && b.abi != registry.ABIOwn {
		s.h.lister.Forget(b.module.Plugin())
	}
	stats = tool.Stats{Instance: o.Instance, Memory: o.Memory, RawBytes: len(o.Bytes)}
	if fail != nil {
		return out, stats, w.localise(fail, b), false
	}
	s.h.inBulk(len(o.Bytes), func() { out = b.decode(o.Bytes, s.locale) })
	return out, stats, s.judge(b, out), false
}

// decode returns what the tool answered.
func (b *bound) decode(raw []byte, l tool.Locale) answer.Answer {
	if b.def.Format == registry.FormatMCP {
		return answer.DecodeMCP(raw, l)
	}
	return answer.DecodeText(raw)
}

func (s *Session) invocation(b *bound, c tool.Call, input json.RawMessage) sandbox.Invocation {
	l := b.info.Effective
	grant := b.grant
	if grant.Config = b.configs[s.locale]; grant.Config == nil { // another server's tool
		grant.Config = b.configIn(s.locale)
	}
	inv := sandbox.Invocation{Export: b.def.Export, Tool: b.info.Spec.Name, Input: input, Timeout: l.Timeout, Limits: l, Grant: grant, MaxOutput: tool.MaxWhole, Fresh: b.def.Fresh, Slot: b.place}
	if b.def.Format == registry.FormatMCP {
		inv.MaxOutput = answer.MaxMCP
	}
	if f := s.report; f != nil {
		inv.Progress = func(done, total int, msg string) { f(Progress{Call: c, Done: done, Total: total, Msg: msg}) }
	}
	return inv
}

// configIn is what a guest reads as its configuration when it talks to
// somebody in a language.
func (b *bound) configIn(l tool.Locale) map[string]string {
	c := maps.Clone(b.grant.Config)
	if c == nil {
		c = map[string]string{}
	}
	c["weir.locale"] = string(l)
	return c
}

// judge refuses answers that are too large, or empty without leave.
func (s *Session) judge(b *bound, out answer.Answer) *tool.Error {
	w := in(s.locale)
	switch {
	case len(out.Text) > tool.MaxWhole:
		return w.failure(tool.TooLarge, w.tooLarge, w.hintSmaller, b.info.Spec.Name, tool.Bytes(tool.MaxWhole))
	case out.Err == nil && strings.TrimSpace(out.Text) == "" && len(out.Parts) == 0 && !b.def.EmptyOK:
		return w.failure(tool.Failed, w.empty, w.hintEmpty, b.info.Spec.Name)
	}
	return nil
}

// result makes what the caller gets: the whole is committed to the archive
// before anything of it is shown cut.
func (s *Session) result(ctx context.Context, b *bound, c tool.Call, out answer.Answer) tool.Result {
	r := tool.Result{Tool: b.info.Spec.Name, Sources: out.Sources, Parts: out.Parts, More: out.More, Err: out.Err}.WithWhole(out.Text)
	s.h.inBulk(len(out.Text), func() {
		r.Shown = b.keep.Fit(r, b.info.Effective, b.by)
		if s.keeps(b, r) {
			s.keep(ctx, b, c, out, &r)
		}
		if r.Sources == nil {
			r.Sources = archive.Sources(out.Text)
		}
	})
	s.summarise(ctx, b, c, &r)
	return r
}

// keeps reports whether the whole is to be archived: when it is long, when
// something of it is not shown, or when the tool says always; never when it
// says never.
func (s *Session) keeps(b *bound, r tool.Result) bool {
	switch b.info.Effective.Archive {
	case tool.KeepNever:
		return false
	case tool.KeepAlways:
		return r.Whole() != "" || len(r.Parts) > 0
	}
	return r.Shown.TotalChars > archiveOver || r.Shown.Cut() || len(r.Parts) > 0
}

// keep commits the whole, also for a caller who has gone: the tool has run, and
// the next question may ask for it. When that fails the result still goes, and
// says that the rest is gone.
func (s *Session) keep(ctx context.Context, b *bound, c tool.Call, out answer.Answer, r *tool.Result) {
	input := bytes.TrimSpace(c.Args)
	if len(input) == 0 {
		input = []byte("{}")
	}
	e, again, err := s.h.archive.PutOnce(context.WithoutCancel(ctx), archive.Entry{
		Scope: s.scope(), Turn: c.Turn, CallID: c.ID, Tool: b.info.Spec.Name, Input: input,
		Query: archive.QuerySummary(b.info.Spec.Name, input), Full: out.Text, Raw: out.Raw, Rules: limit.RulesVersion,
		Sources: out.Sources, Parts: out.Parts,
	})
	if err != nil {
		r.Unkept = true
		s.h.log.Error("a result could not be archived", "tool", b.info.Spec.Name, "conversation", s.conversation, "error", err)
		return
	}
	r.Ref = e.Ref()
	r.Sources = e.Sources
	if again {
		r.Ref.Again = true
		r.Shown = b.keep.Fit(*r, b.info.Effective, b.by) // the line that says so takes room
	}
}

// summarise lets a model shorten a long result that is not shown whole. On any
// failure the cut stays.
func (s *Session) summarise(ctx context.Context, b *bound, c tool.Call, r *tool.Result) {
	l := b.info.Effective
	set := s.h.live.Load()
	if l.Strategy != tool.Summarize || set.Summarise == nil || !r.Shown.Cut() || r.Shown.TotalChars <= set.SummariseOver || r.Err != nil {
		return
	}
	began := s.h.cfg.Now()
	sum, err := set.Summarise(ctx, SummaryRequest{
		Principal: s.principal, Conversation: s.conversation,
		Tool: b.info.Spec.Name, Query: archive.QuerySummary(b.info.Spec.Name, c.Args), Text: r.Whole(),
		Chars: max(l.MaxChars-tool.NoticeChars, tool.MinMaxChars), Locale: s.locale,
	})
	r.Summary = &tool.SummaryCost{Model: sum.Model, TokensIn: sum.TokensIn, TokensOut: sum.TokensOut, Estimated: sum.Estimated,
		Millis: s.h.cfg.Now().Sub(began).Milliseconds()}
	text := limit.Normalise([]byte(sum.Text))
	if err != nil || strings.TrimSpace(text) == "" {
		s.h.log.Warn("a result could not be summarised and is cut instead", "tool", b.info.Spec.Name, "error", err)
		return
	}
	r.Shown = limit.Summary(text, r.Whole(), l, b.by)
}

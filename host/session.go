package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weirhost/weir/host/approval"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/internal/callargs"
	"github.com/weirhost/weir/host/internal/history"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/text"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// A Session runs tools for one conversation of one principal. It is safe for
// concurrent use and needs no closing.
type Session struct {
	h            *Host
	principal    Principal
	conversation string
	locale       tool.Locale
	repeats      *history.Repeats
	approver     approval.Approver // nil: nobody is there
	person       bool              // makes the calls
	across       bool              // reads archives of all of the principal's conversations
	report       func(Progress)
}

// Session binds calls to a principal and a conversation: what they archive can
// be read there and nowhere else. Two sessions of the same pair share it all
// but the count of repeated loads.
func (h *Host) Session(p Principal, conversation string) *Session {
	return &Session{h: h, principal: p, conversation: conversation, locale: tool.En, repeats: &history.Repeats{}, approver: h.cfg.Approve}
}

// In returns the same session in another language; every Locale but Zh is English.
func (s *Session) In(l tool.Locale) *Session {
	out := *s
	out.locale = in(l).locale
	return &out
}

// AcrossConversations returns the same session for a caller that has no
// conversations: it reads what any conversation of the principal has archived.
// What it archives itself is still its own conversation's.
func (s *Session) AcrossConversations() *Session {
	out := *s
	out.across = true
	return &out
}

// A Progress is what a tool says about a call of its that runs.
type Progress struct {
	Call tool.Call
	// Done of Total, in the tool's own unit; a Total of 0 is unknown.
	Done, Total int
	Msg         string // one line; may be empty
}

// Reporting returns the same session with somebody who is told how its calls
// get on. f is called while the call runs, for one call never at the same time
// as itself; the tool waits for it. nil: nobody is told.
func (s *Session) Reporting(f func(Progress)) *Session {
	out := *s
	out.report = f
	return &out
}

func (s *Session) scope() archive.Scope {
	return archive.Scope{Principal: string(s.principal), Conversation: s.conversation, Everywhere: s.across}
}

// Tools lists what may be called now, plugins' tools by name, then the host's own.
// The slice is the caller's.
func (s *Session) Tools() []tool.Spec {
	usable, own := s.h.current.Load().usable(), history.Specs(s.locale)
	out := make([]tool.Spec, 0, len(usable)+len(own))
	for _, b := range usable {
		out = append(out, b.info.Spec)
	}
	return append(out, own...)
}

// Call runs one tool. What goes wrong with the call or in the tool is the
// Result's Err; the error means that the caller must stop: ctx has ended, or the
// Host is closed (ErrClosed).
func (s *Session) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	inner, err := s.h.enter(ctx)
	if err != nil {
		return tool.Result{}, err
	}
	defer s.h.leave(inner)
	began := s.h.cfg.Now()
	r := s.dispatch(inner, c)
	switch {
	case ctx.Err() != nil:
		return tool.Result{}, ctx.Err()
	case inner.Err() != nil:
		return tool.Result{}, ErrClosed
	}
	r.CallID, r.Tool, r.Err = c.ID, c.Tool, msg.ToolError(s.locale, r.Err)
	r.Stats.Duration = s.h.cfg.Now().Sub(began)
	if r.Approval != nil { // a person's time is not the tool's
		r.Stats.Duration = max(0, r.Stats.Duration-r.Approval.Waited)
	}
	s.log(r)
	return r, nil
}

// settleTime is how long a call whose module has changed under it waits for the
// files to come to rest, where the folders are watched.
const settleTime = 10 * time.Second

// dispatch finds who answers the call.
func (s *Session) dispatch(ctx context.Context, c tool.Call) tool.Result {
	h := s.h
	var settled time.Time // when the files must have come to rest
	for {
		plan, changed := h.current.Load(), h.Changed()
		known, own := plan.tools[c.Tool], history.Has(c.Tool)
		if fail := s.tooLong(known, c.Args); fail != nil {
			return failed(fail)
		}
		var args map[string]any
		var canonical json.RawMessage
		var fail *tool.Error
		h.inBulk(len(c.Args), func() { args, canonical, fail = callargs.Decode(c.Args) })
		switch {
		case known == nil && !own:
			return failed(s.unknown(c.Tool))
		case fail != nil:
			return failed(fail)
		case own:
			return h.builtin.Answer(ctx, history.Request{Scope: s.scope(), Locale: s.locale, Call: c, Repeats: s.repeats})
		}
		r, again := s.run(ctx, known, c, args, canonical)
		// The module's file is not the one that was scanned. Where the folders
		// are watched it may be in the middle of being written.
		if !again || !settled.IsZero() && !h.awaitRest(ctx, changed, settled) {
			return r
		}
		if settled.IsZero() {
			settled = time.Now().Add(settleTime)
		}
		if _, err := h.reload(ctx, plan, h.patience); err != nil {
			return r
		}
	}
}

// failed is a Result that holds nothing but a failure.
func failed(e *tool.Error) tool.Result { return tool.Result{Err: e} }

// unknown names the tools that are spelt most like the one that is not there.
func (s *Session) unknown(name string) *tool.Error {
	w := in(s.locale)
	var names []string
	for _, t := range s.Tools() {
		names = append(names, t.Name)
	}
	hint := w.hintNone
	if near := text.Nearest(name, names); len(near) > 0 {
		hint = fmt.Sprintf(w.hintNear, strings.Join(near, ", "))
	}
	return w.failure(tool.UnknownTool, w.unknown, hint, text.OneLine(name, 80))
}

// log writes the one line of a call.
func (s *Session) log(r tool.Result) {
	if !s.h.log.IsInfo() {
		return
	}
	code := "ok"
	if r.Err != nil {
		code = string(r.Err.Code)
	}
	shown, _ := limit.Count(r.Shown.Text)
	percent := 0 // of the whole, left out
	if total := r.Shown.TotalChars; total > 0 {
		percent = 100 * max(total-shown, 0) / total
	}
	args := []any{
		"tool", text.OneLine(r.Tool, 80), "code", code, "layer", string(r.Shown.By), "from", r.Shown.TotalChars, "to", shown, "percent", percent,
		"conversation", s.conversation, "took", r.Stats.Duration, "cached", r.Stats.Cached,
	}
	if r.Ref != nil {
		args = append(args, "archived", r.Ref.UUID)
	}
	if c := r.Summary; c != nil {
		args = append(args, "summarized", r.Shown.Summarized, "summary_model", c.Model, "summary_tokens_in", c.TokensIn, "summary_tokens_out", c.TokensOut, "summary_ms", c.Millis)
	}
	if r.Unkept {
		args = append(args, "unkept", true)
	}
	if r.Err != nil {
		args = append(args, "error", r.Err.Msg)
	}
	s.h.log.Info("call", args...)
}

// check holds arguments to the tool's schema, and says what would fit.
func (s *Session) check(b *bound, args map[string]any) *tool.Error {
	wrong := b.def.Schema.Check(args)
	if len(wrong) == 0 {
		return nil
	}
	w := in(s.locale)
	return w.failure(tool.BadArgs, w.misfit, s.fitting(b), b.info.Spec.Name, msg.In(s.locale, text.Join(wrong)))
}

// fitting shows arguments that the schema accepts, or names the arguments.
func (s *Session) fitting(b *bound) string {
	w := in(s.locale)
	for _, e := range b.info.Spec.Examples {
		if len(e.Args) < 300 {
			return fmt.Sprintf(w.hintArgs, e.Args)
		}
	}
	names := slices.Clone(b.def.Schema.Names())
	if len(names) == 0 {
		return w.hintTakesNone
	}
	return fmt.Sprintf(w.hintTakes, strings.Join(names, ", "))
}

// prepare makes a guest's input of a call's arguments: guarded, expanded and
// checked. canonical is their text, if that is the input when nothing is expanded.
func (s *Session) prepare(ctx context.Context, b *bound, args map[string]any, canonical json.RawMessage) (json.RawMessage, *tool.Error) {
	w := in(s.locale)
	if !b.info.Spec.Hints.ReadOnly && s.writesBack(ctx, args) {
		return nil, w.failure(tool.Denied, w.writeBack, w.hintWriteBack, b.info.Spec.Name)
	}
	expanded, err := s.expand(ctx, args)
	if err != nil {
		var e *tool.Error
		if errors.As(err, &e) {
			return nil, e
		}
		return nil, w.failure(tool.Failed, w.unreadable, "")
	}
	if e := s.check(b, args); e != nil {
		return nil, e
	}
	if canonical != nil && !expanded {
		return canonical, nil
	}
	return callargs.Encode(args)
}

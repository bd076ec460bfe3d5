package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weirhost/weir/host/internal/text"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// An Approver asks a person about calls.
type Approver interface {
	// Approve returns the person's answer. It must return when ctx ends, which
	// is when the request expires or the caller has gone; its answer then does
	// not count, unless it was given before. It may be called for several calls
	// at once. An error means that nobody could be asked, and the call does not
	// run; ErrNobody says so in so many words.
	Approve(ctx context.Context, r ApprovalRequest) (ApprovalAnswer, error)
}

// ErrNobody is what an Approver answers when nobody is there to be asked.
var ErrNobody = errors.New("nobody is there to ask")

// An ApprovalRequest is one call that waits for a person.
type ApprovalRequest struct {
	Principal    Principal
	Conversation string
	CallID       string
	Tool, Plugin string
	// Args are what the guest will read, byte for byte.
	Args json.RawMessage
	// Why says what the tool can do and who wants it asked about, Always what an
	// answer of Always covers; both are one line in the session's language.
	Why, Always string
	Locale      tool.Locale
	Expires     time.Time
}

// An ApprovalAnswer is what a person says to a request. The zero answer refuses.
type ApprovalAnswer struct {
	Verdict Verdict
	// By is who answered, in the words of whoever asked them, for the log.
	By string
}

// A Verdict lets a call run or not.
type Verdict int

// The verdicts. Always lets calls like this one run in this conversation, until
// the Host closes or anything about the tool or its powers changes.
const (
	Refuse Verdict = iota
	Once
	Always
)

// ByPerson returns the same session for calls that a person makes themselves.
// They have decided already, so that only a rule that denies keeps a call from
// running. Every other session's calls are a model's or another program's.
func (s *Session) ByPerson() *Session {
	out := *s
	out.person = true
	return &out
}

// Asking returns the same session with somebody who asks a person in place of
// Config.Approve; nil: nobody is there.
func (s *Session) Asking(a Approver) *Session {
	out := *s
	out.approver = a
	return &out
}

// MayAsk reports whether calls of a tool could have to be asked about; of a tool
// that is not there they never have.
func (s *Session) MayAsk(name string) bool {
	b := s.h.current.Load().tools[name]
	return b != nil && !s.person && s.h.live.Load().policy.mayAsk(b)
}

// consent decides whether a call runs. fail is what the model reads when it
// does not; a is nil when there was nothing to decide.
func (s *Session) consent(ctx context.Context, b *bound, c tool.Call, args map[string]any, input json.RawMessage) (a *tool.Approval, fail *tool.Error) {
	p := s.h.live.Load().policy // one for the whole call
	n, rule := p.find(b.info.Spec.Name, args)
	if s.person && (rule == nil || rule.action != Deny) {
		return nil, nil
	}
	action, by := s.action(ctx, p, b, n, rule)
	switch action {
	case "":
		return nil, nil
	case Allow:
		a = &tool.Approval{Allowed: true, By: by}
	case Deny:
		a, fail = &tool.Approval{By: by}, s.words().ruled(b.info.Spec.Name)
	default:
		a, fail = s.ask(ctx, p, b, c, n, rule, input)
	}
	s.h.log.Info("approval", "tool", b.info.Spec.Name, "conversation", s.conversation, "call", c.ID,
		"allowed", a.Allowed, "by", a.By, "asked", action == Ask, "waited", a.Waited)
	return a, fail
}

// action is what is to become of a call, and by whose word; "": it runs, for
// there is nothing that it could do.
func (s *Session) action(ctx context.Context, p *policy, b *bound, n int, r *ruling) (Action, string) {
	if r != nil {
		return r.action, ruleName(n)
	}
	switch b.effect {
	case plugin.EffectChanges:
		return p.unruled, byDefault
	case plugin.EffectNetwork:
		if p.network != Auto {
			return p.network, byNetwork
		}
		if b.anyHost && (len(b.grant.Mounts) > 0 || s.holdsPrivate(ctx)) {
			return Ask, byNetwork
		}
	}
	return "", ""
}

// ask gets a person's answer, or the one that they gave for all calls like this.
func (s *Session) ask(ctx context.Context, p *policy, b *bound, c tool.Call, n int, r *ruling, input json.RawMessage) (*tool.Approval, *tool.Error) {
	w, name := s.words(), b.info.Spec.Name
	key := s.consentKey(b, n, r, input)
	again := s.againKey(b, c, key, input)
	if s.h.asked.given(key) || again != key && s.h.asked.given(again) {
		return &tool.Approval{Allowed: true, By: byAlways}, nil
	}
	if s.approver == nil {
		return &tool.Approval{By: byNobody}, w.nobody(name, s.why(p, b, n))
	}
	began := s.h.cfg.Now()
	inner, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	answer, err := s.approver.Approve(inner, ApprovalRequest{
		Principal: s.principal, Conversation: s.conversation, CallID: c.ID, Tool: name, Plugin: b.info.Plugin, Args: input,
		Why: s.why(p, b, n), Always: w.always(name, r), Locale: w.locale, Expires: began.Add(p.timeout),
	})
	a := &tool.Approval{Waited: s.h.cfg.Now().Sub(began)}
	switch {
	case ctx.Err() != nil:
		a.By = byGone
		return a, w.gone(name)
	case err != nil && inner.Err() != nil:
		a.By = byTimeout
		return a, w.timeout(name, p.timeout)
	case err != nil:
		a.By = byNobody
		if !errors.Is(err, ErrNobody) {
			s.h.log.Error("nobody could be asked", "tool", name, "error", err)
		}
		return a, w.nobody(name, s.why(p, b, n))
	}
	a.By = person(answer.By)
	switch answer.Verdict {
	case Always:
		s.h.asked.give(key)
	case Once:
		if again != key {
			s.h.asked.give(again)
		}
	default:
		return a, w.refused(name)
	}
	a.Allowed = true
	return a, nil
}

// Who decides, beside "rule 1" and people.
const (
	byDefault = "default"
	byNetwork = "network"
	byAlways  = "always"
	byNobody  = "nobody"
	byTimeout = "timeout"
	byGone    = "gone"
)

// person is the name of who answered; none of them can be taken for one of ours.
func person(name string) string {
	if name = text.OneLine(name, 60); name == "" {
		return "person"
	}
	return "person " + name
}

// consentKey names the calls that an answer of Always lets run: of the same
// tool with the same bytes, settings and powers, in the same conversation, with
// arguments that the same rule asks about or else the very same arguments.
func (s *Session) consentKey(b *bound, n int, r *ruling, input json.RawMessage) consent {
	like := string(input)
	if r != nil {
		like = ruleName(n)
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{b.info.Spec.Name, b.identity, like}, "\x00")))
	return consent{string(s.principal) + "\x00" + s.conversation, hex.EncodeToString(sum[:])}
}

// againKey names one call, so that its repetition after a failure that may pass
// is not asked about again; key itself: the tool is never repeated.
func (s *Session) againKey(b *bound, c tool.Call, key consent, input json.RawMessage) consent {
	if !b.info.Spec.Hints.Idempotent || c.ID == "" {
		return key
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{key.key, strconv.Itoa(c.Turn), c.ID, string(input)}, "\x00")))
	return consent{key.place, hex.EncodeToString(sum[:])}
}

// why says what a tool can do that is asked about, and whose wish that is.
func (s *Session) why(p *policy, b *bound, n int) string {
	w := s.words()
	var can, folders []string
	for _, m := range b.grant.Mounts {
		if m.Write {
			folders = append(folders, m.Guest)
		}
	}
	if len(folders) > 0 {
		can = append(can, w.canChange(folders))
	}
	if b.grant.HTTP != nil {
		and := ""
		if b.effect == plugin.EffectNetwork && n == 0 && p.network == Auto {
			and = w.private
			if len(b.grant.Mounts) > 0 {
				and = w.reads
			}
		}
		can = append(can, w.canSend(b.reach, and))
	}
	return w.because(can, n)
}

// settle fixes what a tool can do: its folders are read-only if it says that it is.
func (b *bound) settle(anyHost bool) {
	claims := b.info.Spec.Hints.ReadOnly
	writes := false
	b.grant.Mounts = slices.Clone(b.grant.Mounts)
	for i := range b.grant.Mounts {
		m := &b.grant.Mounts[i]
		m.Write = m.Write && !claims
		writes = writes || m.Write
	}
	reaches := b.grant.HTTP != nil
	b.anyHost = reaches && anyHost
	switch {
	case writes || reaches && !claims:
		b.effect = plugin.EffectChanges
	case reaches:
		b.effect = plugin.EffectNetwork
	default:
		b.effect = plugin.EffectNone
	}
	b.info.Effect = b.effect
}

package approval

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/internal/text"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// A Subject is the tool that a call is for, and what it can do.
type Subject struct {
	Tool, Plugin string
	// Server reports whether Plugin is another MCP server.
	Server bool
	// OldName is the old form of Tool if no other tool has the same, else empty. Rules that
	// allow hold for it, too; see package toolname.
	OldName string
	// OwnName is what Plugin, another MCP server, calls Tool, unless another tool is named so;
	// else empty. Rules that allow hold for it, too, if SoleName: no other tool has it.
	OwnName  string
	SoleName bool
	Effect   plugin.Effect
	// AnyHost reports whether the tool may reach hosts that no grant names ("*").
	// Hosts are those it may reach, as the grants write them.
	AnyHost bool
	Hosts   []string
	// ReadsFolders reports whether it has a granted folder. WritableFolders are
	// the guest paths of those it can change.
	ReadsFolders    bool
	WritableFolders []string
	// Identity is a digest of everything except the arguments that a call depends
	// on. An answer for more than one call ends when it changes.
	Identity string
	// Idempotent reports whether a failed call may be repeated. The person is then
	// asked only once.
	Idempotent bool
}

// A Call is one call of a Subject.
type Call struct {
	ID   string // of the model; may be empty
	Turn int
	// Args are the decoded arguments, for rules; Input is what the guest reads.
	Args  map[string]any
	Input json.RawMessage
}

// An Exposure reports whether a conversation contains private text.
type Exposure interface {
	// HoldsPrivate reports whether the conversation may contain text that a tool
	// read in a granted folder.
	HoldsPrivate(ctx context.Context) bool
}

// A Gate decides about the calls of one session. It must not be modified while it
// is used, and is then safe for concurrent use.
type Gate struct {
	Rules    *Rules
	Memory   *Memory
	Approver Approver // nil: no person is available
	Exposure Exposure
	// Person reports whether a person makes the calls. Only a rule that denies
	// applies to them.
	Person bool
	// Across reports whether the conversations of the principal count as one, as all of them can
	// read one archive.
	Across                  bool
	Principal, Conversation string
	Locale                  tool.Locale
	Now                     func() time.Time
	Log                     hclog.Logger
}

// The values of tool.Approval.By besides "rule 1" and "person NAME".
const (
	byDefault = "default"
	byNetwork = "network"
	byAlways  = "always"
	byNobody  = "nobody"
	byTimeout = "timeout"
	byGone    = "gone"
	byLater   = "later"
)

func ruleName(n int) string { return "rule " + strconv.Itoa(n) }

// Authorize decides whether a call runs. It may wait for a person. The approval is
// nil when there was nothing to decide. The error is for the model, and nil when
// the call runs.
func (g *Gate) Authorize(ctx context.Context, s Subject, c Call) (*tool.Approval, *tool.Error) {
	n, rule := g.Rules.match(s, c.Args)
	if g.Person && (rule == nil || rule.action != Deny) {
		return nil, nil
	}
	var a *tool.Approval
	var fail *tool.Error
	action, by := g.action(ctx, s, n, rule)
	switch action {
	case "":
		return nil, nil
	case Allow:
		a = &tool.Approval{Allowed: true, By: by}
	case Deny:
		a, fail = &tool.Approval{By: by}, errDenied(s.Tool)
	default:
		a, fail = g.ask(ctx, s, c, n, rule)
	}
	g.Log.Info("approval", "tool", s.Tool, "conversation", g.Conversation, "call", c.ID,
		"allowed", a.Allowed, "by", a.By, "asked", action == Ask, "waited", a.Waited)
	return a, fail
}

// action returns what happens to a call, and which setting decides so. An empty
// action means that the tool can do nothing beyond answering, and runs.
func (g *Gate) action(ctx context.Context, s Subject, n int, r *compiledRule) (Action, string) {
	if r != nil {
		return r.action, ruleName(n)
	}
	switch s.Effect {
	case plugin.EffectChanges:
		return g.Rules.byDefault, byDefault
	case plugin.EffectNetwork:
		if g.Rules.network != Auto {
			return g.Rules.network, byNetwork
		}
		if s.AnyHost && (s.ReadsFolders || g.Exposure.HoldsPrivate(ctx)) {
			return Ask, byNetwork
		}
	}
	return "", ""
}

// ask returns the person's answer, or an earlier one that covers this call.
func (g *Gate) ask(ctx context.Context, s Subject, c Call, n int, r *compiledRule) (*tool.Approval, *tool.Error) {
	key := g.similarKey(s, c, n, r)
	retry := g.retryKey(s, c, key)
	if g.Memory.isAllowed(ctx, key) || retry != key && g.Memory.isAllowed(ctx, retry) {
		return &tool.Approval{Allowed: true, By: byAlways}, nil
	}
	why := g.why(s, n)
	if g.Approver == nil {
		return &tool.Approval{By: byNobody}, errNoPerson(s, why)
	}
	began := g.Now()
	inner, cancel := context.WithTimeout(ctx, g.Rules.timeout)
	defer cancel()
	answer, err := g.Approver.Approve(inner, Request{
		Principal: g.Principal, Conversation: g.Conversation, CallID: c.ID, Tool: s.Tool, Plugin: s.Plugin, Identity: s.Identity, Args: c.Input,
		Why: why, Always: g.covers(s.Tool, r), Locale: g.Locale, Expires: began.Add(g.Rules.timeout),
	})
	a := &tool.Approval{Waited: g.Now().Sub(began)}
	switch {
	case ctx.Err() != nil:
		a.By = byGone
		return a, errDisconnected(s.Tool)
	case errors.Is(err, ErrLater):
		a.By = byLater
		return a, errLater(s.Tool)
	case err != nil && inner.Err() != nil:
		a.By = byTimeout
		return a, errTimeout(s.Tool, g.Rules.timeout)
	case err != nil:
		a.By = byNobody
		if !errors.Is(err, ErrNoPerson) {
			g.Log.Error("the person could not be asked", "tool", s.Tool, "error", err)
		}
		return a, errNoPerson(s, why)
	}
	a.By = personName(answer.By)
	if answer.Only != nil { // it is for calls of a script, and this is one call
		answer.Verdict = Refuse
	}
	switch answer.Verdict {
	case Always:
		a.Always = true
		g.Memory.allow(ctx, key)
	case Once:
		if retry != key {
			g.Memory.allow(ctx, retry)
		}
	default:
		return a, errRefused(s.Tool)
	}
	a.Allowed = true
	return a, nil
}

// personName returns the name of a person in a form that differs from all other
// values of tool.Approval.By.
func personName(name string) string {
	if name = text.OneLine(name, 60); name == "" {
		return "person"
	}
	return "person " + name
}

// similarKey identifies the calls that the answer Always covers: calls of the same
// tool with the same bytes, settings and permissions, in the same conversation, with
// arguments that match the same rule, or the very same arguments if no rule matched.
func (g *Gate) similarKey(s Subject, c Call, n int, r *compiledRule) answerKey {
	like := string(c.Input)
	if r != nil {
		like = ruleName(n)
	}
	return answerKey{ScopeKey(g.Principal, g.Conversation), digest(cmp.Or(s.OldName, s.Tool), s.Identity, like, g.Rules.text)}
}

// retryKey identifies one call, for its repetition after a temporary failure. It is
// similar itself if the tool must not be repeated.
func (g *Gate) retryKey(s Subject, c Call, similar answerKey) answerKey {
	if !s.Idempotent || c.ID == "" {
		return similar
	}
	return answerKey{similar.scope, digest(similar.digest, strconv.Itoa(c.Turn), c.ID, string(c.Input))}
}

func digest(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:])
}

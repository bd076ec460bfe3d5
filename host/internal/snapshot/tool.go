package snapshot

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/weirhost/weir/host/approval"
	"github.com/weirhost/weir/host/internal/answer"
	"github.com/weirhost/weir/host/internal/bounds"
	"github.com/weirhost/weir/host/internal/grant"
	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/internal/runner"
	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/host/internal/sched"
	"github.com/weirhost/weir/host/internal/text"
	"github.com/weirhost/weir/host/internal/toolname"
	"github.com/weirhost/weir/host/internal/upstream"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// A Tool is a tool with its manifest, limits and permissions. Those of a Snapshot can be
// called.
type Tool struct {
	Info   plugin.ToolInfo
	Source Source // the module, or the server
	// ThirdParty is the plugin of a tool that was made for another host; else nil.
	ThirdParty *registry.Plugin
	// Refused remembers the hosts that the plugin was refused; nil: it has no plugin.
	Refused *grant.Refusals

	def        registry.Tool
	limits     *bounds.Layers
	highlights *limit.Highlights // Info.Effective.Keep
	grant      sandbox.Grant
	// configs are the grant's in each language. They must not be modified.
	configs map[tool.Locale]map[string]string
	reach   []string // the hosts that the grant's HTTP leads to
	anyHost bool     // it can reach hosts that no grant names
	names   toolname.Names
	// identity is a digest of everything but the arguments on which an answer
	// depends.
	identity string
	limiter  *rate.Limiter // nil: no limit
	slot     *sched.Slot   // for the guests of its calls
}

// A Source provides the Runner of a tool: a runner.Module or an upstream.Tool.
type Source interface {
	// Acquire returns the Runner for one call, after which the caller must call Release.
	Acquire(ctx context.Context) (runner.Runner, error)
	Release()
	// Refusal returns why there will never be a Runner; nil: there may be one.
	Refusal() error
}

// NewTool returns a tool with its effective limits and no permissions. owner is its
// plugin, operator the operator's limits for it, and guest the default memory of its
// guest; 0: it has none.
func NewTool(l *bounds.Layers, spec tool.Spec, owner string, operator tool.Limits, guest tool.Bytes) *Tool {
	t := &Tool{Info: l.Effective(spec, owner, operator, guest), limits: l, highlights: l.Highlights}
	if a, b := t.Info.Effective.Keep, l.Defaults.Keep; !slices.Equal(a, b) || (a == nil) != (b == nil) {
		t.highlights = limit.CompileHighlights(a)
	}
	return t
}

// Within returns the limits of one call, by which layer, for an agent with a limit of
// chars; 0: no agent calls.
func (t *Tool) Within(chars int) (tool.Limits, limit.By) { return t.limits.Within(&t.Info, chars) }

// Fit returns what is shown of a result, for an agent with a limit of chars.
func (t *Tool) Fit(r tool.Result, chars int) tool.View {
	l, by := t.Within(chars)
	return t.highlights.Fit(r, l, by)
}

// ReadsFolders reports whether the tool has a granted folder.
func (t *Tool) ReadsFolders() bool { return len(t.grant.Mounts) > 0 }

// Subject returns what the approval of a call depends on.
func (t *Tool) Subject() approval.Subject {
	_, foreign := t.Source.(upstream.Tool)
	s := approval.Subject{
		Server: foreign,
		Tool:   t.Info.Spec.Name, OldName: t.names.Alone, OwnName: t.names.Own, SoleName: t.names.Sole, Plugin: t.Info.Plugin, Effect: t.Info.Effect, AnyHost: t.anyHost, ReadsFolders: t.ReadsFolders(),
		Identity: t.identity, Idempotent: t.Info.Spec.Hints.Idempotent,
	}
	if t.grant.HTTP != nil {
		s.Hosts = t.reach
	}
	for _, m := range t.grant.Mounts {
		if m.Write {
			s.WritableFolders = append(s.WritableFolders, m.Guest)
		}
	}
	return s
}

// fixEffect sets what the tool can do. The folders of a tool that declares itself
// read-only are mounted read-only.
func (t *Tool) fixEffect(anyHost bool) {
	readOnly, writes := t.Info.Spec.Hints.ReadOnly, false
	t.grant.Mounts = slices.Clone(t.grant.Mounts)
	for i := range t.grant.Mounts {
		m := &t.grant.Mounts[i]
		m.Write = m.Write && !readOnly
		writes = writes || m.Write
	}
	reaches := t.grant.HTTP != nil
	t.anyHost = reaches && anyHost
	switch {
	case writes || reaches && !readOnly:
		t.Info.Effect = plugin.EffectChanges
	case reaches:
		t.Info.Effect = plugin.EffectNetwork
	default:
		t.Info.Effect = plugin.EffectNone
	}
}

// CheckArgs compares arguments with the tool's schema. The hint says what would fit.
func (t *Tool) CheckArgs(args map[string]any) *tool.Error {
	wrong := t.def.Schema.Check(args)
	if len(wrong) == 0 {
		return nil
	}
	return tool.NewError(tool.BadArgs, tool.Textf("the arguments of %s do not fit: %s", t.Info.Spec.Name, text.Join(wrong)), t.argsHint())
}

// argsHint returns arguments that the schema accepts, or the names of the arguments.
func (t *Tool) argsHint() tool.Text {
	for _, e := range t.Info.Spec.Examples {
		if len(e.Args) < 300 {
			return tool.Textf("correct this and call the tool again; an example that fits: %s", string(e.Args))
		}
	}
	names := t.def.Schema.Names()
	if len(names) == 0 {
		return tool.Textf("call it with {}; it has no arguments")
	}
	return tool.Textf("correct this and call the tool again; its arguments: %s", strings.Join(names, ", "))
}

// AnswerKey returns the key under which the answer to a call is reused for
// Info.CacheTTL; empty: it is not.
func (t *Tool) AnswerKey(principal string, l tool.Locale, chars int, input json.RawMessage) string {
	if t.def.TTL <= 0 || t.identity == "" {
		return ""
	}
	most, _ := t.Within(chars)
	return strings.Join([]string{t.identity, principal, string(l), strconv.Itoa(most.MaxChars), string(input)}, "\x00")
}

// CheckRate counts a call against the tool's rate limit.
func (t *Tool) CheckRate(clock func() time.Time) *tool.Error {
	if t.limiter == nil {
		return nil
	}
	now := clock()
	reservation := t.limiter.ReserveN(now, 1)
	wait := reservation.DelayFrom(now)
	if wait <= 0 {
		return nil
	}
	reservation.CancelAt(now)
	return tool.NewError(tool.RateLimited, tool.Textf("rate limit reached: %s allows %d calls per minute", t.Info.Spec.Name, t.def.PerMinute),
		tool.Textf("retry in %d seconds, or continue without it", int((wait+time.Second-1)/time.Second)))
}

// Invocation returns one call of the tool in a language, for an agent with a limit of
// chars. calls numbers the calls of third-party plugins.
func (t *Tool) Invocation(l tool.Locale, chars int, input json.RawMessage, calls *atomic.Int64) (sandbox.Invocation, error) {
	most, _ := t.Within(chars)
	if usual := t.Info.Effective; most.MaxLines == 0 && usual.MaxLines > 0 { // a tool that stops early gets as many more lines as characters
		most.MaxLines = int(int64(usual.MaxLines) * int64(most.MaxChars) / int64(usual.MaxChars))
	}
	inv := sandbox.Invocation{
		Export: t.def.Export, Tool: t.Info.Spec.Name, Input: input, Timeout: most.Timeout, Limits: most, Grant: t.grant,
		MaxOutput: tool.MaxWhole + 1, Fresh: t.def.Fresh, Slot: t.slot,
	}
	inv.Grant.Config = t.configs[l]
	if t.def.Format == registry.FormatMCP {
		inv.MCP, inv.MaxOutput = true, answer.MaxMCP+1 // a byte more shows that there is more
	}
	var err error
	if t.ThirdParty != nil {
		inv.Input, err = runner.ThirdPartyInput(t.ThirdParty.ABI, t.def.Remote, input, calls.Add(1))
	}
	return inv, err
}

// configIn returns the tool's configuration with a language.
func (t *Tool) configIn(l tool.Locale) map[string]string {
	c := maps.Clone(t.grant.Config)
	if c == nil {
		c = map[string]string{}
	}
	c["weir.locale"] = string(l)
	return c
}

// CheckAnswer refuses an answer that is empty where the manifest does not allow that.
func (t *Tool) CheckAnswer(a answer.Answer) *tool.Error {
	if a.Err == nil && strings.TrimSpace(a.Text) == "" && len(a.Parts) == 0 && !t.def.EmptyOK {
		return tool.Errorf(tool.Failed, "try other arguments", "%s returned an empty answer", t.Info.Spec.Name)
	}
	return nil
}

package approval

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/toolname"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// A Policy says which calls run, which need a person's approval and which are
// denied. The first rule that matches a call decides it. Other calls are decided
// by what their tool can do beyond answering; a tool that can do nothing more runs.
// The policy does not apply to the host's own tools. The zero Policy asks about
// every call that can change something.
type Policy struct {
	// Default is for tools that can change something: those with a writable
	// folder, and those that reach hosts and do not declare themselves read-only.
	// Empty means Ask.
	Default Action
	// Network is for tools that reach hosts and declare themselves read-only.
	// Empty means Auto.
	Network Action
	// Timeout is how long to wait for the person's answer; 0 means
	// DefaultTimeout. Negative is an error.
	Timeout time.Duration
	Rules   []Rule
}

// DefaultTimeout is how long a Policy without a Timeout waits for an answer.
const DefaultTimeout = 5 * time.Minute

// An Action is what happens to a call.
type Action string

// The actions. Auto is for Policy.Network only. It asks when a call could leak a
// granted folder: the tool may reach any host ("*"), and the conversation contains
// text that a tool read in such a folder.
const (
	Allow Action = "allow"
	Ask   Action = "ask"
	Deny  Action = "deny"
	Auto  Action = "auto"
)

// A Rule decides the calls of some tools with some arguments.
type Rule struct {
	// Tool is a glob over tool names: "write_note", "write_*", "*".
	Tool string
	// Args are RE2 expressions that arguments must match, by the argument's name
	// or by its JSON pointer ("/to/0/name"). An argument that is not a string is
	// matched as JSON. A missing argument matches nothing. An empty Args matches
	// all arguments.
	Args map[string]string
	// Action is Allow, Ask or Deny.
	Action Action
}

// Validate calls bad for every invalid setting, with how to fix it and its key
// below the table of the policy.
func (p Policy) Validate(bad func(problem, fix tool.Text, key ...string)) {
	oneOf := func(v Action, allowed []Action, key ...string) {
		if v != "" && !slices.Contains(allowed, v) {
			bad(tool.Textf("%s is %q", key[len(key)-1], v), tool.Textf("use one of: %s", listActions(allowed)), key...)
		}
	}
	oneOf(p.Default, []Action{Ask, Allow, Deny}, "default")
	oneOf(p.Network, []Action{Auto, Ask, Allow, Deny}, "network")
	if p.Timeout < 0 {
		bad(tool.Textf("timeout is %s", p.Timeout), tool.Textf("0 means 5m"), "timeout")
	}
	for i, r := range p.Rules {
		n := strconv.Itoa(i)
		if r.Tool == "" {
			bad(tool.Textf("this rule names no tool"), tool.Textf(`write tool = "write_*", or "*" for every tool`), "rule", n)
		} else if _, err := path.Match(r.Tool, ""); err != nil {
			bad(tool.Textf("tool is %q, which is not a pattern of names", r.Tool), tool.Textf(`write a name or a glob, such as "write_*"`), "rule", n, "tool")
		}
		if r.Action == "" {
			bad(tool.Textf("this rule has no action"), tool.Textf("use one of: %s", listActions([]Action{Allow, Ask, Deny})), "rule", n)
		}
		oneOf(r.Action, []Action{Allow, Ask, Deny}, "rule", n, "action")
		for _, name := range slices.Sorted(maps.Keys(r.Args)) {
			if _, err := regexp.Compile(r.Args[name]); err != nil {
				bad(tool.Textf("the expression for %s is invalid: %s", name, msg.Of(err)), tool.Textf("write RE2"), "rule", n, "args", name)
			}
			if strings.Contains(strings.ReplaceAll(strings.ReplaceAll(name, "~0", ""), "~1", ""), "~") && strings.HasPrefix(name, "/") {
				bad(tool.Textf("%s is not a JSON pointer", name), tool.Textf("write ~0 for ~ and ~1 for / within a name"), "rule", n, "args", name)
			}
		}
	}
}

func listActions(list []Action) string {
	names := make([]string, len(list))
	for i, a := range list {
		names[i] = string(a)
	}
	return strings.Join(names, ", ")
}

// Rules are a compiled Policy. They never change and are safe for concurrent use.
type Rules struct {
	byDefault, network Action
	timeout            time.Duration
	rules              []compiledRule
	text               string // the whole policy: an answer holds only under the same one
}

type compiledRule struct {
	tool   string
	args   []argPattern
	action Action
}

// Compile returns the policy in the form that a Gate uses. The error names the
// first invalid key.
func (p Policy) Compile() (*Rules, error) {
	var err error
	p.Validate(func(problem, fix tool.Text, key ...string) {
		if err == nil {
			err = msg.Errorf("approvals.%s: %s (%s)", strings.Join(key, "."), problem, fix)
		}
	})
	if err != nil {
		return nil, err
	}
	out := &Rules{byDefault: p.Default, network: p.Network, timeout: p.Timeout, text: fmt.Sprintf("%+v", p)}
	out.byDefault = cmp.Or(out.byDefault, Ask)
	out.network = cmp.Or(out.network, Auto)
	out.timeout = cmp.Or(out.timeout, DefaultTimeout)
	for _, r := range p.Rules {
		c := compiledRule{tool: r.Tool, action: r.Action}
		for _, name := range slices.Sorted(maps.Keys(r.Args)) {
			c.args = append(c.args, argPattern{name, regexp.MustCompile(r.Args[name])}) // Validate has compiled it
		}
		out.rules = append(out.rules, c)
	}
	return out, nil
}

// match returns the first rule that matches a call, counted from 1; 0 and nil if
// none does. Where several tools have one old form, a rule that denies one of them by its
// name holds for all, also after one that allows this tool.
func (p *Rules) match(s Subject, args map[string]any) (int, *compiledRule) {
	first := -1
	for i := range p.rules {
		r := &p.rules[i]
		switch {
		case first < 0 && r.matches(s, args):
			if first = i; r.action != Allow || s.OldName != "" {
				return i + 1, r
			}
		case first >= 0 && r.action == Deny && !strings.ContainsAny(r.tool, `*?[\`) && r.tool != s.Tool && r.matches(s, args):
			return i + 1, r
		}
	}
	if first < 0 {
		return 0, nil
	}
	return first + 1, &p.rules[first]
}

// names reports whether the rule is for a tool.
func (r *compiledRule) names(s Subject) bool {
	n := toolname.Names{Name: s.Tool, Alone: s.OldName, Own: s.OwnName, Sole: s.SoleName}
	if r.action == Allow {
		return toolname.MatchAllowed(r.tool, n)
	}
	return toolname.MatchDenied(r.tool, n)
}

func (r *compiledRule) matches(s Subject, args map[string]any) bool {
	if !r.names(s) {
		return false
	}
	for _, a := range r.args {
		text, ok := argText(args, a.name)
		if !ok || !a.matches(text, r.action == Allow) {
			return false
		}
	}
	return true
}

// MayAsk reports whether some call of a tool could need a person's approval,
// whatever its arguments.
func (p *Rules) MayAsk(s Subject) bool {
	for _, r := range p.rules {
		if r.action == Ask && r.names(s) {
			return true
		}
	}
	switch s.Effect {
	case plugin.EffectChanges:
		return p.byDefault == Ask
	case plugin.EffectNetwork:
		return p.network == Ask || p.network == Auto && s.AnyHost
	}
	return false
}

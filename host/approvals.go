package host

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weirhost/weir/host/plugin"
)

// Approvals say which calls of a model run, which a person is asked about and
// which are refused. The first rule that fits a call decides it; a call that no
// rule fits is decided by what its tool can do beyond answering. A tool without
// such powers runs. The host's own tools are never asked about.
type Approvals struct {
	// Default is for tools that can change something: those that may write to a
	// granted folder, and those that reach hosts and do not say that they are
	// read-only. Empty: Ask.
	Default Action
	// Network is for tools that reach hosts and say that they are read-only.
	// Empty: Auto.
	Network Action
	// Timeout is how long a person is waited for; 0: 5 minutes. Negative is an
	// error.
	Timeout time.Duration
	Rules   []ApprovalRule
}

// An Action is what becomes of a call.
type Action string

// The actions. Auto, for Approvals.Network alone, asks when a call could carry
// away what the operator lent: the tool may reach hosts that nobody named
// ("*"), and the conversation holds what a tool read in a granted folder.
const (
	Allow Action = "allow"
	Ask   Action = "ask"
	Deny  Action = "deny"
	Auto  Action = "auto"
)

// An ApprovalRule decides the calls of some tools with some arguments.
type ApprovalRule struct {
	// Tool is a glob over names of tools: "write_note", "write_*", "*".
	Tool string
	// Args are RE2 expressions that arguments must match, by the argument's name
	// or by its JSON pointer ("/to/0/name"). An argument that is not a text is
	// matched as JSON; one that is missing matches nothing. Empty: any arguments.
	Args map[string]string
	// Action is Allow, Ask or Deny.
	Action Action
}

// DefaultApprovalTimeout is how long a person is waited for when nobody says.
const DefaultApprovalTimeout = 5 * time.Minute

// Check reports everything that cannot be meant, each with what to write
// instead and the key it stands at, below the table of the approvals.
func (a Approvals) Check(bad func(msg, hint string, key ...string)) {
	oneOf := func(v Action, allowed []Action, key ...string) {
		if v != "" && !slices.Contains(allowed, v) {
			bad(fmt.Sprintf("%s is %q", key[len(key)-1], v), "use one of: "+listActions(allowed), key...)
		}
	}
	oneOf(a.Default, []Action{Ask, Allow, Deny}, "default")
	oneOf(a.Network, []Action{Auto, Ask, Allow, Deny}, "network")
	if a.Timeout < 0 {
		bad(fmt.Sprintf("timeout is %s", a.Timeout), "0 means 5m", "timeout")
	}
	for i, r := range a.Rules {
		n := strconv.Itoa(i)
		if r.Tool == "" {
			bad("this rule names no tool", `write tool = "write_*", or "*" for every tool`, "rule", n)
		} else if _, err := path.Match(r.Tool, ""); err != nil {
			bad(fmt.Sprintf("tool is %q, which is no pattern of names", r.Tool), `write a name or a glob, such as "write_*"`, "rule", n, "tool")
		}
		if r.Action == "" {
			bad("this rule has no action", "use one of: "+listActions([]Action{Allow, Ask, Deny}), "rule", n)
		}
		oneOf(r.Action, []Action{Allow, Ask, Deny}, "rule", n, "action")
		for _, name := range slices.Sorted(maps.Keys(r.Args)) {
			if _, err := regexp.Compile(r.Args[name]); err != nil {
				bad(fmt.Sprintf("the expression for %s cannot be used: %s", name, strings.TrimPrefix(err.Error(), "error parsing regexp: ")), "write RE2", "rule", n, "args", name)
			}
			if strings.Contains(strings.ReplaceAll(strings.ReplaceAll(name, "~0", ""), "~1", ""), "~") && strings.HasPrefix(name, "/") {
				bad(fmt.Sprintf("%s is no JSON pointer", name), "write ~0 for ~ and ~1 for / within a name", "rule", n, "args", name)
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

// A policy is Approvals made ready.
type policy struct {
	unruled, network Action
	timeout          time.Duration
	rules            []ruling
}

type ruling struct {
	tool   string
	args   []argRule
	action Action
}

type argRule struct {
	name string
	re   *regexp.Regexp
}

// compile makes a policy. The error names the first key that is wrong.
func (a Approvals) compile() (*policy, error) {
	var err error
	a.Check(func(msg, hint string, key ...string) {
		if err == nil {
			err = fmt.Errorf("approvals.%s: %s (%s)", strings.Join(key, "."), msg, hint)
		}
	})
	if err != nil {
		return nil, err
	}
	p := &policy{unruled: a.Default, network: a.Network, timeout: a.Timeout}
	if p.unruled == "" {
		p.unruled = Ask
	}
	if p.network == "" {
		p.network = Auto
	}
	if p.timeout == 0 {
		p.timeout = DefaultApprovalTimeout
	}
	for _, r := range a.Rules {
		c := ruling{tool: r.Tool, action: r.Action}
		for _, name := range slices.Sorted(maps.Keys(r.Args)) {
			c.args = append(c.args, argRule{name, regexp.MustCompile(r.Args[name])}) // Check has compiled it
		}
		p.rules = append(p.rules, c)
	}
	return p, nil
}

// find returns the first rule that fits a call, counted from 1; 0: none does.
func (p *policy) find(toolName string, args map[string]any) (int, *ruling) {
	for i := range p.rules {
		if p.rules[i].fits(toolName, args) {
			return i + 1, &p.rules[i]
		}
	}
	return 0, nil
}

// mayAsk reports whether a call of a tool with such an effect could have to be
// asked about, whatever its arguments.
func (p *policy) mayAsk(b *bound) bool {
	for _, r := range p.rules {
		if ok, err := path.Match(r.tool, b.info.Spec.Name); ok && err == nil && r.action == Ask {
			return true
		}
	}
	switch b.effect {
	case plugin.EffectChanges:
		return p.unruled == Ask
	case plugin.EffectNetwork:
		return p.network == Ask || p.network == Auto && b.anyHost
	}
	return false
}

func (r *ruling) fits(toolName string, args map[string]any) bool {
	if ok, err := path.Match(r.tool, toolName); err != nil || !ok {
		return false
	}
	for _, a := range r.args {
		text, ok := argText(args, a.name)
		if !ok || !a.fits(text, r.action == Allow) {
			return false
		}
	}
	return true
}

// fits matches an argument as it is written and, where it is a path that winds,
// as it leads. Leave is given only if both fit; for the rest one is enough.
func (a argRule) fits(text string, both bool) bool {
	straight := straighten(text)
	if both {
		return a.re.MatchString(text) && a.re.MatchString(straight)
	}
	return a.re.MatchString(text) || a.re.MatchString(straight)
}

// straighten resolves "..", "." and doubled slashes in a path or an address, as
// whoever opens it will.
func straighten(s string) string {
	if !strings.Contains(s, "/") && !strings.Contains(s, "..") {
		return s
	}
	scheme, rest := "", s
	if i := strings.Index(s, "://"); i >= 0 {
		scheme, rest = s[:i+3], s[i+3:]
	}
	clean := path.Clean(rest)
	if strings.HasSuffix(rest, "/") && clean != "/" {
		clean += "/"
	}
	return scheme + clean
}

var errNoArgument = errors.New("there is no such argument")

// argText is an argument as a rule reads it: a text as it is, all else as JSON.
func argText(args map[string]any, name string) (string, bool) {
	v, err := argAt(args, name)
	if err != nil {
		return "", false
	}
	if s, ok := v.(string); ok {
		return s, true
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err = enc.Encode(v)
	return strings.TrimSuffix(b.String(), "\n"), err == nil
}

// argAt finds an argument by its name or, behind a slash, by its JSON pointer.
// A name with a slash in front is never looked up as a name: a model could add
// an argument of that name beside the one that is meant.
func argAt(args map[string]any, name string) (any, error) {
	pointer, ok := strings.CutPrefix(name, "/")
	if !ok {
		v, ok := args[name]
		if !ok {
			return nil, errNoArgument
		}
		return v, nil
	}
	var at any = args
	for step := range strings.SplitSeq(pointer, "/") {
		step = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
		switch v := at.(type) {
		case map[string]any:
			if at, ok = v[step]; !ok {
				return nil, errNoArgument
			}
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(v) || strconv.Itoa(i) != step {
				return nil, errNoArgument
			}
			at = v[i]
		default:
			return nil, errNoArgument
		}
	}
	return at, nil
}

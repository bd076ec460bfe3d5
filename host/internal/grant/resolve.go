package grant

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/weirhost/weir/host/internal/egress"
	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// A Resolver intersects asks and grants.
type Resolver struct {
	// Secret returns a secret by name. If nil, there are no secrets.
	Secret func(name string) (string, bool)
	// Transport replaces the network for granted requests. If nil, they use the network.
	Transport http.RoundTripper
	// Reserved are absolute paths of what decides over plugins: the data folder, the
	// configuration, the plugin folders. A writable folder that contains one of them
	// is not granted. They need not exist.
	Reserved []string
	// Grants are those of all plugins: what one may write decides which links another
	// one's folders may lead over.
	Grants map[string]plugin.Grant
	// Powers are the kinds of permission. If nil, they are Powers().
	Powers Table
}

// A Resolution is the result of asks and a grant.
type Resolution struct {
	// Asks lists every ask, each with whether it is granted.
	Asks []plugin.Ask
	// Permissions are in force if nothing is Missing. Their Config is empty.
	Permissions sandbox.Grant
	// Hosts are the hosts that Permissions allow. AnyHost reports whether some of
	// them are not named: the guest can choose one.
	Hosts   []string
	AnyHost bool
	// Missing says what the plugin lacks; empty if it can run.
	Missing []tool.Text
	// SuggestedEdits lists what to add below [grants.<name>], by key.
	SuggestedEdits map[string][]string

	resolver Resolver
	rules    []egress.Rule
	private  []string // hosts of rules that may be private
	secrets  []egress.Secret
	actions  []tool.Text // what to do elsewhere
}

// Resolve returns what asks and g have in common, and what is missing.
func (v Resolver) Resolve(asks registry.Asks, g plugin.Grant) *Resolution {
	if v.Powers == nil {
		v.Powers = Powers()
	}
	r := &Resolution{resolver: v}
	for _, p := range v.Powers {
		p.resolve(r, asks, g)
	}
	r.AnyHost = slices.ContainsFunc(r.rules, func(rule egress.Rule) bool { return strings.Contains(rule.Host, "*") })
	if len(r.rules) > 0 && len(r.Missing) == 0 {
		client, err := egress.New(egress.Policy{Allow: r.rules, Secrets: r.secrets, AllowPrivate: r.private, Transport: v.Transport})
		if err != nil {
			r.miss(tool.Textf("its grant cannot be used: %s", err))
			r.advise(tool.Textf("correct the grant"))
		} else {
			r.Permissions.HTTP, r.Hosts = client, client.Hosts()
		}
	}
	return r
}

// miss records something that the plugin lacks.
func (r *Resolution) miss(what tool.Text) { r.Missing = appendNew(r.Missing, what) }

// missAsk records an ask that is not granted, and the edit that grants it.
func (r *Resolution) missAsk(d Description, key, element string) {
	r.miss(tool.Textf("it asks for %s and is not granted it", d.withReason()))
	r.suggest(key, element)
}

// advise records a fix that is not an edit of the plugin's grant.
func (r *Resolution) advise(action tool.Text) { r.actions = appendNew(r.actions, action) }

// suggest records an element that a key of the plugin's grant lacks.
func (r *Resolution) suggest(key, element string) {
	if r.SuggestedEdits == nil {
		r.SuggestedEdits = map[string][]string{}
	}
	if !slices.Contains(r.SuggestedEdits[key], element) {
		r.SuggestedEdits[key] = append(r.SuggestedEdits[key], element)
	}
}

func appendNew(list []tool.Text, t tool.Text) []tool.Text {
	if slices.ContainsFunc(list, func(old tool.Text) bool { return old.String() == t.String() }) {
		return list
	}
	return append(list, t)
}

// Why returns the first thing that is missing, and how many more are.
func (r *Resolution) Why() tool.Text {
	if len(r.Missing) == 0 {
		return tool.Text{}
	}
	if more := len(r.Missing) - 1; more > 0 {
		return tool.Textf("%s (and %d more)", r.Missing[0], more)
	}
	return r.Missing[0]
}

// Fix returns everything that supplies what is missing to a plugin of that name.
func (r *Resolution) Fix(name string) tool.Text {
	var lines tool.Text
	for _, p := range r.resolver.Powers {
		if list := r.SuggestedEdits[p.key()]; len(list) > 0 {
			lines = joined("%s and %s", lines, tool.Text{Format: fmt.Sprintf("%s = [%s]", p.key(), strings.Join(list, ", "))})
		}
	}
	var out tool.Text
	if !lines.IsZero() {
		out = tool.Textf("in tools.toml, below [grants.%s], write: %s", name, lines)
	}
	for _, a := range r.actions {
		out = joined("%s; and %s", out, a)
	}
	return out
}

func joined(format string, a, b tool.Text) tool.Text {
	if a.IsZero() {
		return b
	}
	return tool.Text{Format: format, Args: []any{a, b}}
}

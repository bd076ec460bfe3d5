package grant

import (
	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// A row is one kind of permission. A is the form in which a manifest asks for it.
type row[A any] struct {
	// Key is the key of [grants.<name>] in tools.toml that grants it.
	Key string
	// Ask returns what a plugin asks for of this kind.
	Ask func(registry.Asks) []A
	// Granted reports whether asks[i] is granted. It adds the permission to r, or
	// what is missing for it.
	Granted func(r *Resolution, asks []A, i int, g plugin.Grant) bool
	// Exceeds reports whether a is neither within one of before nor granted whole.
	Exceeds func(a A, before []A, g plugin.Grant) bool
	// Describe returns a in words.
	Describe func(a A) Description
	// Implied adds to asks what a grant means for a plugin made for another host,
	// which cannot ask itself. Nil means nothing.
	Implied func(g plugin.Grant, asks *registry.Asks)
}

// A Description is one ask in words.
type Description struct {
	// Kind and What are those of a plugin.Ask.
	Kind, What string
	// Sentence completes "it asks for …", without the reason.
	Sentence tool.Text
	// Name and Value are how a review shows the ask.
	Name, Value string
	Reason      tool.Text
}

// withReason returns the sentence with the plugin's reason.
func (d Description) withReason() tool.Text {
	if d.Reason.IsZero() {
		return d.Sentence
	}
	return tool.Textf("%s (%q)", d.Sentence, d.Reason)
}

// A power is a row without its type parameter.
type power interface {
	key() string
	resolve(r *Resolution, asks registry.Asks, g plugin.Grant)
	excess(asks, before registry.Asks, g plugin.Grant) (tool.Text, bool)
	facts(asks registry.Asks) []Fact
	implied(g plugin.Grant, asks *registry.Asks)
}

// A Table lists the kinds of permission, in the order of their resolution.
type Table []power

// Powers returns the table of all kinds. Secrets are last: a secret needs a host.
func Powers() Table { return Table{paths(), hosts(), secrets()} }

// FirstExcess returns the first thing that is asked for beyond what was asked for
// before and what g grants whole; the zero Text means none.
func (t Table) FirstExcess(asks, before registry.Asks, g plugin.Grant) tool.Text {
	for _, p := range t {
		if what, ok := p.excess(asks, before, g); ok {
			return what
		}
	}
	return tool.Text{}
}

// Exceeds reports whether something is asked for that was neither asked for before
// nor is granted whole.
func (t Table) Exceeds(asks, before registry.Asks, g plugin.Grant) bool {
	return !t.FirstExcess(asks, before, g).IsZero()
}

// A Fact is one ask as a review shows it.
type Fact struct {
	Name, Value string
	Reason      tool.Text
	// Exceeds reports whether it goes beyond what was asked for before.
	Exceeds func(before registry.Asks) bool
}

// Facts lists everything that a plugin asks for.
func (t Table) Facts(asks registry.Asks) []Fact {
	var out []Fact
	for _, p := range t {
		out = append(out, p.facts(asks)...)
	}
	return out
}

// Implied returns what a grant means for a plugin made for another host, which
// cannot ask itself: everything that is granted counts as asked for.
func (t Table) Implied(g plugin.Grant) registry.Asks {
	var asks registry.Asks
	for _, p := range t {
		p.implied(g, &asks)
	}
	return asks
}

// impliedReason is shown as the reason of what a grant implies.
func impliedReason() tool.Text {
	return tool.Textf("granted in tools.toml; the plugin cannot say what it needs")
}

func (w row[A]) key() string { return w.Key }

func (w row[A]) resolve(r *Resolution, asks registry.Asks, g plugin.Grant) {
	list := w.Ask(asks)
	for i, a := range list {
		d := w.Describe(a)
		r.Asks = append(r.Asks, plugin.Ask{Kind: d.Kind, What: d.What, Reason: d.Reason, Granted: w.Granted(r, list, i, g)})
	}
}

func (w row[A]) excess(asks, before registry.Asks, g plugin.Grant) (tool.Text, bool) {
	for _, a := range w.Ask(asks) {
		if w.Exceeds(a, w.Ask(before), g) {
			return w.Describe(a).withReason(), true
		}
	}
	return tool.Text{}, false
}

func (w row[A]) facts(asks registry.Asks) []Fact {
	var out []Fact
	for _, a := range w.Ask(asks) {
		d := w.Describe(a)
		out = append(out, Fact{d.Name, d.Value, d.Reason, func(before registry.Asks) bool { return w.Exceeds(a, w.Ask(before), plugin.Grant{}) }})
	}
	return out
}

func (w row[A]) implied(g plugin.Grant, asks *registry.Asks) {
	if w.Implied != nil {
		w.Implied(g, asks)
	}
}

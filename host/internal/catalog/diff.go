package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/weirhost/weir/host/internal/grant"
	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// A fact is one thing that a version declares.
type fact struct {
	kind, name, value, reason string
	exceeds                   func(before registry.Asks) bool // of a permission
}

// differences lists how b differs from a.
func differences(a, b *registry.Plugin) []plugin.Difference {
	was, is := factsOf(a), factsOf(b)
	find := func(list []fact, f fact) *fact {
		if i := slices.IndexFunc(list, func(o fact) bool { return o.kind == f.kind && o.name == f.name }); i >= 0 {
			return &list[i]
		}
		return nil
	}
	var out []plugin.Difference
	for _, f := range is {
		old := find(was, f)
		if old != nil && old.value == f.value && old.reason == f.reason {
			continue
		}
		c := plugin.Difference{Kind: f.kind, Name: f.name, Is: f.value, Reason: f.reason}
		if old != nil {
			c.Was = old.value
		}
		c.Exceeds = f.exceeds != nil && f.exceeds(a.Manifest.Asks)
		out = append(out, c)
	}
	for _, f := range was {
		if find(is, f) == nil {
			out = append(out, plugin.Difference{Kind: f.kind, Name: f.name, Was: f.value})
		}
	}
	return out
}

// factsOf lists what a version declares, permissions first: they matter most.
func factsOf(p *registry.Plugin) []fact {
	m := p.Manifest
	var out []fact
	for _, f := range grant.Powers().Facts(m.Asks) {
		out = append(out, fact{"power", f.Name, f.Value, f.Reason, f.Exceeds})
	}
	out = append(out, fact{kind: "version", value: orUnnamed(m.Version)}, fact{kind: "module", value: p.WasmSHA256},
		fact{kind: "manifest", value: p.ManifestSHA256}, fact{kind: "description", value: m.Description})
	for _, s := range m.Settings {
		out = append(out, fact{kind: "setting", name: s.Name, value: fmt.Sprintf("%s, default %v: %s", s.Type, s.Default, s.Description)})
	}
	for _, t := range m.Tools {
		name := t.Spec.Name
		out = append(out,
			fact{kind: "tool", name: name, value: strings.TrimSpace(t.Spec.Description + "\n" + t.Spec.DescriptionZh)},
			fact{kind: "schema", name: name, value: indented(t.Spec.Params)},
			fact{kind: "limits", name: name, value: limitsText(t.Spec.Output)},
			fact{kind: "conduct", name: name, value: conduct(t)})
		if len(t.Spec.Examples) > 0 {
			text, _ := json.Marshal(t.Spec.Examples)
			out = append(out, fact{kind: "examples", name: name, value: indented(text)})
		}
	}
	return out
}

// limitsText returns the limits that a tool declares.
func limitsText(l tool.Limits) string {
	var parts []string
	add := func(yes bool, format string, args ...any) {
		if yes {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(l.MaxChars > 0, "%d characters", l.MaxChars)
	add(l.MaxLines > 0, "%d lines", l.MaxLines)
	add(l.Strategy != "", "%s", l.Strategy)
	add(l.Head+l.Tail > 0, "head %g, tail %g", l.Head, l.Tail)
	add(len(l.Keep) > 0, "keeps %s", strings.Join(l.Keep, " "))
	add(l.Archive != "", "archive %s", l.Archive)
	add(l.Timeout > 0, "timeout %s", l.Timeout)
	add(l.Memory > 0, "memory %s", l.Memory)
	if len(parts) == 0 {
		return "none declared"
	}
	return strings.Join(parts, ", ")
}

// conduct returns how a tool is run and what it claims about itself.
func conduct(t registry.Tool) string {
	parts := []string{"runs " + t.Export, "answers in " + string(t.Format)}
	for _, c := range []struct {
		yes  bool
		text string
	}{
		{t.EmptyOK, "may answer nothing"}, {t.Fresh, "in a new instance each time"}, {t.TTL > 0, "cached for " + t.TTL.String()}, {t.PerMinute > 0, fmt.Sprintf("%d calls a minute", t.PerMinute)},
		{t.Spec.Hints.ReadOnly, "says it changes nothing"}, {t.Spec.Hints.Idempotent, "says it may be repeated"}, {t.Spec.Hints.Network, "says it uses the network"},
	} {
		if c.yes {
			parts = append(parts, c.text)
		}
	}
	return strings.Join(parts, ", ")
}

func indented(text json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, text, "", "  ") != nil {
		return string(text)
	}
	return b.String()
}

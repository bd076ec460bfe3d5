package catalog

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weirhost/weir/host/internal/grant"
	"github.com/weirhost/weir/host/internal/linediff"
	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/internal/text"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// A fact is one thing that a version declares.
type fact struct {
	kind, name string
	value      tool.Text
	reason     tool.Text
	exceeds    func(before registry.Asks) bool // of a permission
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
		if old != nil && old.value.String() == f.value.String() && old.reason.String() == f.reason.String() && old.reason.Zh == f.reason.Zh {
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
		out = append(out, fact{"power", f.Name, own(f.Value), f.Reason, f.Exceeds})
	}
	out = append(out, fact{kind: "version", value: own(orUnnamed(m.Version))}, fact{kind: "module", value: own(p.WasmSHA256)},
		fact{kind: "manifest", value: own(p.ManifestSHA256)}, fact{kind: "description", value: own(m.Description)})
	out = append(out, settingsOf(m)...)
	for _, t := range m.Tools {
		name := t.Spec.Name
		out = append(out,
			fact{kind: "tool", name: name, value: own(strings.TrimSpace(t.Spec.Description + "\n" + t.Spec.DescriptionZh))},
			fact{kind: "schema", name: name, value: own(text.Indent(t.Spec.Params) + text.Indent(t.Spec.ParamsZh))},
			fact{kind: "limits", name: name, value: limitsText(t.Spec.Output)},
			fact{kind: "conduct", name: name, value: conduct(t)})
		if len(t.Spec.Examples) > 0 {
			examples, _ := json.Marshal(t.Spec.Examples)
			out = append(out, fact{kind: "examples", name: name, value: own(text.Indent(examples))})
		}
	}
	return out
}

// settingsOf lists the settings that a manifest declares.
func settingsOf(m registry.Manifest) []fact {
	var out []fact
	for _, s := range m.Settings {
		value := tool.Textf("%s, default %v: %s", s.Type, s.Default, s.Description)
		if s.Default == nil {
			value = tool.Textf("%s, to be set in tools.toml: %s", s.Type, s.Description)
		}
		out = append(out, fact{kind: "setting", name: s.Name, value: value})
	}
	return out
}

// maxDifference bounds the lines that are shown of a script, in bytes.
const maxDifference = 64 << 10

// scriptDifference says in which lines the scripts of two versions differ. It is empty if one
// of them is a module, or if a file has changed since it was read.
func scriptDifference(a, b *registry.Plugin) []plugin.Difference {
	if !a.IsScript() || !b.IsScript() || a.WasmSHA256 == b.WasmSHA256 {
		return nil
	}
	was, err := scriptOf(a)
	is, err2 := scriptOf(b)
	if err != nil || err2 != nil {
		return nil
	}
	d := plugin.Difference{Kind: "script", Name: filepath.Base(b.WasmPath)}
	d.Lines, d.MoreLines = linediff.OfStrangers(was, is, maxDifference)
	return []plugin.Difference{d}
}

// scriptOf returns the script of a plugin, without the map of its sources in the last line.
func scriptOf(p *registry.Plugin) (string, error) {
	files, _, err := p.Files()
	text := string(files[filepath.ToSlash(filepath.Clean(p.Manifest.Wasm))])
	if last := strings.LastIndexByte(strings.TrimRight(text, "\r\n"), '\n') + 1; strings.HasPrefix(text[last:], "//# sourceMappingURL=") {
		text = text[:last]
	}
	return text, err
}

// own returns a text that is the same in every language: the plugin's own words.
func own(s string) tool.Text {
	if s == "" {
		return tool.Text{}
	}
	return tool.Textf("%s", s)
}

// limitsText returns the limits that a tool declares.
func limitsText(l tool.Limits) tool.Text {
	var p parts
	p.addf(l.MaxChars > 0, "%d characters", l.MaxChars)
	p.addf(l.MaxLines > 0, "%d lines", l.MaxLines)
	p.addf(l.Strategy != "", "%s", l.Strategy)
	p.addf(l.Head+l.Tail > 0, "head %g, tail %g", l.Head, l.Tail)
	p.addf(len(l.Keep) > 0, "keeps %s", strings.Join(l.Keep, " "))
	p.addf(l.KeepContext > 0, "%d lines around each", l.KeepContext)
	p.addf(l.Archive != "", "archive %s", l.Archive)
	p.addf(l.Timeout > 0, "timeout %s", l.Timeout)
	p.addf(l.Memory > 0, "memory %s", l.Memory)
	p.addf(len(p) == 0, "none declared")
	return p.joined()
}

// conduct returns how a tool is run and what it claims about itself.
func conduct(t registry.Tool) tool.Text {
	var p parts
	p.addf(true, "runs %s", t.Export)
	p.addf(true, "answers in %s", t.Format)
	p.addf(t.EmptyOK, "may answer nothing")
	p.addf(t.Fresh, "in a new instance each time")
	p.addf(t.TTL > 0, "cached for %s", t.TTL)
	p.addf(t.PerMinute > 0, "%d calls a minute", t.PerMinute)
	p.addf(t.Spec.Hints.ReadOnly, "says it changes nothing")
	p.addf(t.Spec.Hints.Idempotent, "says it may be repeated")
	p.addf(t.Spec.Hints.Network, "says it uses the network")
	return p.joined()
}

// parts are the parts of a list in one line.
type parts []any

func (p *parts) addf(yes bool, format string, args ...any) {
	if yes {
		*p = append(*p, tool.Textf(format, args...))
	}
}

func (p parts) joined() tool.Text {
	return tool.Textf(strings.TrimSuffix(strings.Repeat("%s, ", len(p)), ", "), p...)
}

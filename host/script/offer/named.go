package offer

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/weirhost/weir/host/script"
	"github.com/weirhost/weir/host/script/named"
	"github.com/weirhost/weir/sdk/tool"
)

// granted returns the scripts that are tools of their own: those that the settings grant,
// unchanged since, under names that no other tool has.
func (t *Tools) granted() (out []*named.Script) {
	set := t.Settings()
	for _, name := range slices.Sorted(maps.Keys(set.Tools)) {
		if t.Taken != nil && t.Taken(name) {
			continue
		}
		if s, err := named.Read(set.Folder, name, set.Tools[name]); err == nil {
			out = append(out, s)
		}
	}
	return out
}

// Problems returns why granted scripts are not offered; none: all are. taken reports
// whether another tool has a name.
func Problems(set Settings, taken func(name string) bool) (out []tool.Text) {
	for _, name := range slices.Sorted(maps.Keys(set.Tools)) {
		_, err := named.Read(set.Folder, name, set.Tools[name])
		switch {
		case taken(name):
			out = append(out, tool.Textf("the script %s is no tool: another tool has its name; rename one of them", name))
		case errors.Is(err, named.ErrChanged):
			out = append(out, tool.Textf("the script %s is no tool: it has been changed since it was granted; read it, and grant it again in [scripts.tools]", name))
		case err != nil:
			out = append(out, tool.Textf("the script %s is no tool: %s; correct it, or remove it from [scripts.tools]", name, err))
		}
	}
	return out
}

// isGranted reports whether the settings grant a script of that name.
func (t *Tools) isGranted(name string) bool {
	_, ok := t.Settings().Tools[name]
	return ok && (t.Taken == nil || !t.Taken(name))
}

// named returns the script that a call of a granted tool runs.
func (t *Tools) named(by Caller, c tool.Call) (script.Script, *tool.Error) {
	set := t.Settings()
	n, err := named.Read(set.Folder, c.Tool, set.Tools[c.Tool])
	if err != nil {
		return script.Script{}, tool.Errorf(tool.UnknownTool, "do without it, and tell the person to read it and grant it again in [scripts.tools]", "the script %s cannot be called: it was changed since it was granted, or is gone", c.Tool)
	}
	args := map[string]any{}
	if len(c.Args) > 0 && json.Unmarshal(c.Args, &args) != nil {
		return script.Script{}, tool.Errorf(tool.BadArgs, "correct this and call the tool again", "the arguments of %s are no JSON object", c.Tool)
	}
	if fail := n.Check(args); fail != nil {
		return script.Script{}, fail
	}
	s := t.scriptOf(by, c, func(name string) bool { return slices.Contains(n.Tools, name) })
	s.Source, s.Args, s.As = n.Source, c.Args, n.Spec
	return s, nil
}

// scriptOf returns the script of a call, but for its source: it calls what the caller sees,
// except scripts and what may refuses.
func (t *Tools) scriptOf(by Caller, c tool.Call, may func(name string) bool) script.Script {
	s := script.Script{
		May: []string{}, Scope: by.Scope, CallID: c.ID, Turn: c.Turn, Locale: by.Locale,
		As: Spec(), Noted: true, Input: c.Args, MaxChars: c.MaxChars, Called: by.Called,
	}
	for _, spec := range by.Tools {
		if !t.Has(spec.Name) && may(spec.Name) {
			s.Tools, s.May = append(s.Tools, spec), append(s.May, spec.Name)
		}
	}
	return s
}

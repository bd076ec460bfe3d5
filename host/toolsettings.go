package host

import (
	"cmp"
	"maps"
	"path"
	"slices"

	"github.com/weirhost/weir/host/internal/bounds"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/tomledit"
	"github.com/weirhost/weir/host/internal/toolname"
	"github.com/weirhost/weir/sdk/tool"
)

// checkTools reports the first invalid setting of a tool, and returns the patterns among the
// names, those of more letters first.
func checkTools(tools map[string]ToolConfig) (patterns []string, err error) {
	for _, name := range slices.Sorted(maps.Keys(tools)) {
		if err := bounds.Check(tools[name].Limits); err != nil {
			return nil, msg.Errorf("the limits of the tool %s: %w", name, err)
		}
		if !toolname.IsPattern(name) {
			continue
		}
		if _, err := path.Match(name, ""); err != nil {
			return nil, msg.Errorf("%q is no pattern", name)
		}
		patterns = append(patterns, name)
	}
	slices.SortStableFunc(patterns, func(a, b string) int { return cmp.Compare(toolname.Letters(b), toolname.Letters(a)) })
	return patterns, nil
}

// of returns the settings for a tool: of each the first that states it, beginning with the
// table of its name, or else of its old form, or else of what its server calls it, if no other
// tool has the same, and then those of the patterns that fit it. Where its own table does not say whether it is disabled,
// one of any form of its name does. timed is the table of tools.toml that states
// Limits.Timeout; empty: none does.
func (s *activeSettings) of(n toolname.Names) (t ToolConfig, timed string) {
	add := func(table string, below ToolConfig) {
		if t.Limits.Timeout == 0 && below.Limits.Timeout != 0 {
			timed = "[tools." + tomledit.Key(table) + "]"
		}
		t = t.or(below)
	}
	for _, name := range n.Allowing() {
		if own, ok := s.Tools[name]; ok {
			add(name, own)
			break
		}
	}
	if t.Disabled == nil {
		for other, o := range s.Tools {
			if o.disabled() && toolname.Denied([]string{other}, n) {
				t.Disabled = o.Disabled
			}
		}
	}
	for _, pattern := range s.patterns {
		switch below := s.Tools[pattern]; {
		case toolname.MatchAllowed(pattern, n):
			add(pattern, below)
		case t.Disabled == nil && below.disabled() && toolname.MatchDenied(pattern, n):
			t.Disabled = below.Disabled
		}
	}
	return t, timed
}

// limitsOf returns the operator's limits for a tool.
func (h *Host) limitsOf(name string) tool.Limits {
	t, _ := h.settings.Load().of(h.Names(name))
	return t.Limits
}

func (t ToolConfig) disabled() bool { return t.Disabled != nil && *t.Disabled }

// or returns t with every setting that it leaves unstated taken from below.
func (t ToolConfig) or(below ToolConfig) ToolConfig {
	t.Limits = t.Limits.Or(below.Limits)
	if len(below.Config) > 0 {
		config := maps.Clone(below.Config)
		maps.Copy(config, t.Config)
		t.Config = config
	}
	t.Disabled = cmp.Or(t.Disabled, below.Disabled)
	t.PerMinute = cmp.Or(t.PerMinute, below.PerMinute)
	t.CacheTTL = cmp.Or(t.CacheTTL, below.CacheTTL)
	t.SummariseOver = cmp.Or(t.SummariseOver, below.SummariseOver)
	t.Parallel = cmp.Or(t.Parallel, below.Parallel)
	return t
}

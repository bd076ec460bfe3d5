package host

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/weirhost/weir/host/internal/toolname"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// A table with a pattern holds for every tool that fits, setting by setting: the tool's own
// table counts first, then the pattern with the most letters.
func TestSettingsByPattern(t *testing.T) {
	url := named(t, "get-Item", "get_list", "delete_all", "ping")
	h := served(t, func(c *Config) {
		c.Tools = map[string]ToolConfig{
			"*":                {Limits: tool.Limits{MaxChars: 700, MaxLines: 70}, PerMinute: new(7)},
			"s__*":             {Limits: tool.Limits{MaxChars: 800, Timeout: time.Minute}, Parallel: 8, Disabled: new(true), CacheTTL: new(time.Hour)},
			"s__get*":          {Limits: tool.Limits{MaxChars: 900}, Disabled: new(false)},
			"s__get_list":      {Parallel: 9, PerMinute: new(0)},
			"s__pin?":          {Disabled: new(false), Limits: tool.Limits{Timeout: 2 * time.Minute}},
			"s__DELETE*":       {Disabled: new(true)},
			"delete_al":        {Disabled: new(true)},
			"nobody__*":        {},
			"[a-c]__delete_al": {},
		}
	}, plugin.Server{Name: "s", URL: url}, plugin.Server{Name: "t", URL: url})
	type in struct {
		chars, lines, parallel, perMinute int
		timeout                           time.Duration
		cache                             time.Duration
	}
	for name, want := range map[string]*in{
		"s__get-Item":   {900, 70, 8, 7, time.Minute, time.Hour},
		"s__get_list":   {900, 70, 9, 0, time.Minute, time.Hour},
		"s__ping":       {800, 70, 8, 7, 2 * time.Minute, time.Hour},
		"s__delete_all": nil,
		"t__ping":       {700, 70, 64, 7, 5 * time.Minute, 0},
		"t__delete_all": {700, 70, 64, 7, 5 * time.Minute, 0},
	} {
		i, ok := h.Tool(name)
		if !ok || want == nil {
			if ok != (want != nil) {
				t.Errorf("%s is there: %t", name, ok)
			}
			continue
		}
		if got := (in{i.Effective.MaxChars, i.Effective.MaxLines, i.Parallel, i.PerMinute, i.Effective.Timeout, i.CacheTTL}); got != *want {
			t.Errorf("%s: %+v, want %+v", name, got, *want)
		}
	}
	if _, timed := h.settings.Load().of(toolname.Names{Name: "s__ping", Alone: "s__ping"}); timed != `[tools."s__pin?"]` {
		t.Errorf("%s", timed)
	}
	set := h.settings.Load()
	unknown := strings.Join(h.current.Load().Unknown(maps.Keys(set.Tools), maps.Keys(set.Grants)), " ")
	if unknown != "tools.[a-c]__delete_al tools.delete_al tools.nobody__*" {
		t.Errorf("%s", unknown)
	}
	bad := set.Settings
	bad.Tools = map[string]ToolConfig{"s__[": {}}
	if err := bad.Check(); err == nil || !strings.Contains(err.Error(), `"s__[" is no pattern`) {
		t.Errorf("%v", err)
	}
}

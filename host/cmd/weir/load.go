package main

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/BurntSushi/toml"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/daemon"
	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/internal/spots"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// A fault is one thing in tools.toml that a person should change.
type fault struct {
	File string `json:"file"`
	Line int    `json:"line"`
	Col  int    `json:"column"`
	Msg  string `json:"message"`
	Hint string `json:"hint,omitempty"`
}

func (f fault) String() string {
	s := f.Msg
	if f.File != "" {
		s = fmt.Sprintf("%s:%d:%d: %s", f.File, f.Line, f.Col, f.Msg)
	}
	if f.Hint != "" {
		s += " (" + f.Hint + ")"
	}
	return s
}

// faultText is a fault in the language of whoever reads it.
func (c *cli) faultText(f fault) string {
	f.Msg, f.Hint = c.text(f.Msg), c.text(f.Hint)
	return f.String()
}

// load reads the configuration with every reference expanded. All faults of
// the file come back together; secrets looks plugin secrets up.
func (c *cli) load(p paths) (s Settings, secrets lookup, faults []fault, err error) {
	vars, skipped, err := dotEnv(p.Config)
	if err != nil {
		return s, nil, nil, err
	}
	if skipped != "" {
		fmt.Fprintln(c.Err, "weir: "+c.text(skipped))
	}
	secrets = over(c.Lookup, vars)
	if p.Config == "" {
		s.Plugins.Folder = []FolderSettings{{Path: filepath.Join(p.Data, "plugins"), Trust: "ask"}}
	} else {
		text, err := os.ReadFile(p.Config)
		if err != nil {
			return s, nil, nil, usagef("check its permissions", "the configuration %s cannot be read", p.Config)
		}
		s, faults = decode(p.Config, string(text))
		if len(s.Plugins.Folder) == 0 {
			s.Plugins.Folder = []FolderSettings{{Path: filepath.Join(p.Data, "plugins"), Trust: "ask"}}
		}
	}
	if c.plugins != "" {
		if st, err := os.Stat(c.plugins); err != nil || !st.IsDir() {
			return s, nil, nil, usagef("give a folder that exists", "--plugins %s is not a folder", c.plugins)
		}
	}
	env := secrets
	if c.workspace != "" {
		if st, err := os.Stat(c.workspace); err != nil || !st.IsDir() {
			return s, nil, nil, usagef("give a folder that exists", "--workspace %s is not a folder", c.workspace)
		}
		env = over(func(name string) (string, bool) { return c.workspace, name == "WEIR_WORKSPACE" }, nil)
		env = either(env, secrets)
	}
	noteKeys(s.Models)
	written := map[string][]string{}
	for name, e := range s.Servers {
		written[name] = slices.Clone(e.Args)
	}
	expand(&s, env)
	digestTokens(&s, p.Config)
	for name, e := range s.Servers {
		e.written = written[name]
		s.Servers[name] = e
	}
	c.settle(&s, p)
	return s, secrets, faults, s.Telemetry.fromEnv(secrets)
}

// noteKeys keeps what expanding takes away: whether a model's key is a
// reference, and to which variable.
func noteKeys(models map[string]ModelSettings) {
	for name, m := range models {
		if ref := reference().FindStringSubmatch(m.Key); ref != nil {
			m.keyEnv = ref[1]
		}
		m.literal = m.Key != "" && !strings.Contains(m.Key, "${")
		models[name] = m
	}
}

// either asks first, then second.
func either(first, second lookup) lookup {
	return func(name string) (string, bool) {
		if v, ok := first(name); ok {
			return v, true
		}
		return second(name)
	}
}

// settle makes paths absolute: plugin folders stand beside the file, granted
// folders where the command was started, as a person would read them.
func (c *cli) settle(s *Settings, p paths) {
	base := filepath.Dir(p.Config)
	if c.plugins != "" {
		s.Plugins.Folder = []FolderSettings{{Path: c.plugins, Trust: "granted"}}
		base = "."
	}
	for i := range s.Plugins.Folder {
		if f := &s.Plugins.Folder[i]; !filepath.IsAbs(f.Path) {
			f.Path = filepath.Join(base, f.Path)
		}
	}
	for _, g := range s.Grants {
		for i := range g.Paths {
			if abs, err := filepath.Abs(g.Paths[i].Host); err == nil {
				g.Paths[i].Host = abs
			}
		}
	}
}

// keysBeside lists the keys of the table that a key stands in; nil: there is no
// such table.
func keysBeside(key toml.Key) (keys []string) {
	t := reflect.TypeFor[Settings]()
	for i, part := range key {
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
			t = t.Elem()
		}
		switch {
		case t.Kind() == reflect.Map && i < len(key)-1:
			t = t.Elem()
			continue
		case t.Kind() != reflect.Struct:
			return nil
		}
		var next reflect.Type
		keys = nil
		for _, f := range reflect.VisibleFields(t) {
			if name, _, _ := strings.Cut(f.Tag.Get("toml"), ","); name != "" && name != "-" {
				keys = append(keys, name)
				if name == part {
					next = f.Type
				}
			}
		}
		if next == nil {
			if i < len(key)-1 {
				return nil
			}
			return keys
		}
		t = next
	}
	return keys
}

// decode reads the text of a tools.toml and collects everything wrong with it.
func decode(file, text string) (Settings, []fault) {
	var s Settings
	md, err := spots.Decode(text, &s)
	tree := spots.Read(text)
	s.places = places{file, tree}
	at := func(key ...string) (line, col int) { return tree.Position(key...) }
	if err != nil {
		return s, []fault{tomlFault(file, text, err, at)}
	}
	var faults []fault
	for _, key := range md.Undecoded() {
		if free(key) {
			continue
		}
		line, col := at(key...)
		hint := "check the spelling; tools.toml in the repository explains every key"
		if near := registry.Nearest(key[len(key)-1], keysBeside(key)); len(near) > 0 {
			hint = "did you mean " + strings.Join(near, " or ") + "?"
		}
		faults = append(faults, fault{file, line, col, fmt.Sprintf("unknown key %s", key), hint})
	}
	check(&s, func(msg, hint string, key ...string) {
		line, col := at(key...)
		faults = append(faults, fault{file, line, col, msg, hint})
	})
	slices.SortStableFunc(faults, func(a, b fault) int { return a.Line - b.Line })
	return s, faults
}

// free reports whether a key lies in a table of the operator's own making.
func free(key toml.Key) bool {
	return len(key) > 2 && ((key[0] == "tools" || key[0] == "grants") && key[2] == "config" || key[0] == "models" && key[2] == "extra")
}

// typeError is how the library tells a value of the wrong type: not as its
// ParseError, but with the key in the text.
var typeError = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^toml: line (\d+) \(last key "(.+)"\): (.*)$`) })

// mismatch is how it tells one of a table, with the name of the type in Go.
var mismatch = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^type mismatch for \S+: expected (\w+) but found (\w+)`)
})

func tomlFault(file, text string, err error, at func(...string) (int, int)) fault {
	var pe toml.ParseError
	if errors.As(err, &pe) {
		line, col := breaks(text, pe.Position)
		return fault{file, line, col, strings.TrimPrefix(pe.Message, "toml: "), pe.Usage}
	}
	m := typeError().FindStringSubmatch(err.Error())
	if m == nil {
		return fault{file, 1, 1, strings.TrimPrefix(err.Error(), "toml: "), ""}
	}
	line, col := at(strings.Split(m[2], ".")...)
	if n, convErr := strconv.Atoi(m[1]); convErr == nil && n != line {
		line, col = n, 1
	}
	if t := mismatch().FindStringSubmatch(m[3]); t != nil {
		return fault{file, line, col, fmt.Sprintf("%s: it is a %s and should be a %s", m[2], t[2], t[1]), ""}
	}
	msg := strings.NewReplacer("type slice", "type list", "incompatible types: TOML value has type ", "it is of type ", "; destination has type ", " and should be of type ").Replace(m[3])
	return fault{file, line, col, m[2] + ": " + msg, ""}
}

// breaks is where a text stops being TOML, both numbers from 1. The offset
// alone is right: the library's own column is that of the line before where
// something stands first in its line, and counts bytes.
func breaks(text string, p toml.Position) (line, col int) {
	text = strings.TrimPrefix(text, "\uFEFF") // as the library counts
	line, col = spots.LineCol(text, max(p.Start, 0))
	if line != p.Line && p.Line > 0 {
		return p.Line, 1
	}
	return line, col
}

// check reports values that cannot be meant.
func check(s *Settings, bad func(msg, hint string, key ...string)) {
	oneOf := func(value string, allowed []string, key ...string) {
		if value != "" && !strings.Contains(value, "${") && !slices.Contains(allowed, value) {
			bad(fmt.Sprintf("%s is %q", strings.Join(key, "."), value), "use one of: "+strings.Join(allowed, ", "), key...)
		}
	}
	strategies := []string{"head_tail", "head_only", "tail_only", "json", "summarize"}
	locales := []string{"auto", "en", "zh"}
	oneOf(s.Locale, locales, "locale")
	oneOf(s.Log.Level, []string{"trace", "debug", "info", "warn", "error", "off"}, "log", "level")
	oneOf(s.Log.Format, []string{"text", "json"}, "log", "format")
	oneOf(s.Limits.Strategy, strategies, "limits", "strategy")
	oneOf(s.Archive.Trigger, []string{string(agent.TriggerModel), string(agent.TriggerKeyword), string(agent.TriggerSemantic), string(agent.TriggerHybrid)}, "archive", "trigger")
	if s.Archive.Semantic > 1 {
		bad(fmt.Sprintf("semantic_threshold is %v", s.Archive.Semantic), "give a score from 0 to 1; negative means that the best match is always good enough", "archive", "semantic_threshold")
	}
	oneOf(s.Archive.Scope, []string{"conversation", "user"}, "archive", "scope")
	oneOf(s.Sandbox.Engine, []string{host.EngineWazero, host.EngineExtism}, "sandbox", "engine")
	oneOf(s.Sandbox.Isolation, []string{string(host.InProcess), string(host.Inline)}, "sandbox", "isolation")
	checkShown(s.Limits.MaxChars, s.Limits.Head, s.Limits.Tail, bad, "limits")
	if n := s.Limits.CeilingChars; n != 0 && n < tool.MinMaxChars {
		bad(fmt.Sprintf("ceiling_chars is %d", n), fmt.Sprintf("%d is the least; 0 means %d", tool.MinMaxChars, tool.DefaultCeiling), "limits", "ceiling_chars")
	}
	checkLines(s.Limits.MaxLines, bad, "limits")
	for name, t := range s.Tools {
		checkLines(t.MaxLines, bad, "tools", name)
		oneOf(t.Strategy, strategies, "tools", name, "strategy")
		oneOf(t.Archive, []string{"auto", "always", "never"}, "tools", name, "archive")
		checkShown(t.MaxChars, t.Head, t.Tail, bad, "tools", name)
		if err := limit.CheckKeep(t.Keep); err != nil {
			bad(err.Error(), "write RE2 expressions", "tools", name, "keep")
		}
	}
	for i, f := range s.Plugins.Folder {
		oneOf(f.Trust, []string{"ask", "granted"}, "plugins", "folder", fmt.Sprint(i), "trust")
		if f.Path == "" {
			bad("this plugin folder has no path", `write path = "./plugins"`, "plugins", "folder", fmt.Sprint(i))
		}
	}
	checkServers(s.Servers, bad)
	checkTelemetry(s.Telemetry, bad)
	providers := append(presetNames(), daemon.DemoModel)
	for name, m := range s.Models {
		if m.Provider == "" {
			bad(fmt.Sprintf("the model %s has no provider", name), "use one of: "+strings.Join(providers, ", "), "models", name)
		}
		oneOf(m.Provider, providers, "models", name, "provider")
		checkPrice(m.Price, bad, "models", name, "price")
	}
	checkAgent(s, s.Agent, oneOf, bad, "agent")
	for name, a := range s.Agents {
		if name == "default" {
			bad("[agents.default] is [agent] itself", "write its keys below [agent]", "agents", name)
		}
		checkAgent(s, a, oneOf, bad, "agents", name)
	}
	checkUsers(s, bad)
	checkApprovals(s, bad)
	for name, g := range s.Grants {
		for i, x := range g.Secrets {
			if x.Name == "" || x.Host == "" && x.Header+x.Format != "" {
				bad("a granted secret is a name, or a table with name and host", `write secrets = ["API_KEY"], or for a plugin made for another host secrets = [{ name = "API_KEY", host = "api.example.com" }]`, "grants", name, "secrets", fmt.Sprint(i))
			}
		}
		for i, p := range g.Paths {
			oneOf(p.Mode, []string{"ro", "rw"}, "grants", name, "paths", fmt.Sprint(i), "mode")
			if !strings.HasPrefix(p.Guest, "/") || p.Host == "" {
				bad("a granted path needs guest = \"/…\" and host = \"…\"", "", "grants", name, "paths", fmt.Sprint(i))
			}
		}
	}
}

// checkApprovals reports what the host would refuse, at its place in the file.
func checkApprovals(s *Settings, bad func(string, string, ...string)) {
	a := s.Approvals
	for _, v := range []*string{&a.Default, &a.Network} {
		if strings.Contains(*v, "${") { // what it will be is known later
			*v = ""
		}
	}
	approvals(a).Check(func(msg, hint string, key ...string) {
		bad(msg, hint, append([]string{"approvals"}, key...)...)
	})
}

func checkPrice(p PriceSettings, bad func(string, string, ...string), table ...string) {
	for key, v := range map[string]float64{"prompt": p.Prompt, "completion": p.Completion, "cached_prompt": p.CachedPrompt, "cache_write": p.CacheWrite} {
		if !(v >= 0) || math.IsInf(v, 1) {
			bad(fmt.Sprintf("%s is %g", key, v), "write the price of a million tokens; 0: unknown", append(slices.Clone(table), key)...)
		}
	}
	if len(p.Currency) > 8 {
		bad(fmt.Sprintf("currency is %q", p.Currency), `write its letters, for example "USD" or "CNY"`, append(slices.Clone(table), "currency")...)
	}
}

func checkShown(chars int, head, tail float64, bad func(string, string, ...string), table ...string) {
	at := func(key string) []string { return append(slices.Clone(table), key) }
	if chars != 0 && chars < tool.MinMaxChars {
		bad(fmt.Sprintf("max_chars is %d", chars), fmt.Sprintf("%d is the least: the notice alone takes %d", tool.MinMaxChars, tool.NoticeChars), at("max_chars")...)
	}
	if !(head >= 0 && tail >= 0 && head+tail <= 1) { // which holds for no NaN
		bad(fmt.Sprintf("head %g and tail %g are not shares of one budget", head, tail), "each 0 or more, together at most 1", at("head")...)
	}
}

func checkLines(lines int, bad func(string, string, ...string), table ...string) {
	if lines < 0 || lines == 1 {
		bad(fmt.Sprintf("max_lines is %d", lines), "2 is the least, for the notice takes a line; 0 means the default", append(slices.Clone(table), "max_lines")...)
	}
}

func checkAgent(s *Settings, a AgentSettings, oneOf func(string, []string, ...string), bad func(string, string, ...string), table ...string) {
	at := func(key string) []string { return append(slices.Clone(table), key) }
	oneOf(a.Mode, []string{string(agent.ModeAuto), string(agent.ModePrompt), string(agent.ModeNative)}, at("mode")...)
	oneOf(a.Locale, []string{"auto", "en", "zh"}, at("locale")...)
	if _, ok := s.Models[a.Model]; a.Model != "" && a.Model != daemon.DemoModel && !ok {
		known := slices.Sorted(maps.Keys(s.Models))
		bad(fmt.Sprintf("there is no model %q", a.Model), "add [models."+a.Model+"], or use one of: "+strings.Join(append(known, daemon.DemoModel), ", "), at("model")...)
	}
}

// settings loads the configuration and makes any fault an error.
func (c *cli) settings(p paths) (Settings, lookup, error) {
	s, secrets, faults, err := c.load(p)
	if err != nil {
		return s, nil, err
	}
	if len(faults) > 0 {
		lines := make([]string, len(faults))
		for i, f := range faults {
			lines[i] = c.faultText(f)
		}
		return s, nil, usagef("correct the file; `weir config validate` checks it", "%s", strings.Join(lines, "\n      "))
	}
	return s, secrets, nil
}

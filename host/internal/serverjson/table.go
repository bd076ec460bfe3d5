package serverjson

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/weirhost/weir/host/internal/tomledit"
)

// usualTime is how long a call may take where tools.toml does not say it. A shorter timeout is
// not taken over: in some clients it is that of a connection.
const usualTime = 5 * time.Minute

// TOML returns the table of a server in tools.toml. trustHints is whether its hints are
// believed.
func (s Server) TOML(name string, trustHints bool) string {
	var b strings.Builder
	b.WriteString("[mcpServers." + tomledit.Key(name) + "]\n")
	put := func(key string, v any) {
		if text, err := tomledit.Literal(v); err == nil { // texts and lists of them have one
			b.WriteString(key + " = " + text + "\n")
		}
	}
	for _, one := range [][2]string{{"command", s.Command}, {"url", s.URL}, {"cwd", s.Dir}} {
		if one[1] != "" {
			put(one[0], one[1])
		}
	}
	for i, list := range [][]string{s.Args, s.Allow, s.Deny} {
		if len(list) > 0 {
			put([]string{"args", "allow", "deny"}[i], anys(list))
		}
	}
	for i, set := range []map[string]string{s.Env, s.Headers} {
		if len(set) > 0 {
			b.WriteString([]string{"env", "headers"}[i] + " = " + inline(set) + "\n")
		}
	}
	if s.Timeout > usualTime {
		put("timeout", s.Timeout.String())
	}
	if trustHints {
		put("trust_hints", true)
	}
	if s.Disabled {
		put("disabled", true)
	}
	return b.String()
}

func anys(list []string) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}

// inline returns a set of texts as an inline table.
func inline(set map[string]string) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(set)) {
		text, _ := tomledit.Literal(set[name]) // a text has one
		parts = append(parts, tomledit.Key(name)+" = "+text)
	}
	return "{ " + strings.Join(parts, ", ") + " }"
}

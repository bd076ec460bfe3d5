package config

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// UserTable returns the tables of a user as TOML. It omits keys without a value.
func UserTable(name string, u UserSettings) string {
	var b strings.Builder
	table := "users." + tomlKey(name)
	put := func(key, value string) {
		if value != "" && value != `""` && value != "0" && value != "[]" {
			fmt.Fprintf(&b, "%s = %s\n", key, value)
		}
	}
	list := func(names []string) string { return List(names, Quote) }
	fmt.Fprintf(&b, "[%s]\n", table)
	put("token_sha256", Quote(u.TokenSHA256))
	put("profiles", list(u.Profiles))
	put("models", list(u.Models))
	put("tools", list(u.Tools))
	put("deny_tools", list(u.DenyTools))
	put("locale", Quote(u.Locale))
	if q := u.Quota; q != (QuotaSettings{}) {
		fmt.Fprintf(&b, "\n[%s.quota]\n", table)
		put("requests_per_minute", strconv.Itoa(q.PerMinute))
		put("concurrent_turns", strconv.Itoa(q.Concurrent))
		put("tokens_per_day", strconv.FormatInt(q.TokensPerDay, 10))
		cost := strconv.FormatFloat(q.CostPerDay, 'f', -1, 64)
		if q.CostPerDay != 0 && !strings.Contains(cost, ".") {
			cost += ".0"
		}
		put("cost_per_day", cost)
		put("currency", Quote(q.Currency))
		put("archive_bytes", strconv.FormatInt(int64(q.ArchiveBytes), 10))
	}
	return b.String()
}

// tomlKey returns a name as a key, in quotes if it contains dots.
func tomlKey(name string) string {
	if strings.Contains(name, ".") {
		return strconv.Quote(name)
	}
	return name
}

// tableHeader matches a line that begins a table.
var tableHeader = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[ \t]*\[{1,2}[ \t]*([^\]]*?)[ \t]*\]{1,2}[ \t]*(#.*)?$`)
})

// WithoutTables returns the text of a TOML file without a table and the tables below
// it. All other text does not change.
func WithoutTables(text, table string) string {
	var out []string
	inside := false
	for _, line := range strings.Split(text, "\n") {
		if m := tableHeader().FindStringSubmatch(line); m != nil {
			name := strings.NewReplacer(`"`, "", "'", "", " ", "", "\t", "").Replace(m[1])
			inside = name == table || strings.HasPrefix(name, table+".")
			for inside && len(out) > 0 && strings.TrimSpace(out[len(out)-1]) == "" {
				out = out[:len(out)-1]
			}
		}
		if !inside {
			out = append(out, line)
		}
	}
	return strings.TrimRight(strings.Join(out, "\n"), "\n") + "\n"
}

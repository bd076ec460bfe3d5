package turns

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weirhost/weir/agent"
)

// Messages have the same mark exactly when they differ in white space only.
func TestMarkOf(t *testing.T) {
	message := rapid.Custom(func(t *rapid.T) Said {
		return Said{rapid.SampledFrom([]agent.Role{agent.RoleUser, agent.RoleAssistant, agent.RoleResults}).Draw(t, "role"), rapid.SampledFrom([]string{"a", "b", "ab", " a", "user", ""}).Draw(t, "text"),
			rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "ab"}), 0, 2).Draw(t, "ids")}
	})
	plain := func(messages []Said) string {
		var b strings.Builder
		for _, s := range messages {
			fmt.Fprintf(&b, "%s %q %q\n", s.Role, strings.TrimSpace(s.Text), s.IDs)
		}
		return b.String()
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.SliceOfN(message, 0, 4).Draw(t, "a"), rapid.SliceOfN(message, 0, 4).Draw(t, "b")
		if ma, mb := MarkOf(a), MarkOf(b); ma != "" && (ma == mb) != (plain(a) == plain(b)) {
			t.Fatalf("%q and %q: marks %s and %s", a, b, ma, mb)
		}
	})
}

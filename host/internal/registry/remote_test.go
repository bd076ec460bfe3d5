package registry

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weirhost/weir/host/internal/toolname"
)

func TestRemoteNames(t *testing.T) {
	long := strings.Repeat("LongName", 8)
	for _, row := range []struct{ names, want []string }{
		{[]string{"getIssue", "get-issue", "UPPER-case", "a_b"}, []string{"s__getIssue", "s__get-issue", "s__UPPER-case", "s__a_b"}},
		{[]string{"a.b", "a_b"}, []string{"s__a_b__2e7336", "s__a_b"}},
		{[]string{"a_b", "a.b"}, []string{"s__a_b", "s__a_b__2e7336"}},
		{[]string{"a.b", "a b"}, []string{"s__a_b__2e7336", "s__a_b__c8687a"}},
		{[]string{"a.b", "a.b"}, []string{"s__a_b", "s__a_b"}},
		{[]string{"_a__b-", "7z", "读", "été"}, []string{"s__a_b", "s__p7z", "", "s__t"}},
		{[]string{long}, []string{"s__" + long[:54] + "_" + "5969c3"}},
		{[]string{long[:61]}, []string{"s__" + long[:61]}},
		{[]string{strings.Repeat("a", 257)}, []string{""}},
	} {
		if got := RemoteNames("S", row.names); !slices.Equal(got, row.want) {
			t.Errorf("%q: %q, want %q", row.names, got, row.want)
		}
	}
}

// Different names stay different, and fit what providers accept. What a name becomes does not
// depend on the order of the list, and the old form of one that is not long is what it was.
func TestRemoteNamesAreDistinct(t *testing.T) {
	one := rapid.OneOf(rapid.StringMatching(`[aAbB]{1,2}[-_. ]{0,2}[aA]?`), rapid.StringMatching(`[a-zA-Z0-9_./-]{20,70}`))
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfDistinct(one, func(s string) string { return s }).Draw(t, "names")
		got := RemoteNames("my-server", names)
		seen := map[string]string{}
		for i, name := range got {
			if name == "" && cleanName(names[i]) == "" {
				continue
			}
			if len(name) > maxToolName || seen[name] != "" {
				t.Fatalf("%q and %q become %s", names[i], seen[name], name)
			}
			seen[name] = names[i]
			short := strings.TrimPrefix(name, "my_server__")
			old := strings.TrimPrefix(toolname.Old(name), "my_server__")
			if short == "" || strings.Trim(short, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" || len(old) <= maxToolName/2 && old != cleanName(names[i]) {
				t.Fatalf("%q becomes %s, in the old form %s, which was %s", names[i], name, old, cleanName(names[i]))
			}
		}
		turned, other := slices.Clone(names), slices.Clone(got)
		slices.Reverse(turned)
		slices.Reverse(other)
		if again := RemoteNames("my-server", turned); !slices.Equal(again, other) {
			t.Fatalf("in another order: %q, %q", again, other)
		}
	})
}

package text

import (
	"strings"
	"testing"
)

func TestClean(t *testing.T) {
	for _, row := range []struct{ what, in, want string }{
		{"plain text", "Search files.\n\tIn 目录, naïve ﬁ 🙂", "Search files.\n\tIn 目录, naïve ﬁ 🙂"},
		{"control characters", "a\x00\x07\x1b[31mb\x7f\u0085c\r\n", "a[31mbc\n"},
		{"directions", "a\u202eb\u2066c\u200fd\u061c", "abcd"},
		{"no width", "a\u200bb\u200cc\u200dd\u2060e\ufefff\u00adg", "abcdefg"},
		{"tags", "a\U000e0001\U000e0041\U000e007fb", "ab"},
		{"variation selectors", "a\ufe0fb\U000e0100c\u180bd", "abcd"},
		{"fillers", "a\u3164b\uffa0c\u115fd\u034fe\u2800f\u17b4", "abcdef"},
		{"private and no characters", "a\ue000b\U000f0000c\ufffed", "abcd"},
		{"marks piled up", "e" + strings.Repeat("\u0301", 50) + "f", "e" + strings.Repeat("\u0301", 6) + "f"},
		{"marks in their place", "שָׁ֑לוֹם", "שָׁ֑לוֹם"},
		{"line separators", "a\u2028b\u2029c", "a\nb\nc"},
	} {
		if got := Clean(row.in); got != row.want {
			t.Errorf("%s: %+q became %+q, want %+q", row.what, row.in, got, row.want)
		}
		if again := Clean(Clean(row.in)); again != Clean(row.in) {
			t.Errorf("%s: cleaning twice changes %+q", row.what, again)
		}
	}
}

func TestLookalike(t *testing.T) {
	for _, row := range []struct {
		a, b string
		want bool
	}{
		{"read_file", "readfile", true}, {"search", "search_", true}, {"tool", "t0o1", true}, {"form", "forrn", true}, {"view", "vievv", true},
		{"read_file", "read_files", false}, {"grep", "grap", false}, {"load", "road", false},
	} {
		if got := Lookalike(row.a) == Lookalike(row.b); got != row.want {
			t.Errorf("%s and %s: Lookalike is %v", row.a, row.b, got)
		}
	}
}

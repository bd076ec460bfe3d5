package find

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestRequiredLiterals(t *testing.T) {
	for _, tc := range []struct {
		expr string
		want []string
	}{
		{"error", []string{"error"}},
		{"error|panic", []string{"error", "panic"}},
		{"^E   ", []string{"E   "}},
		{`\w+Error: .*`, []string{"Error: "}},
		{"(FAIL|FATAL)+ x", []string{"FAIL", "FATAL"}},
		{"^E(rror|xit) (code|status)", []string{"Error code", "Error status", "Exit code", "Exit status"}},
		{"x?[ab]c", []string{"xac", "xbc", "ac", "bc"}},
		{"(?i)Task failed", []string{" failed"}}, // s and k fold to letters beyond ASCII
		{"(?i)ks", nil},
		{`\d+`, nil},         // no literal at all
		{"a*", nil},          // may match nothing
		{"error|[0-9]", nil}, // one alternative has none
		{"(?:abc){2,3}", []string{"abcabc"}},
		{"(?:abc){0,3}", nil},
		{"(", nil},
	} {
		var got []string
		for _, n := range requiredLiterals(tc.expr) {
			got = append(got, n.lit)
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("literals of %s: %q, want %q", tc.expr, got, tc.want)
		}
	}
}

// The literals only save time. Without them, the same lines match.
func TestLiteralsFindTheSameLines(t *testing.T) {
	exprs := []string{"error", "(?i)error|FAIL", "^E ", "x$", `[a-c]+z`, "(?i)task", "(?i)K", "ab|ba|zz", "(a|b)?[xz]+", "E(RR|x)?", "a(b|c)z|no+", `\bno\b`, "中", "(?i)é1"}
	word := rapid.SampledFrom([]string{"error", "ERROR", "Fail", "E ", "x", "abz", "ta\u017fk", "TASK", "\u212a", "ba", "no", "中", "É1", " ", "\n", "\n\n"})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(word, 0, 80).Draw(t, "words"), "")
		expr := rapid.SampledFrom(exprs).Draw(t, "expr")
		f := NewSet([]string{expr}).Begin().finders[0]
		var got []string
		for pos := 0; f.next(text, pos); pos = f.found.end + 1 {
			got = append(got, text[f.found.start:f.found.end])
		}
		var want []string
		re := regexp.MustCompile(expr)
		for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
			if text != "" && re.MatchString(line) {
				want = append(want, line)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%s in %q: %q, want %q", expr, text, got, want)
		}
	})
}

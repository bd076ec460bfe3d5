package toolset

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weirhost/weir/agent/parse/internal/lex"
	"github.com/weirhost/weir/sdk/tool"
)

// A name is found wherever it is in a text, as by a search for each name.
func TestAreNamed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfN(rapid.StringMatching(`[abAB_.-]{1,4}`), 1, 6).Draw(t, "names")
		text := rapid.StringMatching(`[abcAB_.\\ -]{0,12}`).Draw(t, "text")
		var specs []tool.Spec
		for _, name := range names {
			specs = append(specs, tool.Spec{Name: name})
		}
		want := slices.ContainsFunc(names, func(name string) bool { return strings.Contains(lex.Fold(text), lex.Fold(name)) })
		if got := New(specs, false).AreNamed(text); got != want {
			t.Fatalf("AreNamed is %v", got)
		}
	})
}

func BenchmarkAreNamed(b *testing.B) {
	var specs []tool.Spec
	for _, verb := range strings.Fields("archive rename print translate approve reject merge export encrypt publish") {
		for c := range 51 {
			specs = append(specs, tool.Spec{Name: "office__" + verb + "_" + strings.Repeat(string(rune('a'+c%26)), 3+c/26)})
		}
	}
	s, text := New(specs, false), strings.Repeat("The office of the company archives one invoice after another. ", 1000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		s.AreNamed(text)
	}
}

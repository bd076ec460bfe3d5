package snippet

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestClip(t *testing.T) {
	for _, row := range []struct {
		in   string
		n    int
		want string
	}{
		{"abc", 3, "abc"},
		{"abcd", 3, "ab…"},
		{"abcd", 1, "…"},
		{"abcd", 0, ""},
		{"abcd", -1, ""},
		{"权限管理", 3, "权限…"},
		{"ab cd", 4, "ab…"},            // no space in front of the sign
		{"xe\u0301y", 3, "x…"},         // the mark stays with its letter or goes with it
		{"x👨\u200d👩\u200d👧y", 4, "x…"}, // so does a family
		{"x👍\U0001F3FDyz", 3, "x…"},    // and a skin
		{"a" + strings.Repeat("\u0301", 200), 150, "a" + strings.Repeat("\u0301", 148) + "…"}, // but not for ever
	} {
		if got := Clip(row.in, row.n); got != row.want {
			t.Errorf("Clip(%q, %d) = %q, want %q", row.in, row.n, got, row.want)
		}
	}
}

func TestClipLineReadsOnlyWhatItNeeds(t *testing.T) {
	piece := rapid.SampledFrom([]string{"a", " ", "\n\n", "\t", "水", "e\u0301", "👩‍💻", "\xff", "\x00", "word"})
	rapid.Check(t, func(t *rapid.T) {
		s, n := strings.Join(rapid.SliceOfN(piece, 0, 40).Draw(t, "pieces"), ""), rapid.IntRange(-1, 30).Draw(t, "n")
		if got, want := ClipLine(s, n), Clip(OneLine(s), n); got != want {
			t.Fatalf("%q cut to %d: %q, want %q", s, n, got, want)
		}
	})
}

// A line of a snippet is one of the text, and the lines with the most words are chosen.
func TestLines(t *testing.T) {
	text := "one\ntwo needle\nthree Needle hay\nfour hay\nfive needle HAY\n"
	got := Lines(text, Words("needle hay needle"), 2)
	if len(got) != 2 || got[0] != (Line{3, 2, "three Needle hay"}) || got[1] != (Line{5, 2, "five needle HAY"}) {
		t.Errorf("%+v", got)
	}
	if got := Lines(text, []string{"absent"}, 2); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}

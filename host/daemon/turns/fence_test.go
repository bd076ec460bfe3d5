package turns

import (
	"strings"
	"testing"
)

// The code fence around an answer is taken out, however the text is cut, and nothing else.
func TestFence(t *testing.T) {
	for answer, want := range map[string]string{
		"```json\n{\"a\":1}\n```":           `{"a":1}`,
		"\n ```\n{\"a\":\"`x`\"}\n```\n":    "{\"a\":\"`x`\"}",
		`{"a":"` + "```" + `"}`:             `{"a":"` + "```" + `"}`,
		"plain `code`":                      "plain `code`",
		"```json\n{\"a\":1}\n``` and words": "{\"a\":1}\n``` and words",
		"```":                               "",
		"``":                                "``",
		"":                                  "",
		"  {}  ":                            "  {}  ",
	} {
		for size := 1; size <= len(answer)+1; size++ {
			var f Fence
			var got strings.Builder
			for rest := answer; rest != ""; {
				n := min(size, len(rest))
				got.WriteString(f.Without(rest[:n]))
				rest = rest[n:]
			}
			got.WriteString(f.Rest())
			if strings.TrimRight(got.String(), "\n") != strings.TrimRight(want, "\n") {
				t.Errorf("%q in pieces of %d: %q, want %q", answer, size, got.String(), want)
			}
		}
	}
	if got := Unfenced("```json\n{\"a\":1}\n```"); strings.TrimSpace(got) != `{"a":1}` {
		t.Errorf("a whole answer: %q", got)
	}
}

package term

import (
	"strings"
	"testing"
)

func TestReveal(t *testing.T) {
	for in, want := range map[string]string{
		"plain\n\ttext 中文　é\r\n": "plain\n\ttext 中文　é\r\n",
		"a\u202eb\u200bc":        `a\u202eb\u200bc`,
		"\x1b[2J\rx\u009b":       `\u001b[2J\u000dx\u009b`,
		"\xff\xe5":               `\xff\xe5`,
		"\U000e0041\u3164❤️":     `\udb40\udc41\u3164❤️`,
		"\ufffd":                 "\ufffd",
	} {
		if got := Reveal(in); got != want {
			t.Errorf("%q: %q", in, got)
		}
		for size := 1; size < 5; size++ { // however it is divided
			var out strings.Builder
			c := &Cleaner{W: &out, Clean: Reveal}
			for i := 0; i < len(in); i += size {
				if n, err := c.Write([]byte(in[i:min(i+size, len(in))])); err != nil || n != min(size, len(in)-i) {
					t.Fatal(n, err)
				}
			}
			if err := c.Flush(); err != nil || out.String() != want {
				t.Errorf("%q in pieces of %d: %q, %v", in, size, out.String(), err)
			}
		}
	}
}

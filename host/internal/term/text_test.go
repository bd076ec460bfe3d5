package term

import "testing"

func TestCalm(t *testing.T) {
	for in, want := range map[string]string{
		"plain\n\ttext 中文 é":     "plain\n\ttext 中文 é",
		"\x1b[8mhidden\x1b[2J":   "[8mhidden[2J",
		"a\u202eb\u2066c\u200fd": "abcd",
		"\u009b31m\r\x07":        "31m",
	} {
		if got := Calm(in); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}

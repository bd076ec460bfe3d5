package limit

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestVisible(t *testing.T) {
	tests := []struct{ in, want string }{
		{"", ""},
		{`{"a": "plain – 中文 é 😀"}`, `{"a": "plain – 中文 é 😀"}`},
		{"two\nlines", "two\nlines"},
		{"\x1b[2Jgone\r\t\x00\x7f", `\u001b[2Jgone\u000d\u0009\u0000\u007f`},
		{"a\u202eb\u2066c", `a\u202eb\u2066c`},               // the order of others
		{"a\u200bb\ufeffc\u00add", `a\u200bb\ufeffc\u00add`}, // no width
		{"a\u00a0b\u3000c", `a\u00a0b\u3000c`},               // blanks of other kinds
		{"a\u2028b", `a\u2028b`},                             // a line end that is none here
		{"x\ufe0fy\U000e0101z", `x\ufe0fy\udb40\udd01z`},     // variations
		{"\U000e0041\U000e0042", `\udb40\udc41\udb40\udc42`}, // tags: invisible text
		{"\u3164\u115f\u034f", `\u3164\u115f\u034f`},         // letters that show nothing
		{"\ue000\U000f0000", `\ue000\udb80\udc00`},           // private use: whatever the font says
		{"a\xffb\xc3", `a\xffb\xc3`},                         // no UTF-8
		{"\u009b31m", `\u009b31m`},                           // an escape in one character
	}
	for _, tt := range tests {
		if got := Visible(tt.in); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.in, got, tt.want)
		}
	}
}

func FuzzVisible(f *testing.F) {
	for _, s := range []string{"", "a", "\x1b[31m\u202e", "\U000e0041\xff", `{"a":"\u0000"}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v := Visible(s)
		if Visible(v) != v {
			t.Fatalf("not idempotent: %q", v)
		}
		for _, r := range v {
			if r == utf8.RuneError || r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
				t.Fatalf("%q shows %q", v, r)
			}
		}
		// In JSON the escaped text still means the same.
		var text bytes.Buffer
		enc := json.NewEncoder(&text)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(s); err != nil || !utf8.ValidString(s) {
			return
		}
		shown := Visible(text.String())
		var back string
		if err := json.Unmarshal([]byte(shown), &back); err != nil || back != s {
			t.Fatalf("%q came back as %q: %v", s, back, err)
		}
	})
}

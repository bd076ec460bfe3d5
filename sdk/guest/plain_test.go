package guest

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// texts are stretches of plain text, at every place to the words in which they are
// read, with something else between them.
func texts() *rapid.Generator[string] {
	other := rapid.SampledFrom([]string{"", "\"", "\\", "\x00", "\x1f", " ", "\x7f", "\x80", "\xff", "\xe4\xbd", "\xed\xa0\x80", "\xe0\x80\x80", "\xef\xbf\xbd", "\u2028", "é", "你", "大坝", "한", "🌍", `\n`, `\u00e9`, "!", "~", "["})
	return rapid.Custom(func(t *rapid.T) string {
		var b strings.Builder
		for range rapid.IntRange(0, 4).Draw(t, "pieces") {
			b.WriteString(strings.Repeat("a", rapid.IntRange(0, 20).Draw(t, "plain")))
			b.WriteString(other.Draw(t, "other"))
		}
		return b.String()
	})
}

// TestTexts holds what is read and written eight bytes at a time to what is looked
// at byte by byte, and to encoding/json.
func TestTexts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := texts().Draw(t, "text")
		n := strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r >= utf8.RuneSelf || r == '"' || r == '\\' })
		if n < 0 {
			n = len(s)
		}
		if got := plain(s); got != n {
			t.Fatalf("%q: %d bytes are plain, want %d", s, got, n)
		}
		control := strings.IndexFunc(s, func(r rune) bool { return r < ' ' }) >= 0
		if got := plainText(s); got == (control || !utf8.ValidString(s)) {
			t.Fatalf("%q is its own text: %t", s, got)
		}
		want, err := marshal(s)
		if got := appendString(nil, s); err != nil || string(got) != string(want) {
			t.Fatalf("%q is written as %s, want %s", s, got, want)
		}
		for _, raw := range []string{`{"a":"` + s + `"}`, `{"a":` + string(want) + `}`} {
			var got, same struct {
				A string `json:"a"`
			}
			if ok, err := quick(raw, &got), json.Unmarshal([]byte(raw), &same); ok && (err != nil || got != same) {
				t.Fatalf("%q is read as %q, want %q, %v", raw, got.A, same.A, err)
			}
		}
	})
}

// TestTags holds tags to what reflect makes of them.
func TestTags(t *testing.T) {
	for _, tag := range []reflect.StructTag{
		"", `json:"a"`, `json:"a,omitempty"`, `json:"-"`, `json:""`, `json:"a" xml:"b"`, `xml:"b" json:"a"`, `json:"a\"b"`, `json:"é"`, `json:"a`, `json:a`, ` json:"a"`, `jsonx:"a"`, `json:"` + reflect.StructTag(strings.Repeat("a", 20)) + `"`,
	} {
		value, ok := jsonTag(tag)
		if want, there := tag.Lookup("json"); value != want || ok != there {
			t.Errorf("%s says %q, %t, want %q, %t", tag, value, ok, want, there)
		}
	}
}

package jsonscan

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// marshal is what encoding/json writes without escapes for web pages.
func marshal(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(text); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func TestAppendString(t *testing.T) {
	for _, s := range []string{"", "a", "<b>&", "\x00\x01\x1f\x7f", "\b\f\n\r\t", `"\/`, "\u2028", "a\u2029", "\u2027\u202a…—’", "第一页\n第二页", strings.Repeat("1234567", 9) + `"`, "👩‍🚀"} {
		if got, want := string(AppendString([]byte("x"), s)), "x"+marshal(t, s); got != want {
			t.Errorf("%q is written as %s, want %s", s, got, want)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		s := rapid.StringOf(rapid.OneOf(rapid.Rune(), rapid.SampledFrom([]rune("\"\\\n\u2028\u2029\u2027 ab水")))).Draw(rt, "text")
		if got, want := string(AppendString(nil, s)), marshal(t, s); got != want {
			rt.Fatalf("%q is written as %s, want %s", s, got, want)
		}
	})
}

func FuzzAppendString(f *testing.F) {
	f.Add("a\xff\xe2\x80")
	f.Add("\xe2\x80\xa8 \"")
	f.Fuzz(func(t *testing.T, s string) {
		var got, want string
		if err := json.Unmarshal(AppendString(nil, s), &got); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(marshal(t, s)), &want); err != nil || got != want {
			t.Errorf("%q is read as %q, want %q: %v", s, got, want, err)
		}
	})
}

func BenchmarkAppendString(b *testing.B) {
	text := strings.Repeat("2026-01-02 03:04:05 INFO request handled by \"main\" in 12 ms\n", 1000)
	b.SetBytes(int64(len(text)))
	var out []byte
	for b.Loop() {
		out = AppendString(out[:0], text)
	}
}

package jsonscan

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// seeds are texts, right and wrong, in which every part of the grammar occurs.
func seeds() []string {
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	return []string{
		``, ` `, `{}`, `[]`, ` { } `, ` [ ] `, `{"a":1}`, `{"a" : [ 1 , {"b":null} ] , "c":"d" }`, `true`, `false`, `null`, `tru`, `nulls`, `True`,
		`0`, `-0`, `-`, `01`, `-01`, `1.`, `.5`, `1.5`, `1e5`, `1E+5`, `1e-`, `1e`, `+1`, `1.5e300`, `1 2`, `0x1`,
		`"`, `"a`, `"a"`, `"a\"`, `"a\\"`, `"\""`, `"\"\\\/\b\f\n\r\t"`, `"\u00e9\uABCD"`, `"\u00g0"`, `"\u12"`, `"\u"`, `"\x"`, "\"\x10\"", `"\u001` + "\x10" + `"`,
		`"第三"`, "\"\xff\xfe\"", "\"\x00\"", "\"\n\"", "\"\x7f\"", "\x00", "\ufeff{}", "{}\x00", "\v{}",
		`"a long string without anything in it that would need a second look"`, `"a long string with a quote \" in its middle, and more of it behind"`, "\"a long string with a line's\nend in its middle, and more of it\"",
		`{,}`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{a:1}`, `{"a":1 "b":2}`, `{"a":1}}`, `[1,]`, `[,1]`, `[1 2]`, `[}`, `{]`, `[1`, `{"a":1`, `{"a"`, `{1:1}`,
		deep(maxChecked), deep(maxChecked + 1), deep(maxChecked+1) + "]", deep(1000), strings.Repeat("[", 1000), deep(10001), strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100),
	}
}

func TestValid(t *testing.T) {
	for _, text := range seeds() {
		sameAsJSON(t, text)
		for at := range min(len(text), 100) { // and what it comes to when it breaks off
			sameAsJSON(t, text[:at])
		}
	}
}

func sameAsJSON(t interface{ Errorf(string, ...any) }, text string) {
	if got, want := Valid([]byte(text)), json.Valid([]byte(text)); got != want {
		t.Errorf("%.200q: %t, want %t", text, got, want)
	}
}

func FuzzValid(f *testing.F) {
	for _, text := range seeds() {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { sameAsJSON(t, text) })
}

// Any value is valid, and a slip in it is one for encoding/json, too.
func TestValidOfAny(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, err := json.MarshalIndent(anyJSON(4).Draw(t, "value"), "", rapid.SampledFrom([]string{"", " "}).Draw(t, "indent"))
		if err != nil {
			t.Fatal(err)
		}
		sameAsJSON(t, string(text))
		at := rapid.IntRange(0, len(text)).Draw(t, "at")
		slip := rapid.SampledFrom([]string{"", ",", `"`, "}", "0", "e", " ", `\`, `\u12`, "\n", "-", "\xff", "t"}).Draw(t, "slip")
		sameAsJSON(t, string(text[:at])+slip+string(text[at:]))
	})
}

func TestText(t *testing.T) {
	for quoted, want := range map[string]string{`"a"`: "a", `"第\n\"\u00e9"`: "第\n\"é", `""`: ""} {
		if got, ok := Text([]byte(quoted)); !ok || string(got) != want {
			t.Errorf("%s: %q %t", quoted, got, ok)
		}
	}
	for _, quoted := range []string{``, `"`, `"a`, `"a"b"`, `"a" `, ` "a"`, `a`, `5`, "\"\xff\"", "\"\n\"", `"\x"`, `null`} {
		if got, ok := Text([]byte(quoted)); ok {
			t.Errorf("%s is read as %q", quoted, got)
		}
	}
}

// TestTextOfEscapes: Text reads what encoding/json reads, whatever is escaped how.
func TestTextOfEscapes(t *testing.T) {
	piece := rapid.SampledFrom([]string{`\"`, `\\`, `\/`, `\b\f\n\r\t`, `\u0041`, `\u00e9`, `\ud83d\ude00`, `\ud83d`, `\ude00`, `\uD83Dx`, `\u2028`, "水", "a", "\u2028"})
	rapid.Check(t, func(rt *rapid.T) {
		quoted := `"` + strings.Join(rapid.SliceOf(piece).Draw(rt, "pieces"), "") + `"`
		var want string
		if err := json.Unmarshal([]byte(quoted), &want); err != nil {
			rt.Fatal(err)
		}
		if got, ok := Text([]byte(quoted)); !ok || got != want {
			rt.Fatalf("%s is read as %q %t, want %q", quoted, got, ok, want)
		}
	})
}

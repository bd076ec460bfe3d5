package passthrough

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// decoded reads the members of an object as encoding/json does.
func decoded(raw []byte) (names, values []string, ok bool) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, nil, false
	}
	for d.More() {
		t, err := d.Token()
		name, isName := t.(string)
		var value json.RawMessage
		if err != nil || !isName || d.Decode(&value) != nil {
			return nil, nil, false
		}
		names, values = append(names, name), append(values, string(value))
	}
	if _, err := d.Token(); err != nil {
		return nil, nil, false
	}
	_, err := d.Token()
	return names, values, err == io.EOF
}

// scraps are what JSON texts, and what is nearly JSON, are made of.
var scraps = []string{
	`{`, `}`, `[`, `]`, `,`, `:`, `"`, `\`, `\\`, `\"`, `""`, `"a"`, `"b"`, `"a\"}"`, `"\\"`, `"\u0061"`, `"{"`, `"水"`, ` `, "\n", "\t", `1`, `-0.5e400`, `true`, `null`, `x`,
	`{"a":1}`, `{"a":[1,{"b":"]"}],"b":{}}`, `"a":`, `"c":[{}]`, `,"d":"\\\""`,
}

// A body is cut where encoding/json cuts it, and refused where that refuses it.
func TestBodiesAreCutAsTheirReadersDo(t *testing.T) {
	whole := rapid.Custom(func(t *rapid.T) string { // most of what is joined at random is no JSON
		var members []string
		for range rapid.IntRange(0, 4).Draw(t, "members") {
			members = append(members, rapid.SampledFrom([]string{`"a" :`, `"b":`, "\n\"\\u0063\":", `"d":`}).Draw(t, "name")+rapid.SampledFrom(scraps).Draw(t, "value")+rapid.SampledFrom([]string{"", " "}).Draw(t, "space"))
		}
		return "{" + strings.Join(members, ",") + "}"
	})
	for range 20 {
		rapid.Check(t, func(t *rapid.T) {
			text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(scraps), 0, 12).Draw(t, "scraps"), "")
			if rapid.Bool().Draw(t, "whole") {
				text = whole.Draw(t, "object")
			}
			names, values, ok := decoded([]byte(text))
			b, err := ReadBody(json.RawMessage(text))
			twice := ok && len(slices.Compact(slices.Sorted(slices.Values(names)))) < len(names)
			if (err == nil) != (ok && !twice) {
				t.Fatalf("%q: %v", text, err)
			}
			if !ok {
				_, _ = SplitBody(json.RawMessage(text)) // anything but a panic
				return
			}
			if !slices.Equal(b.Names(), names) && len(names) > 0 {
				t.Fatalf("%q: %q", text, b.Names())
			}
			for i, m := range b.members {
				if string(m.value) != values[i] {
					t.Fatalf("%q: %q is %q, want %q", text, names[i], m.value, values[i])
				}
			}
			again, err := ReadBody(b.Bytes())
			if !twice && (err != nil || !slices.Equal(again.Names(), b.Names())) {
				t.Fatalf("%q becomes %q: %v", text, b.Bytes(), err)
			}
		})
	}
}

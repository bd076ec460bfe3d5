package jsonscan

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// What is simple is read as encoding/json reads it, and written so if it says so.
func TestSimple(t *testing.T) {
	simple := 0
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.MapOfN(rapid.SampledFrom([]string{"", "a", "b", "键", "c<"}), anyJSON(3), 0, 5).Draw(t, "object")
		text, err := json.MarshalIndent(v, "", rapid.SampledFrom([]string{"", " "}).Draw(t, "indent"))
		if err != nil {
			t.Fatal(err)
		}
		if rapid.Bool().Draw(t, "compact") {
			var b bytes.Buffer
			if err := json.Compact(&b, text); err != nil {
				t.Fatal(err)
			}
			text = b.Bytes()
		}
		simple += compareSimple(t, string(text))
		at := rapid.IntRange(0, len(text)).Draw(t, "at") // and what is broken is left to others
		compareSimple(t, string(text[:at])+rapid.SampledFrom([]string{"", ",", `"`, "}", "0", "e", " "}).Draw(t, "slip")+string(text[at:]))
	})
	if simple == 0 {
		t.Error("nothing was simple")
	}
}

func compareSimple(t *rapid.T, text string) (simple int) {
	got, tight, ok := Simple(text)
	if !ok {
		return 0
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var want any
	if err := d.Decode(&want); err != nil || d.More() || !reflect.DeepEqual(want, any(got)) {
		t.Fatalf("%s is read as %v, want %v, %v", text, got, want, err)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(got); err != nil || tight && b.String() != text+"\n" {
		t.Fatalf("%s is written as %s, %v", text, b.String(), err)
	}
	return 1
}

// Everyday arguments are simple; what is wrong or odd is not.
func TestSimpleKinds(t *testing.T) {
	for text, want := range map[string]bool{
		`{"path":"/a b","lines":[1,-2.5],"on":true,"off":false,"none":null,"deep":{"x":"第"}}`: true,
		" {\n} ": true, `{}`: true,
		`{"a":1,"a":1}`: false, `{"a":"\n"}`: false, `{"a":1e3}`: false, `{"a":01}`: false, `{"a":1.}`: false, `{"a":-}`: false, `{"a":nul}`: false,
		`{"a":1,}`: false, `{"a" 1}`: false, `{"a":[1 2]}`: false, `[]`: false, `{}{}`: false, ``: false, `{`: false, "{\"a\":\"\xff\"}": false, "{\"a\":\"\t\"}": false,
		`{"a":` + strings.Repeat("[", 20) + strings.Repeat("]", 20) + `}`: false,
	} {
		if _, _, ok := Simple(text); ok != want {
			t.Errorf("%s: %t", text, ok)
		}
	}
}

package jsonscan

import (
	"encoding/json"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// anyJSON draws JSON values of every kind.
func anyJSON(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		kinds := 5
		if depth == 0 {
			kinds = 3
		}
		switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
		case 0:
			return rapid.SampledFrom([]string{"", "a", `"`, `\`, `\"`, "{", "]", ",", "权", "a: b", "\n"}).Draw(t, "string")
		case 1:
			return rapid.Float64Range(-1e6, 1e6).Draw(t, "number")
		case 2:
			return rapid.SampledFrom([]any{nil, true, false}).Draw(t, "word")
		case 3:
			return rapid.SliceOfN(anyJSON(depth-1), 0, 4).Draw(t, "array")
		}
		return rapid.MapOfN(rapid.SampledFrom([]string{"", "a", `"`, "}", "键", "a,b"}), anyJSON(depth-1), 0, 4).Draw(t, "object")
	})
}

// The scanner finds the very members and items that encoding/json finds.
func TestScannerAgreesWithJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := map[string]any{"array": rapid.SliceOfN(anyJSON(3), 0, 5).Draw(t, "array"), "object": anyJSON(3).Draw(t, "object")}
		text, err := json.MarshalIndent(v, "", rapid.SampledFrom([]string{"", " ", "\t"}).Draw(t, "indent"))
		if err != nil {
			t.Fatal(err)
		}
		if !Looks(string(text)) {
			t.Fatalf("%s does not look like JSON", text)
		}
		compare(t, text)
	})
}

// Long returns only values whose bytes are their text.
func TestLong(t *testing.T) {
	for text, want := range map[string][]string{
		`{"abc":"def","x":["ghij", "k"]}`:    {"def", "ghij"},
		`{"abc" : "d\"f", "abcd"	:"abc"}`:    {"abc"},
		`{"a":"\\\\","b":"\\\"c","d":"efg"}`: {"efg"},
		"[\"a\nb\",\"a\xffb\",\"a\u00e9\"]":  {"a\u00e9"},
		`["abc","def`:                        {"abc"},
		`["abc\"`:                            nil,
		`"`:                                  nil,
		``:                                   nil,
	} {
		var got []string
		for begin, end := range Long(text, 3) {
			got = append(got, text[begin:end])
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s holds %q, want %q", text, got, want)
		}
	}
}

func compare(t *rapid.T, text []byte) {
	switch text[0] {
	case '{':
		var want map[string]json.RawMessage
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatal(err)
		}
		n := 0
		for key, value := range Members(string(text)) {
			if n++; string(want[key]) != value {
				t.Fatalf("%q is %s, want %s", key, value, want[key])
			}
			compare(t, []byte(value))
		}
		if n != len(want) {
			t.Fatalf("%d members of %s", n, text)
		}
	case '[':
		var want []json.RawMessage
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatal(err)
		}
		got := slices.Collect(Items(string(text)))
		if len(got) != len(want) {
			t.Fatalf("%d items of %s", len(got), text)
		}
		for i := range got {
			if got[i] != string(want[i]) {
				t.Fatalf("item %d is %s, want %s", i, got[i], want[i])
			}
			compare(t, want[i])
		}
	}
}

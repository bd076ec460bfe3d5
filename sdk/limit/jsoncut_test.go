package limit_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

func cutJSON(whole string, chars int) tool.View {
	return limit.Apply(whole, tool.Limits{MaxChars: chars, Strategy: tool.JSON}, by)
}

func TestJSON(t *testing.T) {
	long := strings.Repeat("0123456789", 100)
	items := "[" + strings.Repeat(`{"id": 1.50, "name": "x"}, `, 300) + "null]"
	var keys strings.Builder
	for i := range 200 {
		fmt.Fprintf(&keys, `, "key_%d": %d`, i, i)
	}
	for _, tc := range []struct {
		name, whole, want string
		chars             int // beside the notice
	}{
		{"white space goes first", `{ "a" : 1e400,  "z": [ 1,` + strings.Repeat(" ", 400) + `2 ] }`, `{"a":1e400,"z":[1,2]}`, 60},
		{"a string keeps its beginning", `"` + long + `"`, `"` + long[:52] + `…+948"`, 60},
		{"an array keeps its first items", items, `[{"id":1.50,"name":"x"},{"id":1.50,"name":"x"},"…+299"]`, 60},
		{"keys are kept in order while they fit", `{"z": 0` + keys.String() + `}`, `{"z":0,"key_0":0,"key_1":1,"key_2":2,"key_3":3,"…":"+196"}`, 60},
		{"small values whole, large ones shrink equally", `{"a":"` + long + `","n":12345678901234567890.000,"b":"` + long + `"}`,
			`{"a":"` + long[:20] + `…+980","n":12345678901234567890.000,"b":"` + long[:21] + `…+979"}`, 97},
		{"a few useful items rather than many useless ones", `[{"a":"` + long + `"},` + items + `]`, `[{"a":"` + long[:36] + `…+964"},"…+1"]`, 60},
		{"a number too long to show", strings.Repeat("7", 1000), `"…+1000"`, 60},
	} {
		v := cutJSON(tc.whole, tc.chars+tool.NoticeChars)
		if v.Text != tc.want {
			t.Errorf("%s:\n got %s\nwant %s", tc.name, v.Text, tc.want)
		}
		if !json.Valid([]byte(v.Text)) {
			t.Errorf("%s: not valid JSON", tc.name)
		}
	}
}

func TestJSONStringsAreCutBetweenCharacters(t *testing.T) {
	for name, unit := range map[string]string{
		"an escape":                        `\n`,
		"a surrogate pair":                 `\ud83d\ude00`,
		"a cluster":                        family,
		"a cluster of escapes":             `\ud83d\udc68\u200d\ud83d\udc69\u200d\ud83d\udc67`,
		"a flag of escapes":                `\ud83c\udde9\ud83c\uddea`,
		"a letter and its mark as escapes": `e\u0301`,
	} {
		var whole string
		if err := json.Unmarshal([]byte(`"`+strings.Repeat(unit, 300)+`"`), &whole); err != nil {
			t.Fatal(err)
		}
		one, _ := limit.Count(whole)
		for chars := 280; chars < 360; chars++ {
			v := cutJSON(`"`+strings.Repeat(unit, 300)+`"`, chars)
			var shown string
			if err := json.Unmarshal([]byte(v.Text), &shown); err != nil {
				t.Fatalf("%s: %v in %s", name, err, v.Text)
			}
			head, rest, _ := strings.Cut(shown, "…+")
			n, _ := limit.Count(head)
			if n%(one/300) != 0 || rest != fmt.Sprint(one-n) {
				t.Fatalf("%s: %d characters and %s left out of %d, in %s", name, n, rest, one, v.Text)
			}
		}
	}
}

func TestJSONFallsBack(t *testing.T) {
	for name, whole := range map[string]string{
		"not JSON":         strings.Repeat("plain text\n", 200),
		"almost JSON":      `{"a": [` + strings.Repeat("1,", 500) + `]}`,
		"JSON lines":       strings.Repeat(`{"a":1}`+"\n", 200),
		"nested too deep":  strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000),
		"nothing fits":     strings.Repeat(" ", 900) + `{"a":[1,2,3]}`,
		"empty line limit": strings.Repeat("1\n", 900),
	} {
		l := tool.Limits{MaxChars: 400, Strategy: tool.JSON}
		if name == "nothing fits" {
			l = tool.Limits{MaxChars: 12, Strategy: tool.JSON}
		}
		want := l
		want.Strategy = tool.HeadTail
		if got := limit.Apply(whole, l, by); got.Text != limit.Apply(whole, want, by).Text {
			t.Errorf("%s is not cut as head_tail: %s", name, got.Text)
		}
	}
}

// anyJSON draws JSON with white space and odd spellings.
func anyJSON(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		kind := rapid.IntRange(0, 5).Draw(t, "kind")
		if depth == 0 {
			kind = max(kind, 2)
		}
		switch kind {
		case 0, 1:
			open, end, key := "[", "]", ""
			if kind == 1 {
				open, end, key = "{ ", "\n}", `"k\u0065y": `
			}
			parts := rapid.SliceOfN(anyJSON(depth-1), 0, 12).Draw(t, "parts")
			for i := range parts {
				parts[i] = key + parts[i]
			}
			return open + strings.Join(parts, " ,\n") + end
		case 2:
			return rapid.SampledFrom([]string{"0", "-1.50e+10", "true", "null", "12345678901234567890123456789012345678901234567890"}).Draw(t, "scalar")
		}
		piece := rapid.SampledFrom([]string{"word ", `\"`, `\\`, `\u00e9`, `\ud83d\ude00`, `\ud83d`, family, flagDE, "漢字", "…+7", "<tool_call>"})
		return `"` + strings.Repeat(strings.Join(rapid.SliceOfN(piece, 0, 30).Draw(t, "s"), ""), rapid.IntRange(1, 9).Draw(t, "n")) + `"`
	})
}

func TestJSONStaysValidAndWithinItsBudget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := anyJSON(5).Draw(t, "json")
		chars := rapid.IntRange(260, 1500).Draw(t, "chars")
		v := cutJSON(whole, chars)
		if v.Cut() && (!json.Valid([]byte(v.Text)) || utf8.RuneCountInString(v.Text) > chars-130) {
			t.Fatalf("%d characters under %d: %s", utf8.RuneCountInString(v.Text), chars, v.Text)
		}
		lawsOfApply(t, whole, tool.Limits{MaxChars: chars, Strategy: tool.JSON})
	})
}

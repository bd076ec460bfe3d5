package schema

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// pairOf draws a schema with a value that fits it.
func pairOf(t *rapid.T, depth int) (schema map[string]any, value any) {
	kinds := []string{"text", "fixed", "number", "object", "array", "object", "array"}
	if depth == 0 {
		kinds = kinds[:3]
	}
	switch rapid.SampledFrom(kinds).Draw(t, "kind") {
	case "text":
		text := strings.Repeat(rapid.SampledFrom([]string{"word ", "“第一页”\n", "<&>\x01", "\\\""}).Draw(t, "text"), rapid.IntRange(0, 60).Draw(t, "times"))
		schema, value = map[string]any{"type": "string"}, text
		if rapid.Bool().Draw(t, "bounded") {
			schema["minLength"] = rapid.IntRange(0, utf8.RuneCountInString(text)).Draw(t, "minLength")
		}
	case "fixed":
		text := strings.Repeat("a", rapid.IntRange(1, 60).Draw(t, "length"))
		value = text
		schema = rapid.SampledFrom([]map[string]any{
			{"type": "string", "pattern": "^a+$"}, {"type": "string", "format": "of-ours"}, {"enum": []any{text, "b"}}, {"const": text},
		}).Draw(t, "fixed")
	case "number":
		schema, value = map[string]any{"type": "number"}, json.Number(fmt.Sprint(rapid.IntRange(-1_000_000, 1_000_000).Draw(t, "number")))
	case "array":
		sub, one := pairOf(t, depth-1)
		list := slices.Repeat([]any{one}, rapid.IntRange(0, 40).Draw(t, "items"))
		schema, value = map[string]any{"type": "array", "items": sub}, list
		if rapid.Bool().Draw(t, "bounded") {
			schema["minItems"] = rapid.IntRange(0, len(list)).Draw(t, "minItems")
		}
	default:
		return objectOf(t, depth)
	}
	if rapid.Bool().Draw(t, "either") {
		schema = map[string]any{"anyOf": []any{map[string]any{"type": "null"}, schema}}
	}
	return schema, value
}

func objectOf(t *rapid.T, depth int) (map[string]any, any) {
	properties, required, object := map[string]any{}, []any{}, map[string]any{}
	for i := range rapid.IntRange(0, 4).Draw(t, "members") {
		key := fmt.Sprintf("k%d", i)
		sub, value := pairOf(t, depth-1)
		properties[key], object[key] = sub, value
		if rapid.Bool().Draw(t, "required") {
			required = append(required, key)
		}
	}
	schema := map[string]any{"type": "object", "properties": properties, "required": required}
	if rapid.Bool().Draw(t, "closed") {
		schema["additionalProperties"] = false
	}
	return schema, object
}

// leftOut compares a value with what is left of it; not ok: something is there that was not.
func leftOut(whole, short any) (left LeftOut, ok bool) {
	add := func(w, s any) bool {
		sub, fits := leftOut(w, s)
		left = LeftOut{left.Items + sub.Items, left.Chars + sub.Chars, left.Members + sub.Members}
		return fits
	}
	switch w := whole.(type) {
	case []any:
		s, is := short.([]any)
		if !is || len(s) > len(w) {
			return left, false
		}
		left.Items = len(w) - len(s)
		for i := range s {
			if !add(w[i], s[i]) {
				return left, false
			}
		}
		return left, true
	case map[string]any:
		s, is := short.(map[string]any)
		if !is {
			return left, false
		}
		for key, one := range s {
			if was, there := w[key]; !there || !add(was, one) {
				return left, false
			}
		}
		left.Members += len(w) - len(s)
		return left, true
	case string:
		s, is := short.(string)
		left.Chars = utf8.RuneCountInString(w) - utf8.RuneCountInString(s)
		return left, is && strings.HasPrefix(w, s) && (left.Chars == 0 || !strings.HasPrefix(w, "aa")) // see pairOf
	}
	return left, reflect.DeepEqual(whole, short)
}

// What is shortened fits the schema and the bound, has nothing that was not there, and what
// is left out is counted. It is never refused where an empty outcome would do.
func TestShorten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw, value := objectOf(t, 3)
		text, err := json.Marshal(raw)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Compile(text)
		if err != nil {
			t.Skip(err)
		}
		if !s.Fits(value) {
			t.Fatalf("%s does not fit %s", Encode(value), text)
		}
		before := string(Encode(value))
		n := rapid.IntRange(2, utf8.RuneCountInString(before)+10).Draw(t, "n")
		out, left, ok := s.Shorten(value, n)
		if got := string(Encode(value)); got != before {
			t.Fatalf("the value became %s", got)
		}
		if !ok {
			if object, _ := raw["required"].([]any); len(object) == 0 {
				t.Fatalf("%s is not shortened to %d characters by %s", before, n, text)
			}
			return
		}
		got := Encode(out)
		if utf8.RuneCount(got) > n || !s.Fits(out) {
			t.Fatalf("%d characters of %d: %s does not fit %s", utf8.RuneCount(got), n, got, text)
		}
		if want, ok := leftOut(value, out); !ok || want != left {
			t.Fatalf("%s of %s: %+v, want %+v", got, before, left, want)
		}
		if utf8.RuneCountInString(before) <= n && !left.Zero() {
			t.Fatalf("%s fits %d characters and became %s", before, n, got)
		}
	})
}

func TestShortenKeepsMost(t *testing.T) {
	const schema = `{"type":"object","required":["items","id"],"additionalProperties":false,"properties":{
		"id":{"type":"string","format":"uuid"},"text":{"type":"string"},"note":{"type":"string"},
		"items":{"type":"array","items":{"type":"object","required":["n"],"properties":{"n":{"type":"integer"},"s":{"$ref":"#/$defs/s"}}}}},"$defs":{"s":{"enum":["` + `north","south"]}}}`
	s, err := Compile(json.RawMessage(schema))
	if err != nil {
		t.Fatal(err)
	}
	const id = `"id":"12345678-1234-1234-1234-123456789012"`
	items := func(n int) string {
		return strings.TrimSuffix(strings.Repeat(`{"n":1,"s":"north"},`, n), ",")
	}
	for _, row := range []struct {
		why, value string
		n          int
		left       LeftOut
		least      int
	}{
		{"items first", `{` + id + `,"items":[` + items(1000) + `],"text":"` + strings.Repeat("x", 100) + `"}`, 2000, LeftOut{Items: 911}, 1900},
		{"then texts", `{` + id + `,"items":[],"text":"` + strings.Repeat("x", 5000) + `"}`, 2000, LeftOut{Chars: 3080}, 1900},
		{"an empty one cannot", `{` + id + `,"items":[]}`, 50, LeftOut{}, -1},
		{"then members", `{` + id + `,"items":[],"text":"` + strings.Repeat("x", 500) + `","note":"short"}`, 85, LeftOut{Members: 1}, 60},
	} {
		v, err := Decode(json.RawMessage(row.value))
		if err != nil {
			t.Fatal(err)
		}
		out, left, ok := s.Shorten(v, row.n)
		if ok != (row.least >= 0) {
			t.Errorf("%s: %v", row.why, ok)
			continue
		}
		if got := utf8.RuneCount(Encode(out)); ok && (got < row.least || abs(left.Items-row.left.Items) > 20 || abs(left.Chars-row.left.Chars) > 60 || left.Members != row.left.Members) {
			t.Errorf("%s: %d characters, %+v left out", row.why, got, left)
		}
	}
}

func abs(n int) int { return max(n, -n) }

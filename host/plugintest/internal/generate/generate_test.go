package generate

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// schemaOf decodes a schema as the fuzzer does.
func schemaOf(t *testing.T, text string) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestSameSeedGeneratesTheSameArguments(t *testing.T) {
	s := schemaOf(t, `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"array","items":{"type":"number"}}},"required":["a"]}`)
	one, two := New(s, 7), New(s, 7)
	for range 50 {
		a, b := one.Args(), two.Args()
		if !reflect.DeepEqual(a, b) {
			t.Fatalf("%v, then %v", a, b)
		}
		if _, ok := a["a"].(string); !ok {
			t.Fatalf("the required argument is missing: %v", a)
		}
		if !reflect.DeepEqual(one.Invalid(a), two.Invalid(b)) {
			t.Fatal("the invalid arguments differ")
		}
	}
}

// TestSchemasThatAskForMuch generates arguments of schemas that ask for billions of
// values, or for a text of that length.
func TestSchemasThatAskForMuch(t *testing.T) {
	wide := make([]string, 200)
	for i := range wide {
		wide[i] = fmt.Sprintf(`"p%d":{"$ref":"#/$defs/n"}`, i)
	}
	for _, s := range []string{
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/n"}},"required":["a"],"$defs":{"n":{"type":"object","properties":{` + strings.Join(wide, ",") + `}}}}`,
		`{"type":"object","properties":{"a":{"type":"array","minItems":2000000000,"items":{"type":"array","minItems":2000000000}}},"required":["a"]}`,
		`{"type":"object","properties":{"a":{"type":"array","minItems":2000000000,"items":{"type":"string","minLength":2000000000}}},"required":["a"]}`,
	} {
		g := New(schemaOf(t, s), 1)
		for range 20 {
			text, err := json.Marshal(g.Args())
			if most := 8 * maxSize; err != nil || len(text) > most {
				t.Fatalf("%.80s…: %d bytes, more than %d (%v)", s, len(text), most, err)
			}
		}
	}
}

func TestTextsMatchThePattern(t *testing.T) {
	g := New(nil, 1)
	for _, pattern := range []string{`^[a-z]{2,4}-\d+$`, `^(alpha|beta)+x?$`, `^[^a]$`, `.`} {
		re := regexp.MustCompile(pattern)
		for range 20 {
			if s, ok := g.matching(pattern); !ok || !re.MatchString(s) {
				t.Errorf("%s: %q, %v", pattern, s, ok)
			}
		}
	}
	if s, ok := g.matching("("); ok {
		t.Errorf("an invalid expression has the text %q", s)
	}
}

func TestShrinkFindsSimpleArguments(t *testing.T) {
	args := map[string]any{"n": json.Number("4711"), "s": "漢字 and more", "list": []any{"x", true}, "other": "unused"}
	got := Shrink(args, 500, func(c map[string]any) bool {
		n, ok := c["n"].(json.Number)
		f, err := n.Float64()
		return ok && err == nil && f > 12
	})
	if want := map[string]any{"n": json.Number("13")}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

package schema

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// branching is a schema of lists in one another, with n references to itself.
func branching(n int) string {
	return `{"type":"object","properties":{"x":{"$ref":"#/$defs/a"}},"$defs":{"a":{"type":"array","items":{"anyOf":[` +
		strings.Repeat(`{"$ref":"#/$defs/a"},`, n) + `{"type":"string"}]}}}}`
}

// decoded returns JSON as Check wants it.
func decoded(t testing.TB, text string) any {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestArgumentsThatCostTooMuch holds the check of a model's arguments to little memory.
// Without the count the worst of these take gigabytes, hours, or end in a panic.
func TestArgumentsThatCostTooMuch(t *testing.T) {
	lists := func(n int) string { return strings.Repeat("[", n) + "5" + strings.Repeat("]", n) }
	tests := []struct{ name, schema, args, want string }{
		{"branches at each level", branching(4), `{"x":` + lists(50) + `}`, "needs more than 2000000 steps to check"},
		{"many levels", `{"type":"object","properties":{"x":{"items":{}}}}`, `{"x":` + lists(100) + `}`, ""},
		{"many levels of a recursive schema", `{"type":"object","properties":{"x":{"$ref":"#/$defs/a"}},"$defs":{"a":{"items":{"$ref":"#/$defs/a"}}}}`, `{"x":` + lists(100) + `}`, "nests deeper than 64 levels"},
		{"a tiny number", `{"type":"object","properties":{"x":{"minimum":1}}}`, `{"x":1e-9999999}`, `"x" holds a number that is too long`},
		{"an exponent of a million", `{"type":"object","properties":{"x":{"items":{"multipleOf":3}}}}`, `{"x":[1,1e-999999]}`, `"x.1" holds a number that is too long`},
		{"a wrong element a hundred thousand times", `{"type":"object","properties":{"x":{"items":{"type":"string"}}}}`, `{"x":[` + strings.Repeat("1,", 100_000) + `1]}`, "the arguments do not fit the tool's parameters"},
		{"elements that may be equal", `{"type":"object","properties":{"x":{"uniqueItems":true}}}`, `{"x":[` + strings.Repeat("[1,2],", 10_000) + `1]}`, "needs more than"},
		{"an expression and a long text", `{"type":"object","properties":{"x":{"pattern":"^(a|b|ab){1,900}$"}}}`, `{"x":"` + strings.Repeat("ab", 1<<20) + `"}`, "needs more than"},
		{"long numbers and many alternatives", `{"type":"object","properties":{"x":{"items":{"anyOf":[` + strings.Repeat(`{"multipleOf":7},`, 50) + `{"multipleOf":3}]}}}}`, `{"x":[` + strings.Repeat(strings.Repeat("8", 390)+",", 10_000) + `1]}`, "needs more than"},
		{"choices and many numbers", `{"type":"object","properties":{"x":{"items":{"enum":[` + strings.Repeat("1,", 1000) + `2]}}}}`, `{"x":[` + strings.Repeat("3,", 10_000) + `3]}`, "needs more than"},
		{"an unknown name a hundred thousand times", `{"type":"object","properties":{"x":{},"y":{"items":{}}},"additionalProperties":false}`, unknown(100_000), "is not an argument of this tool|do not fit"},
	}
	for _, tt := range tests {
		s, err := Compile(json.RawMessage(tt.schema))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		args := decoded(t, tt.args)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		wrong := s.Check(args)
		runtime.ReadMemStats(&after)
		if mib := (after.TotalAlloc - before.TotalAlloc) >> 20; mib > 160 {
			t.Errorf("%s: %d MiB were allocated", tt.name, mib)
		}
		said := fmt.Sprint(wrong)
		found := false
		for want := range strings.SplitSeq(tt.want, "|") {
			found = found || strings.Contains(said, want)
		}
		if !found || len(wrong) > maxFaults || len(said) > 4000 || tt.want == "" && len(wrong) > 0 {
			t.Errorf("%s: %d faults: %.300s", tt.name, len(wrong), said)
		}
	}
}

// unknown is an object of n names.
func unknown(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"name%d":1,`, i)
	}
	return "{" + b.String() + `"last":1}`
}

// TestLargeArgumentsFit accepts large arguments of simple shape, as data that a model
// hands from one tool to another.
func TestLargeArgumentsFit(t *testing.T) {
	row := `{"name":"x","n":1,"tags":["a","b"]},`
	for _, tt := range []struct{ schema, args string }{
		{`{"type":"object","properties":{"x":{"type":"array","items":{"type":"number"}}}}`, `{"x":[` + strings.Repeat("1,", 500_000) + `1]}`},
		{`{"type":"object","properties":{"x":{"type":"array","uniqueItems":true}}}`, `{"x":[` + strings.TrimSuffix(strings.NewReplacer(`"name`, `"`, ":1", "").Replace(strings.Trim(unknown(100_000), "{}")), ",") + `]}`},
		{`{"type":"object","properties":{"x":{"type":"array","items":{"type":"object","required":["name"],"properties":{"name":{"type":"string","maxLength":50},"n":{"type":"integer","minimum":0},"tags":{"type":"array","items":{"enum":["a","b"]}}}}}}}`, `{"x":[` + strings.TrimSuffix(strings.Repeat(row, 50_000), ",") + `]}`},
		{`{"type":"object","properties":{"x":{"type":"string","maxLength":10000000},"o":{}}}`, `{"x":"` + strings.Repeat("x", 8<<20) + `","o":{}}`},
	} {
		s, err := Compile(json.RawMessage(tt.schema))
		if err != nil {
			t.Fatal(err)
		}
		if wrong := s.Check(decoded(t, tt.args)); len(wrong) > 0 {
			t.Errorf("%s: %v", tt.schema, wrong)
		}
	}
}

// TestBudget bounds what the schemas of one manifest or server take together.
func TestBudget(t *testing.T) {
	wide := func(n int) json.RawMessage {
		return json.RawMessage(`{"type":"object","properties":{"x":{"anyOf":[` + strings.TrimSuffix(strings.Repeat("{},", n), ",") + `]}}}`)
	}
	long := json.RawMessage(`{"type":"object","description":"` + strings.Repeat("x", 30_000) + `"}`)
	for _, tt := range []struct {
		schema json.RawMessage
		fit    int
		want   string
	}{
		{wide(1900), maxParts / 1900, "more than 20000 parts together"},
		{long, maxSchemas / len(long), "more than 1048576 bytes together"},
	} {
		var b Budget
		for i := range 60 {
			_, err := b.Compile(tt.schema)
			if fits := i < tt.fit; fits != (err == nil) || !fits && !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("schema %d: %v", i, err)
			}
		}
	}
	s, err := Compile(json.RawMessage(branching(2)))
	if err != nil {
		t.Fatal(err)
	}
	var b Budget
	args := decoded(t, `{"x":`+strings.Repeat("[", 10)+strings.Repeat("]", 10)+`}`)
	n, checked := 0, 0
	for ; n < 100_000; n++ {
		if said := fmt.Sprint(b.Check(s, args)); strings.Contains(said, "400000 steps") {
			break
		}
		checked++
	}
	if checked == 0 || n == 100_000 {
		t.Errorf("%d examples were checked", checked)
	}
}

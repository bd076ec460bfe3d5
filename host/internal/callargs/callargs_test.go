package callargs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/weirhost/weir/sdk/tool"
)

// FuzzDecode: Decode accepts one JSON object only, and Encode is stable.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5e3,{"b":null}],"c":"x"}`, `{"a":1,"a":2}`, `{"a":1e999}`, `[]`, ``, `{} {}`, ` {"a" : -0.5, "b":[true,false ,null]}`, `{"a":01}`, `{"b":1,"a":2}`, `{"a":[1,]}`, `{"a":1,}`, "{\"a\":\"\u2028\"}", `{"a":tru}`, `{"a":1.}`, `{"a":{}}`} {
		f.Add([]byte(s))
	}
	for _, s := range []string{`{"a":"bcd", "bcd" : "efg"}`, `{"a":"bcd""e":1}`, `{"a":"\u0000bcd","b":"xyz"}`, `{"a":"b\"c","b":["de\n","fgh"]}`, `{"abc":"de","abc":"fg"}`, "{\"a\":\"b\xffc\"}", "{\"a\":\"b\x01c\"}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		args, canonical, fail := Decode(raw)
		if whole, slow := decode(raw); (fail == nil) != (slow == nil) || fail == nil && !reflect.DeepEqual(args, whole) {
			t.Fatalf("%q is read as %v, %v, and as %v, %v step by step", raw, args, fail, whole, slow)
		}
		// Arguments with long strings have a decoder of their own, with the same result.
		if quick, ok := decodeLong(raw, 2); ok && (fail != nil || !reflect.DeepEqual(quick, args)) {
			t.Fatalf("%q is decoded as %v at once, and as %v, %v", raw, quick, args, fail)
		}
		if fail != nil {
			if fail.Code != tool.BadArgs || fail.Msg == "" || strings.Contains(fail.Msg, "%!") {
				t.Errorf("%+v", fail)
			}
			return
		}
		text, fail := Encode(args)
		if fail != nil {
			t.Fatal(fail)
		}
		var std bytes.Buffer
		enc := json.NewEncoder(&std)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(args); err != nil || strings.TrimSuffix(std.String(), "\n") != string(text) {
			t.Errorf("%q is written as %s, and by encoding/json as %s, %v", raw, text, &std, err)
		}
		if canonical != nil && string(canonical) != string(text) {
			t.Errorf("%s is said to be %s", text, canonical)
		}
		again, _, fail := Decode(text)
		if fail != nil {
			t.Fatalf("%s: %v", text, fail)
		}
		if twice, _ := Encode(again); string(twice) != string(text) {
			t.Errorf("%s became %s", text, twice)
		}
		if len(strings.TrimSpace(string(raw))) > 0 && !json.Valid(raw) {
			t.Errorf("%q was accepted", raw)
		}
	})
}

// TestAnyString finds texts wherever a model can put them, as a key too.
func TestAnyString(t *testing.T) {
	for _, v := range []any{"mark", map[string]any{"a": []any{1.0, "mark"}}, []any{map[string]any{"mark": nil}}} {
		if !AnyString(v, func(s string) bool { return s == "mark" }) {
			t.Errorf("%v has it", v)
		}
	}
	if AnyString(map[string]any{"a": []any{1.0, nil, "b"}}, func(s string) bool { return s == "mark" }) {
		t.Error("it is found where it is not")
	}
}

// TestNamesAreBounded: 720,000 unknown names in one call took the daemon five seconds.
func TestNamesAreBounded(t *testing.T) {
	names := func(n int) json.RawMessage {
		b := []byte(`{"a":{"b":1`)
		for i := range n - 2 {
			b = fmt.Appendf(b, `,"k%x":1`, i)
		}
		return append(b, "}}"...)
	}
	if _, _, fail := Decode(names(maxNames)); fail != nil {
		t.Error(fail)
	}
	if _, _, fail := Decode(names(maxNames + 1)); fail == nil || fail.Code != tool.TooLarge {
		t.Errorf("one more: %v", fail)
	}
}

// TestEncodeCopiesOnce: a long text, which a reference may refer to, is in memory once more,
// not three times.
func TestEncodeCopiesOnce(t *testing.T) {
	args := map[string]any{"text": strings.Repeat("a line of a log, as it comes\n", 8<<20/29)}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	text, fail := Encode(args)
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; fail != nil || len(text) < 8<<20 || used > 10<<20 {
		t.Errorf("%d bytes needed %d of memory, %v", len(text), used, fail)
	}
}

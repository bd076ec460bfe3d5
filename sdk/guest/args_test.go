package guest

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weirhost/weir/sdk/tool"
)

type sample struct {
	Name  string            `json:"name"`
	Count int               `json:"count"`
	Ratio float64           `json:"ratio"`
	On    bool              `json:"on"`
	List  []string          `json:"list"`
	Deep  struct{ N uint8 } `json:"deep"`
}

func TestDecodeArgs(t *testing.T) {
	deep := sample{}
	deep.Deep.N = 7
	for _, tt := range []struct {
		raw  string
		want sample
		why  string
	}{
		{``, sample{}, "no arguments at all are an empty object"},
		{" \n ", sample{}, "nor is white space an error"},
		{`{}`, sample{}, "absent arguments keep their zero"},
		{`{"name":"a","count":3,"ratio":0.5,"on":true,"list":["x"]}`, sample{Name: "a", Count: 3, Ratio: 0.5, On: true, List: []string{"x"}}, "every kind"},
		{`{"count":5.0}`, sample{Count: 5}, "a JSON Schema counts 5.0 as an integer"},
		{`{"count":2e3}`, sample{Count: 2000}, "and 2e3"},
		{`{"deep":{"N":7.0}}`, deep, "also inside an object"},
		{`{"count":5.0,"ratio":1.5,"name":"1.0"}`, sample{Count: 5, Ratio: 1.5, Name: "1.0"}, "what is no integer stays as it was"},
		{`{"name":null}`, sample{}, "null is absent"},
		{`{"other":1}`, sample{}, "the host checks names by the schema"},
	} {
		var got sample
		if err := decodeArgs([]byte(tt.raw), &got); err != nil {
			t.Errorf("%s: %s: %v", tt.why, tt.raw, err)
		} else if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s: %s: %s", tt.why, tt.raw, d)
		}
	}
}

func TestDecodeArgsRefuses(t *testing.T) {
	for _, tt := range []struct{ raw, says, why string }{
		{`[1]`, "must be a JSON object", "a list is no object"},
		{`"x"`, "must be a JSON object", "nor is a string"},
		{`{"name":5}`, `"name" must be a string, not number`, "the field is named"},
		{`{"count":"5"}`, `"count" must be an integer, not string`, "with what it should be"},
		{`{"count":1.5}`, `"count" must be an integer, not number 1.5`, "a fraction is no integer"},
		{`{"count":1e300}`, `"count" must be an integer`, "nor is a number that does not fit"},
		{`{"deep":{"N":-1.0}}`, `"deep.N" must be an integer`, "the field is named with its path"},
		{`{"on":"yes"}`, `"on" must be true or false`, "no guessing at booleans"},
		{`{"ratio":"x"}`, `"ratio" must be a number`, "numbers"},
		{`{"list":"x"}`, `"list" must be a list`, "lists"},
		{`{"deep":1}`, `"deep" must be an object`, "objects"},
		{`{"name":`, "not valid JSON", "cut off"},
		{`{} {}`, "not valid JSON", "one object, not two"},
	} {
		err := decodeArgs([]byte(tt.raw), &sample{})
		e, ok := errors.AsType[*tool.Error](err)
		if !ok || e.Code != tool.BadArgs || !strings.Contains(e.Msg, tt.says) || e.Hint == "" {
			t.Errorf("%s: %s gives %v", tt.why, tt.raw, err)
		}
	}
}

func FuzzDecodeArgs(f *testing.F) {
	for _, s := range []string{`{"count":5.0}`, `{"name":"x"`, `[]`, `{"count":1e999999999}`, `{"deep":{"N":1e1}}`} {
		f.Add(s)
	}
	for _, s := range []string{`{"name":"a\u00e9\ud83d\ude00\n","count":-5,"ratio":-0.5e1,"on":false}`, ` { "ratio" : 1.25 , "on":true } `, `{"name":"\ud800"}`, `{"count":01}`, `{"Name":"a"}`, `{"deep":{"N":1},"list":["a"],"count":2}`, `{"count":-0}`, `{"ratio":1e999}`, `{"count":1,}`, "{\"name\":\"\xff\"}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		var got, want sample
		if quick(raw, &got) {
			if err := json.Unmarshal([]byte(raw), &want); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%q is read as %+v, want %+v, %v", raw, got, want, err)
			}
		}
		err := decodeArgs([]byte(raw), &sample{})
		if e, ok := errors.AsType[*tool.Error](err); err != nil && (!ok || e.Code != tool.BadArgs || strings.Contains(e.Msg, "guest.")) {
			t.Errorf("%q gives %v", raw, err)
		}
	})
}

type own string

func (o *own) UnmarshalJSON([]byte) error { *o = "own"; return nil }

// Arguments that are plain are read by hand; what encoding/json has rules of its
// own for is left to it.
func TestQuick(t *testing.T) {
	type label string
	type plain struct {
		A label   `json:"a"`
		B uint8   `json:"b,omitempty"`
		C float32 // its own name
		D string  `json:"-"`
		e string
		f *int
	}
	for raw, want := range map[string]bool{
		`{}`: true, `{"a":"x","b":255,"C":1.5}`: true, ` {"a" : "\"\\\/\n\t\r\b\f\u7b2c" } `: true,
		`{"b":256}`: false, `{"b":-1}`: false, `{"b":1.0}`: false, `{"c":1}`: false, `{"D":"x"}`: false, `{"-":"x"}`: false, `{"e":"x"}`: false, `{"f":1}`: false,
		`{"a":null}`: false, `{"a":"x"`: false, `{"a":"x"} 1`: false, `{"a":"\u12"}`: false, `{"a":"\x"}`: false, `{"a":"`: false, `{"a":"\`: false, `{"a" "x"}`: false, `{,"a":"x"}`: false,
		`{"C":1e400}`: false, `{"C":1.}`: false, "{\"a\":\"\n\"}": false, `[]`: false, `{"a":"x",}`: false, ``: false,
	} {
		var got, same plain
		if ok := quick(raw, &got); ok != want {
			t.Errorf("%s: %t", raw, ok)
		} else if ok && (json.Unmarshal([]byte(raw), &same) != nil || got != same) {
			t.Errorf("%s is read as %+v, want %+v", raw, got, same)
		}
	}
	field := func(name string) reflect.StructField {
		return reflect.StructField{Name: name, Type: reflect.TypeFor[string](), Tag: `json:"Own"`}
	}
	twice := reflect.New(reflect.StructOf([]reflect.StructField{field("A"), field("B")}))
	for _, args := range []any{
		new(own), &struct{ Own own }{}, &struct{ sample }{}, twice.Interface(), &struct {
			Own int `json:"Own,string"`
		}{}, &struct {
			Own string `json:"Own or other"`
		}{}, &struct{ Own json.Number }{}, &map[string]any{}, &[]int{},
	} {
		if quick(`{"Own":"1"}`, args) {
			t.Errorf("%T is read by hand", args)
		}
	}
}

// A number that keeps its digits is none of letters, however it is read.
func TestNumberKept(t *testing.T) {
	type kept struct{ N json.Number }
	for raw, want := range map[string]string{`{"N":12.50}`: "12.50", `{"N":"12.50"}`: "12.50"} {
		var got kept
		if err := decodeArgs([]byte(raw), &got); err != nil || got.N.String() != want {
			t.Errorf("%s is read as %q, %v", raw, got.N, err)
		}
	}
	for _, raw := range []string{`{"N":"many"}`, `{"N":""}`, `{"N":"1; drop"}`} {
		var got, same kept
		err, plain := decodeArgs([]byte(raw), &got), json.Unmarshal([]byte(raw), &same)
		if (err == nil) != (plain == nil) {
			t.Errorf("%s: %v, and encoding/json says %v", raw, err, plain)
		}
	}
}

package guest

import (
	"errors"
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
	f.Fuzz(func(t *testing.T, raw string) {
		err := decodeArgs([]byte(raw), &sample{})
		if e, ok := errors.AsType[*tool.Error](err); err != nil && (!ok || e.Code != tool.BadArgs || strings.Contains(e.Msg, "guest.")) {
			t.Errorf("%q gives %v", raw, err)
		}
	})
}

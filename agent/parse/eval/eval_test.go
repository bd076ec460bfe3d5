package eval_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/weirhost/weir/agent/parse"
	"github.com/weirhost/weir/agent/parse/eval"
	"github.com/weirhost/weir/sdk/tool"
)

func TestLine(t *testing.T) {
	for _, r := range []struct{ why, in, want string }{
		{"a call", `{"id":"1","tools":[{"name":"f","parameters":{"type":"object","properties":{"a":{"type":"integer"}}}}],"text":"x <tool_call>{\"name\":\"f\",\"arguments\":{\"a\":\"1\"}}</tool_call>"}`,
			`{"id":"1","calls":[{"name":"f","arguments":{"a":1}}],"text":"x ","malformed":[]}`},
		{"tools as the APIs write them", `{"id":"2","tools":[{"type":"function","function":{"name":"f"}}],"text":"[f()]"}`, `{"id":"2","calls":[{"name":"f","arguments":{}}],"text":"","malformed":[]}`},
		{"no tools: any name", `{"id":"3","tools":null,"text":"{\"name\":\"g\",\"arguments\":{}}"}`, `{"id":"3","calls":[{"name":"g","arguments":{}}],"text":"","malformed":[]}`},
		{"empty tools: any name", `{"id":"4","tools":[],"text":"<tool_call>{\"name\":\"g\",\"arguments\":{}}</tool_call>"}`, `{"id":"4","calls":[{"name":"g","arguments":{}}],"text":"","malformed":[]}`},
		{"a malformed call", `{"id":"5","tools":[{"name":"f"}],"text":"<tool_call>{\"name\":\"g\",\"arguments\":{}}</tool_call>"}`, `{"id":"5","calls":[],"text":"","malformed":[{"reason":"unknown_tool","name":"g","raw":"{\"name\":\"g\",\"arguments\":{}}"}]}`},
		{"reasoning is no text", `{"id":"6","tools":[{"name":"f"}],"text":"<think>a</think>b & <c>"}`, `{"id":"6","calls":[],"text":"b & <c>","malformed":[]}`},
		{"nothing", `{"id":"7","tools":[{"name":"f"}],"text":""}`, `{"id":"7","calls":[],"text":"","malformed":[]}`},
	} {
		got, err := eval.Line([]byte(r.in))
		if err != nil || string(got) != r.want {
			t.Errorf("%s:\nwant %s\ngot  %s %v", r.why, r.want, got, err)
		}
	}
}

func TestLineRefusesWhatIsNoCase(t *testing.T) {
	for _, in := range []string{"", "x", `[1]`, `{"id":1}`, `{"id":"1","tools":"f"}`} {
		if _, err := eval.Line([]byte(in)); err == nil {
			t.Errorf("%q is taken", in)
		}
	}
}

func TestLinesKeepTheirOrder(t *testing.T) {
	var out bytes.Buffer
	in := `{"id":"b","text":"x"}` + "\n\n" + `{"id":"a","text":"y"}` + "\n"
	if err := eval.Lines(strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	var ids []string
	for line := range strings.Lines(out.String()) {
		var r eval.Result
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, r.ID+r.Text)
	}
	if got := strings.Join(ids, " "); got != "bx ay" {
		t.Error(got)
	}
	out.Reset()
	err := eval.Lines(strings.NewReader(in+"oops\n"), &out)
	if err == nil || !strings.Contains(err.Error(), "line 4") || strings.Count(out.String(), "\n") != 2 {
		t.Errorf("%v\n%s", err, out.String())
	}
}

func row(t *testing.T, s string) eval.Row {
	t.Helper()
	var r eval.Row
	if err := json.Unmarshal([]byte(s), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestExact(t *testing.T) {
	for _, r := range []struct {
		why, row, calls string
		want            bool
	}{
		{"equal", `{"expect":[{"name":"a.b","arguments":{"x":1}}]}`, `[{"name":"a_b","arguments":{"x":1.0}}]`, true},
		{"order does not matter", `{"expect":[{"name":"a","arguments":{}},{"name":"b","arguments":{}}]}`, `[{"name":"b","arguments":{}},{"name":"a","arguments":{}}]`, true},
		{"a value differs", `{"expect":[{"name":"a","arguments":{"x":1}}]}`, `[{"name":"a","arguments":{"x":"1"}}]`, false},
		{"one too few", `{"expect":[{"name":"a","arguments":{}},{"name":"a","arguments":{}}]}`, `[{"name":"a","arguments":{}}]`, false},
		{"one too many", `{"expect":[{"name":"a","arguments":{}}]}`, `[{"name":"a","arguments":{}},{"name":"a","arguments":{}}]`, false},
		{"an accepted value", `{"accept":[{"name":"a","arguments":{"x":["US","USA"],"y":["",2]}}]}`, `[{"name":"a","arguments":{"x":"usa"}}]`, true},
		{"a required one is missing", `{"accept":[{"name":"a","arguments":{"x":["US"]}}]}`, `[{"name":"a","arguments":{}}]`, false},
		{"an unknown one", `{"accept":[{"name":"a","arguments":{}}]}`, `[{"name":"a","arguments":{"z":1}}]`, false},
		{"an object of accepted values", `{"accept":[{"name":"a","arguments":{"x":[{"k":[1,2]}]}}]}`, `[{"name":"a","arguments":{"x":{"k":2}}}]`, true},
		{"a negative that stays quiet", `{"negative":true}`, `[]`, true},
		{"a negative that fires", `{"negative":true}`, `[{"name":"a","arguments":{}}]`, false},
	} {
		var calls []eval.Call
		if err := json.Unmarshal([]byte(r.calls), &calls); err != nil {
			t.Fatal(err)
		}
		if got := row(t, r.row).Exact(calls); got != r.want {
			t.Errorf("%s: %v", r.why, got)
		}
	}
}

func TestTally(t *testing.T) {
	var tally eval.Tally
	tally.Add(row(t, `{"id":"1","format":"p","expect":[{"name":"a","arguments":{}}]}`), []eval.Call{{Name: "a", Arguments: json.RawMessage(`{}`)}})
	tally.Add(row(t, `{"id":"2","format":"p","expect":[{"name":"a","arguments":{}}]}`), nil)
	tally.Add(row(t, `{"id":"3","format":"n","negative":true}`), []eval.Call{{Name: "a", Arguments: json.RawMessage(`{}`)}})
	got := tally.String()
	for _, want := range []string{"exact 1 of 2 (50.0 %)", "fired 1 of 1"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	if strings.Join(tally.Missed, " ") != "2 3" {
		t.Error(tally.Missed)
	}
}

// The checker itself must see a difference where there is one.
func TestDiffAndExtra(t *testing.T) {
	a := []parse.Event{parse.Text{Text: "x"}, parse.Call{Name: "f", Args: json.RawMessage(`{}`)}}
	for _, b := range [][]parse.Event{nil, a[:1], {a[0], parse.Text{Text: "y"}}, append(append([]parse.Event{}, a...), a[0])} {
		if eval.Diff(a, b) == "no difference" {
			t.Errorf("no difference to %v", b)
		}
	}
	if _, extra := eval.Extra(parse.Calls(a), nil); !extra {
		t.Error("a call that the whole does not have is not seen")
	}
	if _, extra := eval.Extra(parse.Calls(a), parse.Calls(a)); extra {
		t.Error("equal calls differ")
	}
}

func TestHasty(t *testing.T) {
	o := parse.Options{Tools: []tool.Spec{{Name: "f"}}}
	if at, c, found := eval.Hasty(o, "I know it.\n\n```\nf()\n```\n\nThat was a quotation."); !found || c.Name != "f" || at == 0 {
		t.Errorf("a quotation that ends the text so far reads as a call: %d %v %v", at, c, found)
	}
	if _, _, found := eval.Hasty(o, "<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>"); found {
		t.Error("a call with a marker is never hasty")
	}
}

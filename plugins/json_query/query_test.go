package main

import (
	"encoding/json"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/weirhost/weir/sdk/guest"
	"github.com/weirhost/weir/sdk/guest/files"
	"github.com/weirhost/weir/sdk/tool"
)

var workspace = guest.Options{FS: map[string]fs.FS{files.Workspace: fstest.MapFS{
	"shop.json":   {Data: []byte(`{"items":[{"name":"bolt","price":3},{"name":"梁","price":120.50},{"name":"nut","price":1}],"big":12345678901234567890123,"html":"<a&b>"}`)},
	"log.jsonl":   {Data: []byte("{\"kind\":\"a\",\"n\":1}\n{\"kind\":\"b\",\"n\":2}\n{\"kind\":\"a\",\"n\":3}\n")},
	"broken.json": {Data: []byte("{\n  \"a\": 1,\n  \"b\": oops\n}")},
	"half.jsonl":  {Data: []byte("{\"a\":1}\n{\"a\":2")},
	"empty.json":  {},
	"bom.json":    {Data: []byte("\xef\xbb\xbf[1,2]")},
}}}

func TestQuery(t *testing.T) {
	for _, tt := range []struct{ in, want, why string }{
		{`{"file_path":"shop.json","filter":".items[].name"}`, "bolt\n梁\nnut\n", "fields, text as it is"},
		{`{"file_path":"shop.json","filter":".items[] | select(.price > 2)"}`, "{\"name\":\"bolt\",\"price\":3}\n{\"name\":\"梁\",\"price\":120.50}\n", "numbers as they are written"},
		{`{"file_path":"shop.json","filter":".big"}`, "12345678901234567890123\n", "a number beyond 64 bits"},
		{`{"file_path":"shop.json","filter":"[.html]"}`, "[\"<a&b>\"]\n", "no escapes for pages"},
		{`{"file_path":"shop.json","filter":"[.items[].price] | add"}`, "124.5\n", "a sum"},
		{`{"file_path":"log.jsonl","filter":".n"}`, "1\n2\n3\n", "each line"},
		{`{"file_path":"log.jsonl","filter":"[inputs] | length"}`, "3\n", "all lines"},
		{`{"file_path":"log.jsonl","filter":"[inputs] | group_by(.kind)[] | {kind: .[0].kind, n: length}"}`, "{\"kind\":\"a\",\"n\":2}\n{\"kind\":\"b\",\"n\":1}\n", "grouped"},
		{`{"file_path":"log.jsonl","filter":"input.n"}`, "1\n", "the first of them, once"},
		{`{"file_path":"log.jsonl","filter":"first(inputs | select(.n > 1)).n"}`, "2\n", "until one is found"},
		{`{"file_path":"log.jsonl","filter":"select(.kind == \"inputs\") // .n"}`, "1\n2\n3\n", "the word in quotes asks for nothing"},
		{`{"file_path":"bom.json","filter":"add"}`, "3\n", "a byte order mark"},
		{`{"json":"[3,1,2]","filter":"sort"}`, "[1,2,3]\n", "text instead of a file"},
		{`{"json":"{}","filter":"empty"}`, "The filter gives no result.", "nothing"},
		{`{"json":"[1,2,3]","filter":".[]","offset":1,"limit":1}`, "2\n", "a page"},
		{`{"json":"1","filter":"$ENV | length"}`, "0\n", "no environment"},
		{`{"json":"5","filter":"halt"}`, "The filter gives no result.", "an end that is asked for"},
	} {
		t.Run(tt.why, func(t *testing.T) {
			out, err := guest.Invoke(query, tt.in, workspace)
			if err != nil || out.Text != tt.want {
				t.Errorf("%s: %q, %v; want %q", tt.in, out.Text, err, tt.want)
			}
		})
	}
}

func TestLongValuesAreSpread(t *testing.T) {
	out, err := guest.Invoke(query, `{"file_path":"shop.json","filter":"{items, html, again: .items}"}`, workspace)
	if err != nil || !strings.Contains(out.Text, "\n  \"items\": [\n") || !strings.Contains(out.Text, "<a&b>") {
		t.Errorf("%q, %v", out.Text, err)
	}
}

func TestMore(t *testing.T) {
	out, err := guest.Invoke(query, `{"json":"null","filter":"range(5000)","limit":1000}`, workspace)
	if err != nil || out.More == nil || out.More.Shown != 1000 || out.More.Total != 5000 || string(out.More.Args) != `{"offset":1000}` {
		t.Fatalf("%+v, %v", out.More, err)
	}
	var n int
	for line := range strings.Lines(out.Text) {
		if err := json.Unmarshal([]byte(line), new(int)); err != nil {
			t.Error(err)
		}
		n++
	}
	if n != 1000 {
		t.Errorf("%d lines", n)
	}
	out, err = guest.Invoke(query, `{"json":"null","filter":"range(1002)","offset":1000}`, workspace)
	if err != nil || out.More != nil || out.Text != "1000\n1001\n" {
		t.Errorf("the rest: %q %+v, %v", out.Text, out.More, err)
	}
	for filter, why := range map[string]string{"repeat(1)": "results without end", "range(20), error(\"no\")": "a failure after what was asked for"} {
		in, _ := json.Marshal(args{JSON: "1", Filter: filter, Limit: 10})
		out, err = guest.Invoke(query, string(in), workspace)
		if err != nil || out.More == nil || out.More.Shown != 10 || out.More.Total != 0 {
			t.Errorf("%s: %+v, %v", why, out.More, err)
		}
	}
}

// Every result is handed over, whatever the limits in force, as an entry.
func TestAllResultsAreHandedOver(t *testing.T) {
	o := workspace
	o.Limits = tool.Limits{MaxChars: 300, MaxLines: 2}
	out, err := guest.Invoke(query, `{"json":"null","filter":"range(5000) | if . == 7 then [range(100)] else . end"}`, o)
	if err != nil || out.More != nil || len(out.Entries.Lines) != 5000 || !strings.HasSuffix(out.Text, "\n4999\n") {
		t.Fatalf("%+v, %v", out.More, err)
	}
	if lines := strings.Split(out.Text, "\n"); lines[out.Entries.Lines[7]-1] != "[" || lines[out.Entries.Lines[8]-1] != "8" {
		t.Error("an entry does not begin where its result does")
	}
	out, err = guest.Invoke(query, `{"json":"null","filter":"range(1000) | \"x\" * 20000"}`, o)
	if err != nil || out.More == nil || len(out.Text) > tool.MaxWhole || out.More.Shown != len(out.Entries.Lines) || out.More.Total != 1000 {
		t.Errorf("more than the host keeps: %d bytes, %+v, %v", len(out.Text), out.More, err)
	}
}

func TestRefusals(t *testing.T) {
	for _, tt := range []struct {
		in   string
		code tool.Code
		msg  string
	}{
		{`{"filter":"."}`, tool.BadArgs, "nothing to query"},
		{`{"filter":".","json":"1","file_path":"shop.json"}`, tool.BadArgs, "Both"},
		{`{"filter":".a[","json":"1"}`, tool.BadArgs, "at its end, character 4"},
		{`{"filter":".a | 'b'","json":"1"}`, tool.BadArgs, `at "'", character 6`},
		{`{"filter":"nosuch(1)","json":"1"}`, tool.BadArgs, "nosuch/1"},
		{`{"filter":".a","json":"[1]"}`, tool.Failed, "expected an object"},
		{`{"filter":"error(\"no\")","json":"1"}`, tool.Failed, "no"},
		{`{"filter":".","file_path":"broken.json"}`, tool.Failed, "Line 3 of broken.json is no JSON"},
		{`{"filter":".","file_path":"half.jsonl"}`, tool.Failed, "it ends in the middle of a value"},
		{`{"filter":".","file_path":"empty.json"}`, tool.Failed, "no JSON value"},
		{`{"filter":".","file_path":"none.json"}`, tool.BadArgs, "There is no"},
		{`{"filter":".","file_path":"../x"}`, tool.Denied, ""},
		{`{"filter":"[inputs]","file_path":"half.jsonl"}`, tool.Failed, "middle of a value"},
		{`{"filter":".[]","json":"[1]","offset":5}`, tool.BadArgs, "1 results; offset is 5"},
		{`{"filter":"import \"x\" as x; .","json":"1"}`, tool.BadArgs, ""},
	} {
		out, err := guest.Invoke(query, tt.in, workspace)
		e, ok := err.(*tool.Error)
		if !ok || e.Code != tt.code || !strings.Contains(e.Msg, tt.msg) {
			t.Errorf("%s: %q, %v; want %s, %s", tt.in, out.Text, err, tt.code, tt.msg)
		} else if e.Hint == "" && e.Code != tool.Denied {
			t.Errorf("%s: no hint: %v", tt.in, err)
		}
	}
}

func FuzzFilter(f *testing.F) {
	f.Add(".a[]?", `{"a":[1,2]}`)
	f.Add("[inputs]", "1 2 3")
	f.Fuzz(func(t *testing.T, filter, text string) {
		if strings.ContainsAny(filter, "*") || len(filter) > 20 { // "x" * 1e9 and loops are the host's business
			filter = "."
		}
		in, err := json.Marshal(args{Filter: filter, JSON: text, Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		out, err := guest.Invoke(query, string(in), workspace)
		if err == nil && out.Text == "" {
			t.Errorf("an empty answer to %q of %q", filter, text)
		}
	})
}

package quote_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/weirhost/weir/agent/internal/quote"
	"github.com/weirhost/weir/sdk/tool"
)

func writes(args string) quote.Call {
	return quote.Call{Tool: "write_file", Args: json.RawMessage(args)}
}

// Two spellings of one call have one digest, and another call another one.
func TestDigest(t *testing.T) {
	tools := toolsOf([]tool.Spec{{Name: "write_file", Params: json.RawMessage(`{"type":"object","properties":{
		"path":{"type":"string"},"mode":{"type":"integer","default":420},"tags":{"type":"array","items":{"type":"string"}},"force":{"type":"boolean","default":false}}}`)}, {Name: "write"}})
	one := tools.Digest(writes(`{"path":"a b.txt","tags":["x","y"]}`))
	for _, same := range []string{
		`{"tags": ["x", "y"], "path": "a b.txt"}`, `{"path":"a  b.txt","tags":["x","y"]}`, `{"path":"a\nb.txt ","tags":["x","y"],"mode":420}`, `{"path":"a b.txt","tags":["x","y"],"mode":"420.0","force":false}`,
		`{"path":"a\u200b b.txt","tags":["x","y"],"force":null}`, `{"path":"a b.txt","tags":"[\"x\", \"y\"]"}`, `{"Path":"a b.txt","tags":["x","y"],"force":"false"}`,
	} {
		if tools.Digest(writes(same)) != one {
			t.Errorf("%s is another call", same)
		}
	}
	for _, other := range []string{`{"path":"a b.txt","tags":["x","z"]}`, `{"path":"ab.txt","tags":["xy"]}`, `{"path":"a b.txt","tags":["x","y"],"mode":421}`, `{"path":"a b.txt","tags":["x","y"],"force":true}`, `{}`, `[]`} {
		if tools.Digest(writes(other)) == one {
			t.Errorf("%s is the same call", other)
		}
	}
	if tools.Digest(quote.Call{Tool: "write", Args: json.RawMessage(`{"path":"a b.txt","tags":["x","y"]}`)}) == one {
		t.Error("a call of another tool is the same")
	}
}

// When a conversation has as many digests as are kept, a further call of a tool counts for all its
// calls; those of other tools are told apart still.
func TestMoreCallsThanAreKept(t *testing.T) {
	tools := tools()
	var text strings.Builder
	for i := range quote.MaxCalls + 10 {
		fmt.Fprintf(&text, "<tool_call>{\"name\":\"write_file\",\"arguments\":{\"path\":\"%d.txt\"}}</tool_call>\n", i)
	}
	var calls, again quote.Calls
	held := calls.Read([]string{text.String()}, tools, nil)
	if most := 8 * (quote.MaxCalls + 2); len(held) > most {
		t.Errorf("%d bytes are kept, more than %d", len(held), most)
	}
	again.Add(held)
	for _, c := range []*quote.Calls{&calls, &again} {
		if !c.Holds(writes(`{"path":"1.txt"}`), tools) || !c.Holds(writes(`{"path":"never.txt"}`), tools) || c.Holds(quote.Call{Tool: "list", Args: json.RawMessage(`{}`)}, tools) {
			t.Error("the calls of the tool are not held, or those of another one are")
		}
	}
}

// A notice of a cut text is read for no call: each has one of load_tool_history.
func TestNoticesHoldNoCall(t *testing.T) {
	tools := toolsOf([]tool.Spec{{Name: tool.LoadHistory, Params: json.RawMessage(`{"type":"object","properties":{"uuid":{"type":"string"}}}`)}, {Name: "list"}})
	var calls quote.Calls
	if held := calls.Read([]string{"[The whole: load_tool_history(uuid=\"a\")]"}, tools, nil); len(held) > 0 {
		t.Errorf("%d bytes are held", len(held))
	}
	if held := calls.Read([]string{"[The whole: load_tool_history(uuid=\"a\")]\n<tool_call>{\"name\":\"list\",\"arguments\":{}}</tool_call>"}, tools, nil); len(held) != 8 {
		t.Errorf("%d bytes are held of another call", len(held))
	}
}

// What has been read is not read again, and a call that is the model's own is not held.
func TestReadReturnsWhatIsNew(t *testing.T) {
	tools, text := tools(), "> write_file(path='a.txt')"
	var calls quote.Calls
	if own := calls.Read([]string{text}, tools, func(quote.Call) bool { return true }); len(own) > 0 || calls.Holds(writes(`{"path":"a.txt"}`), tools) {
		t.Error("the model's own call is held")
	}
	if first, second := calls.Read([]string{text}, tools, nil), calls.Read([]string{text, text}, tools, nil); len(first) != 8 || len(second) > 0 {
		t.Errorf("%d and %d bytes", len(first), len(second))
	}
}

// The time is linear in the text, whatever is in it. With the square of it each of these takes
// minutes.
func TestReadingIsLinear(t *testing.T) {
	tools := tools()
	for _, unit := range []string{
		`"write_file\"`, `\"write_file`, "> write_file\n", "write_file {\"path\": ", "Action: write_file ", "| write_file | ", "<td>write_file", "&lt;write_file", "a:b|c>d)e] write_file\n", "\"write_file(path='a", "write_file: ", "1: write_file(path=\"x\")\n",
	} {
		var calls quote.Calls
		calls.Read([]string{strings.Repeat(unit, 64<<10/len(unit))}, tools, nil)
	}
}

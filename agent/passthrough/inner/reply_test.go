package inner

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weirhost/weir/agent/passthrough"
	"github.com/weirhost/weir/sdk/tool"
)

const ownID = "0198c2f4-6c1e-7d3a-9b52-1f0a4e8d7c66"

// splitter returns a Splitter; guarded: the request has a placeholder.
func splitter(guarded bool) *Splitter {
	o := &Own{}
	if guarded {
		o.addID(ownID)
		o.addText("📎 [Tool result archived: " + ownID + "]")
	}
	return &Splitter{Offered: Offered{map[string]string{"load": tool.LoadHistory}}, Own: o}
}

func delta(d, finish string) passthrough.Chunk {
	if finish == "" {
		finish = "null"
	} else {
		finish = `"` + finish + `"`
	}
	return passthrough.Chunk{Data: []byte(`{"id":"a","choices":[{"index":0,"delta":` + d + `,"finish_reason":` + finish + `}]}`)}
}

func piece(index int, id, name, args string) string {
	s := fmt.Sprintf(`{"index":%d`, index)
	if id != "" {
		s += fmt.Sprintf(`,"id":%q,"type":"function"`, id)
	}
	s += `,"function":{`
	if name != "" {
		s += fmt.Sprintf(`"name":%q,`, name)
	}
	return `{"tool_calls":[` + s + fmt.Sprintf(`"arguments":%q}}]}`, args)
}

// run feeds chunks to a reply, and returns what came out at once, at the end, and hidden.
func run(s *Splitter, chunks ...passthrough.Chunk) (live, rest string, hidden []Hidden, r *Reply) {
	r = s.Next()
	for _, c := range chunks {
		for _, out := range r.Add(c) {
			live += string(out.Data) + "\n"
		}
	}
	end, hidden := r.End()
	for _, out := range end {
		rest += string(out.Data) + "\n"
	}
	return live, rest, hidden, r
}

func data(chunks ...passthrough.Chunk) (out string) {
	for _, c := range chunks {
		out += string(c.Data) + "\n"
	}
	return out
}

// A reply without calls of weir's goes on byte for byte, its end at the end.
func TestAReplyWithoutWeirsCalls(t *testing.T) {
	chunks := []passthrough.Chunk{
		delta(`{"role":"assistant","content":"","odd":[ 1 ]}`, ""), delta(`{"content":"Hm."}`, ""),
		delta(piece(0, "c1", "bash", ""), ""), delta(piece(0, "", "", `{"a":`), ""), delta(piece(0, "", "", `1}`), ""),
		delta(piece(1, "c2", "read", `{}`), ""), delta(`{}`, "tool_calls"), {Data: []byte(`{"id":"a","choices":[],"usage":{}}`)},
	}
	live, rest, hidden, r := run(splitter(false), chunks...)
	if live != data(chunks[:6]...) || rest != data(chunks[6:]...) || len(hidden) > 0 || len(r.Given(nil)) != 2 {
		t.Errorf("%s\n%s\n%v", live, rest, hidden)
	}
}

// Calls of weir's are not seen by the client, whose own are numbered without a gap.
func TestCallsOfWeirAreHidden(t *testing.T) {
	s := splitter(false)
	live, rest, hidden, r := run(s,
		delta(`{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"w1","type":"function","function":{"name":"load","arguments":""}}]}`, ""),
		delta(piece(0, "", "", `{"uuid":"x"}`), ""), delta(piece(1, "c1", "bash", "{"), ""), delta(piece(1, "", "", "}"), ""),
		delta(piece(2, "w2", "load", "{}"), ""), delta(`{}`, "tool_calls"))
	want := data(delta(`{"role":"assistant","content":null}`, ""), delta(piece(0, "c1", "bash", "{"), ""), delta(piece(0, "", "", "}"), ""))
	if live != want || rest != data(delta(`{}`, "tool_calls")) {
		t.Errorf("%s%s\nwant\n%s", live, rest, want)
	}
	if len(hidden) != 2 || hidden[0].At != 0 || hidden[0].Tool != tool.LoadHistory || hidden[0].Call.Function.Arguments != `{"uuid":"x"}` || hidden[1].At != 2 {
		t.Errorf("hidden %+v", hidden)
	}
	if given := r.Given(hidden); len(given) != 1 || given[0].ID != "c1" {
		t.Errorf("given %+v", given)
	}
	if m := string(r.Message()); strings.Index(m, "w1") > strings.Index(m, "c1") || !strings.Contains(m, "w2") {
		t.Error(m)
	}
}

// To the client several replies are one: one id, and the texts as paragraphs.
func TestSeveralRepliesAreOne(t *testing.T) {
	s := splitter(false)
	run(s, delta(`{"role":"assistant","content":"Let me look."}`, ""), delta(piece(0, "w1", "load", "{}"), "tool_calls"))
	second := passthrough.Chunk{Data: []byte(`{"id":"b","choices":[{"index":0,"delta":{"content":"It is 7."},"finish_reason":null}]}`)}
	live, _, hidden, _ := run(s, second, delta(`{}`, "stop"))
	if live != data(delta(`{"content":"\n\nIt is 7."}`, "")) || len(hidden) > 0 || s.Said() != "Let me look.\n\nIt is 7." {
		t.Errorf("%s %q", live, s.Said())
	}
}

// A call whose arguments hold a placeholder of this conversation is not handed over.
func TestAPlaceholderInArguments(t *testing.T) {
	bad := `{"text":"📎 [Tool result archived: ` + ownID + `]\n"}`
	good := `{"text":"📎 [Tool result archived: 0198c2f4-6c1e-7d3a-9b52-000000000000]"}`
	live, rest, hidden, _ := run(splitter(true), delta(`{"content":"I write."}`, ""),
		delta(piece(0, "c1", "write", bad[:20]), ""), delta(piece(0, "", "", bad[20:]), ""),
		delta(piece(1, "c2", "write", good[:9]), ""), delta(piece(1, "", "", good[9:]), ""), delta(`{}`, "tool_calls"))
	if live != data(delta(`{"content":"I write."}`, "")) {
		t.Errorf("at once: %s", live)
	}
	if want := data(delta(piece(0, "c2", "write", good[:9]), ""), delta(piece(0, "", "", good[9:]), ""), delta(`{}`, "tool_calls")); rest != want {
		t.Errorf("%s\nwant\n%s", rest, want)
	}
	if len(hidden) != 1 || hidden[0].Call.ID != "c1" || hidden[0].Tool != "" {
		t.Errorf("%+v", hidden)
	}
}

// Some servers send the pieces of several calls by turns: none is lost, and the guard reads them all.
func TestPiecesOfCallsByTurns(t *testing.T) {
	for _, guarded := range []bool{false, true} {
		live, rest, hidden, r := run(splitter(guarded), delta(piece(0, "c1", "bash", `{"a"`), ""), delta(piece(1, "c2", "read", `{"b"`), ""),
			delta(piece(0, "", "", `:1}`), ""), delta(piece(1, "", "", `:2}`), ""), delta(`{}`, "tool_calls"))
		var got passthrough.Answer
		for line := range strings.Lines(live + rest) {
			got.Add([]byte(line))
		}
		want := r.Given(hidden)
		if len(hidden) > 0 || len(want) != 2 || len(got.Calls()) != 2 || got.Calls()[0] != want[0] || got.Calls()[1] != want[1] {
			t.Errorf("guarded %v: the client got %+v of %+v", guarded, got.Calls(), want)
		}
	}
	_, _, hidden, _ := run(splitter(true), delta(piece(0, "c1", "bash", `{"a":"`), ""), delta(piece(1, "c2", "read", `{}`), ""),
		delta(piece(0, "", "", `📎 [Tool result archived: `+ownID+`]"}`), ""), delta(`{}`, "tool_calls"))
	if len(hidden) != 1 || hidden[0].Call.ID != "c1" {
		t.Errorf("hidden %+v", hidden)
	}
}

// The same for an answer in one piece.
func TestAWholeAnswer(t *testing.T) {
	whole := func(message string) passthrough.Chunk {
		return passthrough.Chunk{Data: []byte(`{"id":"a","choices":[{"index":0,"message":` + message + `,"finish_reason":"tool_calls"}]}`)}
	}
	s := splitter(true)
	if _, _, hidden, r := run(s, whole(`{"role":"assistant","content":"Let me look.","tool_calls":[{"id":"w1","type":"function","function":{"name":"load","arguments":"{}"}}]}`)); len(hidden) != 1 || len(r.Given(hidden)) != 0 {
		t.Errorf("%+v", hidden)
	}
	live, rest, hidden, r := run(s, whole(`{"role":"assistant","content":"So.","tool_calls":[{"id":"w2","type":"function","function":{"name":"load","arguments":"{}"}},{"id":"c1","type":"function","function":{"name":"bash","arguments":"{}"}}]}`))
	want := data(whole(`{"role":"assistant","content":"Let me look.\n\nSo.","tool_calls":[{"id":"c1","type":"function","function":{"name":"bash","arguments":"{}"}}]}`))
	if live != "" || rest != want || len(hidden) != 1 || len(r.Given(hidden)) != 1 {
		t.Errorf("%s %s %+v", live, rest, hidden)
	}
	plain := whole(`{"role":"assistant","content":"Hi","odd":[ 1 ]}`)
	if _, rest, hidden, _ := run(splitter(true), plain); rest != data(plain) || len(hidden) > 0 {
		t.Error(rest)
	}
}

// What a server says of a call of weir's, such as the signature of a thought, it gets back.
func TestMembersThatAServerWantsBack(t *testing.T) {
	const element = `{"index":0,"id":"w1","type":"function","function":{"name":"load","arguments":"{}"},"extra_content":{"google":{"thought_signature":"s"}}}`
	for name, c := range map[string]passthrough.Chunk{
		"stream": delta(`{"tool_calls":[`+element+`]}`, "tool_calls"),
		"whole":  {Data: []byte(`{"choices":[{"index":0,"message":{"tool_calls":[` + element + `]},"finish_reason":"tool_calls"}]}`)},
	} {
		_, _, hidden, r := run(splitter(false), c)
		if want := `"extra_content":{"google":{"thought_signature":"s"}}`; len(hidden) != 1 || !strings.Contains(string(r.Message()), want) || !strings.Contains(string(hidden[0].Raw), want) {
			t.Errorf("%s: %s", name, r.Message())
		}
	}
}

// weir's tools are behind the client's, under a name that is free.
func TestOffer(t *testing.T) {
	b, err := passthrough.ReadBody([]byte(`{"tools":[ {"type":"function","function":{"name":"load_tool_history", "strict":true}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	got, o := Offer(b, []tool.Spec{{Name: tool.LoadHistory, Description: "D", Params: []byte(`{}`)}})
	want := `{"tools":[{"type":"function","function":{"name":"load_tool_history", "strict":true}},{"type":"function","function":{"name":"weir_load_tool_history","description":"D","parameters":{}}}]}`
	if string(got.Bytes()) != want || o.Called(tool.LoadHistory) != "weir_load_tool_history" {
		t.Errorf("%s %+v", got.Bytes(), o)
	}
	for _, body := range []string{`{"messages":[]}`, `{"tools":[]}`, `{"n":2,"tools":[{"type":"function","function":{"name":"a"}}]}`} {
		b, _ := passthrough.ReadBody([]byte(body))
		if got, _ := Offer(b, []tool.Spec{{Name: "x"}}); string(got.Bytes()) != body {
			t.Errorf("%s became %s", body, got.Bytes())
		}
	}
}

// What is loaded leaves when its turn ends, and a client's results stay beside weir's in the
// order of the calls.
func TestRoundsInTheirPlaces(t *testing.T) {
	m := newMemory()
	msgs := []string{`{"role":"user","content":"Q"}`}
	send := func() (*History, string) {
		var b passthrough.Body
		h, ok := Read(b.With("messages", []byte("["+strings.Join(msgs, ",")+"]")))
		if !ok {
			t.Fatal("unread")
		}
		s := h.Apply(m.known(h))
		body := s.With(nil)
		return h, string(body.Get("messages"))
	}
	h, _ := send()
	call := func(id string) passthrough.Call {
		return passthrough.Call{ID: id, Type: "function", Function: passthrough.Function{Name: "f", Arguments: "{}"}}
	}
	d, n := h.Note(Rounds{Calls: []Placed{{0, []byte(text(call("w1"))), Answered{"w1", "one", "", ""}}, {2, []byte(text(call("w2"))), Answered{"w2", "two", "gone", ""}}}}, "", []passthrough.Call{call("c1"), call("c2")})
	m.keep("rounds", d, n)
	msgs = append(msgs, `{"role":"assistant","tool_calls":[`+text(call("c1"))+`,`+text(call("c2"))+`]}`, `{"role":"tool","tool_call_id":"c1","content":"1"}`, `{"role":"tool","tool_call_id":"c2","content":"2"}`)
	order := func(s string, parts ...string) {
		t.Helper()
		for _, p := range parts {
			_, after, ok := strings.Cut(s, p)
			if !ok {
				t.Errorf("%q is not where it belongs in %s", p, s)
			}
			s = after
		}
	}
	_, s := send()
	order(s, `"id":"w1"`, `"id":"c1"`, `"id":"w2"`, `"id":"c2"`, `"content":"one"`, `"content":"1"`, `"content":"two"`, `"content":"2"`)
	msgs = append(msgs, `{"role":"assistant","content":"A"}`, `{"role":"user","content":"Q"}`)
	_, s = send()
	order(s, `"content":"one"`, `"content":"1"`, `"content":"gone"`, `"content":"2"`)
}

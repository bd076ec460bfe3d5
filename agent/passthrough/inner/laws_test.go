package inner

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weirhost/weir/agent/passthrough"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// A memory is a store of notes and an archive.
type memory struct {
	notes   map[string]string
	archive map[string]string // texts by id
	at      int
}

func newMemory() *memory { return &memory{notes: map[string]string{}, archive: map[string]string{}} }

func (m *memory) known(h *History) Known {
	results, turns, rounds := h.Digests()
	pick := func(kind string, digests []string) map[string]string {
		out := map[string]string{}
		for _, d := range digests {
			if n, ok := m.notes[kind+d]; ok {
				out[d] = n
			}
		}
		return out
	}
	return Known{pick("result ", results), pick("turn ", turns), pick("rounds ", rounds)}
}

func (m *memory) keep(kind, digest, note string) {
	if _, ok := m.notes[kind+" "+digest]; !ok {
		m.notes[kind+" "+digest] = note
	}
}

// send does what a service does with a request.
func (m *memory) send(t failer, messages []json.RawMessage, l Limits) (*History, Sent) {
	var b passthrough.Body
	h, ok := Read(b.With("messages", joined(messages)))
	if !ok {
		t.Fatal("the messages cannot be read")
	}
	results, ended := h.Undecided(m.known(h), l)
	for _, r := range results {
		m.at++ // what is archived again has another id and time
		id := fmt.Sprintf("0198c2f4-6c1e-7d3a-9b52-%012d", m.at)
		m.archive[id] = r.Text
		chars, lines := limit.Count(r.Text)
		ref := &tool.Ref{UUID: id, Summary: "s", Query: "q", CreatedAt: time.Unix(int64(m.at), 0).UTC(), Chars: chars, Lines: lines}
		m.keep("result", r.Digest, r.Note(ref, l, tool.En, tool.LoadHistory))
	}
	for _, d := range ended {
		m.keep("turn", d, "1")
	}
	return h, h.Apply(m.known(h))
}

func list(t failer, s Sent, rounds ...Round) (out []json.RawMessage) {
	b := s.With(rounds)
	if err := json.Unmarshal(b.Get("messages"), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func line(role, content string, more string) json.RawMessage {
	c, _ := json.Marshal(content)
	return json.RawMessage(fmt.Sprintf(`{"role":%q,"content":%s%s}`, role, c, more))
}

// A client is a simulated client with a loop of its own.
type client struct {
	t      *rapid.T
	m      *memory
	l      Limits
	msgs   []json.RawMessage
	before []json.RawMessage // what the model's server got last
	floor  int               // how much of it belongs to turns that were folded
	turn   int
	n      int
	// changed says that the limits were.
	changed bool
}

func (c *client) id() string { c.n++; return fmt.Sprintf("call_%d", c.n) }

// request sends what the client has, lets the model load, and returns what the server got.
func (c *client) request() (h *History, rounds Rounds, sent Sent) {
	if rapid.IntRange(0, 7).Draw(c.t, "limits") == 0 { // the operator changes them
		c.changed = true
		c.l = Limits{Ceiling: rapid.IntRange(1500, 9000).Draw(c.t, "ceiling"), Over: rapid.IntRange(-1, 1500).Draw(c.t, "over")}
	}
	h, sent = c.m.send(c.t, c.msgs, c.l)
	now := list(c.t, sent)
	if h.Turn() != c.turn { // the one fold
		common := 0
		for common < len(c.before) && common < len(now) && bytes.Equal(c.before[common], now[common]) {
			common++
		}
		if common < c.floor {
			c.t.Fatalf("turn %d: %d messages are the same, %d must be", h.Turn(), common, c.floor)
		}
		c.turn, c.floor = h.Turn(), len(now)
	} else {
		for i, b := range c.before {
			if i >= len(now) || !bytes.Equal(b, now[i]) {
				c.t.Fatalf("turn %d: message %d was\n%s\nand is not any more", h.Turn(), i, b)
			}
		}
	}
	c.check(h, now)
	for range rapid.IntRange(0, 2).Draw(c.t, "rounds") {
		r := Round{Reply: json.RawMessage(`{"role":"assistant","content":null,"tool_calls":[{"id":"l` + c.id() + `"}]}`), Results: []Answered{{ID: "x", Text: strings.Repeat("loaded ", 300), Stub: "[unloaded]"}}}
		rounds.Before = append(rounds.Before, r)
	}
	c.before = list(c.t, sent, rounds.Before...)
	return h, rounds, sent
}

// check sees that no text of a result is lost: it is sent, or in the archive under an id that
// is sent in its place.
func (c *client) check(h *History, now []json.RawMessage) {
	all := string(joined(now))
	for _, m := range h.msgs {
		if m.role != "tool" {
			continue
		}
		quoted, _ := json.Marshal(m.text)
		if strings.Contains(all, string(quoted)) {
			continue
		}
		if chars, _ := limit.Count(m.text); m.turn == h.Turn() && (chars <= c.l.Ceiling && !c.changed || strings.Contains(all, "\"tool_call_id\":\""+m.callID+"\",\"content\":\"📎")) {
			c.t.Fatalf("a result of %d characters is not sent whole in its turn", chars)
		}
		id := ""
		for _, found := range slices.Sorted(maps.Keys(c.m.archive)) {
			if c.m.archive[found] == m.text && strings.Contains(all, found) {
				id = found
			}
		}
		if id == "" {
			c.t.Fatalf("a result of %d characters is neither sent nor to be loaded", len(m.text))
		}
	}
}

func (c *client) result(id string) json.RawMessage {
	n := rapid.SampledFrom([]int{3, 300, 900, 2000, 7000}).Draw(c.t, "length")
	text := fmt.Sprintf("result %s <a&b> [x]\n", id) + strings.Repeat("line of 日本 text\n", n/16)
	if rapid.Bool().Draw(c.t, "parts") {
		part, _ := json.Marshal(text)
		return json.RawMessage(fmt.Sprintf(`{"role":"tool","tool_call_id":%q,"content":[{"type":"text","text":%s},{"type":"image_url","image_url":{"url":"data:"}}]}`, id, part))
	}
	return line("tool", text, fmt.Sprintf(`,"tool_call_id":%q`, id))
}

// ask runs one turn.
func (c *client) ask() {
	c.msgs = append(c.msgs, line("user", "Question "+c.id(), ""))
	for range rapid.IntRange(0, 4).Draw(c.t, "replies") {
		h, rounds, _ := c.request()
		var calls []passthrough.Call
		var results []json.RawMessage
		for range rapid.IntRange(1, 3).Draw(c.t, "calls") {
			id := c.id()
			calls = append(calls, passthrough.Call{ID: id, Type: "function", Function: passthrough.Function{Name: "read", Arguments: `{"path":"a"}`}})
			results = append(results, c.result(id))
		}
		if rapid.Bool().Draw(c.t, "beside") {
			rounds.Calls = append(rounds.Calls, Placed{At: rapid.IntRange(0, len(calls)).Draw(c.t, "at"), Call: json.RawMessage(`{"id":"b` + c.id() + `"}`), Answered: Answered{ID: "b", Text: strings.Repeat("beside ", 300), Stub: "[unloaded]"}})
		}
		c.keep(h, rounds, "", calls)
		quoted, _ := json.Marshal(calls)
		c.msgs = append(append(c.msgs, line("assistant", "", `,"tool_calls":`+string(quoted))), results...)
		c.fork()
	}
	h, rounds, _ := c.request()
	c.keep(h, rounds, "The answer "+fmt.Sprint(c.n), nil)
	c.msgs = append(c.msgs, line("assistant", " The answer  "+fmt.Sprint(c.n), "")) // trimmed in its way
}

func (c *client) keep(h *History, r Rounds, answer string, calls []passthrough.Call) {
	if len(r.Before)+len(r.Calls) > 0 {
		d, n := h.Note(r, answer, calls)
		c.m.keep("rounds", d, n)
	}
}

// fork sends something else that begins like the conversation, or ends like it.
func (c *client) fork() {
	msgs := slices.Clone(c.msgs)
	switch rapid.IntRange(0, 3).Draw(c.t, "fork") {
	case 0:
		return
	case 1: // a title
		msgs = []json.RawMessage{line("system", "Write a title", ""), msgs[1]}
	case 2: // a summary
		msgs[0] = line("system", "Summarise", "")
		msgs = append(msgs, line("user", "Summarise", ""))
	case 3: // the same again, answered in another way
		h, _ := c.m.send(c.t, msgs, c.l)
		d, n := h.Note(Rounds{Before: []Round{{Reply: json.RawMessage(`{"role":"assistant"}`)}}}, "Another answer", nil)
		c.m.keep("rounds", d, n)
		return
	}
	c.m.send(c.t, msgs, c.l)
}

// What was sent once is sent again, but for the one fold of a turn that has ended; no text of
// a result is lost; forks change nothing.
func TestAConversationIsSentTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &client{t: t, m: newMemory(), l: Limits{Ceiling: 5000, Over: 1000}, msgs: []json.RawMessage{line("system", "You are an agent", "")}}
		for range rapid.IntRange(2, 5).Draw(t, "turns") {
			c.ask()
		}
	})
}

type failer interface{ Fatal(args ...any) }

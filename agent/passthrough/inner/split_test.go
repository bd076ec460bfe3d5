package inner

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weirhost/weir/agent/passthrough"
)

// seen reads what a client gets of a stream, as clients do: the index of a new call is the next
// number, its first piece has id and name.
func seen(t *rapid.T, chunks []passthrough.Chunk) (said string, calls []passthrough.Call, finishes int) {
	for _, c := range chunks {
		var v struct {
			Choices []struct {
				Delta struct {
					Content string
					Calls   []struct {
						Index int
						passthrough.Call
					} `json:"tool_calls"`
				}
				Finish *string `json:"finish_reason"`
			}
		}
		if err := json.Unmarshal(c.Data, &v); err != nil {
			t.Fatal(err)
		}
		for _, ch := range v.Choices {
			said += ch.Delta.Content
			if ch.Finish != nil {
				finishes++
			}
			for _, p := range ch.Delta.Calls {
				switch {
				case p.Index == len(calls) && p.ID != "" && p.Function.Name != "":
					calls = append(calls, p.Call)
				case p.Index < len(calls):
					calls[p.Index].Function.Arguments += p.Function.Arguments
				default:
					t.Fatalf("a piece with the index %d after %d calls: %s", p.Index, len(calls), c.Data)
				}
			}
		}
	}
	return said, calls, finishes
}

// However a reply is cut into chunks, the client gets its text and its own calls, whole and in
// order, and weir the others.
func TestASplitReply(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := splitter(rapid.Bool().Draw(t, "guarded"))
		said := rapid.SampledFrom([]string{"", "I look.", "Ein Satz mit Ümläuten und 日本語."}).Draw(t, "text")
		var chunks []passthrough.Chunk
		for rest := []rune(said); len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "runes")
			chunks = append(chunks, delta(fmt.Sprintf(`{"content":%s}`, text(string(rest[:n]))), ""))
			rest = rest[n:]
		}
		var want, hide []string
		for i := range rapid.IntRange(0, 4).Draw(t, "calls") {
			id := fmt.Sprint("c", i)
			name := rapid.SampledFrom([]string{"load", "bash", "write"}).Draw(t, "name")
			args := rapid.SampledFrom([]string{``, `{}`, `{"a":"[Tool result archived: ` + ownID + `]"}`, `{"a":"plain"}`}).Draw(t, "args")
			if name == "load" || s.Own.Any() && strings.Contains(args, ownID) {
				hide = append(hide, id+name+args)
			} else {
				want = append(want, id+name+args)
			}
			n := rapid.IntRange(0, len(args)).Draw(t, "cut")
			chunks = append(chunks, delta(piece(i, id, name, args[:n]), ""))
			if n < len(args) {
				chunks = append(chunks, delta(piece(i, "", "", args[n:]), ""))
			}
		}
		chunks = append(chunks, delta(`{}`, "stop"))
		r := s.Next()
		var got []passthrough.Chunk
		for _, c := range chunks {
			got = append(got, r.Add(c)...)
		}
		rest, hidden := r.End()
		text, calls, finishes := seen(t, append(got, rest...))
		var have, hid []string
		for _, c := range calls {
			have = append(have, c.ID+c.Function.Name+c.Function.Arguments)
		}
		for _, h := range hidden {
			hid = append(hid, h.Call.ID+h.Call.Function.Name+h.Call.Function.Arguments)
		}
		again := 1
		if len(hide) > 0 && len(want) == 0 { // the model is asked again
			again = 0
		}
		if text != said || fmt.Sprint(have) != fmt.Sprint(want) || fmt.Sprint(hid) != fmt.Sprint(hide) || finishes != again || len(r.Given(hidden)) != len(want) {
			t.Fatalf("the client got %q, %v and %d ends, weir %v; not %q, %v, %d, %v", text, have, finishes, hid, said, want, again, hide)
		}
	})
}

package inner

import (
	"cmp"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// Limits say which results are long, in characters.
type Limits struct {
	// Ceiling is the longest text that is sent whole; 0 or negative: all are.
	Ceiling int
	// Over is the length over which a result becomes a placeholder when its turn has ended;
	// negative: none does.
	Over int
}

func (l Limits) cuts(chars int) bool  { return l.Ceiling > 0 && chars > l.Ceiling }
func (l Limits) folds(chars int) bool { return l.Over >= 0 && chars > l.Over }

// A Known is what was decided about a conversation before: notes by their digests.
type Known struct {
	Results map[string]string // of long results
	Turns   map[string]string // of turns that have ended: all their results are decided about
	Rounds  map[string]string // of rounds in front of answers
}

// A Result is a long result of one of the client's tools.
type Result struct {
	// Digest is where its note belongs.
	Digest string
	CallID string
	Tool   string
	Args   json.RawMessage
	Text   string // the whole
	Turn   int
	// Ends is the digest of the turn's end; empty: the turn runs.
	Ends  string
	chars int
}

// Digests returns under which digests there can be notes, for Known.
func (h *History) Digests() (results, turns, rounds []string) {
	for i, m := range h.msgs {
		switch {
		case m.role == "tool":
			results = append(results, m.chain)
		case m.begins && m.turn > 1:
			turns = append(turns, m.chain)
		case m.role == "assistant":
			rounds = append(rounds, digest(h.before(i), m.print))
		}
	}
	return results, turns, rounds
}

func (h *History) before(i int) string {
	if i == 0 {
		return ""
	}
	return h.msgs[i-1].chain
}

// Undecided returns the long results without a note. They are to be archived, and their notes
// to be stored, before the request is sent. Results of the running turn are decided about when
// they first come, those of a turn that has ended once more: ended are the digests of the turns
// for which the caller does so now, if all of it succeeds.
func (h *History) Undecided(k Known, l Limits) (results []Result, ended []string) {
	decided := map[int]bool{}
	ends := map[int]string{}
	for _, m := range h.msgs {
		if m.begins && m.turn > 1 {
			ends[m.turn-1] = m.chain
			if _, ok := k.Turns[m.chain]; ok {
				decided[m.turn-1] = true
			} else {
				ended = append(ended, m.chain)
			}
		}
	}
	sent := 0 // the messages before it were in an earlier request of this turn
	for i, m := range h.msgs {
		if m.role == "assistant" {
			sent = i
		}
	}
	for i, m := range h.msgs {
		if m.role != "tool" || decided[m.turn] || k.Results[m.chain] != "" || m.turn == h.last && i < sent {
			continue
		}
		if n := utf8.RuneCountInString(m.text); l.cuts(n) || l.folds(n) {
			c := h.callOf(i)
			results = append(results, Result{
				Digest: m.chain, CallID: m.callID, Tool: cmp.Or(c.Function.Name, "unknown"), Args: argsOf(c.Function.Arguments),
				Text: m.text, Turn: m.turn, Ends: ends[m.turn], chars: n,
			})
		}
	}
	return results, ended
}

// argsOf returns arguments as JSON: a string of them if they are not.
func argsOf(args string) json.RawMessage {
	if json.Valid([]byte(args)) {
		return json.RawMessage(args)
	}
	quoted, _ := json.Marshal(args) // a string always marshals
	return quoted
}

// A resultNote is what is sent of a long result. It is frozen when the result first comes.
type resultNote struct {
	UUID string `json:"uuid"`
	// Cut is sent in its turn; empty: the whole. Placeholder is sent after it; empty: as in
	// the turn.
	Cut         string `json:"cut,omitempty"`
	Placeholder string `json:"placeholder,omitempty"`
}

// Note returns the note of a result that is archived as ref. load is the name by which the
// model calls load_tool_history.
func (r Result) Note(ref *tool.Ref, l Limits, locale tool.Locale, load string) string {
	n := resultNote{UUID: ref.UUID}
	if l.cuts(r.chars) {
		res := tool.Result{Tool: r.Tool, Ref: ref}.WithWhole(r.Text)
		res.Shown = limit.Fit(res, tool.Limits{MaxChars: l.Ceiling, Strategy: tool.HeadTail}, limit.By{Chars: tool.LayerCeiling, Lines: tool.LayerCeiling})
		n.Cut = Named(limit.RenderExact(res, locale), load)
	}
	if l.folds(r.chars) {
		n.Placeholder = strings.ReplaceAll(agent.Placeholder(*ref, r.Tool, locale), tool.LoadHistory+"(", load+"(")
	}
	return text(n)
}

// Named returns a text whose notices name load_tool_history as the model knows it.
func Named(s, load string) string {
	if load == tool.LoadHistory {
		return s
	}
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		if limit.IsNotice(line) {
			lines[i] = strings.ReplaceAll(line, tool.LoadHistory+"(", load+"(")
		}
	}
	return strings.Join(lines, "\n")
}

func text(v any) string {
	b, _ := json.Marshal(v) // strings, numbers and JSON that was read always marshal
	return string(b)
}

func readNote(s string) (n resultNote, ok bool) {
	return n, s != "" && json.Unmarshal([]byte(s), &n) == nil
}

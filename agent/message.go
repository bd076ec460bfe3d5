package agent

import (
	"encoding/json"
	"time"

	"github.com/weirhost/weir/agent/parse"
	"github.com/weirhost/weir/sdk/tool"
)

// Role is whose message it is.
type Role string

// The roles of the stored form. There is no system role: the system prompt is
// made from the configuration. RoleResults holds one round's tool results;
// RoleNote is text of our own to the model (a correction, a hint).
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleResults   Role = "results"
	RoleNote      Role = "note"
)

// A Message is one message in the neutral stored form. Prompt-mode and native
// requests are rendered from it, and what was rendered once never changes, but
// for the one fold of a result into its placeholder.
type Message struct {
	Role      Role        `json:"role"`
	Text      string      `json:"text,omitempty"`
	Reasoning string      `json:"reasoning,omitempty"`
	Calls     []tool.Call `json:"calls,omitempty"`
	// Native says that Calls came through the provider's own tool calling.
	Native  bool          `json:"native,omitempty"`
	Results []ResultEntry `json:"results,omitempty"`
	Turn    int           `json:"turn"`
	Model   string        `json:"model,omitempty"`
	Locale  tool.Locale   `json:"locale,omitempty"`
	At      time.Time     `json:"at"`
	// Sealed is the provider's own form of the reply, kept while its turn lasts, as
	// it does while calls of the caller's tools are pending.
	Sealed json.RawMessage `json:"sealed,omitempty"`
	// Remarks are what people saw after this message besides messages. The agent does
	// not read them.
	Remarks []Remark `json:"remarks,omitempty"`
	// Typed is the part of a question's Text that a person typed; zero: none is, or that is not
	// known. The rest, such as an attached file, is a foreign text.
	Typed Span `json:"typed,omitzero"`
	// Held says which calls the message's foreign texts hold, in a form of package quote's; nil:
	// nobody has looked, or it has no such text.
	Held []byte `json:"held,omitempty"`
	// Sources are those of an answer; see Source.
	Sources []Source `json:"sources,omitempty"`
	// Unseen is how many characters at the end of Text people did not see: a plan, which
	// is a remark, or a malformed call.
	Unseen int `json:"unseen,omitempty"`
}

// A Span is a part of a text: the characters from From on, up to the one at To. It is empty
// unless To is more than From.
type Span struct {
	From int `json:"from"`
	To   int `json:"to"`
}

// Cut returns what is in front of the part, the part, and what follows it. Of a text that ends
// before To, the part is empty, and in front of it is the whole text.
func (s Span) Cut(text string) (before, part, after string) {
	chars := []rune(text)
	if s.From < 0 || s.From >= s.To || s.To > len(chars) {
		return text, "", ""
	}
	return string(chars[:s.From]), string(chars[s.From:s.To]), string(chars[s.To:])
}

// A Remark is one event of a turn that people see when they open the conversation
// again: a malformed call, a plan, earlier results that the question is about, another
// way of calling tools, or another model.
type Remark struct {
	Malformed parse.Reason `json:"malformed,omitempty"`
	Plan      []string     `json:"plan,omitempty"`
	Recalled  int          `json:"recalled,omitempty"` // the number of results
	Loaded    bool         `json:"loaded,omitempty"`   // the best of them was loaded
	From      Mode         `json:"from,omitempty"`
	To        Mode         `json:"to,omitempty"`
	// Failing could not answer, and Answering did instead; both are models.
	Failing   string `json:"failing,omitempty"`
	Answering string `json:"answering,omitempty"`
	// Failed says in each language why the turn ended without an answer, and what to do.
	Failed map[tool.Locale]Failure `json:"failed,omitempty"`
}

// A Failure is a sentence and a hint; the hint may be empty.
type Failure struct {
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// remark returns the Remark of an event; false: it has none.
func remark(e Event) (Remark, bool) {
	switch e := e.(type) {
	case MalformedCall:
		return Remark{Malformed: e.Malformed.Reason}, true
	case PlanReady:
		return Remark{Plan: e.Steps}, true
	case Recalled:
		return Remark{Recalled: len(e.UUIDs), Loaded: e.Preloaded}, len(e.UUIDs) > 0
	case ModeSwitched:
		return Remark{From: e.From, To: e.To}, true
	case ModelSwitched:
		return Remark{Failing: e.From, Answering: e.To}, true
	}
	return Remark{}, false
}

// A ResultEntry is one tool result as the model reads it.
type ResultEntry struct {
	CallID string `json:"call_id"`
	Tool   string `json:"tool"`
	// Text is what the model reads now: the rendered view with its notice, or
	// the placeholder once Folded. It is neutralised.
	Text string `json:"text"`
	// Sources are those that the model reads with the result, and Cite is the line after Text
	// that tells it their numbers; empty: none does. A placeholder has no such line.
	Sources []Source  `json:"sources,omitempty"`
	Cite    string    `json:"cite,omitempty"`
	Folded  bool      `json:"folded,omitempty"`
	Ref     *tool.Ref `json:"ref,omitempty"`
	// Chars is the length of the whole in characters.
	Chars int  `json:"chars"`
	Err   bool `json:"err,omitempty"`
	// Confirm is set if the call was a quotation and did not run: the id by which the
	// model confirms it.
	Confirm string `json:"confirm,omitempty"`
	// Ephemeral entries (loads) turn into a one-line stub when KeepUntil, a
	// turn number, is over.
	Ephemeral bool `json:"ephemeral,omitempty"`
	KeepUntil int  `json:"keep_until,omitempty"`
}

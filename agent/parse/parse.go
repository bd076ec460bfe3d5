package parse

import (
	"encoding/json"

	"github.com/weirhost/weir/agent/parse/internal/marker"
	"github.com/weirhost/weir/agent/parse/internal/prose"
	"github.com/weirhost/weir/agent/parse/internal/toolset"
	"github.com/weirhost/weir/sdk/tool"
)

// A Parser turns one model reply, in any chunking, into events. It is used by
// one goroutine for one reply. It never fails and never withdraws a Call.
type Parser interface {
	// Feed takes the next chunk and returns what has become certain.
	Feed(chunk string) []Event
	// Close takes the end of the reply. With truncated, the reply was cut off
	// by a length limit: nothing is repaired and no unfinished call runs.
	Close(truncated bool) []Event
	// Over reports whether calls were found and no further call can follow, so that
	// the rest of the reply need not be read.
	Over() bool
}

// An Event is a Text, Reasoning, Call or Malformed.
type Event interface{ event() }

// Text is what the person reads. Adjacent Texts belong together.
type Text struct{ Text string }

// Reasoning is what the model thought; a call inside it never runs.
type Reasoning struct{ Text string }

// A Call is a tool call of a declared tool.
type Call struct {
	ID     string          // the model's own id, or empty
	Name   string          // the declared name, not the model's spelling
	Args   json.RawMessage // a JSON object
	Format marker.Format   // how it was written
	Raw    string          // the text it was read from
	// Repaired says that structure had to be repaired (commas, quotes, tags).
	Repaired bool
}

// Malformed is text that meant to be a call and could not be read as one.
type Malformed struct {
	Reason Reason
	Name   string // the tool it meant, if that is known
	Format marker.Format
	Raw    string // its own text, for the correction that goes back
	Detail string // for example where the JSON breaks
}

func (Text) event()      {}
func (Reasoning) event() {}
func (Call) event()      {}
func (Malformed) event() {}

// Reason says why a call could not be read.
type Reason string

// The reasons of Malformed.
const (
	ReasonUnknownTool Reason = "unknown_tool"
	ReasonBadJSON     Reason = "bad_json"
	ReasonTruncated   Reason = "truncated"
	ReasonNoArgs      Reason = "no_arguments"
	ReasonNoName      Reason = "no_name"
	// ReasonInThought is a call at the end of a thought that was never closed.
	ReasonInThought Reason = "in_thought"
	// ReasonInText is a call without a mark that ends the reply behind words that do not
	// say that it is made.
	ReasonInText Reason = "in_text"
)

// Options say what a Parser recognises.
type Options struct {
	// Tools are the declared tools; only their names are calls.
	Tools []tool.Spec
	// AnyName takes every name as declared, for measuring other engines' cases.
	AnyName bool
	Reading
}

// A Reading says how one reply is read.
type Reading struct {
	// StartInThought says that the model's template opens the thought at the end of
	// the prompt: the reply begins as reasoning, and nothing before </think> is a call.
	StartInThought bool
	// Marked says that calls come as data: text is text, but for one complete call in
	// marks (a tag or special token, with its closing one) that is the last thing of the
	// reply and calls a declared tool. There is no Malformed then.
	Marked bool
	// Shown says that the person asked how a call is written (AsksForCall): an object
	// behind words shows it.
	Shown bool
}

// New makes a Parser for one reply. It reads the schemas of o.Tools; for several
// replies a Set reads them once.
func New(o Options) Parser { return NewSet(o).Parser() }

// A Set makes Parsers with the same Options. It is safe for concurrent use.
type Set struct {
	tools   *toolset.Set // read-only
	reading Reading
}

// NewSet reads the schemas of o.Tools, which takes longer than everything else
// about a short reply.
func NewSet(o Options) *Set { return &Set{toolset.New(o.Tools, o.AnyName), o.Reading} }

// Parser makes one for one reply.
func (s *Set) Parser() Parser { return newParser(s.tools, s.reading) }

// Read makes a Parser for one reply, whatever the Options say about the reading.
func (s *Set) Read(r Reading) Parser { return newParser(s.tools, r) }

// AsksForCall reports whether a question asks how a tool is called or what a call looks
// like.
func AsksForCall(question string) bool { return prose.AsksForCall(question) }

// SaysNext reports whether a text after calls says nothing but what comes next. Any other
// text there may be a result that the model has invented.
func SaysNext(text string) bool { return prose.SaysNext(text) }

// OnlyActs reports whether a text says that its writer makes a call now ("I look it up."),
// and nothing that could be an answer.
func OnlyActs(text string) bool { return prose.OnlyActs(text) }

// All reads a complete reply. Adjacent Texts, and adjacent Reasonings, are
// joined, so that the result does not depend on any chunking.
func All(o Options, text string) []Event {
	p := New(o)
	return Join(append(p.Feed(text), p.Close(false)...))
}

// Join puts adjacent Texts together, and adjacent Reasonings.
func Join(events []Event) []Event {
	var out []Event
	for _, e := range events {
		if len(out) > 0 {
			switch e := e.(type) {
			case Text:
				if last, ok := out[len(out)-1].(Text); ok {
					out[len(out)-1] = Text{last.Text + e.Text}
					continue
				}
			case Reasoning:
				if last, ok := out[len(out)-1].(Reasoning); ok {
					out[len(out)-1] = Reasoning{last.Text + e.Text}
					continue
				}
			}
		}
		out = append(out, e)
	}
	return out
}

// Calls returns the calls among events, in order.
func Calls(events []Event) []Call {
	var out []Call
	for _, e := range events {
		if c, ok := e.(Call); ok {
			out = append(out, c)
		}
	}
	return out
}

package parse

import (
	"encoding/json"

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
	Format Format          // how it was written
	Raw    string          // the text it was read from
	// Repaired says that structure had to be mended (commas, quotes, tags).
	Repaired bool
}

// Malformed is text that meant to be a call and could not be read as one.
type Malformed struct {
	Reason Reason
	Name   string // the tool it meant, if that is known
	Format Format
	Raw    string // its own text, for the correction that goes back
	Detail string // for example where the JSON breaks
}

func (Text) event()      {}
func (Reasoning) event() {}
func (Call) event()      {}
func (Malformed) event() {}

// Format names how a call was written, for counters and logs.
type Format string

// The formats. One reply may hold several; a call has the one of its
// outermost marker.
const (
	FormatTag       Format = "tool_call"      // <tool_call>…</tool_call>, also unclosed and doubled
	FormatFunction  Format = "function_call"  // <function_call>, <functioncall>, <start_function_call>
	FormatTags      Format = "tool_tag"       // <tools>, <tool_use>, <TOOLCALL>, <tool_code>, <name>…</name>
	FormatInvoke    Format = "invoke"         // <invoke name="…"><parameter name="…">
	FormatXML       Format = "function_xml"   // <function=…><parameter=…>
	FormatGLM       Format = "glm"            // name, <arg_key>, <arg_value>
	FormatMistral   Format = "mistral"        // [TOOL_CALLS]
	FormatPythonTag Format = "python_tag"     // <|python_tag|>
	FormatDeepSeek  Format = "deepseek"       // <｜tool▁calls▁begin｜>
	FormatKimi      Format = "kimi"           // <|tool_calls_section_begin|>
	FormatToken     Format = "tool_token"     // <|tool_call|>, <|tool_call_start|>, <|action_start|>
	FormatHarmony   Format = "harmony"        // <|channel|>commentary to=functions.…
	FormatCommand   Format = "command"        // <|START_ACTION|>
	FormatFunctools Format = "functools"      // functools[…]
	FormatBracket   Format = "bracket"        // [TOOL_CALL]…[/TOOL_CALL], [TOOL_REQUEST]
	FormatCalling   Format = "calling_tool"   // [Calling tool: … with arguments: …]
	FormatReAct     Format = "react"          // Action: … Action Input: …
	FormatFence     Format = "fence"          // ```tool_call
	FormatFenceJSON Format = "fence_json"     // ```json, and JSON in any other fence
	FormatFenceCode Format = "fence_pythonic" // name(a=1) in a fence
	FormatJSON      Format = "json"           // bare {…} or […]
	FormatPythonic  Format = "pythonic"       // bare name(a=1) or [name(a=1)]
	FormatNameJSON  Format = "name_json"      // name and {…}, on one line or two
)

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
)

// Options say what a Parser recognises.
type Options struct {
	// Tools are the declared tools; only their names are calls.
	Tools []tool.Spec
	// AnyName takes every name as declared, for measuring other engines' cases.
	AnyName bool
	// InThought says that the prompt ended inside an opened thought, so that
	// the reply begins as reasoning.
	InThought bool
}

// New makes a Parser for one reply. It reads the schemas of o.Tools; for several
// replies a Set reads them once.
func New(o Options) Parser { return NewSet(o).Parser() }

// A Set makes Parsers with the same Options. It is safe for concurrent use.
type Set struct {
	tools     *toolset // which nobody changes
	inThought bool
}

// NewSet reads the schemas of o.Tools, which takes longer than everything else
// about a short reply.
func NewSet(o Options) *Set { return &Set{newToolset(o), o.InThought} }

// Parser makes one for one reply.
func (s *Set) Parser() Parser { return newParser(s.tools, s.inThought) }

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

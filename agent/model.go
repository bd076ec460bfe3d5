package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/weirhost/weir/sdk/tool"
)

// A Model generates one reply. Implementations are safe for concurrent use;
// the sequence is read by one goroutine and may be left early with break, which
// ends the request. An error ends the sequence: it is a *ModelError where the
// provider is at fault, ctx.Err() when the context ended.
type Model interface {
	Generate(ctx context.Context, r Request) iter.Seq2[Delta, error]
}

// A Describer is a Model that can say what it is. It is optional; without it
// the window is unknown and tools are called by prompt.
type Describer interface {
	// Describe may ask the provider, within ctx. An error comes with what is known without
	// the answer.
	Describe(ctx context.Context) (ModelInfo, error)
}

// As finds what a Model can do beside Generate, such as a Describer: its own, or
// that of the Model which it wraps, if it has a method Unwrap() Model.
func As[T any](m Model) (T, bool) {
	for {
		if t, ok := m.(T); ok {
			return t, true
		}
		w, ok := m.(interface{ Unwrap() Model })
		if !ok {
			var none T
			return none, false
		}
		m = w.Unwrap()
	}
}

// ModelInfo is what is known about a model.
type ModelInfo struct {
	// Name is how the operator calls it, Provider and Model how the provider does.
	Name, Provider, Model string
	// Window is the context window in tokens; 0: unknown. FromTable says that neither the
	// operator nor the server names it: it is that of weir's table of hosted services.
	Window    int
	FromTable bool
	// NativeTools says whether the provider's API takes tools: nil: unknown.
	NativeTools *bool
	// StartInThought says that the model's template opens a thought at the end of the
	// prompt, so that replies begin inside it unless the server separates thoughts.
	StartInThought bool
	// Simulated marks a model that is not an AI.
	Simulated bool
}

// A Request is everything one reply is made from. The Model does not keep it.
type Request struct {
	System   string
	Messages []ChatMessage
	// Tools are given to the provider's own tool calling; empty in prompt mode.
	// Other turns share them: they must not be changed.
	Tools []tool.Spec
	// NoCalls says that none of Tools may be called any more. A Model gives them to
	// its provider all the same, because prompt caches begin with them, and forbids
	// calls where there is a parameter for it. The loop does not run a call that
	// comes all the same.
	NoCalls bool
	// MaxTokens bounds the reply, in tokens; 0: the provider's default.
	MaxTokens int
	// Window is the context window to ask for, in tokens; 0: the model's own.
	Window int
	// Stop ends the reply where one of these begins.
	Stop []string
	// Choice says whether the reply has to call one of Tools, and OneCall that it
	// may make one call at most. What a provider has no parameter for is left out:
	// the loop sees to both itself.
	Choice  Choice
	OneCall bool
	// Sampling is how the reply is drawn.
	Sampling Sampling
	// Format asks for JSON; nil: text. It is left out where a provider cannot.
	Format *Format
	// Locale is the language of tool descriptions and of errors; empty: English,
	// or what the model was configured with.
	Locale tool.Locale
}

// A Choice says whether a reply has to call a tool; the zero Choice leaves it to
// the model.
type Choice struct {
	Must bool
	// Tool is the one to call; empty: any. It is only read with Must.
	Tool string
}

// Sampling is how a reply is drawn. What is nil or empty is the provider's
// default; a Model leaves out what its provider has no parameter for.
type Sampling struct {
	Temperature, TopP, FrequencyPenalty, PresencePenalty *float64
	Seed                                                 *int64
	// Bias makes tokens likelier or less likely, by their number in the model's
	// own vocabulary.
	Bias map[string]int
	// Effort is how long a model that thinks may think: minimal, low, medium, high
	// or what else the provider knows.
	Effort string
}

// A Format asks for a reply that is one JSON object.
type Format struct {
	Name string // of the schema; may be empty
	// Schema is the JSON Schema to satisfy; nil: any object.
	Schema json.RawMessage
	// Strict asks the provider to hold the model to every word of the schema.
	Strict bool
}

// A ChatMessage is one message as a provider understands it.
type ChatMessage struct {
	Role string // user, assistant or tool
	Text string
	// Calls are the native calls of an assistant message; empty in prompt mode.
	Calls []tool.Call
	// CallID and Tool name the call that a tool message answers.
	CallID, Tool string
	// Reasoning is what the model thought before an assistant message's Calls.
	// Some providers want it back with them; the others leave it out.
	Reasoning string
	// Sealed is what a Delta of this assistant message brought along, while its
	// turn lasts.
	Sealed json.RawMessage
}

// A Delta is one piece of a reply. Any of its fields may be set.
type Delta struct {
	Text      string
	Reasoning string
	// Call is a complete native tool call, never a part of one. Its Args are
	// as the model wrote them and may not be valid JSON.
	Call *tool.Call
	// Sealed is the whole reply as the provider wants it back while its calls are
	// answered, in a form that is the provider's own: it may hold signatures.
	// No other code reads it, and it is not stored.
	Sealed json.RawMessage
	// Usage is given once, near the end, by providers that count.
	Usage *Usage
	// Model is who replies, by the provider's own word: an alias that was asked for
	// has its version here. Empty: this Delta does not say.
	Model string
	// Finish is set on the last Delta of a complete reply.
	Finish Finish
}

// Finish says why a reply ended.
type Finish string

// The ends of a reply. A sequence that ends without any is a cut connection
// and must yield an error.
const (
	FinishStop   Finish = "stop"
	FinishLength Finish = "length" // cut by the provider's or our token limit
	FinishCalls  Finish = "tool_calls"
)

// Usage counts tokens as the provider does.
type Usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	// Reasoning is the part of Completion that the model thought.
	Reasoning int `json:"reasoning_tokens,omitempty"`
	// CachedPrompt is the part of Prompt that the provider's cache served,
	// CacheWrite the part that it was charged for keeping.
	CachedPrompt int `json:"cached_prompt_tokens,omitempty"`
	CacheWrite   int `json:"cache_write_tokens,omitempty"`
	// Estimated says that a part is our own estimate: of replies that were left
	// where their calls ended, before the provider's count.
	Estimated bool `json:"estimated,omitempty"`
}

// Add sums two usages.
func (u Usage) Add(v Usage) Usage {
	return Usage{u.Prompt + v.Prompt, u.Completion + v.Completion, u.Reasoning + v.Reasoning, u.CachedPrompt + v.CachedPrompt, u.CacheWrite + v.CacheWrite, u.Estimated || v.Estimated}
}

// Without returns a usage without a part of it.
func (u Usage) Without(v Usage) Usage {
	return Usage{u.Prompt - v.Prompt, u.Completion - v.Completion, u.Reasoning - v.Reasoning, u.CachedPrompt - v.CachedPrompt, u.CacheWrite - v.CacheWrite, u.Estimated}
}

// ModelCode is the kind of a ModelError.
type ModelCode string

// What can go wrong between us and a provider.
const (
	ModelAuth        ModelCode = "auth"         // key missing, wrong or not allowed
	ModelNotFound    ModelCode = "not_found"    // no such model or endpoint
	ModelBadRequest  ModelCode = "bad_request"  // the provider refuses what was sent
	ModelRateLimited ModelCode = "rate_limited" // after the retries
	ModelOverloaded  ModelCode = "overloaded"   // 5xx, after the retries
	ModelUnreachable ModelCode = "unreachable"  // no connection
	ModelCut         ModelCode = "cut"          // the stream broke off
	ModelGarbage     ModelCode = "garbage"      // the answer is not what the API promises
	ModelWindow      ModelCode = "window"       // the prompt is longer than the window
)

// A ModelError is a provider's failure for a person: the problem and the fix. It
// never contains a key. NewModelError fills all of its texts.
type ModelError struct {
	Code  ModelCode
	Model string // the operator's name for the model
	// Msg and Hint are MsgText and HintText in English. An empty Hint means that
	// there is no fix.
	Msg, Hint         string
	MsgText, HintText tool.Text
	// KeyEnv is the variable that the missing key is read from; empty: no key is
	// missing, or it has no variable.
	KeyEnv string
	// Status is the HTTP status; 0: none was received.
	Status int
	// Tools are those whose descriptions the provider refuses; nil: it names none.
	Tools []string
	// RetryAfter is what the provider asked for; 0: nothing.
	RetryAfter time.Duration
	// Final says that asking again would not help, although the Code allows it: the account
	// has nothing left, or the address is wrong.
	Final bool
	Err   error
}

// NewModelError returns a ModelError with both texts of the problem and of its fix. A
// zero hint means that there is no fix.
func NewModelError(code ModelCode, model string, msg, hint tool.Text) *ModelError {
	return &ModelError{Code: code, Model: model, Msg: msg.String(), Hint: hint.String(), MsgText: msg, HintText: hint}
}

func (e *ModelError) Error() string {
	s := fmt.Sprintf("model %s: %s", e.Model, e.Msg)
	if e.Hint != "" {
		s += "; " + e.Hint
	}
	return s
}

// Texts returns MsgText and HintText, or Msg and Hint where those are zero.
func (e *ModelError) Texts() (msg, hint tool.Text) {
	msg, hint = e.MsgText, e.HintText
	if msg.IsZero() {
		msg.Format = e.Msg
	}
	if hint.IsZero() {
		hint.Format = e.Hint
	}
	return msg, hint
}

// Text returns Error as a Text.
func (e *ModelError) Text() tool.Text {
	msg, hint := e.Texts()
	if hint.IsZero() {
		return tool.Textf("model %s: %s", e.Model, msg)
	}
	return tool.Textf("model %s: %s; %s", e.Model, msg, hint)
}

func (e *ModelError) Unwrap() error { return e.Err }

// IsModelCode reports whether err is a ModelError of that code.
func IsModelCode(err error, code ModelCode) bool {
	var me *ModelError
	return errors.As(err, &me) && me.Code == code
}

package agent

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/weirhost/weir/sdk/tool"
)

// Defaults of the numeric fields of Config.
const (
	DefaultMaxToolCalls     = 20
	DefaultMaxPlanningSteps = 10
	DefaultMemoryLimit      = 40
	DefaultArchiveThreshold = 10000
	DefaultKeepTurns        = 1
	// DefaultSemanticThreshold is half of the question's words, or a cosine that
	// unrelated texts stay under.
	DefaultSemanticThreshold = 0.5
	DefaultParallel          = 4
	DefaultMaxCorrections    = 3
	DefaultToolsChars        = 16000
	DefaultRoundChars        = 24000 // when the window is unknown
	DefaultLoadChars         = 32768 // a page of a load when the window is unknown
	DefaultAnswerReserve     = 2048  // tokens, or a quarter of a smaller window
)

// A Prefetch is a tool that runs on the question before the model is asked.
type Prefetch struct {
	Tool string
	// Args are its arguments beside the question. nil: none.
	Args map[string]any
}

// Config is the capability record of an agent and its budgets. The zero Config
// is a plain chat without tools and memory; Defaults returns the usual one.
type Config struct {
	// EnablePlanning asks for numbered steps before the first call and tracks them.
	EnablePlanning bool
	// EnableToolCalling offers the Toolbox's tools to the model.
	EnableToolCalling bool
	// EnableReflection checks the draft answer against the results once.
	EnableReflection bool
	// EnableMemory sends earlier messages along.
	EnableMemory bool

	// MaxPlanningSteps bounds the plan. 0: 10; negative: no bound.
	MaxPlanningSteps int
	// MaxToolCalls bounds the calls of one question. 0: 20; negative: none are made.
	MaxToolCalls int
	// MemoryLimit is how many earlier messages are sent. When it is passed, the
	// oldest are dropped in one batch down to half. 0: 40; negative: all are sent.
	MemoryLimit int
	// MaxToolResultLength is the agent's limit per result, in characters. nil:
	// by the model's window; 0 or negative: 4,000; 1 to 999: 1,000.
	MaxToolResultLength *int

	// Mode is how tools are called; a turn never overrules ModePrompt and ModeNative. Empty:
	// ModeAuto.
	Mode Mode
	// NativeTools says, for ModeAuto, whether a try has shown that the model's own tool
	// calling works. It is read where the model does not say; nil: nothing was tried.
	NativeTools *bool
	// Locale is the language of everything the agent writes to the model.
	// Empty: that of the question.
	Locale tool.Locale

	// Window is the context window in tokens. 0: what the model says of itself;
	// negative: unknown.
	Window int
	// RoundChars bounds all results of one round together, in characters. nil or
	// negative: 40 % of the room left, 24,000 when the window is unknown; 0: no bound.
	RoundChars *int
	// ArchiveThreshold is the length, in characters of the whole, over which a
	// result folds into its placeholder at the turn's end. 0: 10,000; negative:
	// nothing folds.
	ArchiveThreshold int
	// LoadChars bounds a load, in characters. 0 or negative: the room left
	// decides, 32,768 when the window is unknown.
	LoadChars int
	// KeepTurns is how many turns a load stays, its own included. 0 or
	// negative: 1.
	KeepTurns int
	// AnswerReserve is kept free for the answer, in tokens. 0 or negative:
	// 2,048, or a quarter of a window under 8,192.
	AnswerReserve int
	// ToolsChars bounds the tools' part of the system prompt, in characters;
	// tools over it shrink to one line each, or are searched for if the Toolbox is a
	// Finder and a quarter is too short for the lines. 0: 16,000, or an eighth of the
	// window's characters if that is less; negative: no bound.
	ToolsChars int
	// PinnedTools are described whole, as far as ToolsChars has room, before others.
	PinnedTools []string

	// Parallel bounds the calls that run at once. 0: 4; negative: one at a time.
	Parallel int
	// MaxCorrections bounds how often a malformed call or an empty reply is
	// sent back in one turn, an empty reply once. 0: 3; negative: never.
	MaxCorrections int
	// TokenBudget bounds prompt and completion tokens of one turn together. 0
	// or negative: no bound.
	TokenBudget int
	// TimeBudget bounds one turn. After four fifths of it a note asks the model to
	// answer now. Time in which a call waits for a person does not count. 0 or
	// negative: no bound.
	TimeBudget time.Duration

	// Trigger says who decides that an archived result is needed again. Empty:
	// TriggerModel.
	Trigger Trigger
	// Across says that the results of the user's earlier conversations can be read: the
	// system prompt tells the model to search them.
	Across bool
	// SemanticThreshold is the score, up to 1, from which on TriggerSemantic and
	// TriggerHybrid take a match for good: a share of the question's words, of
	// which two must be in it at least, or a cosine of vectors. 0:
	// DefaultSemanticThreshold; negative: no threshold, the best match is good.
	SemanticThreshold float64
	// Typed is the part of the question that a person typed: a call that it holds may be made.
	// Zero: none is typed.
	Typed Span
	// Preload are calls that run before the model is asked: what the person wants
	// loaded with the question. They get ids of this conversation; calls of tools
	// that are not offered are left out, the others count as the turn's calls.
	Preload []tool.Call
	// Explain emits Offered, the tokens of each tool's description. It costs a pass
	// over every description.
	Explain bool
	// Raw fills RoundEnd.Raw, for a log of replies as they came.
	Raw bool
	// Prefetch names tools that run on the question before the model is asked.
	Prefetch []Prefetch
	// Checkpoint receives how far a turn is: before the calls of a reply run, and when they
	// have run. The turn goes on when it returns, and ends with its error. Nil: nothing receives it.
	Checkpoint func(context.Context, Checkpoint) error
	// Caller are tools that whoever asks runs. A reply that calls one ends the turn
	// with ReasonToolCalls, and Loop.Resume goes on when their results are there.
	// They are offered whatever EnableToolCalling and MaxToolCalls say. No name may
	// be that of one of the Toolbox's tools.
	Caller []tool.Spec
	// Choice says whether the turn's first reply has to call a tool, and which; one
	// that does not is sent back, as often as MaxCorrections allows.
	Choice Choice
	// OneCall takes the first call of each reply and leaves the others unmade.
	OneCall bool
	// MaxTokens bounds each reply, in tokens. 0 or negative: the provider's bound.
	MaxTokens int
	// Stop ends a reply where one of these begins.
	Stop []string
	// Sampling is how replies are drawn.
	Sampling Sampling
	// Format asks for an answer that is JSON; nil: text. The prompt says so, and
	// the provider too where that does not keep tools from being called.
	Format *Format
	// AnswerFault says what is wrong with an answer in Format, without an end mark; zero:
	// nothing. The model reads it and is asked once more, if nobody has read its answer yet.
	// nil: every answer is right.
	AnswerFault func(answer string) tool.Text
	// AsItComes says that an answer in Format is read while it comes, if no tool can be called.
	AsItComes bool
	// SystemExtra is the operator's own addition to the system prompt.
	SystemExtra string
	// Estimator counts tokens; sharing one between turns with the same model
	// keeps what it learnt. nil: a fresh one.
	Estimator *Estimator
	// Fallback are the models that are asked, in order, if the Loop's own cannot answer: no
	// connection, a failure of its server, a rate limit, a used up quota. One answers the rest
	// of the turn, and none does once a piece of an answer has come.
	Fallback []Alternative
	// Tools keeps what turns make of their tools; sharing one between turns saves
	// them most of their own work. nil: a fresh one.
	Tools *ToolCache
	// Now tells the time. nil: time.Now.
	Now func() time.Time
}

// Defaults returns a Config that calls tools and remembers, with every budget
// at its default.
func Defaults() Config { return Config{EnableToolCalling: true, EnableMemory: true} }

// Validate reports the first field that cannot be meant.
func (c Config) Validate() error {
	switch c.Mode {
	case "", ModeAuto, ModePrompt, ModeNative:
	default:
		return fmt.Errorf("mode is %q; use auto, prompt or native", c.Mode)
	}
	switch c.Trigger {
	case "", TriggerModel, TriggerKeyword, TriggerSemantic, TriggerHybrid:
	default:
		return fmt.Errorf("trigger is %q; use model, keyword, semantic or hybrid", c.Trigger)
	}
	if !(c.SemanticThreshold <= 1) {
		return fmt.Errorf("the semantic threshold is %v; scores end at 1", c.SemanticThreshold)
	}
	switch c.Locale {
	case "", tool.En, tool.Zh:
	default:
		return fmt.Errorf("locale is %q; use en, zh or leave it empty", c.Locale)
	}
	return nil
}

// resolve replaces every "0 means" by what it means. Bounds that are off come
// out negative.
func (c Config) resolve() Config {
	c.MaxPlanningSteps = cmp.Or(c.MaxPlanningSteps, DefaultMaxPlanningSteps)
	c.MaxToolCalls = cmp.Or(c.MaxToolCalls, DefaultMaxToolCalls)
	c.MemoryLimit = cmp.Or(c.MemoryLimit, DefaultMemoryLimit)
	c.ArchiveThreshold = cmp.Or(c.ArchiveThreshold, DefaultArchiveThreshold)
	c.KeepTurns = max(1, cmp.Or(c.KeepTurns, DefaultKeepTurns))
	c.Parallel = max(1, cmp.Or(c.Parallel, DefaultParallel))
	c.MaxCorrections = cmp.Or(c.MaxCorrections, DefaultMaxCorrections)
	c.SemanticThreshold = cmp.Or(c.SemanticThreshold, DefaultSemanticThreshold)
	c.Mode = cmp.Or(c.Mode, ModeAuto)
	if c.Estimator == nil {
		c.Estimator = new(Estimator)
	}
	if c.Tools == nil {
		c.Tools = new(ToolCache)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

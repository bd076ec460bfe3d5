package agent

import (
	"errors"
	"time"

	"github.com/weirhost/weir/sdk/tool"
)

// A Turn is the outcome of one question. After an error it holds what happened until
// then.
type Turn struct {
	// Messages is the whole history to store, folded.
	Messages []Message
	// From is the index of the first message that is new or changed.
	From int
	// Answer is the text for the person, without what was said before calls, and Sources are
	// those that it cites, or else the first that the model has read; nil: none.
	Answer    string
	Sources   []Source
	Reasoning string
	Reason    Reason
	// Fault is what is wrong with Answer, if Reason is ReasonFormat.
	Fault tool.Text
	// Pending are the calls of the caller's tools that Loop.Resume wants results of;
	// nil unless Reason is ReasonToolCalls.
	Pending []tool.Call
	Usage   Usage
	Stats   Stats
}

// Stats counts what a turn did.
type Stats struct {
	Rounds      int // replies of the model
	Calls       int // tool calls that ran
	Corrections int // malformed calls and empty replies sent back
	// ProducedChars is what the tools produced, ShownChars what the model saw,
	// KeptChars what the archive holds.
	ProducedChars, ShownChars, KeptChars int
	Elapsed                              time.Duration
	Faults
}

// errTimeBudget is the cause of a context that Config.TimeBudget ended.
var errTimeBudget = errors.New("the time budget of the turn is used up")

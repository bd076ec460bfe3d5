package setup

import (
	"context"
	"sync/atomic"

	"github.com/weirhost/weir/agent"
)

// A Model is a chat model with what is known about it without asking it.
type Model struct {
	agent.Model
	Info agent.ModelInfo
	// Server is where it is asked, as host:port; empty: unknown.
	Server string
	// Price is the price of its tokens; zero: unknown, and no cost is reported.
	Price agent.Price
	// Estimator learns how the model counts tokens, over all its turns. nil: the Setup
	// makes one.
	Estimator *agent.Estimator
	// Native finds out whether the model's own tool calling works, once, before
	// the first turn that leaves the mode open; known is false when it could
	// not. nil: what the model says of itself decides.
	Native func(context.Context) (works, known bool)

	// Scripts reports whether a test has seen that it writes scripts; nil: none has.
	Scripts func() bool

	learnt *atomic.Pointer[agent.Mode] // nil until the model is in force
}

// A Profile is one way to run the agent: a model, a capability record and the
// tools it may see.
type Profile struct {
	// Model names one of the configured models.
	Model string
	Agent agent.Config
	// Allow lists the tools the profile sees, nil: all; Deny wins over it.
	Allow, Deny []string
}

// Mode returns how the model's tools are called: as the profile says, and where the
// profile leaves that open, as an earlier turn or Native found out.
func (m Model) Mode(ctx context.Context, prof agent.Config) agent.Mode {
	if prof.Mode != "" && prof.Mode != agent.ModeAuto || !prof.EnableToolCalling {
		return prof.Mode
	}
	if learnt := m.learnt.Load(); learnt != nil {
		return *learnt
	}
	if m.Native == nil {
		return ""
	}
	works, known := m.Native(ctx)
	if !known {
		return prof.Mode
	}
	found := agent.ModePrompt
	if works {
		found = agent.ModeNative
	}
	m.Learn(found)
	return found
}

// WritesScripts reports whether the model is known to write scripts.
func (m Model) WritesScripts() bool { return m.Scripts != nil && m.Scripts() }

// Learn keeps what a turn found out about a model in force, as long as the Setup has a
// model of that name with the same Estimator.
func (m Model) Learn(mode agent.Mode) { m.learnt.Store(&mode) }

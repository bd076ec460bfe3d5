package setup

import (
	"context"

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
	// Fallback are the models that answer, in order, if this one cannot: see Chain.
	Fallback []string
	// Estimator learns how the model counts tokens, over all its turns. nil: the Setup
	// makes one.
	Estimator *agent.Estimator
	// NativeTools is the operator's word about the model's own tool calling; nil: there is
	// none.
	NativeTools *bool
	// Native finds out whether the model's own tool calling works, once, before
	// the first turn that leaves the mode open; known is false when it could
	// not. It calls Probing if it asks the model itself. nil: what the model says of itself
	// decides.
	Native func(context.Context) (works, known bool)

	// Scripts reports whether a test has seen that it writes scripts; nil: none has.
	Scripts func() bool
}

// A Profile is one way to run the agent: a model, a capability record and the
// tools it may see.
type Profile struct {
	// Model names one of the configured models.
	Model string
	// Fallback are the models that answer, in order, if Model cannot, in place of those of
	// Model itself; nil: those.
	Fallback []string
	Agent    agent.Config
	// Allow lists the tools the profile sees, nil: all; Deny wins over it.
	Allow, Deny []string
}

// Mode returns how the model's tools are called, as the profile says or else the
// operator's word about the model, which no turn overrules. Where both leave that open,
// native is what Native found out; nil: nothing.
func (m Model) Mode(ctx context.Context, prof agent.Config) (mode agent.Mode, native *bool) {
	switch {
	case prof.Mode != "" && prof.Mode != agent.ModeAuto || !prof.EnableToolCalling && m.NativeTools == nil:
		return prof.Mode, nil
	case m.NativeTools != nil && *m.NativeTools:
		return agent.ModeNative, nil
	case m.NativeTools != nil:
		return agent.ModePrompt, nil
	case m.Native == nil:
		return prof.Mode, nil
	}
	if works, known := m.Native(ctx); known {
		return prof.Mode, &works
	}
	return prof.Mode, nil
}

// probingKey is the key of the function that OnProbe sets.
type probingKey struct{}

// OnProbe returns a context with which f is called if Native asks the model itself, which may
// take long.
func OnProbe(ctx context.Context, f func()) context.Context {
	return context.WithValue(ctx, probingKey{}, f)
}

// Probing is called by Native from the goroutine of its caller.
func Probing(ctx context.Context) {
	if f, ok := ctx.Value(probingKey{}).(func()); ok {
		f()
	}
}

// WritesScripts reports whether the model is known to write scripts.
func (m Model) WritesScripts() bool { return m.Scripts != nil && m.Scripts() }

// Window returns the context window in force, in tokens: the configured one, else what the
// model's server says, which is asked within ctx until it has answered once, else the
// one of the table. 0: unknown.
func (m Model) Window(ctx context.Context) int {
	if m.Info.Window > 0 {
		return m.Info.Window
	}
	if d, ok := agent.As[agent.Describer](m.Model); ok {
		info, _ := d.Describe(ctx) // an error comes with what is known without the server
		return max(info.Window, 0)
	}
	return 0
}

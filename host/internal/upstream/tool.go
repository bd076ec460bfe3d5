package upstream

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"

	"github.com/weirhost/weir/host/internal/mcpclient"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/runner"
	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/host/internal/text"
	"github.com/weirhost/weir/sdk/tool"
)

// maxErrorChars bounds the text of a server's error.
const maxErrorChars = 500

// maxWhyChars bounds the last lines of a program that has ended.
const maxWhyChars = 1200

// A Tool runs calls on a server. It implements runner.Runner, with the name of the
// tool as the Invocation's export. It is safe for concurrent use.
type Tool struct {
	Server *Server
	// Timed is the table of tools.toml that says how long a call may take. If it is empty,
	// it is that of the server.
	Timed string
}

// setting returns Timed.
func (t Tool) setting() string { return cmp.Or(t.Timed, "[mcpServers."+t.Server.Settings.Name+"]") }

// Acquire returns the Runner for one call; after it the caller must call Release.
func (t Tool) Acquire(context.Context) (runner.Runner, error) {
	if !t.Server.acquire() {
		return nil, runner.ErrRetired
	}
	return t, nil
}

// Release ends the use of one Acquire.
func (t Tool) Release() { t.Server.release(1) }

// Refusal returns nil: a server that cannot be reached now may be later.
func (t Tool) Refusal() error { return nil }

// Weight returns 0: the memory of a server is not the host's.
func (t Tool) Weight() tool.Bytes { return 0 }

// Close does nothing: the connection is the Set's.
func (t Tool) Close(context.Context) error { return nil }

func (t Tool) call(ctx context.Context, inv sandbox.Invocation) (sandbox.Output, *tool.Error) {
	if !inv.Slot.Acquire(ctx, nil) {
		return sandbox.Output{NoSlot: true}, cancelled(inv.Export)
	}
	defer inv.Slot.Release()
	limit := newDeadline(ctx, inv.Timeout, inv.Progress)
	raw, err := t.Server.client.Call(limit.ctx, inv.Export, inv.Input, inv.MaxOutput, limit.report)
	late := limit.failure(t, inv)
	limit.stop()
	switch {
	case err == nil:
		return sandbox.Output{Bytes: raw}, nil
	case ctx.Err() == nil && late != nil:
		return sandbox.Output{}, late
	}
	return sandbox.Output{}, failure(ctx, err, inv)
}

func cancelled(name string) *tool.Error {
	return tool.Errorf(tool.Cancelled, "", "the call of %s was cancelled", name)
}

// failure returns an error of the connection as a failure for the model.
func failure(ctx context.Context, err error, inv sandbox.Invocation) *tool.Error {
	var refusal *mcpclient.Refusal
	var down *mcpclient.DownError
	var unusable *mcpclient.UnusableError
	switch {
	case ctx.Err() != nil:
		return cancelled(inv.Export)
	case errors.Is(err, mcpclient.ErrManyValues):
		return tool.Errorf(tool.TooLarge, "ask for less at once, or narrow the arguments", "the answer of %s has more than %d values", inv.Export, mcpclient.MaxValues)
	case errors.Is(err, mcpclient.ErrDeep):
		return tool.Errorf(tool.TooLarge, "ask for less at once, or narrow the arguments", "the answer of %s is nested more than %d levels deep", inv.Export, mcpclient.MaxDepth)
	case errors.Is(err, mcpclient.ErrLong):
		return tool.Errorf(tool.TooLarge, "ask for less at once, or narrow the arguments", "the answer of %s has more than %s", inv.Export, tool.Bytes(mcpclient.MaxBytes))
	case errors.As(err, &refusal): // the server's own words
		return &tool.Error{Code: tool.Failed, Msg: text.OneLine(refusal.Msg, maxErrorChars)}
	case errors.As(err, &down):
		return tool.Errorf(tool.Failed, "use another tool, or try again later",
			"the MCP server %s is down: %v; the host tries again", down.Server, msg.Clean(down.Why, func(s string) string { return text.OneLine(s, maxWhyChars) }))
	case errors.As(err, &unusable):
		return tool.Errorf(tool.Failed, "try other arguments, or use another tool",
			"the answer of the MCP server %s cannot be used", unusable.Server)
	}
	return tool.Errorf(tool.Failed, "call it again", "the call of %s had no result", inv.Export)
}

// Identity returns a digest of what a tool is: where it runs and how the server
// describes it. A permission that was given for one identity is not valid for
// another. It is empty if there is none.
func Identity(s *Server, t mcpclient.Tool) string {
	c := s.Settings
	for _, part := range []*json.RawMessage{&t.Schema, &t.OutputSchema, &t.Annotations, &t.Meta, &t.Execution, &t.Icons} {
		var v any // a server may write the members of an object in another order each time
		if len(*part) > 0 && json.Unmarshal(*part, &v) == nil {
			*part, _ = json.Marshal(v)
		}
	}
	data, err := json.Marshal([]any{c.Name, c.Command, c.Args, c.Dir, c.URL, t})
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

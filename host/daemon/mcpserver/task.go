package mcpserver

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weirhost/weir/host/approval"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/script"
	"github.com/weirhost/weir/host/script/journal"
)

// tasksExtension names the extension of tasks, which later revisions of the protocol have:
// the answer to a call is a handle, and the client asks for the result until it is there.
const tasksExtension = "io.modelcontextprotocol/tasks"

// DefaultTaskAfter is how long a client that knows tasks waits for a script.
const DefaultTaskAfter = 10 * time.Second

// pollEvery is how often a client should ask for a task.
const pollEvery = time.Second

// A task is a script that the client's call has left under way. Its id is the script's, so
// that it lasts as long: over restarts of weir, and until newer scripts displace it.
type task struct {
	mcp.ResultBase
	ResultType string              `json:"resultType"` // "task" in answer to a call, else "complete"
	ID         string              `json:"taskId"`
	Status     string              `json:"status"`
	Message    string              `json:"statusMessage,omitempty"`
	Created    time.Time           `json:"createdAt"`
	Updated    time.Time           `json:"lastUpdatedAt"`
	TTL        *int64              `json:"ttlMs"` // null: no end is planned
	Poll       int64               `json:"pollIntervalMs"`
	Wanted     mcp.InputRequestMap `json:"inputRequests,omitempty"`
	Result     json.RawMessage     `json:"result,omitempty"`
}

// taskParams are those of all methods of tasks.
type taskParams struct {
	mcp.ParamsBase
	ID        string               `json:"taskId"`
	Responses mcp.InputResponseMap `json:"inputResponses"`
}

// acknowledged is an answer without anything in it.
type acknowledged struct {
	mcp.ResultBase
	ResultType string `json:"resultType"`
}

// takesTasks reports whether a client knows tasks. What it says holds for one request.
func takesTasks(version string, c *mcp.ClientCapabilities) bool {
	if version < stateless || c == nil {
		return false
	}
	_, ok := c.Extensions[tasksExtension]
	return ok
}

// left is where a call puts the id of the script that it leaves under way.
type left struct{}

// leaving returns a context for a call that may leave a script under way, and what makes
// its result a task then.
func (u *user) leaving(ctx context.Context) (context.Context, func(mcp.Result) (mcp.Result, error)) {
	id := new(string)
	whole := ctx
	return context.WithValue(ctx, left{}, id), func(r mcp.Result) (mcp.Result, error) {
		if *id == "" {
			return r, nil
		}
		s, err := u.s.cfg.Scripts.Runs.Get(whole, u.principal, *id)
		if err != nil {
			return nil, err
		}
		t := u.task(whole, s)
		t.ResultType, t.Wanted, t.Result = "task", nil, nil
		return &t, nil
	}
}

// finally calls end when neither the call nor the script that it has left under way runs.
func (u *user) finally(ctx context.Context, end func()) {
	if id, ok := ctx.Value(left{}).(*string); ok && *id != "" {
		go func() {
			defer end()
			_, _ = u.s.cfg.Scripts.Runs.Wait(context.WithoutCancel(ctx), u.principal, *id, 0) // however it ends
		}()
		return
	}
	end()
}

// hasTasks reports whether a call can leave anything under way: a script that is stored.
func (u *user) hasTasks() bool { return u.s.cfg.Scripts != nil && u.s.cfg.Scripts.Runs != nil }

// offerTasks adds the methods of tasks.
func (u *user) offerTasks() error {
	if !u.hasTasks() {
		return nil
	}
	return errors.Join(
		mcp.AddReceivingCustomMethod(u.sdk, "tasks/get", func(ctx context.Context, ss *mcp.ServerSession, p *taskParams) (*task, error) {
			s, elicits, err := u.taskOf(ctx, ss, p)
			if err != nil {
				return nil, err
			}
			t := u.task(ctx, s)
			if elicits && len(s.Card) > 0 {
				r, err := s.Request(u.s.now())
				if err != nil {
					return nil, err
				}
				t.Status, t.Wanted = "input_required", mcp.InputRequestMap{cardKey(s): u.question(r)}
			}
			return &t, nil
		}),
		mcp.AddReceivingCustomMethod(u.sdk, "tasks/update", func(ctx context.Context, ss *mcp.ServerSession, p *taskParams) (*acknowledged, error) {
			s, _, err := u.taskOf(ctx, ss, p)
			if err != nil {
				return nil, err
			}
			if len(p.Responses) > 0 && !mayAnswer(ctx) {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: textsIn(u.locale()).noAnswer}
			}
			if answer, ok := p.Responses[cardKey(s)].(*mcp.ElicitResult); ok && len(s.Card) > 0 {
				var r approval.Request
				if r, err = s.Request(u.s.now()); err == nil {
					err = u.s.cfg.Scripts.Runs.Decide(ctx, u.principal, s.ID, s.Verdicts(verdict(answer, r)))
				}
			}
			return acknowledge(err)
		}),
		mcp.AddReceivingCustomMethod(u.sdk, "tasks/cancel", func(ctx context.Context, ss *mcp.ServerSession, p *taskParams) (*acknowledged, error) {
			s, _, err := u.taskOf(ctx, ss, p)
			if err != nil {
				return nil, err
			}
			if !s.State.Ended() {
				err = u.s.cfg.Scripts.Runs.Cancel(ctx, u.principal, s.ID)
			}
			return acknowledge(err)
		}),
	)
}

// acknowledge answers what needs no other answer, also where another client was faster.
func acknowledge(err error) (*acknowledged, error) {
	if errors.Is(err, script.ErrNotFound) {
		err = nil
	}
	return &acknowledged{ResultType: "complete"}, err
}

// taskOf returns the script of a task, which must be of a call by the protocol, and whether
// the client can ask a person.
func (u *user) taskOf(ctx context.Context, ss *mcp.ServerSession, p *taskParams) (s script.Status, elicits bool, err error) {
	r := mcp.ServerRequest[*taskParams]{Session: ss, Params: p}
	if !takesTasks(r.ProtocolVersion(), r.ClientCapabilities()) {
		return s, false, &jsonrpc.Error{
			Code: mcp.CodeMissingRequiredClientCapabilities, Message: "the request does not declare the extension " + tasksExtension,
			Data: json.RawMessage(`{"requiredCapabilities":{"extensions":{"` + tasksExtension + `":{}}}}`),
		}
	}
	s, err = u.s.cfg.Scripts.Runs.Get(ctx, u.principal, p.ID)
	if err == nil && s.Script.Scope.Conversation != u.conversation {
		err = script.ErrNotFound
	}
	if errors.Is(err, script.ErrNotFound) {
		err = &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: textsIn(u.locale()).noTask}
	}
	return s, mayAnswer(ctx) && canElicit(r.ClientCapabilities()), err
}

// task says how far a script is. What waits for a person is working where the client cannot
// ask one: the person answers elsewhere.
func (u *user) task(ctx context.Context, s script.Status) task {
	t := task{ResultType: "complete", ID: s.ID, Status: "working", Created: s.Created.UTC(), Updated: s.Updated.UTC(), Poll: pollEvery.Milliseconds()}
	r := s.Result()
	r.Err = msg.ToolError(u.locale(), r.Err)
	switch s.State {
	case journal.Waiting: // unless it has been answered, and goes on in a moment
		t.Message = r.Err.Msg + "; " + r.Err.Hint
	case journal.Done, journal.Failed:
		t.Status = "completed"
		out, err := json.Marshal(u.answer(clientIn(ctx), r))
		if err != nil {
			u.s.log.Error("a result could not be written", "tool", r.Tool, "error", err)
		}
		t.Result = out
	case journal.Cancelled:
		t.Status, t.Message = "cancelled", r.Err.Msg
	}
	return t
}

// cardKey names the question about all calls that wait. Their numbers are part of it: the
// same call later in the script is another question.
func cardKey(s script.Status) string {
	sum := sha256.New()
	for _, q := range s.Card {
		sum.Write([]byte(q.Key() + "\x00")) // it cannot fail
	}
	return "approve-" + hex.EncodeToString(sum.Sum(nil)[:16])
}

package mcpserver

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weirhost/weir/host/approval"
	"github.com/weirhost/weir/host/internal/text"
	"github.com/weirhost/weir/sdk/limit"
)

// An asker lets the client's person decide about one call. It is the call's own
// and not safe for concurrent use, as the call asks once.
type asker struct {
	u   *user
	req *mcp.CallToolRequest
	// progress tells the client that the call waits; nil: it does not want to know.
	progress *reporter
	// wanted is what the client must ask before it repeats the call, in revisions of
	// the protocol in which a server cannot send requests.
	wanted mcp.InputRequestMap
}

// possible reports whether the client can ask a person, and its token may answer.
func (a *asker) possible(ctx context.Context) bool {
	return mayAnswer(ctx) && canElicit(a.req.ClientCapabilities())
}

// ClientHeader is the header of a request whose token was made for a client program. Only
// the daemon sets it: the answers of such a client are no approvals, because what reads the
// client's file could send them.
const ClientHeader = "X-Weir-Client"

// answersNothing is the key of the mark of such requests in a context.
type answersNothing struct{}

// marked returns the context with the mark if a request needs it.
func marked(ctx context.Context, req mcp.Request) context.Context {
	if x := req.GetExtra(); x != nil && x.Header.Get(ClientHeader) != "" {
		return context.WithValue(ctx, answersNothing{}, true)
	}
	return ctx
}

// mayAnswer reports whether answers in a request may be approvals.
func mayAnswer(ctx context.Context) bool { return ctx.Value(answersNothing{}) == nil }

func canElicit(c *mcp.ClientCapabilities) bool {
	return c != nil && c.Elicitation != nil && (c.Elicitation.Form != nil || c.Elicitation.URL == nil)
}

// repeats reports whether the client makes the call again with the person's answer.
func (a *asker) repeats() bool { return a.req.ProtocolVersion() >= stateless }

// Approve implements host.Approver.
func (a *asker) Approve(ctx context.Context, r approval.Request) (approval.Answer, error) {
	question := a.u.question(r)
	if !a.repeats() {
		stop := a.waits()
		answer, err := a.req.Session.Elicit(ctx, question)
		stop()
		if err != nil {
			return approval.Answer{}, err
		}
		return verdict(answer, r), nil
	}
	key := keyOf(r)
	if answer, ok := a.req.Params.InputResponses[key].(*mcp.ElicitResult); ok {
		return verdict(answer, r), nil
	}
	a.wanted = mcp.InputRequestMap{key: question}
	return approval.Answer{}, approval.ErrNoPerson
}

// waits has the client told that the call waits for a person, until stop is called.
func (a *asker) waits() (stop func()) {
	if a.progress == nil {
		return func() {}
	}
	before := a.progress.does(textsIn(a.u.locale()).waits)
	return func() { a.progress.does(before) }
}

// keyOf names a question, so that its answer holds for no other.
func keyOf(r approval.Request) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{r.Tool, r.Plugin, r.Why, r.Always, string(r.Args)}, "\x00")))
	return "approve-" + hex.EncodeToString(sum[:16])
}

// maxFields bounds the calls that a form has fields for, and maxField the characters of one.
const maxFields, maxField = 50, 100

// fieldOf names the field of a form that denies a call.
func fieldOf(number int) string { return "deny_" + strconv.Itoa(number) }

// question is the form that the client shows.
func (u *user) question(r approval.Request) *mcp.ElicitParams {
	t := textsIn(u.locale())
	message := r.Tool + "\n" + r.Why + "\n" + string(r.Args)
	if card := u.s.cfg.Card; card != nil {
		message = card(r)
	}
	fields := map[string]any{"answer": map[string]any{
		"type": "string", "title": t.answer, "enum": []string{"once", "always", "deny"},
		"enumNames": []string{t.once, t.always + r.Always, t.deny}, "description": t.answers,
	}}
	if len(r.Calls) > 1 && len(r.Calls) <= maxFields {
		for _, c := range r.Calls { // by which one is denied: a client may leave out what its person has not touched
			fields[fieldOf(c.Number)] = map[string]any{
				"type": "boolean", "default": false, "title": fmt.Sprintf(t.but, c.Number, text.OneLine(limit.Visible(c.Tool), maxField)),
				"description": text.OneLine(limit.Visible(string(c.Args)), maxField),
			}
		}
	}
	schema, _ := json.Marshal(map[string]any{"type": "object", "required": []string{"answer"}, "properties": fields}) // plain data always marshals
	return &mcp.ElicitParams{Mode: "form", Message: message, RequestedSchema: json.RawMessage(schema)}
}

// verdict reads an answer to r. Whatever is not a clear yes is a no. An answer that denies some
// calls says nothing of later ones.
func verdict(e *mcp.ElicitResult, r approval.Request) approval.Answer {
	out := approval.Answer{By: "by MCP"}
	if e.Action != "accept" {
		return out
	}
	switch e.Content["answer"] {
	case "once":
		out.Verdict = approval.Once
	case "always":
		out.Verdict = approval.Always
	}
	only := []int{}
	for _, c := range r.Calls {
		if denied, given := e.Content[fieldOf(c.Number)]; !given || denied == false {
			only = append(only, c.Number)
		}
	}
	if len(only) < len(r.Calls) && out.Verdict != approval.Refuse {
		out.Verdict, out.Only = approval.Once, only
	}
	return out
}

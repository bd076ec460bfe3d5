package mcpserver

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weirhost/weir/host/approval"
)

// An asker lets the client's person decide about one call. It is the call's own
// and not safe for concurrent use, as the call asks once.
type asker struct {
	u   *user
	req *mcp.CallToolRequest
	// wanted is what the client must ask before it repeats the call, in revisions of
	// the protocol in which a server cannot send requests.
	wanted mcp.InputRequestMap
}

// possible reports whether the client can ask a person.
func (a *asker) possible() bool { return canElicit(a.req.ClientCapabilities()) }

func canElicit(c *mcp.ClientCapabilities) bool {
	return c != nil && c.Elicitation != nil && (c.Elicitation.Form != nil || c.Elicitation.URL == nil)
}

// repeats reports whether the client makes the call again with the person's answer.
func (a *asker) repeats() bool { return a.req.ProtocolVersion() >= stateless }

// Approve implements host.Approver.
func (a *asker) Approve(ctx context.Context, r approval.Request) (approval.Answer, error) {
	question := a.u.question(r)
	if !a.repeats() {
		answer, err := a.req.Session.Elicit(ctx, question)
		if err != nil {
			return approval.Answer{}, err
		}
		return verdict(answer), nil
	}
	key := keyOf(r)
	if answer, ok := a.req.Params.InputResponses[key].(*mcp.ElicitResult); ok {
		return verdict(answer), nil
	}
	a.wanted = mcp.InputRequestMap{key: question}
	return approval.Answer{}, approval.ErrNoPerson
}

// keyOf names a question, so that its answer holds for no other.
func keyOf(r approval.Request) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{r.Tool, r.Plugin, r.Why, r.Always, string(r.Args)}, "\x00")))
	return "approve-" + hex.EncodeToString(sum[:16])
}

// question is the form that the client shows.
func (u *user) question(r approval.Request) *mcp.ElicitParams {
	t := textsIn(u.locale())
	text := r.Tool + "\n" + r.Why + "\n" + string(r.Args)
	if card := u.s.cfg.Card; card != nil {
		text = card(r)
	}
	schema, err := json.Marshal(map[string]any{
		"type": "object", "required": []string{"answer"},
		"properties": map[string]any{"answer": map[string]any{
			"type": "string", "title": t.answer, "enum": []string{"once", "always", "deny"},
			"enumNames": []string{t.once, t.always + r.Always, t.deny}, "description": t.answers,
		}},
	})
	if err != nil { // plain data always marshals
		schema = json.RawMessage(`{"type":"object"}`)
	}
	return &mcp.ElicitParams{Mode: "form", Message: text, RequestedSchema: json.RawMessage(schema)}
}

// verdict reads an answer. Whatever is not a clear yes is a no.
func verdict(r *mcp.ElicitResult) approval.Answer {
	out := approval.Answer{By: "by MCP"}
	if r.Action != "accept" {
		return out
	}
	switch r.Content["answer"] {
	case "once":
		out.Verdict = approval.Once
	case "always":
		out.Verdict = approval.Always
	}
	return out
}

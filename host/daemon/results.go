package daemon

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/access"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/httpjson"
	"github.com/weirhost/weir/host/daemon/openapi"
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/host/daemon/turns"
	"github.com/weirhost/weir/sdk/tool"
)

// results has the route that keeps the results of other loops' tools.
type results struct {
	host  *host.Host
	store *store.Store
	turns *turns.Service
	log   hclog.Logger
	now   func() time.Time
}

func (k *results) routes() []openapi.Route {
	return []openapi.Route{
		{
			Method: "POST", Path: "/api/results",
			Auth: openapi.Token, Handle: k.postResult,
			About: "Keep and cut the result of another loop's tool",
			Takes: ResultBody{},
			Needs: []string{"tool_name", "result"},
			Gives: KeptResult{},
			Fails: []int{429, 403, 404, 422},
		},
	}
}

// A ResultBody is the body of /api/results: what a tool gave to an application
// that has a loop of its own.
type ResultBody struct {
	Tool  string          `json:"tool_name"`
	Input json.RawMessage `json:"tool_input"`
	// Result is the whole: a string, or any other JSON, which is kept as it is
	// written.
	Result json.RawMessage `json:"result"`
	// Conversation is where the whole is kept; empty: that of calls without a model.
	Conversation string `json:"conversation_id"`
	// Thread is a thread of the application's own, by which GET /api/archives finds it.
	Thread string      `json:"thread_id"`
	Locale tool.Locale `json:"locale"`
}

// maxResultBody bounds that body, in bytes: in JSON a text may take a multiple
// of its own length.
const maxResultBody = 3 * tool.MaxWhole

// A KeptResult says what became of it: what the model is to read, where the
// whole is, and whether Text is less than the whole.
type KeptResult struct {
	Text string `json:"text"`
	// Placeholder is what the application sends in place of Text in later turns: the
	// text of a folded result, from which the model can load it. Empty: not archived.
	Placeholder  string     `json:"placeholder,omitempty"`
	UUID         string     `json:"uuid"` // empty: not archived, because it is short
	Cut          bool       `json:"cut"`
	Conversation string     `json:"conversation_id"`
	Produced     int        `json:"produced"` // characters
	Shown        int        `json:"shown"`
	Layer        tool.Layer `json:"layer,omitempty"`
	Limit        int        `json:"limit,omitempty"`
	// Unit is that of Limit. Gaps are the lines of the whole that Text lacks, in order.
	Unit tool.Unit `json:"unit,omitempty"`
	Gaps []api.Gap `json:"gaps,omitempty"`
	// Unkept says that the archive could not be written: the rest is gone.
	Unkept bool `json:"unkept,omitempty"`
	// Incomplete says that the result is longer than weir keeps: the rest is gone.
	Incomplete bool `json:"incomplete,omitempty"`
}

// postResult keeps and cuts a result that was made elsewhere.
func (k *results) postResult(w http.ResponseWriter, r *http.Request) error {
	var body ResultBody
	if err := httpjson.ReadUpTo(w, r, &body, maxResultBody); err != nil {
		return err
	}
	if err := k.turns.CheckConversation(access.Principal(r), body.Conversation); err != nil {
		return err
	}
	if err := turns.CheckThread(body.Thread); err != nil {
		return err
	}
	whole, err := body.whole()
	if err != nil {
		return err
	}
	end, err := k.turns.Begin(r.Context(), access.Principal(r), "")
	if err != nil {
		return err
	}
	defer end()
	if body.Conversation == "" {
		body.Conversation = CallConversation + access.Principal(r)
	}
	scope := archive.Scope{Principal: access.Principal(r), Conversation: body.Conversation}
	if _, err := k.store.EnsureConversation(r.Context(), store.Conversation{
		ID: scope.Conversation, Principal: scope.Principal, Title: api.Clip("results of "+body.Tool, 60),
	}); err != nil && !errors.Is(err, archive.ErrFull) {
		return err
	}
	start := k.now()
	res, err := k.host.Session(host.Principal(scope.Principal), scope.Conversation).In(body.Locale).InThread(body.Thread).
		Ingest(r.Context(), tool.Call{ID: uuid.NewString(), Tool: body.Tool, Args: body.Input}, whole)
	switch {
	case err != nil:
		return err
	case res.Err != nil:
		return res.Err
	}
	out := api.ResultOf(res, k.now().Sub(start).Milliseconds(), body.Locale)
	if err := k.store.LogCalls(r.Context(), []store.Call{{
		Scope: scope, CallID: out.ID, Tool: out.Tool, Code: "ok", Layer: string(out.Layer), Produced: out.Produced, Shown: out.Shown, UUID: out.KeptUUID, View: store.ViewOf(res.Shown), Created: start,
	}}); err != nil {
		k.log.Warn("a kept result is missing in the statistics", "tool", out.Tool, "error", err)
	}
	placeholder := ""
	if res.Ref != nil {
		placeholder = agent.Placeholder(*res.Ref, res.Tool, body.Locale)
	}
	return httpjson.Answer(w, KeptResult{
		Text: out.Text, Placeholder: placeholder, UUID: out.KeptUUID, Cut: res.Shown.Cut(), Conversation: scope.Conversation,
		Produced: out.Produced, Shown: out.Shown, Layer: out.Layer, Limit: out.Limit, Unit: out.Unit, Gaps: out.Gaps, Unkept: out.Unkept, Incomplete: out.Incomplete,
	})
}

// whole is the result's text.
func (b ResultBody) whole() ([]byte, error) {
	raw := bytes.TrimSpace(b.Result)
	if len(raw) == 0 || string(raw) == "null" {
		return nil, api.Problemf(http.StatusBadRequest, api.CodeBadBody, `send {"tool_name": "…", "tool_input": {…}, "result": "…"}`, "there is no result")
	}
	if raw[0] != '"' {
		return raw, nil
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return nil, httpjson.Problem(err)
	}
	return []byte(text), nil
}

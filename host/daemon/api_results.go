package daemon

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/google/uuid"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/httpjson"
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/sdk/tool"
)

// A ResultBody is the body of /api/results: what a tool gave to an application
// that has a loop of its own.
type ResultBody struct {
	Tool  string          `json:"tool_name"`
	Input json.RawMessage `json:"tool_input"`
	// Result is the whole: a string, or any other JSON, which is kept as it is
	// written.
	Result json.RawMessage `json:"result"`
	// Conversation is where the whole is kept; empty: that of calls without a model.
	Conversation string      `json:"conversation_id"`
	Locale       tool.Locale `json:"locale"`
}

// maxResultBody bounds that body, in bytes: in JSON a text may take a multiple
// of its own length.
const maxResultBody = 3 * tool.MaxWhole

// A KeptResult says what became of it: what the model is to read, where the
// whole is, and whether Text is less than the whole.
type KeptResult struct {
	Text         string     `json:"text"`
	UUID         string     `json:"uuid"` // empty: not archived, because it is short
	Cut          bool       `json:"cut"`
	Conversation string     `json:"conversation_id"`
	Produced     int        `json:"produced"` // characters
	Shown        int        `json:"shown"`
	Layer        tool.Layer `json:"layer,omitempty"`
	Limit        int        `json:"limit,omitempty"`
	// Unkept says that the archive could not be written: the rest is gone.
	Unkept bool `json:"unkept,omitempty"`
}

// postResult keeps and cuts a result that was made elsewhere.
func (d *Daemon) postResult(w http.ResponseWriter, r *http.Request) error {
	var body ResultBody
	if err := httpjson.ReadUpTo(w, r, &body, maxResultBody); err != nil {
		return err
	}
	if err := d.turns.CheckConversation(d.principal(r), body.Conversation); err != nil {
		return err
	}
	whole, err := body.whole()
	if err != nil {
		return err
	}
	end, err := d.turns.Begin(r.Context(), d.principal(r), "")
	if err != nil {
		return err
	}
	defer end()
	if body.Conversation == "" {
		body.Conversation = CallConversation + d.principal(r)
	}
	scope := archive.Scope{Principal: d.principal(r), Conversation: body.Conversation}
	if _, err := d.store.EnsureConversation(r.Context(), store.Conversation{
		ID: scope.Conversation, Principal: scope.Principal, Title: api.Clip("results of "+body.Tool, 60),
	}); err != nil && !errors.Is(err, archive.ErrFull) {
		return err
	}
	start := d.now()
	res, err := d.cfg.Host.Session(host.Principal(scope.Principal), scope.Conversation).In(body.Locale).
		Ingest(r.Context(), tool.Call{ID: uuid.NewString(), Tool: body.Tool, Args: body.Input}, whole)
	switch {
	case err != nil:
		return err
	case res.Err != nil:
		return res.Err
	}
	out := api.ResultOf(res, d.now().Sub(start).Milliseconds(), body.Locale)
	if err := d.store.LogCalls(r.Context(), []store.Call{{
		Scope: scope, CallID: out.ID, Tool: out.Tool, Code: "ok", Layer: string(out.Layer), Produced: out.Produced, Shown: out.Shown, UUID: out.KeptUUID, Created: start,
	}}); err != nil {
		d.log.Warn("a kept result is missing in the statistics", "tool", out.Tool, "error", err)
	}
	httpjson.Write(w, http.StatusOK, KeptResult{
		Text: out.Text, UUID: out.KeptUUID, Cut: res.Shown.Cut(), Conversation: scope.Conversation,
		Produced: out.Produced, Shown: out.Shown, Layer: out.Layer, Limit: out.Limit, Unkept: out.Unkept,
	})
	return nil
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

package daemon

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/access"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/httpjson"
	"github.com/weirhost/weir/host/daemon/openapi"
	"github.com/weirhost/weir/host/daemon/params"
	"github.com/weirhost/weir/host/daemon/store"
)

// traces has the routes that show how turns went.
type traces struct{ store *store.Store }

func (t *traces) routes() []openapi.Route {
	return []openapi.Route{
		{
			Method: "GET", Path: "/api/traces",
			Auth: openapi.Token, Handle: t.listTraces,
			About: "List how the last turns went, the newest first",
			Query: []openapi.Param{params.Conversation(), params.Limit("20")},
			Gives: api.TraceList{},
			Fails: []int{400},
		},
		{
			Method: "GET", Path: "/api/traces/{id}",
			Auth: openapi.Token, Handle: t.showTrace,
			About: "How one turn went, round by round; the id last is that of the newest",
			Query: []openapi.Param{params.Conversation()},
			Gives: api.Trace{},
			Fails: []int{404},
		},
	}
}

func (t *traces) listTraces(w http.ResponseWriter, r *http.Request) error {
	n, err := params.Int(r, "limit", 0)
	if err != nil {
		return err
	}
	list, err := t.store.Traces(r.Context(), archive.Scope{Principal: access.Principal(r), Conversation: r.URL.Query().Get("conversation_id")}, n)
	if err != nil {
		return err
	}
	out := api.TraceList{Traces: make([]api.TraceHead, len(list))}
	for i, row := range list {
		tr, err := traceOf(row)
		if err != nil {
			return err
		}
		out.Traces[i] = tr.TraceHead
	}
	return httpjson.Answer(w, out)
}

func (t *traces) showTrace(w http.ResponseWriter, r *http.Request) error {
	who := access.Principal(r)
	var row store.Trace
	if name := r.PathValue("id"); name == "last" {
		list, err := t.store.Traces(r.Context(), archive.Scope{Principal: who, Conversation: r.URL.Query().Get("conversation_id")}, 1)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			return api.Problemf(http.StatusNotFound, "no_trace", "ask something first", "no question was asked yet, or its conversation was deleted")
		}
		row = list[0]
	} else {
		id, err := strconv.ParseInt(name, 10, 64)
		if err == nil {
			row, err = t.store.Trace(r.Context(), who, id)
		}
		if err != nil {
			return api.Problemf(http.StatusNotFound, "no_trace", "`weir trace list` lists them", "there is no trace %q", api.Clip(name, 40))
		}
	}
	tr, err := traceOf(row)
	return httpjson.AnswerOr(w, tr, err)
}

func traceOf(row store.Trace) (api.Trace, error) {
	var tr api.Trace
	if err := json.Unmarshal(row.Body, &tr); err != nil {
		return api.Trace{}, api.Problemf(http.StatusInternalServerError, "storage", "", "the trace %d cannot be read", row.ID)
	}
	tr.ID = row.ID
	return tr, nil
}

package daemon

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/httpjson"
	"github.com/weirhost/weir/host/daemon/store"
)

func (d *Daemon) listTraces(w http.ResponseWriter, r *http.Request) error {
	n, err := queryInt(r, "limit", 0)
	if err != nil {
		return err
	}
	list, err := d.store.Traces(r.Context(), archive.Scope{Principal: d.principal(r), Conversation: r.URL.Query().Get("conversation_id")}, n)
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
	httpjson.Write(w, http.StatusOK, out)
	return nil
}

func (d *Daemon) showTrace(w http.ResponseWriter, r *http.Request) error {
	who := d.principal(r)
	var row store.Trace
	if name := r.PathValue("id"); name == "last" {
		list, err := d.store.Traces(r.Context(), archive.Scope{Principal: who, Conversation: r.URL.Query().Get("conversation_id")}, 1)
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
			row, err = d.store.Trace(r.Context(), who, id)
		}
		if err != nil {
			return api.Problemf(http.StatusNotFound, "no_trace", "`weir trace list` lists them", "there is no trace %q", api.Clip(name, 40))
		}
	}
	tr, err := traceOf(row)
	if err != nil {
		return err
	}
	httpjson.Write(w, http.StatusOK, tr)
	return nil
}

func traceOf(row store.Trace) (api.Trace, error) {
	var tr api.Trace
	if err := json.Unmarshal(row.Body, &tr); err != nil {
		return api.Trace{}, api.Problemf(http.StatusInternalServerError, "storage", "", "the trace %d cannot be read", row.ID)
	}
	tr.ID = row.ID
	return tr, nil
}

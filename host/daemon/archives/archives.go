// Package archives has the routes of archived results.
package archives

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/access"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/httpjson"
	"github.com/weirhost/weir/host/daemon/openapi"
	"github.com/weirhost/weir/host/daemon/params"
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// Archives has the routes.
type Archives struct {
	Host *host.Host
	Log  hclog.Logger
	// Call returns the newest call of a principal whose result is the archived one.
	Call func(ctx context.Context, principal, uuid string) (store.Call, error)
}

// Routes returns the routes.
func (a *Archives) Routes() []openapi.Route {
	return []openapi.Route{
		{
			Method: "GET", Path: "/api/archives",
			Auth: openapi.Token, Handle: a.listArchives,
			About: "List the archived results, the newest first",
			Query: []openapi.Param{
				params.Conversation(),
				params.Query("thread_id", "string", "only of this thread, which a question or POST /api/results named"),
				params.Query("tool", "string", "only of this tool"),
				params.Query("q", "string", "a text that the call or the summary contains"),
				params.ID(),
				params.Limit("50"),
				params.Query("offset", "integer", "leave out the newest"),
			},
			Gives: api.ArchiveList{},
			Fails: []int{400},
		},
		{
			Method: "GET", Path: "/api/archives/search",
			Auth: openapi.Token, Handle: a.searchArchives,
			About: "Find words in the whole texts",
			Query: []openapi.Param{params.Query("q", "string", "words that one result contains, all of them"), params.Conversation(), params.Limit("20")},
			Gives: api.Found{},
			Fails: []int{400},
		},
		{
			Method: "POST", Path: "/api/archives/prune",
			Auth: openapi.Operator, Handle: a.pruneArchives,
			About: "Remove the texts that the configuration does not keep",
			Takes: api.PruneBody{},
			Gives: api.Pruned{},
		},
		{
			Method: "GET", Path: "/api/archives/{uuid}",
			Auth: openapi.Token, Handle: a.showArchive,
			About: "Read an archived result, or a part of it",
			Query: []openapi.Param{
				params.Conversation(), params.Query("lines", "string", "a-b, counted from 1"), params.Query("grep", "string", "lines that match an RE2 expression"), params.Query("context", "integer", "lines around each match"),
				params.Query("pointer", "string", "a value of JSON, by RFC 6901"),
				params.Query("head", "integer", "the first lines"), params.Query("tail", "integer", "the last lines"), params.Query("offset", "integer", "leave out so many characters"),
			},
			Gives: api.ArchivePage{},
			Fails: []int{400, 404, 410, 422},
		},
		{
			Method: "DELETE", Path: "/api/archives/{uuid}",
			Auth: openapi.Token, Handle: a.deleteArchive,
			About: "Delete an archived result for good",
			Fails: []int{404},
		},
	}
}

func (a *Archives) listArchives(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	n, err := params.Int(r, "limit", 50)
	if err != nil {
		return err
	}
	offset, err := params.Int(r, "offset", 0)
	if err != nil {
		return err
	}
	// Without a conversation: all of the requester's.
	scope := archive.Scope{Principal: access.Principal(r), Conversation: q.Get("conversation_id")}
	entries, err := a.Host.Archive().List(r.Context(), scope, archive.Filter{
		Thread: q.Get("thread_id"), Tool: q.Get("tool"), Query: q.Get("q"), ID: q.Get("id"), Limit: n, Offset: offset, Everywhere: scope.Conversation == "",
	})
	if err != nil {
		return err
	}
	rows := make([]api.ArchiveRow, len(entries))
	for i, e := range entries {
		rows[i] = api.ArchiveRowOf(e)
	}
	httpjson.Write(w, http.StatusOK, api.ArchiveList{Archives: rows})
	return nil
}

// pageChars is the longest part that one answer of showArchive holds, in characters.
const pageChars = 200_000

func (a *Archives) showArchive(w http.ResponseWriter, r *http.Request) error {
	args := map[string]string{"uuid": r.PathValue("uuid")}
	for _, key := range []string{"lines", "grep", "context", "pointer", "head", "tail", "offset"} {
		if v := r.URL.Query().Get(key); v != "" {
			args[key] = v
		}
	}
	raw, err := json.Marshal(args)
	if err != nil {
		return err
	}
	id, part, err := archive.ParsePart(raw)
	if err != nil {
		return err
	}
	entry, err := a.Host.Archive().Find(r.Context(), access.Principal(r), id)
	if err != nil {
		return err
	}
	// A named conversation reads what it may load, and nothing else.
	if c := r.URL.Query().Get("conversation_id"); c != "" {
		entry.Scope.Conversation = c
	}
	page, err := a.Host.Archive().Peek(r.Context(), entry.Scope, id, part)
	if err != nil {
		return err
	}
	view := limit.Apply(page.Text, tool.Limits{MaxChars: pageChars, Strategy: tool.HeadOnly}, limit.By{Chars: tool.LayerLoad})
	next := 0
	if shown, _ := limit.Count(view.Text); view.Cut() {
		next = part.Offset + shown
	}
	out := api.ArchivePage{ArchiveRow: api.ArchiveRowOf(page.Entry), Text: view.Text, Selected: page.Chars, Matches: page.Matches, Next: next}
	if out.Shown, err = a.shown(r, page.Entry); err != nil {
		return err
	}
	httpjson.Write(w, http.StatusOK, out)
	return nil
}

// shown returns what the model was shown of an archived result; nil: no call is known.
func (a *Archives) shown(r *http.Request, e archive.Entry) (*api.ShownPart, error) {
	c, err := a.Call(r.Context(), access.Principal(r), e.UUID)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	}
	part := api.ShownPartOf(c, e.Lines)
	return &part, nil
}

// searchArchives looks for words in the whole texts of one conversation, or of
// all of the requester's.
func (a *Archives) searchArchives(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	n, err := params.Int(r, "limit", 0)
	if err != nil {
		return err
	}
	scope := archive.Scope{Principal: access.Principal(r), Conversation: q.Get("conversation_id")}
	found, err := a.Host.Archive().Search(r.Context(), scope, q.Get("q"), archive.SearchOptions{Limit: n, Everywhere: scope.Conversation == ""})
	if err != nil {
		return err
	}
	hits := make([]api.Hit, len(found.Hits))
	for i, h := range found.Hits {
		e := h.Entry
		hits[i] = api.Hit{UUID: e.UUID, Conversation: e.Scope.Conversation, Tool: e.Tool, Query: e.Query, Created: e.Created, Line: h.Line, Snippet: h.Snippet}
	}
	scope.Everywhere = scope.Conversation == ""
	near, err := a.Host.Near(r.Context(), scope, q.Get("q"), maxNear)
	if err != nil {
		a.Log.Warn("the archives are searched by words only", "error", err)
	}
	hits = append(hits, nearHits(near, hits)...)
	httpjson.Write(w, http.StatusOK, api.Found{Hits: hits, Archives: found.Archives, Scanned: found.Scanned, Left: found.Left})
	return nil
}

// maxNear is how many results a search adds for their meaning, leastScore the likeness
// under which a passage is about something else.
const (
	maxNear    = 10
	leastScore = 0.3
)

// nearHits returns the results that are near in meaning and were not found by words.
func nearHits(near []archive.Near, byWords []api.Hit) (out []api.Hit) {
	for _, n := range near {
		e := n.Entry
		if n.Score < leastScore || slices.ContainsFunc(byWords, func(h api.Hit) bool { return h.UUID == e.UUID }) {
			continue
		}
		out = append(out, api.Hit{UUID: e.UUID, Conversation: e.Scope.Conversation, Tool: e.Tool, Query: e.Query, Created: e.Created,
			Line: n.First, LastLine: n.Last, Score: n.Score, Snippet: e.Summary})
	}
	return out
}

// pruneArchives removes what retention does not keep. The sums are everybody's,
// the rows the requester's own.
func (a *Archives) pruneArchives(w http.ResponseWriter, r *http.Request) error {
	var body api.PruneBody
	if err := httpjson.Read(w, r, &body); err != nil {
		return err
	}
	report, err := a.Host.Archive().Prune(r.Context(), body.DryRun)
	if err != nil {
		return err
	}
	rows := []api.PrunedRow{}
	for _, p := range report.Pruned {
		if p.Scope.Principal == access.Principal(r) {
			rows = append(rows, api.PrunedRow{UUID: p.UUID, Conversation: p.Scope.Conversation, Tool: p.Tool, Created: p.Created, Bytes: p.Bytes, Reason: p.Reason})
		}
	}
	httpjson.Write(w, http.StatusOK, api.Pruned{DryRun: report.DryRun, Pruned: rows, Count: len(report.Pruned), Bytes: report.Bytes, Kept: report.Kept, KeptBytes: report.KeptBytes})
	return nil
}

// deleteArchive deletes one result for good; also one that was pruned.
func (a *Archives) deleteArchive(w http.ResponseWriter, r *http.Request) error {
	e, err := a.Host.Archive().Find(r.Context(), access.Principal(r), r.PathValue("uuid"))
	if err != nil && !errors.Is(err, archive.ErrExpired) {
		return err
	}
	if err := a.Host.Archive().Delete(r.Context(), e.Scope, e.UUID); err != nil {
		return err
	}
	a.Log.Info("a result was deleted", "uuid", e.UUID, "tool", e.Tool, "conversation", e.Scope.Conversation)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

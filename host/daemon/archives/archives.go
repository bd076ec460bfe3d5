// Package archives has the routes of archived results.
package archives

import (
	"context"
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
	"github.com/weirhost/weir/host/internal/exprcost"
)

// Archives has the routes.
type Archives struct {
	Host *host.Host
	Log  hclog.Logger
	// Call returns the newest call of a principal whose result is the archived one.
	Call func(ctx context.Context, principal, uuid string) (store.Call, error)
	// Sees reports whether a principal may call a tool.
	Sees func(principal, tool string) bool

	large exprcost.Queue // of the requests that work on a large text, or for long
}

// Routes returns the routes.
func (a *Archives) Routes() []openapi.Route {
	return []openapi.Route{
		{
			Method: "GET", Path: "/api/archives",
			Auth: openapi.Client, Handle: a.listArchives,
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
			Auth: openapi.Client, Handle: a.searchArchives,
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
			Auth: openapi.Client, Handle: a.showArchive,
			About: "Read an archived result, or a part of it",
			Query: []openapi.Param{
				params.Conversation(), params.Query("lines", "string", "a-b, counted from 1"), params.Query("grep", "string", "lines that match an RE2 expression"), params.Query("context", "integer", "lines around each match"),
				params.Query("pointer", "string", "a value of JSON, by RFC 6901"),
				params.Query("head", "integer", "the first lines"), params.Query("tail", "integer", "the last lines"), params.Query("offset", "integer", "leave out so many characters"),
				params.Query("clip", "integer", "at most so many characters of each line; left out: all"),
			},
			Gives: api.ArchivePage{},
			Fails: []int{400, 404, 410, 422},
		},
		{
			Method: "GET", Path: "/api/archives/{uuid}/matches",
			Auth: openapi.Client, Handle: a.matches,
			About: "Find a text or an expression in one archived result: every hit, with its line and characters",
			Query: []openapi.Param{
				params.Query("q", "string", "the text, at most 1,000 characters"), params.Query("regex", "boolean", "q is an RE2 expression"),
				params.Query("case", "boolean", "upper and lower case differ; left out: not"),
				params.Limit("1000, and never more than 10000"), params.Query("offset", "integer", "leave out the first hits"),
			},
			Gives: api.TextMatches{},
			Fails: []int{400, 404, 410},
		},
		{
			Method: "GET", Path: "/api/archives/{uuid}/raw",
			Auth: openapi.Client, Handle: a.raw,
			About: "Download the whole text of an archived result; a Range can be requested",
			Kind:  "text/plain",
			Fails: []int{404, 410, 416},
		},
		{
			Method: "GET", Path: "/api/archives/{uuid}/parts/{n}",
			Auth: openapi.Client, Handle: a.part,
			About: "Download a picture or another file of an archived result, counted from 0. PNG, JPEG, GIF and WebP keep their type; all else is octets",
			Kind:  "image/png, image/jpeg, image/gif, image/webp, application/octet-stream",
			Fails: []int{404, 410, 416},
		},
		{
			Method: "POST", Path: "/api/cut",
			Auth: openapi.Token, Handle: a.cut,
			About: "Cut a text or an archived result under other limits: what a model would read. Nothing is stored",
			Takes: api.CutBody{},
			Gives: api.CutText{},
			Fails: []int{404, 410},
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
	scope := archive.Scope{Principal: access.Principal(r), Conversation: q.Get("conversation_id"), Alone: q.Get("conversation_id") != ""}
	entries, err := a.Host.Archive().List(r.Context(), scope, archive.Filter{
		Thread: q.Get("thread_id"), Tool: q.Get("tool"), Query: q.Get("q"), ID: q.Get("id"), Limit: n, Offset: offset, Everywhere: scope.Conversation == "",
	})
	if err != nil {
		return err
	}
	rows := make([]api.ArchiveRow, len(entries))
	for i, e := range entries {
		rows[i] = api.ArchiveRowOf(e)
		if rows[i].Shown, err = a.shown(r, e); err != nil {
			return err
		}
	}
	return httpjson.Answer(w, api.ArchiveList{Archives: rows})
}

// searchArchives looks for words in the whole texts of one conversation, or of
// all of the requester's.
func (a *Archives) searchArchives(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	n, err := params.Int(r, "limit", 0)
	if err != nil {
		return err
	}
	scope := archive.Scope{Principal: access.Principal(r), Conversation: q.Get("conversation_id"), Alone: q.Get("conversation_id") != ""}
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
	return httpjson.Answer(w, api.Found{Hits: hits, Archives: found.Archives, Scanned: found.Scanned, Left: found.Left})
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
	return httpjson.Answer(w, api.Pruned{DryRun: report.DryRun, Pruned: rows, Count: len(report.Pruned), Bytes: report.Bytes, Kept: report.Kept, KeptBytes: report.KeptBytes})
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

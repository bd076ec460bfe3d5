package daemon

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/access"
	"github.com/weirhost/weir/host/daemon/httpjson"
	"github.com/weirhost/weir/host/daemon/openapi"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// archives has the routes of archived results.
type archives struct {
	host *host.Host
	log  hclog.Logger
}

func (a *archives) routes() []openapi.Route {
	return []openapi.Route{
		{
			Method: "GET", Path: "/api/archives",
			Auth: openapi.Token, Handle: a.listArchives,
			About: "List the archived results, the newest first",
			Query: []openapi.Param{
				inConversation(),
				param("tool", "string", "only of this tool"),
				param("q", "string", "a text that the call or the summary contains"),
				ofID(),
				limitTo("50"),
				param("offset", "integer", "leave out the newest"),
			},
			Gives: ArchiveList{},
			Fails: []int{400},
		},
		{
			Method: "GET", Path: "/api/archives/search",
			Auth: openapi.Token, Handle: a.searchArchives,
			About: "Find words in the whole texts",
			Query: []openapi.Param{param("q", "string", "words that one result contains, all of them"), inConversation(), limitTo("20")},
			Gives: Found{},
			Fails: []int{400},
		},
		{
			Method: "POST", Path: "/api/archives/prune",
			Auth: openapi.Operator, Handle: a.pruneArchives,
			About: "Remove the texts that the configuration does not keep",
			Takes: PruneBody{},
			Gives: Pruned{},
		},
		{
			Method: "GET", Path: "/api/archives/{uuid}",
			Auth: openapi.Token, Handle: a.showArchive,
			About: "Read an archived result, or a part of it",
			Query: []openapi.Param{
				inConversation(), param("lines", "string", "a-b, counted from 1"), param("grep", "string", "lines that match an RE2 expression"), param("context", "integer", "lines around each match"),
				param("pointer", "string", "a value of JSON, by RFC 6901"),
				param("head", "integer", "the first lines"), param("tail", "integer", "the last lines"), param("offset", "integer", "leave out so many characters"),
			},
			Gives: ArchivePage{},
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

// An ArchiveRow is one archived result without its text.
type ArchiveRow struct {
	UUID         string          `json:"uuid"`
	Conversation string          `json:"conversation_id"`
	Tool         string          `json:"tool"`
	Input        json.RawMessage `json:"arguments"`
	Query        string          `json:"query"`
	Summary      string          `json:"summary"`
	Chars        int             `json:"chars"`
	Lines        int             `json:"lines"`
	Bytes        int             `json:"bytes"`
	Sources      []tool.Source   `json:"sources,omitempty"`
	Created      time.Time       `json:"created_at"`
	Loads        int             `json:"loads"`
	Pruned       bool            `json:"pruned,omitempty"`
}

func rowOf(e archive.Entry) ArchiveRow {
	return ArchiveRow{e.UUID, e.Scope.Conversation, e.Tool, e.Input, e.Query, e.Summary, e.Chars, e.Lines, e.Bytes, e.Sources, e.Created, e.Loads, e.Pruned}
}

func (a *archives) listArchives(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	n, err := queryInt(r, "limit", 50)
	if err != nil {
		return err
	}
	offset, err := queryInt(r, "offset", 0)
	if err != nil {
		return err
	}
	// Without a conversation: all of the requester's.
	scope := archive.Scope{Principal: access.Principal(r), Conversation: q.Get("conversation_id")}
	entries, err := a.host.Archive().List(r.Context(), scope, archive.Filter{
		Tool: q.Get("tool"), Query: q.Get("q"), ID: q.Get("id"), Limit: n, Offset: offset, Everywhere: scope.Conversation == "",
	})
	if err != nil {
		return err
	}
	rows := make([]ArchiveRow, len(entries))
	for i, e := range entries {
		rows[i] = rowOf(e)
	}
	httpjson.Write(w, http.StatusOK, ArchiveList{rows})
	return nil
}

// An ArchiveList is what GET /api/archives answers, the newest first.
type ArchiveList struct {
	Archives []ArchiveRow `json:"archives"`
}

// An ArchivePage is a part of one archived result.
type ArchivePage struct {
	ArchiveRow
	Text string `json:"text"`
	// Selected is the length of everything selected, in characters; Text may end
	// earlier, and Next is then the offset that goes on.
	Selected int `json:"selected_chars"`
	Matches  int `json:"matches,omitempty"` // lines that grep found
	Next     int `json:"next_offset,omitempty"`
}

// pageChars is the longest part that one answer of showArchive holds, in characters.
const pageChars = 200_000

func (a *archives) showArchive(w http.ResponseWriter, r *http.Request) error {
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
	entry, err := a.host.Archive().Find(r.Context(), access.Principal(r), id)
	if err != nil {
		return err
	}
	// A named conversation reads what it may load, and nothing else.
	if c := r.URL.Query().Get("conversation_id"); c != "" {
		entry.Scope.Conversation = c
	}
	page, err := a.host.Archive().Peek(r.Context(), entry.Scope, id, part)
	if err != nil {
		return err
	}
	view := limit.Apply(page.Text, tool.Limits{MaxChars: pageChars, Strategy: tool.HeadOnly}, limit.By{Chars: tool.LayerLoad})
	next := 0
	if shown, _ := limit.Count(view.Text); view.Cut() {
		next = part.Offset + shown
	}
	httpjson.Write(w, http.StatusOK, ArchivePage{rowOf(page.Entry), view.Text, page.Chars, page.Matches, next})
	return nil
}

// A Found is what a search of the archives came to.
type Found struct {
	Hits []Hit `json:"hits"`
	// Archives is how many results were searched, Scanned how many bytes, and Left
	// how many older ones were not reached.
	Archives int   `json:"archives"`
	Scanned  int64 `json:"scanned_bytes"`
	Left     int   `json:"left"`
}

// A Hit is one line that a search found.
type Hit struct {
	UUID         string    `json:"uuid"`
	Conversation string    `json:"conversation_id"`
	Tool         string    `json:"tool"`
	Query        string    `json:"query"`
	Created      time.Time `json:"created_at"`
	Line         int       `json:"line"` // 0: the call contains the words
	Snippet      string    `json:"snippet"`
}

// searchArchives looks for words in the whole texts of one conversation, or of
// all of the requester's.
func (a *archives) searchArchives(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	n, err := queryInt(r, "limit", 0)
	if err != nil {
		return err
	}
	scope := archive.Scope{Principal: access.Principal(r), Conversation: q.Get("conversation_id")}
	found, err := a.host.Archive().Search(r.Context(), scope, q.Get("q"), archive.SearchOptions{Limit: n, Everywhere: scope.Conversation == ""})
	if err != nil {
		return err
	}
	hits := make([]Hit, len(found.Hits))
	for i, h := range found.Hits {
		e := h.Entry
		hits[i] = Hit{e.UUID, e.Scope.Conversation, e.Tool, e.Query, e.Created, h.Line, h.Snippet}
	}
	httpjson.Write(w, http.StatusOK, Found{hits, found.Archives, found.Scanned, found.Left})
	return nil
}

// A PruneBody is the body of /api/archives/prune.
type PruneBody struct {
	DryRun bool `json:"dry_run"` // only say what would go
}

// Pruned says which texts went. The sums are everybody's, the rows the
// requester's own.
type Pruned struct {
	DryRun    bool        `json:"dry_run"`
	Pruned    []PrunedRow `json:"pruned"`
	Count     int         `json:"count"`
	Bytes     int64       `json:"bytes"`
	Kept      int         `json:"kept"`
	KeptBytes int64       `json:"kept_bytes"`
}

// A PrunedRow is one result whose text goes.
type PrunedRow struct {
	UUID         string    `json:"uuid"`
	Conversation string    `json:"conversation_id"`
	Tool         string    `json:"tool"`
	Created      time.Time `json:"created_at"`
	Bytes        int64     `json:"bytes"`
	Reason       string    `json:"reason"` // age, bytes or count
}

// pruneArchives removes what retention does not keep. The sums are everybody's,
// the rows the requester's own.
func (a *archives) pruneArchives(w http.ResponseWriter, r *http.Request) error {
	var body PruneBody
	if err := httpjson.Read(w, r, &body); err != nil {
		return err
	}
	report, err := a.host.Archive().Prune(r.Context(), body.DryRun)
	if err != nil {
		return err
	}
	rows := []PrunedRow{}
	for _, p := range report.Pruned {
		if p.Scope.Principal == access.Principal(r) {
			rows = append(rows, PrunedRow{p.UUID, p.Scope.Conversation, p.Tool, p.Created, p.Bytes, p.Reason})
		}
	}
	httpjson.Write(w, http.StatusOK, Pruned{report.DryRun, rows, len(report.Pruned), report.Bytes, report.Kept, report.KeptBytes})
	return nil
}

// deleteArchive deletes one result for good; also one that was pruned.
func (a *archives) deleteArchive(w http.ResponseWriter, r *http.Request) error {
	e, err := a.host.Archive().Find(r.Context(), access.Principal(r), r.PathValue("uuid"))
	if err != nil && !errors.Is(err, archive.ErrExpired) {
		return err
	}
	if err := a.host.Archive().Delete(r.Context(), e.Scope, e.UUID); err != nil {
		return err
	}
	a.log.Info("a result was deleted", "uuid", e.UUID, "tool", e.Tool, "conversation", e.Scope.Conversation)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

package daemon

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/httpjson"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

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

func (d *Daemon) listArchives(w http.ResponseWriter, r *http.Request) error {
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
	scope := archive.Scope{Principal: d.principal(r), Conversation: q.Get("conversation_id")}
	entries, err := d.cfg.Host.Archive().List(r.Context(), scope, archive.Filter{
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

func (d *Daemon) showArchive(w http.ResponseWriter, r *http.Request) error {
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
	entry, err := d.cfg.Host.Archive().Find(r.Context(), d.principal(r), id)
	if err != nil {
		return err
	}
	// A named conversation reads what it may load, and nothing else.
	if c := r.URL.Query().Get("conversation_id"); c != "" {
		entry.Scope.Conversation = c
	}
	page, err := d.cfg.Host.Archive().Peek(r.Context(), entry.Scope, id, part)
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

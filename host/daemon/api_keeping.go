package daemon

import (
	"errors"
	"net/http"
	"time"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/httpjson"
)

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
func (d *Daemon) searchArchives(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	n, err := queryInt(r, "limit", 0)
	if err != nil {
		return err
	}
	scope := archive.Scope{Principal: d.principal(r), Conversation: q.Get("conversation_id")}
	found, err := d.cfg.Host.Archive().Search(r.Context(), scope, q.Get("q"), archive.SearchOptions{Limit: n, Everywhere: scope.Conversation == ""})
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
func (d *Daemon) pruneArchives(w http.ResponseWriter, r *http.Request) error {
	var body PruneBody
	if err := httpjson.Read(w, r, &body); err != nil {
		return err
	}
	report, err := d.cfg.Host.Archive().Prune(r.Context(), body.DryRun)
	if err != nil {
		return err
	}
	rows := []PrunedRow{}
	for _, p := range report.Pruned {
		if p.Scope.Principal == d.principal(r) {
			rows = append(rows, PrunedRow{p.UUID, p.Scope.Conversation, p.Tool, p.Created, p.Bytes, p.Reason})
		}
	}
	httpjson.Write(w, http.StatusOK, Pruned{report.DryRun, rows, len(report.Pruned), report.Bytes, report.Kept, report.KeptBytes})
	return nil
}

// deleteArchive deletes one result for good; also one that was pruned.
func (d *Daemon) deleteArchive(w http.ResponseWriter, r *http.Request) error {
	e, err := d.cfg.Host.Archive().Find(r.Context(), d.principal(r), r.PathValue("uuid"))
	if err != nil && !errors.Is(err, archive.ErrExpired) {
		return err
	}
	if err := d.cfg.Host.Archive().Delete(r.Context(), e.Scope, e.UUID); err != nil {
		return err
	}
	d.log.Info("a result was deleted", "uuid", e.UUID, "tool", e.Tool, "conversation", e.Scope.Conversation)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

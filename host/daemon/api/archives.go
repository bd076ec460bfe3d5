package api

import (
	"encoding/json"
	"time"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/sdk/tool"
)

// An ArchiveRow is one archived result without its text.
type ArchiveRow struct {
	UUID         string          `json:"uuid"`
	Conversation string          `json:"conversation_id"`
	Thread       string          `json:"thread_id,omitempty"`
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

// ArchiveRowOf returns the row of an archived result.
func ArchiveRowOf(e archive.Entry) ArchiveRow {
	return ArchiveRow{e.UUID, e.Scope.Conversation, e.Thread, e.Tool, e.Input, e.Query, e.Summary, e.Chars, e.Lines, e.Bytes, e.Sources, e.Created, e.Loads, e.Pruned}
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
	// Shown is what the model was shown of the whole; absent: no call is known.
	Shown *ShownPart `json:"shown,omitempty"`
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
	// LastLine and Score are of a hit by meaning, which is after those by words: the
	// end of the passage that begins at Line, and its likeness to the query, up to 1.
	LastLine int     `json:"last_line,omitempty"`
	Score    float64 `json:"score,omitempty"`
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

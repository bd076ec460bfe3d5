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
	// Shown is what the model was shown of the whole; absent: no call is known.
	Shown *ShownPart `json:"shown,omitempty"`
}

// ArchiveRowOf returns the row of an archived result, without Shown.
func ArchiveRowOf(e archive.Entry) ArchiveRow {
	return ArchiveRow{e.UUID, e.Scope.Conversation, e.Thread, e.Tool, e.Input, e.Query, e.Summary, e.Chars, e.Lines, e.Bytes, e.Sources, e.Created, e.Loads, e.Pruned, nil}
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
	// Clipped are the lines of Text that were clipped to the query's clip characters.
	Clipped []ClippedLine `json:"clipped,omitempty"`
}

// A ClippedLine is a line of ArchivePage.Text that is longer in the whole.
type ClippedLine struct {
	Line  int `json:"line"`  // of Text, from 1
	Chars int `json:"chars"` // all of its characters
}

// TextMatches is what GET /api/archives/{uuid}/matches answers: the hits in one archived
// result, in order.
type TextMatches struct {
	Matches []TextMatch `json:"matches"`
	// Total counts the hits in Lines lines, up to 100,000; More says that there are
	// others. Next is the offset of the next page, absent after the last hit.
	Total int  `json:"total"`
	More  bool `json:"more,omitempty"`
	Lines int  `json:"lines"`
	Next  int  `json:"next_offset,omitempty"`
}

// A TextMatch is one hit: the characters From to To of a line, counted from 0, without the
// one at To.
type TextMatch struct {
	Line int `json:"line"` // from 1
	From int `json:"from"`
	To   int `json:"to"`
	// Text is the part of the line around the hit, at most 240 characters, which begins
	// with the line's character TextFrom.
	Text     string `json:"text"`
	TextFrom int    `json:"text_from,omitempty"`
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

package archive

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/weirhost/weir/host/internal/sqlite"
	"github.com/weirhost/weir/sdk/tool"
)

// A Scope names a conversation of a principal. Every statement has both in its
// condition; an entry outside of the scope is reported like a missing one.
type Scope struct {
	Principal    string
	Conversation string
	// Everywhere extends reading to all conversations of the principal, as
	// Config.UserScope does for every Scope. Writing uses Conversation.
	Everywhere bool
	// Alone restricts lists and searches to Conversation, also where Config.UserScope
	// extends them.
	Alone bool
}

// The errors of this package.
var (
	// ErrNotFound is the error of an id that does not exist in the scope.
	ErrNotFound = errors.New("no such archive in this conversation")
	// ErrExpired is the error of an entry whose text was pruned.
	ErrExpired = errors.New("the archive was pruned")
)

// The errors of the file. They are those of the database.
var (
	ErrFull         = sqlite.ErrFull
	ErrFullDatabase = sqlite.ErrFullDatabase
	ErrUnreachable  = sqlite.ErrUnreachable
	ErrForeign      = sqlite.ErrForeign
	ErrNewer        = sqlite.ErrNewer
	ErrUnreleased   = sqlite.ErrUnreleased
	ErrDamaged      = sqlite.ErrDamaged
	ErrClosed       = sqlite.ErrClosed
)

// An Entry is one archived result. Put fills in UUID, SHA256, Chars, Lines, Bytes
// and the times; the caller sets the rest.
type Entry struct {
	UUID     string
	Scope    Scope
	Thread   string // a thread of the caller's own within or across conversations; may be empty
	Turn     int
	CallID   string
	Tool     string
	Input    json.RawMessage
	Query    string // at most 500 characters
	Summary  string
	Full     string // the normalised text; empty in lists and after pruning
	Raw      []byte // the bytes before normalising; nil if they are the same
	Rules    int    // version of the rules for normalising
	SHA256   string // of Full, in hexadecimal
	Chars    int
	Lines    int
	Bytes    int
	Sources  []tool.Source
	Parts    []tool.Blob
	Created  time.Time
	Expires  time.Time // ErrExpired from then on; zero: only retention removes the text
	LastLoad time.Time
	Loads    int
	Pruned   bool // the text was removed; Tool and Input say which call returns it again
	// Later says that the entry will probably not be read: Put compresses its text, and
	// leaves an empty Summary and nil Sources to the first Get, Find or List that returns
	// the entry. Of an entry that these return it is false.
	Later bool
}

// Ref returns what a placeholder shows of the entry.
func (e Entry) Ref() *tool.Ref {
	ref := &tool.Ref{
		UUID: e.UUID, Query: e.Query, Summary: e.Summary, CreatedAt: e.Created,
		Chars: e.Chars, Lines: e.Lines, Sources: e.Sources,
	}
	for _, p := range e.Parts {
		ref.Parts = append(ref.Parts, tool.Part{Name: p.Name, MIME: p.MIME, Bytes: len(p.Data)})
	}
	return ref
}

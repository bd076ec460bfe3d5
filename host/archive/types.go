package archive

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/weirhost/weir/sdk/tool"
)

// A Scope says whose archives are meant. Every read has both parts in its
// WHERE, and a foreign id answers exactly like a missing one.
type Scope struct {
	Principal    string
	Conversation string
	// Everywhere lets what is read be of any conversation of the principal, as
	// Config.UserScope does for all; what is written is the conversation's.
	Everywhere bool
}

// The errors of this package. ErrNotFound is also what a foreign id answers.
var (
	ErrNotFound = errors.New("no such archive in this conversation")
	ErrExpired  = errors.New("the archive was pruned")
	ErrFull     = errors.New("the archive cannot be written")
)

// An Entry is one archived result. Put fills UUID, SHA256, Chars, Lines, Bytes
// and the times; everything else is the caller's.
type Entry struct {
	UUID     string
	Scope    Scope
	Thread   string // branch after an edit or a retry; may be empty
	Turn     int
	CallID   string
	Tool     string
	Input    json.RawMessage
	Query    string // at most 500 characters
	Summary  string
	Full     string // the normalised whole; empty in listings and once pruned
	Raw      []byte // the bytes before normalising, if they differ; nil otherwise
	Rules    int    // version of the normalising rules
	SHA256   string // of Full, hex
	Chars    int
	Lines    int
	Bytes    int
	Sources  []tool.Source
	Parts    []tool.Blob
	Created  time.Time
	Expires  time.Time // from then on it answers ErrExpired; zero: by the retention of the store alone
	LastLoad time.Time
	Loads    int
	Pruned   bool // the text is gone; tool and input tell how to get it again
	// SameAs is set by Put alone: the newest earlier entry of the scope with the
	// same tool, input and text. Empty: there is none.
	SameAs string
}

// Ref is what a placeholder needs.
func (e Entry) Ref() *tool.Ref {
	return &tool.Ref{
		UUID: e.UUID, Query: e.Query, Summary: e.Summary, CreatedAt: e.Created,
		Chars: e.Chars, Lines: e.Lines, Sources: e.Sources,
	}
}

// A Part selects from an archived whole. The zero Part is the whole. Lines,
// Grep and Pointer exclude one another; Head, Tail and Offset apply to what
// they select. All numbers count lines or characters of the normalised text.
type Part struct {
	// First and Last select lines, counted from 1, both included; Last 0: to the end.
	First, Last int
	// Grep selects lines that match an RE2 expression, with Context lines around
	// each. They come numbered as grep -n numbers them: 12: in front of a match,
	// 11- in front of context, -- between groups.
	Grep    string
	Context int
	// Pointer selects a value of a JSON text (RFC 6901). A string is given as its
	// plain text, everything else as the bytes that stand there.
	Pointer string
	// Head and Tail select that many lines from the beginning or the end; with
	// both, a line -- stands between them.
	Head, Tail int
	// Offset leaves out that many characters of what was selected.
	Offset int
	// Locale is the language in which a Part that does not exist is complained of;
	// every other than Chinese: English.
	Locale tool.Locale
}

// A Page is a selected part of an archived whole.
type Page struct {
	Entry Entry // without Full
	// Text is everything selected, from Part.Offset on; the caller cuts it.
	Text string
	// Chars is the length of everything selected, in characters, before Offset.
	Chars int
	// Matches counts matching lines of a Grep; 0 otherwise.
	Matches int
}

// A Conversation is one row of the conversation list.
type Conversation struct {
	ID        string
	Principal string
	Title     string
	Profile   string
	Created   time.Time
	Updated   time.Time
	Messages  int
}

// A Message is one stored message. Body is the neutral form of package agent
// as JSON; the other fields stand beside it so that people can query them.
type Message struct {
	Seq      int
	Turn     int
	Role     string
	Content  string
	Thinking string
	Model    string
	Body     json.RawMessage
	Created  time.Time
}

// MalformedCode begins the Code of something that was meant to be a call and
// could not be read as one; the reason follows. It is a call of no tool.
const MalformedCode = "malformed:"

// ToolUse is one row of the call log, from which the statistics come.
type ToolUse struct {
	Scope    Scope
	Turn     int
	CallID   string
	Tool     string
	Model    string // whose call it was; may be empty
	Format   string // how the model wrote it
	Code     string // ok, a tool.Code, or MalformedCode and the reason
	Layer    string // which limit cut it; empty: none
	Produced int    // characters
	Shown    int    // characters
	UUID     string // empty: not archived
	Duration time.Duration
	Created  time.Time
}

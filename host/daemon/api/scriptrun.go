package api

import (
	"encoding/json"
	"time"
)

// A ScriptList is the answer of GET /api/scripts.
type ScriptList struct {
	// Scripts are those under way and the last 100 that have ended, the newest first.
	Scripts []ScriptSummary `json:"scripts"`
}

// A ScriptSummary is a script in a list.
type ScriptSummary struct {
	ID string `json:"id"`
	// State is running, waiting, done, failed or cancelled.
	State        string    `json:"state"`
	Conversation string    `json:"conversation_id"`
	Created      time.Time `json:"created_at"`
	Updated      time.Time `json:"updated_at"`
	// Line is the beginning of the source.
	Line  string `json:"line"`
	Calls int    `json:"calls"` // so far
	// Waiting is how many of its calls wait for a person.
	Waiting int `json:"waiting"`
}

// A ScriptRun is a script under way, or one that has ended.
type ScriptRun struct {
	ScriptSummary
	Source string          `json:"source"`
	Args   json.RawMessage `json:"arguments,omitempty"`
	Made   []ScriptCall    `json:"made"`
	Logged []string        `json:"logged"`
	// Card are the calls that wait for a person.
	Card []ScriptQuestion `json:"card"`
	// Stored is how many bytes its memory takes on the disk; 0: it has no stored state.
	Stored int `json:"stored_bytes"`
	// Result is what became of it; absent: it has not ended.
	Result *ToolCallResult `json:"result,omitempty"`
}

// A ScriptQuestion is a call of a script that waits for a person.
type ScriptQuestion struct {
	// Number is that of the call in the script.
	Number int `json:"number"`
	// Key is what an answer names it by. It changes with the call: its tool, arguments, and
	// what the tool is.
	Key    string `json:"key"`
	Tool   string `json:"tool"`
	Plugin string `json:"plugin,omitempty"`
	// Why says what the tool can do and which setting asks.
	Why string `json:"why"`
	// Args are as the script wrote them; "@result:UUID" is the whole of a result.
	Args json.RawMessage `json:"arguments"`
	// Sources say where arguments come from.
	Sources []ScriptSource `json:"sources,omitempty"`
}

// A ScriptSource says where an argument of a call comes from.
type ScriptSource struct {
	Arg  string `json:"argument"` // its name, or its JSON pointer
	From string `json:"from"`     // "lines 3-40 of read_file(notes.txt)"
	UUID string `json:"uuid,omitempty"`
}

// Answers to the calls of a card.
const (
	ScriptAllow  = "allow"
	ScriptAlways = "always"
	ScriptDeny   = "deny"
)

// A ScriptAnswer is the body of POST /api/scripts/{id}/resume.
type ScriptAnswer struct {
	// Answers are those to calls that wait, by their keys: allow, deny, or always, which
	// allows later calls of the same tools by the same script, too. A call that is not named
	// still waits. Empty: the script, which waits for nothing, goes on.
	Answers map[string]string `json:"answers,omitempty"`
}

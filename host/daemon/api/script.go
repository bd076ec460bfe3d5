package api

import (
	"encoding/json"

	"github.com/weirhost/weir/sdk/tool"
)

// A ScriptBody is the body of POST /api/scripts.
type ScriptBody struct {
	Source string `json:"source"`
	// Args is an object that the script finds as args; null: an empty one.
	Args json.RawMessage `json:"arguments,omitempty"`
	// Conversation is where all results are kept; empty: one of the principal's own,
	// beside all that a model reads.
	Conversation string      `json:"conversation_id,omitempty"`
	Locale       tool.Locale `json:"locale,omitempty"`
	// Allow says that the operator has read the script: calls that would ask a person run.
	// Without it, and for users, the script waits for the person's answers.
	Allow bool `json:"allow,omitempty"`
}

// A ScriptResult is what became of a script. Its own fields are those of the answer. Of a
// script that waits it is not OK, and the code is waiting.
type ScriptResult struct {
	ToolCallResult
	// Script is the id by which the script is shown, resumed and cancelled.
	Script string `json:"script_id"`
	// State is done, failed, cancelled, waiting (Card has what a person is asked), or running:
	// weir stops, and the script goes on when it starts again.
	State string `json:"state"`
	// Card are the calls that wait for a person.
	Card []ScriptQuestion `json:"card,omitempty"`
	// Logged are the lines that the script wrote by console.
	Logged []string `json:"logged"`
}

// callsOf returns the calls of a script.
func callsOf(inner []tool.Inner) (out []ScriptCall) {
	for _, c := range inner {
		out = append(out, ScriptCall{Tool: c.Tool, UUID: c.UUID, Produced: c.Chars, ElapsedMS: c.Took.Milliseconds(), Code: string(c.Fault)})
	}
	return out
}

// A ScriptCall is one call that a script made.
type ScriptCall struct {
	Tool string `json:"tool"`
	// Brief names the call for a person: "read_file(notes.txt)". Only GET /api/scripts/{id}
	// returns it.
	Brief string `json:"brief,omitempty"`
	// UUID names the archived whole; empty: the tool keeps no results.
	UUID      string `json:"uuid,omitempty"`
	Produced  int    `json:"produced"` // characters
	ElapsedMS int64  `json:"elapsed_ms"`
	// Code is why it failed; empty: it did not.
	Code string `json:"code,omitempty"`
}

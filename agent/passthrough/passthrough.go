// Package passthrough is for clients that run the loop themselves: coding agents with their
// own history, tools and permissions, which use weir as the address of their model.
//
// A Request holds what such a client sent, in the form of OpenAI's chat completions, and a
// Model hands it on: as it is to a server of that protocol, else translated, with nothing
// added and nothing left out. What cannot be handed on as it was sent is told to
// Request.Changed. The package knows no HTTP, no users and no storage.
package passthrough

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/sdk/tool"
)

// A Model hands requests on. It is safe for concurrent use.
type Model interface {
	// Pass sends a request and yields its answer. The sequence is read by one goroutine and
	// may be left early, which ends the request to the server. It asks the server twice at
	// most, and not again after a refusal for too many requests or after the first chunk. An
	// error ends the sequence: it is an *agent.ModelError if the server is at fault, ctx.Err()
	// if the context ended. A sequence that ends without an error was complete.
	Pass(ctx context.Context, r Request) iter.Seq2[Chunk, error]
}

// A Request is a chat completion request. A Model changes neither it nor its Body.
type Request struct {
	// Body is the JSON object that the client sent, as ReadBody accepts it, without weir's own
	// members. The value of its member model has no meaning: a Model puts its own in its place.
	// Members that a Model does not know are handed on by those that speak the protocol.
	Body json.RawMessage
	// Window is the context window to ask for, in tokens, where the server can be asked for
	// one; 0: the model's own.
	Window int
	// Locale is the language of errors and of texts that a Model has to write; empty: English.
	Locale tool.Locale
	// Changed is called for everything that could not be handed on as it was sent, before the
	// first chunk, from the goroutine that reads the sequence; nil: nobody wants to know.
	Changed func(tool.Text)
}

// Change tells Changed, if somebody wants to know.
func (r Request) Change(t tool.Text) {
	if r.Changed != nil {
		r.Changed(t)
	}
}

// A Chunk is one piece of an answer.
type Chunk struct {
	// Data is a chat.completion.chunk, or the whole chat.completion if the request is not for
	// a stream, as the server sent it. nil: the chunk is not for the client, as the usage is
	// if it did not ask for it.
	Data json.RawMessage
	// Usage is what the server counted, of the whole request; nil: this chunk does not say.
	Usage *agent.Usage
	// Model is who answers, by the server's own word; empty: this chunk does not say.
	Model string
	// Finish is set once the reply is complete.
	Finish agent.Finish
}

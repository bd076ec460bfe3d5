package inner

import (
	"encoding/json"
	"strings"

	"github.com/weirhost/weir/agent/passthrough"
)

// A Splitter splits the replies of one answer into what the client gets and the calls that
// weir runs. It is not safe for concurrent use.
type Splitter struct {
	// Offered are weir's tools. Own finds what the model copied into a call of a tool of the
	// client's: such a call is not handed over. Once the request has a text of weir's, calls
	// are held back until the reply is complete; texts never are.
	Offered Offered
	Own     *Own

	said strings.Builder // to the client
	// id and created are of the first chunk: to the client all replies are one.
	id, created json.RawMessage
	replies     int
	// lead are chunks that say nothing, such as whose reply it is: they go in front of the first
	// one that does. Until then a failure can be told by a status.
	lead  []passthrough.Chunk
	begun bool
	ids   int
}

// Said returns the text that the client got.
func (s *Splitter) Said() string { return s.said.String() }

// Next returns the next reply.
func (s *Splitter) Next() *Reply {
	s.replies++
	return &Reply{s: s}
}

// asOne gives a chunk of a later reply the id of the first.
func (s *Splitter) asOne(b passthrough.Body) passthrough.Body {
	if s.replies == 1 {
		if s.id == nil {
			s.id, s.created = b.Get("id"), b.Get("created")
		}
		return b
	}
	if s.id != nil && b.Has("id") {
		b = b.With("id", s.id)
	}
	if s.created != nil && b.Has("created") {
		b = b.With("created", s.created)
	}
	return b
}

// begin puts lead in front of chunks, if there are any.
func (s *Splitter) begin(out []passthrough.Chunk) []passthrough.Chunk {
	if len(out) > 0 {
		out, s.lead, s.begun = append(s.lead, out...), nil, true
	}
	return out
}

package mcpserver

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weirhost/weir/host/internal/answer"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// MaxStructured bounds a structured answer, in bytes; of a longer one the client gets
// the place. No limit can cut it without making it another value.
const MaxStructured = 8000

// open are the keywords at the top of an output schema that the placeholder of a long
// answer fits. required and additionalProperties are taken out for it.
var open = []string{"$schema", "$id", "$defs", "$comment", "definitions", "type", "title", "description", "properties", "examples", "default", "deprecated"}

// outputOf returns an output schema that allows the placeholder of a long answer as
// well; nil: there is none. Clients refuse a result that does not fit its schema.
func outputOf(schema json.RawMessage) json.RawMessage {
	var top map[string]json.RawMessage
	if len(schema) == 0 || json.Unmarshal(schema, &top) != nil {
		return nil
	}
	delete(top, "required")
	delete(top, "additionalProperties")
	for key := range top {
		if !slices.Contains(open, key) {
			return nil
		}
	}
	out, _ := json.Marshal(top) // what was JSON marshals
	return out
}

// An elsewhere replaces a structured answer that is too long to be passed on.
type elsewhere struct {
	Archive string `json:"weir_archive,omitempty"` // the uuid of the whole
	Bytes   int    `json:"weir_bytes,omitempty"`
}

// structured returns the structured answer of a successful result; nil: none. A tool
// with an output schema always has one.
func (u *user) structured(r tool.Result) any {
	promised := u.promises(r.Tool)
	switch n := len(r.Structured); {
	case r.Err != nil:
		return nil
	case n > 0 && n <= MaxStructured && (!promised || bytes.HasPrefix(bytes.TrimSpace(r.Structured), []byte("{"))):
		return r.Structured
	case promised && n > MaxStructured && r.Ref != nil:
		return elsewhere{r.Ref.UUID, n}
	case promised:
		return elsewhere{Bytes: n}
	}
	return nil
}

// promises reports whether clients know an output schema of the tool.
func (u *user) promises(name string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.listed[name].output
}

// contents returns the shown text and the parts. If nothing is left out, each part is
// where the tool put it, in place of the line that describes it.
func (u *user) contents(r tool.Result) []mcp.Content {
	var out, rest []mcp.Content
	text := limit.Render(r, u.locale())
	for i, p := range r.Parts {
		if p.Name == answer.StructuredName && len(p.Data) <= MaxStructured {
			continue // see structured
		}
		part := u.part(r, i, p)
		before, after, ok := cutLine(text, limit.Neutralise(answer.PartLine(p, u.locale())))
		if !ok || r.Shown.Cut() {
			rest = append(rest, part)
			continue
		}
		if before != "" {
			out = append(out, &mcp.TextContent{Text: before})
		}
		out, text = append(out, part), after
	}
	if text != "" || len(out) == 0 {
		out = append(out, &mcp.TextContent{Text: text})
	}
	return append(out, rest...)
}

// cutLine cuts a text at a whole line.
func cutLine(text, line string) (before, after string, ok bool) {
	before, after, ok = strings.Cut("\n"+text+"\n", "\n"+line+"\n")
	return strings.TrimPrefix(before, "\n"), strings.TrimSuffix(after, "\n"), ok
}

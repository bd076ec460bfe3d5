package mcpclient

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weirhost/weir/sdk/tool"
)

// Bounds of what one server may list.
const (
	maxTools  = 512
	maxSchema = 64 << 10 // bytes
	maxNotes  = 20       // of what is left out, each is a line of the log
)

// sizeKey is the key of a tool's limit for its results, in characters.
const sizeKey = "anthropic/maxResultSizeChars"

// list reads all pages of a server's tools. It omits unusable tools, with a note
// for each.
func (s *Server) list(ctx context.Context, session *mcp.ClientSession) (tools []Tool, notes []tool.Text, err error) {
	left := 0
	leave := func(format string, args ...any) {
		if left++; left <= maxNotes {
			notes = append(notes, tool.Textf(format, args...))
		}
	}
	defer func() {
		if left > maxNotes && err == nil {
			notes = append(notes, tool.Textf("%d more of its tools are left out", left-maxNotes))
		}
	}()
	seen := map[string]bool{}
	s.unasked.tasks.clear()
	for t, err := range session.Tools(ctx, nil) {
		if err != nil {
			return nil, nil, err
		}
		if len(tools) == maxTools {
			return tools, append(notes, tool.Textf("it lists more than %d tools; the rest is left out", maxTools)), nil
		}
		schema, err := json.Marshal(t.InputSchema)
		switch {
		case err != nil || len(schema) > maxSchema:
			leave("the schema of %q is over %d bytes", short(t.Name, 100), maxSchema)
			continue
		case s.unasked.tasks.has(t.Name):
			leave("%q runs only as a task, which weir does not ask for", short(t.Name, 100))
			continue
		case t.Name == "" || seen[t.Name]:
			leave("the name %q is listed twice or is empty", short(t.Name, 100))
			continue
		}
		seen[t.Name] = true
		tools = append(tools, read(t, schema))
	}
	return tools, notes, nil
}

func read(t *mcp.Tool, schema json.RawMessage) Tool {
	output, err := json.Marshal(t.OutputSchema)
	if err != nil || t.OutputSchema == nil || len(output) > maxSchema {
		output = nil
	}
	out := Tool{OutputSchema: output, Name: t.Name, Title: t.Title, Description: t.Description, Schema: schema, OpenWorld: true}
	if a := t.Annotations; a != nil {
		out.ReadOnly, out.Idempotent = a.ReadOnlyHint, a.IdempotentHint
		out.OpenWorld = a.OpenWorldHint == nil || *a.OpenWorldHint
		out.SaysOpen = a.OpenWorldHint != nil && *a.OpenWorldHint
	}
	if n, ok := t.Meta[sizeKey].(float64); ok && n >= 1 && n < 1<<31 {
		out.MaxChars = int(n)
	}
	return out
}

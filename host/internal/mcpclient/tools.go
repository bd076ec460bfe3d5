package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weirhost/weir/host/internal/jsonscan"
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
func list(ctx context.Context, session *mcp.ClientSession) (tools []Tool, notes []tool.Text, err error) {
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
	for params := (&mcp.ListToolsParams{}); ; {
		page, err := session.ListTools(ctx, params)
		if err != nil {
			return nil, nil, err
		}
		said := saidOf(page)
		for _, t := range page.Tools {
			if len(tools) == maxTools {
				return tools, append(notes, tool.Textf("it lists more than %d tools; the rest is left out", maxTools)), nil
			}
			one, ok := read(t, said[t.Name])
			switch {
			case !ok:
				leave("the schema of %q is over %d bytes", short(t.Name, 100), maxSchema)
				continue
			case runsOnlyAsTask(one.Execution):
				leave("%q runs only as a task, which weir does not ask for", short(t.Name, 100))
				continue
			case t.Name == "" || seen[t.Name]:
				leave("the name %q is listed twice or is empty", short(t.Name, 100))
				continue
			}
			seen[t.Name] = true
			tools = append(tools, one)
		}
		if page.NextCursor == "" {
			return tools, notes, nil
		}
		params = &mcp.ListToolsParams{Cursor: page.NextCursor}
	}
}

func runsOnlyAsTask(execution json.RawMessage) bool {
	var said struct{ TaskSupport string }
	return json.Unmarshal(execution, &said) == nil && said.TaskSupport == "required"
}

// A saidTool has the members of a tool in the order and form in which the server wrote them;
// nil: it wrote none.
type saidTool struct{ input, output, annotations, meta, execution, icons json.RawMessage }

// saidOf returns the tools of a page by their names.
func saidOf(page *mcp.ListToolsResult) map[string]saidTool {
	out := map[string]saidTool{}
	for one := range jsonscan.Items(string(rawIn(map[string]any(page.Meta)))) {
		name, said := "", saidTool{}
		for key, value := range jsonscan.Members(one) {
			raw := json.RawMessage(value)
			if value == "null" {
				raw = nil
			}
			switch key {
			case "name":
				name, _ = jsonscan.Text(raw)
			case "inputSchema":
				said.input = raw
			case "outputSchema":
				said.output = raw
			case "annotations":
				said.annotations = raw
			case "_meta":
				said.meta = raw
			case "execution":
				said.execution = raw
			case "icons":
				said.icons = raw
			}
		}
		if _, again := out[name]; !again {
			out[name] = said
		}
	}
	return out
}

// read returns a tool; false: its schema is too long. Where the list could not be read as
// it was written, said is empty.
func read(t *mcp.Tool, said saidTool) (Tool, bool) {
	schema := written(said.input, t.InputSchema)
	if schema == nil {
		return Tool{}, false
	}
	out := Tool{
		Name: t.Name, Title: t.Title, Description: t.Description, Schema: schema, OpenWorld: true,
		OutputSchema: written(said.output, t.OutputSchema), Annotations: written(said.annotations, t.Annotations),
		Meta: written(said.meta, t.Meta), Execution: written(said.execution, nil), Icons: written(said.icons, t.Icons),
	}
	if t.OutputSchema == nil {
		out.OutputSchema = nil
	}
	if a := t.Annotations; a != nil {
		out.ReadOnly, out.Idempotent = a.ReadOnlyHint, a.IdempotentHint
		out.OpenWorld = a.OpenWorldHint == nil || *a.OpenWorldHint
		out.SaysOpen = a.OpenWorldHint != nil && *a.OpenWorldHint
	}
	if n, ok := t.Meta[sizeKey].(float64); ok && n >= 1 && n < 1<<31 {
		out.MaxChars = int(n)
	}
	return out, true
}

// written returns what the server wrote, else the JSON of what the SDK made of it; nil: it
// is nothing, or over maxSchema.
func written(said json.RawMessage, v any) json.RawMessage {
	if said == nil {
		said, _ = json.Marshal(v) // it was JSON before
	}
	if len(said) > maxSchema || string(said) == "null" {
		return nil
	}
	return bytes.Clone(said)
}

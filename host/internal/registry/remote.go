package registry

import (
	"encoding/json"
	"fmt"

	"github.com/weirhost/weir/host/internal/schema"
	"github.com/weirhost/weir/sdk/tool"
)

// RemoteTool returns a tool for the tool of another server. The texts and the
// schema are untrusted and get the same checks as a third-party plugin's. The new
// name is <server>__<name>; Remote is the original one. notes are the faults. ok
// is false if the tool is unusable. The schemas of a server share a budget.
func RemoteTool(server, name, title, description string, params json.RawMessage, budget *schema.Budget) (t Tool, notes []tool.Text, ok bool) {
	note := func(format string, args ...any) { notes = append(notes, tool.Textf(format, args...)) }
	short, place := "", cleanName(server)
	if len(name) <= 4*maxToolName {
		short = cleanName(name)
	}
	if short == "" || place == "" {
		note("a tool is left out: its name has no letter from a to z and no digit, or is %d bytes long", len(name))
		return t, notes, false
	}
	t = Tool{Format: FormatMCP, EmptyOK: true, Export: name, Remote: name}
	t.Spec = tool.Spec{Name: place + "__" + fitName(short, maxToolName-len(place)-len("__"), name), Written: name}
	if t.Spec.Description = schema.Prose(description, title); t.Spec.Description == "" {
		t.Spec.Description = fmt.Sprintf("The tool %s of the server %s, which does not describe it.", short, place)
	}
	t.Spec.Params, t.Schema = thirdPartySchema(t.Spec.Name, params, budget, note)
	return t, notes, true
}

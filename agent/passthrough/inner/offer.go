package inner

import (
	"encoding/json"

	"github.com/weirhost/weir/agent/passthrough"
	"github.com/weirhost/weir/agent/passthrough/beside"
	"github.com/weirhost/weir/sdk/tool"
)

// maxTools is how many tools servers take.
const maxTools = 128

// An Offered is a set of weir's tools as the model knows them.
type Offered struct {
	// names are the tools' own names by those that the model calls.
	names map[string]string
}

// Any reports whether there are any.
func (o Offered) Any() bool { return len(o.names) > 0 }

// Own returns a tool's own name; false: the name that the model calls is none of weir's.
func (o Offered) Own(called string) (string, bool) {
	own, ok := o.names[called]
	return own, ok
}

// Called returns the name by which the model calls a tool.
func (o Offered) Called(own string) string {
	for called, name := range o.names {
		if name == own {
			return called
		}
	}
	return own
}

// Offer adds tools of weir's at the end of the client's, from the first request of a
// conversation on: servers keep what they have read of a prompt, and tools stand at its
// beginning. A request without tools, as for a title, stays without; so does one for several
// answers, each of which would need rounds of its own, and one that would have more tools than
// servers take. A name that the client has already gets a prefix.
func Offer(b passthrough.Body, specs []tool.Spec) (passthrough.Body, Offered) {
	var list []json.RawMessage
	var n int
	_ = json.Unmarshal(b.Get("n"), &n) // else it is one
	if json.Unmarshal(b.Get("tools"), &list) != nil || len(list) == 0 || len(list)+len(specs) > maxTools || n > 1 {
		return b, Offered{}
	}
	taken := Clients(b)
	o := Offered{map[string]string{}}
	for _, s := range specs {
		name := taken.Shown(s.Name)
		taken = append(taken, tool.Spec{Name: name})
		o.names[name] = s.Name
		list = append(list, declaration(name, s))
	}
	return b.With("tools", joined(list)), o
}

// Clients returns the tools of a request by their names and descriptions.
func Clients(b passthrough.Body) (out beside.Tools) {
	var list []json.RawMessage
	_ = json.Unmarshal(b.Get("tools"), &list) // else there are none
	for _, raw := range list {
		var t struct {
			Name     string
			Function struct{ Name, Description string }
		}
		if json.Unmarshal(raw, &t) == nil {
			out = append(out, tool.Spec{Name: t.Function.Name, Description: t.Function.Description})
			if t.Name != "" {
				out = append(out, tool.Spec{Name: t.Name})
			}
		}
	}
	return out
}

func declaration(name string, s tool.Spec) json.RawMessage {
	var d struct {
		Type     string `json:"type"`
		Function struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
		} `json:"function"`
	}
	d.Type, d.Function.Name, d.Function.Description, d.Function.Parameters = "function", name, s.Description, s.Params
	return json.RawMessage(text(d))
}

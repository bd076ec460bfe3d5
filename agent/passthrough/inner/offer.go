package inner

import (
	"encoding/json"

	"github.com/weirhost/weir/agent/passthrough"
	"github.com/weirhost/weir/sdk/tool"
)

// prefix is in front of the name of a tool of weir's if the client has one of that name.
const prefix = "weir_"

// maxTools is how many tools servers take.
const maxTools = 128

// An Offered is a set of weir's tools as the model knows them.
type Offered struct {
	// names are the tools' own names by those that the model calls.
	names map[string]string
}

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
// answers, each of which would need rounds of its own. A name that the client has already gets
// a prefix.
func Offer(b passthrough.Body, specs []tool.Spec) (passthrough.Body, Offered) {
	var list []json.RawMessage
	var n int
	_ = json.Unmarshal(b.Get("n"), &n) // else it is one
	if json.Unmarshal(b.Get("tools"), &list) != nil || len(list) == 0 || len(list)+len(specs) > maxTools || n > 1 {
		return b, Offered{}
	}
	taken := map[string]bool{}
	for _, raw := range list {
		var t struct {
			Name     string
			Function struct{ Name string }
		}
		if json.Unmarshal(raw, &t) == nil {
			taken[t.Name], taken[t.Function.Name] = true, true
		}
	}
	o := Offered{map[string]string{}}
	for _, s := range specs {
		name := s.Name
		for taken[name] {
			name = prefix + name
		}
		taken[name] = true
		o.names[name] = s.Name
		list = append(list, declaration(name, s))
	}
	return b.With("tools", joined(list)), o
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

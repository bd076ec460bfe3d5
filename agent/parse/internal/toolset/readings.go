package toolset

import (
	"slices"
	"strings"

	"github.com/weirhost/weir/agent/parse/internal/lex"
	"github.com/weirhost/weir/agent/parse/internal/value"
)

// A Reading is one call as the model wrote it, not yet matched with a tool.
type Reading struct {
	Name string
	ID   string
	value.Arguments
	// Flat says that the arguments are beside the name in one object.
	Flat bool
	// NameKey is the key of the object that names the tool, if one does.
	NameKey string
	// Loose says that values were written without the types of JSON.
	Loose bool
}

var (
	NameKeys    = []string{"tool_name", "function_name", "tool", "name", "function", "func", "action", "recipient_name", "command", "api", "method"}
	ArgsKeys    = []string{"arguments", "parameters", "params", "args", "input", "tool_input", "action_input", "tool_arguments", "tool_args", "tool_parameters", "function_arguments", "function_args", "kwargs", "argument", "inputs"}
	idKeys      = []string{"id", "tool_call_id", "call_id"}
	sideKeys    = []string{"type", "role", "thought", "thoughts", "reasoning", "reason", "explanation", "plan"} // what is beside a call and is none of its arguments
	wrapperKeys = []string{"tool_calls", "toolCalls", "tools_call", "tools_calls", "tool_call", "function_call", "function_calls", "functionCall", "calls", "actions", "tool_uses", "tool_use", "tools", "functions", "invocations"}
)

// KnownKey reports whether an object that begins with key may be a call.
func (t *Set) KnownKey(key string) bool {
	return slices.Contains(sideKeys, key) || slices.Contains(NameKeys, key) || slices.Contains(ArgsKeys, key) || slices.Contains(idKeys, key) ||
		slices.Contains(wrapperKeys, key) || t.Keys[key] || t.Find(key) != nil && !t.AnyName
}

// ReadCalls reads the calls that a value holds. A value that is no call gives
// none.
func (t *Set) ReadCalls(n value.Node, loose bool, depth int) []Reading {
	if depth > 4 {
		return nil
	}
	switch n.Kind {
	case value.Array:
		if r, ok := t.readTuple(n); ok {
			return []Reading{r}
		}
		var out []Reading
		for _, item := range n.Items {
			out = append(out, t.ReadCalls(item, loose, depth+1)...)
		}
		return out
	case value.String, value.Bare:
		if r, ok := t.readCallText(n.Value); ok && depth > 0 {
			return []Reading{r}
		}
	case value.Object:
		return t.readObject(n, loose, depth)
	}
	return nil
}

// readTuple reads ["name", {…}].
func (t *Set) readTuple(n value.Node) (Reading, bool) {
	if len(n.Items) != 2 || n.Items[1].Kind != value.Object {
		return Reading{}, false
	}
	name, ok := n.Items[0].Text()
	if !ok || t.Find(name) == nil {
		return Reading{}, false
	}
	return Reading{Name: name, Arguments: value.Arguments{Args: n.Items[1]}, Loose: true}, true
}

func (t *Set) readObject(n value.Node, loose bool, depth int) []Reading {
	for _, key := range wrapperKeys {
		if w := n.Get(key); w.Kind == value.Array || w.Kind == value.Object {
			if out := t.ReadCalls(w, loose, depth+1); len(out) > 0 {
				return out
			}
		}
	}
	id := ""
	for _, key := range idKeys {
		if v, ok := n.Get(key).Text(); ok && id == "" {
			id = v
		}
	}
	for _, key := range []string{"function", "func", "tool", "call", "command", "action"} {
		if f := n.Get(key); f.Kind == value.Object {
			out := t.readObject(f, loose, depth+1)
			if len(out) == 1 && out[0].ID == "" {
				out[0].ID = id
			}
			return out
		}
	}
	if out := t.readKeyed(n, loose); len(out) > 0 {
		return out
	}
	nameKey, name := t.NameOf(n)
	if nameKey == "" {
		return nil
	}
	r := Reading{Name: name, ID: id, NameKey: nameKey, Loose: loose}
	info := t.Find(name)
	for _, key := range ArgsKeys {
		a := n.Get(key)
		if a.Kind == value.None || key == nameKey {
			continue
		}
		if a.Kind != value.Object && info.has(key) {
			continue // the tool has a parameter of this name
		}
		r.Args = a
		return []Reading{r}
	}
	r.Args = flatArgs(n, nameKey, info)
	r.Flat = len(r.Args.Keys) > 0
	if !r.Flat {
		r.Args = value.Node{}
	}
	return []Reading{r}
}

// has reports whether the tool has a parameter of this name; false for a nil Tool.
func (i *Tool) has(key string) bool {
	if i == nil {
		return false
	}
	_, ok := i.Params.Prop(key)
	return ok
}

// NameOf finds the key that names the tool; where several could, the one
// whose value is declared.
func (t *Set) NameOf(n value.Node) (key, name string) {
	for _, k := range NameKeys {
		v, ok := n.Get(k).Text()
		if !ok || v == "" {
			continue
		}
		if t.Find(v) != nil {
			return k, v
		}
		if key == "" {
			key, name = k, v
		}
	}
	return key, name
}

// flatArgs is what remains of an object besides its name, id and type.
func flatArgs(n value.Node, nameKey string, info *Tool) value.Node {
	args := value.Node{Kind: value.Object}
	for i, k := range n.Keys {
		if k == nameKey || !info.has(k) && (slices.Contains(idKeys, k) || slices.Contains(sideKeys, k)) {
			continue
		}
		args.Keys = append(args.Keys, k)
		args.Items = append(args.Items, n.Items[i])
	}
	return args
}

// readKeyed reads {"name": {…}}, where every key is a declared tool. Where any
// name is, it must be the only key and none that calls have.
func (t *Set) readKeyed(n value.Node, loose bool) []Reading {
	if t.AnyName && (len(n.Keys) != 1 || t.KnownKey(n.Keys[0])) {
		return nil
	}
	var out []Reading
	for i, k := range n.Keys {
		v := n.Items[i]
		if v.Kind != value.Object && v.Kind != value.Array || t.Find(k) == nil {
			return nil
		}
		out = append(out, Reading{Name: k, Arguments: value.Arguments{Args: v}, Loose: loose})
	}
	return out
}

// IsDefinition reports whether args describe a tool instead of calling it.
func IsDefinition(args value.Node) bool {
	typ, _ := args.Get("type").Text()
	return (typ == "object" || typ == "dict") && args.Get("properties").Kind == value.Object
}

// readCallText reads name(…) from text that holds nothing else.
func (t *Set) readCallText(s string) (Reading, bool) {
	s = strings.Trim(s, " \t\r\n`*;")
	open := strings.IndexByte(s, '(')
	if open <= 0 || open > lex.MaxName || !strings.HasSuffix(s, ")") || t.Find(s[:open]) == nil {
		return Reading{}, false
	}
	sc := value.Scanner{Names: t}
	if st := sc.Run([]byte(s[open:]), true); st != lex.Done || open+sc.Pos != len(s) {
		return Reading{}, false
	}
	v := value.Reader{Text: s[open:], Spans: sc.Spans}
	args, ok := v.Call()
	return Reading{Name: s[:open], Arguments: args, Loose: true}, ok
}

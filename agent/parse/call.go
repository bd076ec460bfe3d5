package parse

import (
	"slices"
	"strings"
)

// A reading is one call as the model wrote it, not yet matched with a tool.
type reading struct {
	name string
	id   string
	// args is an object, an array of positional values, text, or nothing.
	args node
	// more holds named values beside positional ones.
	named node
	// sole says that the object was a call's only positional value: f({…}).
	sole bool
	// flat says that the arguments stand beside the name in one object.
	flat bool
	// nameKey is the key of the object that names the tool, if one does.
	nameKey string
	// loose says that values were written without the types of JSON.
	loose bool
}

var (
	nameKeys    = []string{"tool_name", "function_name", "tool", "name", "function", "func", "action", "recipient_name", "command", "api", "method"}
	argsKeys    = []string{"arguments", "parameters", "params", "args", "input", "tool_input", "action_input", "tool_arguments", "tool_args", "tool_parameters", "function_arguments", "function_args", "kwargs", "argument", "inputs"}
	idKeys      = []string{"id", "tool_call_id", "call_id"}
	sideKeys    = []string{"type", "role", "thought", "thoughts", "reasoning", "reason", "explanation", "plan"} // what stands beside a call and is none of its arguments
	wrapperKeys = []string{"tool_calls", "toolCalls", "tools_call", "tools_calls", "tool_call", "function_call", "function_calls", "functionCall", "calls", "actions", "tool_uses", "tool_use", "tools", "functions", "invocations"}
)

// knownKey reports whether an object that begins with key may be a call.
func (t *toolset) knownKey(key string) bool {
	return slices.Contains(sideKeys, key) || slices.Contains(nameKeys, key) || slices.Contains(argsKeys, key) || slices.Contains(idKeys, key) ||
		slices.Contains(wrapperKeys, key) || t.keys[key] || t.find(key) != nil && !t.any
}

// readCalls reads the calls that a value holds. A value that is no call gives
// none.
func (t *toolset) readCalls(n node, loose bool, depth int) []reading {
	if depth > 4 {
		return nil
	}
	switch n.kind {
	case kindArray:
		if r, ok := t.readTuple(n); ok {
			return []reading{r}
		}
		var out []reading
		for _, item := range n.items {
			out = append(out, t.readCalls(item, loose, depth+1)...)
		}
		return out
	case kindString, kindBare:
		if r, ok := t.readCallText(n.s); ok && depth > 0 {
			return []reading{r}
		}
	case kindObject:
		return t.readObject(n, loose, depth)
	}
	return nil
}

// readTuple reads ["name", {…}].
func (t *toolset) readTuple(n node) (reading, bool) {
	if len(n.items) != 2 || n.items[1].kind != kindObject {
		return reading{}, false
	}
	name, ok := n.items[0].text()
	if !ok || t.find(name) == nil {
		return reading{}, false
	}
	return reading{name: name, args: n.items[1], loose: true}, true
}

func (t *toolset) readObject(n node, loose bool, depth int) []reading {
	for _, key := range wrapperKeys {
		if w := n.get(key); w.kind == kindArray || w.kind == kindObject {
			if out := t.readCalls(w, loose, depth+1); len(out) > 0 {
				return out
			}
		}
	}
	id := ""
	for _, key := range idKeys {
		if v, ok := n.get(key).text(); ok && id == "" {
			id = v
		}
	}
	for _, key := range []string{"function", "func", "tool", "call", "command", "action"} {
		if f := n.get(key); f.kind == kindObject {
			out := t.readObject(f, loose, depth+1)
			if len(out) == 1 && out[0].id == "" {
				out[0].id = id
			}
			return out
		}
	}
	if out := t.readKeyed(n, loose); len(out) > 0 {
		return out
	}
	nameKey, name := t.nameOf(n)
	if nameKey == "" {
		return nil
	}
	r := reading{name: name, id: id, nameKey: nameKey, loose: loose}
	info := t.find(name)
	for _, key := range argsKeys {
		a := n.get(key)
		if a.kind == kindNone || key == nameKey {
			continue
		}
		if _, own := ownProp(info, key); own && a.kind != kindObject {
			continue // the tool has a parameter of this name
		}
		r.args = a
		return []reading{r}
	}
	r.args = flatArgs(n, nameKey, info)
	r.flat = len(r.args.keys) > 0
	if !r.flat {
		r.args = node{}
	}
	return []reading{r}
}

func ownProp(info *toolInfo, key string) (schema, bool) {
	if info == nil {
		return schema{}, false
	}
	return info.params.prop(key)
}

// nameOf finds the key that names the tool; where several could, the one
// whose value is declared.
func (t *toolset) nameOf(n node) (key, name string) {
	for _, k := range nameKeys {
		v, ok := n.get(k).text()
		if !ok || v == "" {
			continue
		}
		if t.find(v) != nil {
			return k, v
		}
		if key == "" {
			key, name = k, v
		}
	}
	return key, name
}

// flatArgs is what remains of an object besides its name, id and type.
func flatArgs(n node, nameKey string, info *toolInfo) node {
	args := node{kind: kindObject}
	for i, k := range n.keys {
		if _, own := ownProp(info, k); k == nameKey || !own && (slices.Contains(idKeys, k) || slices.Contains(sideKeys, k)) {
			continue
		}
		args.keys = append(args.keys, k)
		args.items = append(args.items, n.items[i])
	}
	return args
}

// readKeyed reads {"name": {…}}, where every key is a declared tool. Where any
// name is, it must be the only key and none that calls have.
func (t *toolset) readKeyed(n node, loose bool) []reading {
	if t.any && (len(n.keys) != 1 || t.knownKey(n.keys[0])) {
		return nil
	}
	var out []reading
	for i, k := range n.keys {
		v := n.items[i]
		if v.kind != kindObject && v.kind != kindArray || t.find(k) == nil {
			return nil
		}
		out = append(out, reading{name: k, args: v, loose: loose})
	}
	return out
}

// isDefinition reports whether args describe a tool instead of calling it.
func isDefinition(args node) bool {
	typ, _ := args.get("type").text()
	return typ == "object" && args.get("properties").kind == kindObject
}

// readCallText reads name(…) from text that holds nothing else.
func (t *toolset) readCallText(s string) (reading, bool) {
	s = strings.Trim(s, " \t\r\n`*;")
	open := strings.IndexByte(s, '(')
	if open <= 0 || open > maxName || !strings.HasSuffix(s, ")") || t.find(s[:open]) == nil {
		return reading{}, false
	}
	sc := scanner{tools: t}
	if st := sc.run([]byte(s[open:]), true); st != done || open+sc.pos != len(s) {
		return reading{}, false
	}
	v := values{t: s[open:], spans: sc.spans}
	r, ok := v.call()
	r.name = s[:open]
	return r, ok
}

// call reads the bracketed arguments at the start of v: named, positional or
// both.
func (v *values) call() (reading, bool) {
	r := reading{loose: true, named: node{kind: kindObject}, args: node{kind: kindArray}}
	v.i++
	bareTail := false // the last value was unquoted text, which may hold commas
	for {
		c := v.peek()
		if c == ',' || c == ';' {
			v.i++
			continue
		}
		if c == 0 || c == ')' || c == ']' || c == '}' {
			break
		}
		at := v.i
		if strings.HasPrefix(v.t[v.i:], "**") {
			v.i += 2
		}
		if key, ok := v.key(); ok {
			val := v.value()
			r.named.keys = append(r.named.keys, key)
			r.named.items = append(r.named.items, val)
			bareTail = val.kind == kindBare
			continue
		}
		val := v.value()
		if v.i == at {
			return r, false
		}
		if last := len(r.named.items) - 1; bareTail && last >= 0 && (val.kind == kindBare || val.kind == kindNumber) {
			r.named.items[last].s += ", " + v.t[at:v.i]
			continue
		}
		r.args.items = append(r.args.items, val)
	}
	v.mended = v.mended || v.peek() == 0
	switch {
	case len(r.args.items) == 0:
		r.args, r.named = r.named, node{}
	case len(r.args.items) == 1 && len(r.named.keys) == 0 && r.args.items[0].kind == kindObject:
		r.args, r.sole, r.named = r.args.items[0], true, node{}
	}
	return r, !v.bad
}

// tuple reads ("name", {…}) and ["name", a=1], from the bracket on.
func (v *values) tuple() (reading, bool) {
	v.i++
	v.peek()
	name := ""
	if sp, ok := v.open(v.i); ok {
		name = v.str(sp, false).s
	} else {
		end, _ := nameRun([]byte(v.t), v.i, true)
		name, v.i = v.t[v.i:end], end
	}
	if v.peek() != ',' {
		return reading{}, false
	}
	r, ok := v.call()
	r.name = name
	return r, ok && (r.sole || r.args.kind == kindObject)
}

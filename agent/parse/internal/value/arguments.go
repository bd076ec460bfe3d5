package value

import (
	"strings"

	"github.com/weirhost/weir/agent/parse/internal/lex"
)

// Arguments are the values between a call's brackets.
type Arguments struct {
	// Args is an object, an array of positional values, text, or nothing.
	Args Node
	// Named holds named values beside positional ones.
	Named Node
	// Sole reports that the object was a call's only positional value: f({…}).
	Sole bool
}

// Call reads the bracketed arguments at the start of v: named, positional or
// both.
func (v *Reader) Call() (Arguments, bool) {
	r := Arguments{Named: Node{Kind: Object}, Args: Node{Kind: Array}}
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
		if strings.HasPrefix(v.Text[v.i:], "**") {
			v.i += 2
		}
		if key, ok := v.key(); ok {
			val := v.Value()
			r.Named.Keys = append(r.Named.Keys, key)
			r.Named.Items = append(r.Named.Items, val)
			bareTail = val.Kind == Bare
			continue
		}
		val := v.Value()
		if v.i == at {
			return r, false
		}
		if last := len(r.Named.Items) - 1; bareTail && last >= 0 && (val.Kind == Bare || val.Kind == Number) {
			r.Named.Items[last].Value += ", " + v.Text[at:v.i]
			continue
		}
		r.Args.Items = append(r.Args.Items, val)
	}
	v.Repaired = v.Repaired || v.peek() == 0
	switch {
	case len(r.Args.Items) == 0:
		r.Args, r.Named = r.Named, Node{}
	case len(r.Args.Items) == 1 && len(r.Named.Keys) == 0 && r.Args.Items[0].Kind == Object:
		r.Args, r.Sole, r.Named = r.Args.Items[0], true, Node{}
	}
	return r, !v.Bad
}

// Tuple reads ("name", {…}) and ["name", a=1], from the bracket on.
func (v *Reader) Tuple() (name string, r Arguments, ok bool) {
	v.i++
	v.peek()
	if sp, ok := v.open(v.i); ok {
		name = v.str(sp, false).Value
	} else {
		end, _ := lex.NameRun([]byte(v.Text), v.i, true)
		name, v.i = v.Text[v.i:end], end
	}
	if v.peek() != ',' {
		return "", r, false
	}
	r, ok = v.Call()
	return name, r, ok && (r.Sole || r.Args.Kind == Object)
}

// Keywords reads key=value, key=value, as between the brackets of a call.
func Keywords(text string) (Node, bool) {
	v, ok := readerOf("(" + text + ")")
	if !ok {
		return Node{}, false
	}
	args, ok := v.Call()
	return args.Args, ok && args.Args.Kind == Object && len(args.Args.Keys) > 0 && !args.Sole
}

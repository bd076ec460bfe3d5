package schema

import (
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/weirhost/weir/host/internal/text"
	"github.com/weirhost/weir/sdk/tool"
)

// maxFaults bounds the faults reported for one call: a model fixes a few at a time.
const maxFaults = 4

// maxLeaves bounds the errors of the library that are looked at for them: many of the
// errors of alternatives are the same.
const maxLeaves = 64

// Check returns the faults of the arguments, one short sentence each, without an end
// mark; none if they fit. Numbers in args must have been decoded as json.Number.
func (s *Schema) Check(args any) (faults []tool.Text) { return s.check(args, false) }

// CheckAnswer is Check for a value that is no argument: it may have members that the schema
// does not name, unless the schema forbids them.
func (s *Schema) CheckAnswer(v any) []tool.Text { return s.check(v, true) }

func (s *Schema) check(args any, answer bool) (faults []tool.Text) {
	defer func() {
		if recover() != nil { // a panic of the library ends this call alone
			faults = misfits()
		}
	}()
	r := s.load()
	if r == nil {
		return misfits()
	}
	if r.flat.fits(args) {
		return nil
	}
	work, excess := r.work(args, maxWork)
	if work > maxWork {
		return []tool.Text{excess}
	}
	c := checker{args: args, names: r.names, answer: answer}
	found := c.undeclared(r.closed && !answer)
	if work > maxDetail {
		if r.misfit.Validate(args) == nil {
			found = append(found, misfits()...)
		}
		return found[:min(len(found), maxFaults)]
	}
	var v *jsonschema.ValidationError
	switch err := r.compiled.Validate(args); {
	case errors.As(err, &v):
		all := leaves(v, nil)
		for _, leaf := range all[:min(len(all), maxLeaves)] {
			found = append(found, c.faults(leaf)...)
		}
	case err != nil:
		return misfits()
	}
	if r.opened && len(found) > 0 {
		found = append(c.misspelt(), found...)
	}
	return distinct(found)
}

// misfits returns the fault of arguments of which no more is known.
func misfits() []tool.Text {
	return []tool.Text{tool.Textf("the arguments do not fit the tool's parameters")}
}

// distinct returns the first faults, each once.
func distinct(found []tool.Text) []tool.Text {
	var out []tool.Text
	for _, f := range found {
		same := func(o tool.Text) bool { return o.String() == f.String() }
		if len(out) < maxFaults && !slices.ContainsFunc(out, same) {
			out = append(out, f)
		}
	}
	return out
}

// A checker describes the errors of one check.
type checker struct {
	args  any
	names []string // the declared arguments
	// answer says that args are an answer's members, and no arguments of a tool.
	answer bool
}

// undeclared returns a fault for each argument that a closed schema does not declare.
func (c checker) undeclared(closed bool) []tool.Text {
	args, ok := c.args.(map[string]any)
	if !ok || !closed {
		return nil
	}
	var out []tool.Text
	for _, name := range slices.Sorted(maps.Keys(args)) {
		if len(out) < maxFaults && !slices.Contains(c.names, name) {
			out = append(out, c.unknown([]string{name}))
		}
	}
	return out
}

// misspelt returns a fault for each undeclared argument whose name is near that of one that
// is not given.
func (c checker) misspelt() []tool.Text {
	args, ok := c.args.(map[string]any)
	if !ok {
		return nil
	}
	left := c
	left.names = slices.DeleteFunc(slices.Clone(c.names), func(name string) bool { _, given := args[name]; return given })
	var out []tool.Text
	for _, name := range slices.Sorted(maps.Keys(args)) {
		if len(out) < maxFaults && !slices.Contains(c.names, name) && len(text.Nearest(name, left.names)) > 0 {
			out = append(out, left.unknown([]string{name}))
		}
	}
	return out
}

// faults describes one error; each missing or unknown name is a fault of its own.
func (c checker) faults(v *jsonschema.ValidationError) []tool.Text {
	path := v.InstanceLocation
	switch k := v.ErrorKind.(type) {
	case *kind.Required:
		return each(k.Missing, path, func(p []string) tool.Text { return tool.Textf("%s is missing", name(p)) })
	case *kind.AdditionalProperties:
		return each(k.Properties, path, c.unknown)
	case *kind.DependentRequired:
		return each([]string{k.Prop}, path, func(p []string) tool.Text { return tool.Textf("%s also needs %s", name(p), quoteAll(k.Missing)) })
	case *kind.Type:
		return []tool.Text{c.typeFault(name(path), k, path)}
	}
	return []tool.Text{valueFault(name(path), v)}
}

func each(names, path []string, fault func(path []string) tool.Text) []tool.Text {
	var out []tool.Text
	for _, n := range names[:min(len(names), maxFaults)] {
		out = append(out, fault(append(path[:len(path):len(path)], n)))
	}
	return out
}

// valueFault describes an error of a value that is not about its type.
func valueFault(at tool.Text, v *jsonschema.ValidationError) tool.Text {
	switch k := v.ErrorKind.(type) {
	case *kind.Enum:
		return tool.Textf("%s must be one of %s", at, choices(k.Want))
	case *kind.Const:
		return tool.Textf("%s must be one of %s", at, choices([]any{k.Want}))
	case *kind.Pattern:
		return tool.Textf("%s must match the pattern %s", at, k.Want)
	case *kind.Format:
		return tool.Textf("%s is not a valid %s", at, fmt.Sprint(k.Want))
	case *kind.Minimum:
		return tool.Textf("%s must be at least %s", at, number(k.Want))
	case *kind.Maximum:
		return tool.Textf("%s must be at most %s", at, number(k.Want))
	case *kind.ExclusiveMinimum:
		return tool.Textf("%s must be more than %s", at, number(k.Want))
	case *kind.ExclusiveMaximum:
		return tool.Textf("%s must be less than %s", at, number(k.Want))
	case *kind.MultipleOf:
		return tool.Textf("%s must be a multiple of %s", at, number(k.Want))
	case *kind.MinLength:
		return tool.Textf("%s must have at least %d characters", at, k.Want)
	case *kind.MaxLength:
		return tool.Textf("%s must have at most %d characters", at, k.Want)
	case *kind.MinItems:
		return tool.Textf("%s must have at least %d elements", at, k.Want)
	case *kind.MaxItems:
		return tool.Textf("%s must have at most %d elements", at, k.Want)
	case *kind.UniqueItems:
		return tool.Textf("%s must not hold the same element twice", at)
	case *kind.MinProperties:
		return tool.Textf("%s must have at least %d entries", at, k.Want)
	case *kind.MaxProperties:
		return tool.Textf("%s must have at most %d entries", at, k.Want)
	}
	return tool.Textf("%s does not fit (%s)", at, strings.Join(v.ErrorKind.KeywordPath(), "."))
}

// typeFault describes a value of a wrong type.
func (c checker) typeFault(at tool.Text, k *kind.Type, path []string) tool.Text {
	var want []tool.Text
	for _, t := range k.Want {
		want = append(want, typeName(t))
	}
	got, ok := lookup(c.args, path)
	if !ok {
		return tool.Textf("%s must be %s", at, joined(" / ", want))
	}
	return tool.Textf("%s must be %s, not %s", at, joined(" / ", want), show(got))
}

// typeName returns the words for a type of JSON Schema.
func typeName(t string) tool.Text {
	switch t {
	case "string":
		return tool.Textf("a string")
	case "integer":
		return tool.Textf("a whole number")
	case "number":
		return tool.Textf("a number")
	case "boolean":
		return tool.Textf("true or false")
	case "array":
		return tool.Textf("a list")
	case "object":
		return tool.Textf("an object")
	}
	return tool.Text{Format: t}
}

// joined returns the texts as one, with a separator in between.
func joined(separator string, texts []tool.Text) tool.Text {
	args := make([]any, len(texts))
	for i, t := range texts {
		args[i] = t
	}
	return tool.Text{Format: strings.Join(slices.Repeat([]string{"%s"}, len(texts)), separator), Args: args}
}

// maxName bounds what is shown of a name, in characters: arguments choose their names.
const maxName = 200

// name names a value: "a.b", or the arguments as a whole.
func name(path []string) tool.Text {
	if len(path) == 0 {
		return tool.Textf("the arguments")
	}
	return tool.Textf("%s", `"`+text.Clip(strings.Join(path, "."), maxName)+`"`)
}

// unknown returns the fault of an undeclared name, with the nearest declared one or
// all of them.
func (c checker) unknown(path []string) tool.Text {
	at := name(path)
	if c.answer {
		return tool.Textf("%s is no member that the schema allows", at)
	}
	if len(path) > 1 || len(c.names) == 0 {
		return tool.Textf("%s is not an argument of this tool", at)
	}
	if near := text.Nearest(path[0], c.names); len(near) > 0 {
		return tool.Textf("%s is not an argument of this tool (perhaps %s is meant)", at, `"`+near[0]+`"`)
	}
	return tool.Textf("%s is not an argument of this tool (it takes %s)", at, quoteAll(c.names))
}

// lookup follows a path into a decoded value.
func lookup(v any, path []string) (any, bool) {
	for _, p := range path {
		switch t := v.(type) {
		case map[string]any:
			v = t[p]
		case []any:
			var i int
			if _, err := fmt.Sscan(p, &i); err != nil || i < 0 || i >= len(t) {
				return nil, false
			}
			v = t[i]
		}
	}
	return v, v != nil
}

// maxShown bounds what is shown of a value, in characters.
const maxShown = 60

// show returns a value as JSON without HTML escapes, at most maxShown characters of it.
func show(v any) string {
	left := maxShown + 1
	s, err := text.JSON(beginning(v, &left))
	if err != nil {
		return "null"
	}
	if r := []rune(s); len(r) > maxShown {
		return string(r[:maxShown]) + "…"
	}
	return s
}

// beginning returns a value with no more values than left, and with their strings cut:
// a value of megabytes is not written out for its first characters.
func beginning(v any, left *int) any {
	*left--
	switch v := v.(type) {
	case string:
		return v[:min(len(v), utf8.UTFMax*(maxShown+1))]
	case []any:
		out := []any{}
		for i := 0; i < len(v) && *left > 0; i++ {
			out = append(out, beginning(v[i], left))
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if *left > 0 {
				out[key] = beginning(v[key], left)
			}
		}
		return out
	}
	return v
}

// choices lists up to twelve values.
func choices(list []any) string {
	var out []string
	for i, v := range list {
		if i == 12 {
			out = append(out, "…")
			break
		}
		out = append(out, show(v))
	}
	return strings.Join(out, ", ")
}

// number returns a bound in decimal notation.
func number(r *big.Rat) string {
	if r.IsInt() {
		return r.Num().String()
	}
	f, _ := r.Float64()
	return fmt.Sprint(f)
}

func quoteAll(names []string) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = `"` + n + `"`
	}
	return strings.Join(out, ", ")
}

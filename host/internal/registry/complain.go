package registry

import (
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/weirhost/weir/sdk/tool"
)

// maxComplaints bounds what is said about one call: a model mends a few faults
// at a time.
const maxComplaints = 4

// Check returns what is wrong with the arguments, one short sentence each,
// without an end mark; none when they fit. The value must have been decoded
// with json.Number for numbers.
func (s *Schema) Check(args any, l tool.Locale) []string {
	r := s.read()
	if r == nil {
		return []string{words[l == tool.Zh].misfit}
	}
	if r.flat.fits(args) {
		return nil
	}
	c := complainer{args: args, names: r.names, w: words[l == tool.Zh]}
	lines := c.strangers(r.closed)
	var v *jsonschema.ValidationError
	switch err := r.compiled.Validate(args); {
	case errors.As(err, &v):
		for _, leaf := range leaves(v, nil) {
			lines = append(lines, c.say(leaf)...)
		}
	case err != nil:
		return []string{c.w.misfit}
	}
	var out []string
	for _, line := range lines {
		if !slices.Contains(out, line) && len(out) < maxComplaints {
			out = append(out, line)
		}
	}
	return out
}

// strangers words the arguments that a closed schema does not declare, by name.
func (c complainer) strangers(closed bool) []string {
	args, ok := c.args.(map[string]any)
	if !ok || !closed {
		return nil
	}
	var unknown []string
	for _, name := range slices.Sorted(maps.Keys(args)) {
		if !slices.Contains(c.names, name) {
			unknown = append(unknown, name)
		}
	}
	return c.each(unknown, nil, c.unknown(nil))
}

// unknown words a name that an object at path does not take.
func (c complainer) unknown(path []string) func(quoted string) string {
	return func(name string) string { return fmt.Sprintf(c.w.unknown, name) + c.suggest(name, path) }
}

// sayEnglish words one error about a schema itself.
func sayEnglish(v *jsonschema.ValidationError) string {
	c := complainer{w: words[false]}
	return strings.Join(c.say(v), ", ")
}

// A wording holds the sentences in one language; %[1]s is always the argument.
type wording struct {
	root, misfit, missing, typ, typGot, enum, unknown, meant, known, pattern, format, atLeast, atMost, above, below,
	multiple, minLength, maxLength, minItems, maxItems, unique, minProps, maxProps, needs, other string
	types map[string]string
}

var words = map[bool]wording{
	false: {
		root: "the arguments", misfit: "the arguments do not fit the tool's parameters",
		missing: "%[1]s is missing", typ: "%[1]s must be %[2]s", typGot: "%[1]s must be %[2]s, not %[3]s",
		enum: "%[1]s must be one of %[2]s", unknown: "%[1]s is not an argument of this tool", meant: " (perhaps %s is meant)", known: " (it takes %s)",
		pattern: "%[1]s must match the pattern %[2]s", format: "%[1]s is not a valid %[2]s", atLeast: "%[1]s must be at least %[2]s", atMost: "%[1]s must be at most %[2]s",
		above: "%[1]s must be more than %[2]s", below: "%[1]s must be less than %[2]s", multiple: "%[1]s must be a multiple of %[2]s",
		minLength: "%[1]s must have at least %[2]d characters", maxLength: "%[1]s must have at most %[2]d characters",
		minItems: "%[1]s must have at least %[2]d elements", maxItems: "%[1]s must have at most %[2]d elements",
		unique: "%[1]s must not hold the same element twice", minProps: "%[1]s must have at least %[2]d entries", maxProps: "%[1]s must have at most %[2]d entries",
		needs: "%[1]s also needs %[2]s", other: "%[1]s does not fit (%[2]s)",
		types: map[string]string{"string": "a string", "integer": "a whole number", "number": "a number", "boolean": "true or false", "array": "a list", "object": "an object", "null": "null"},
	},
	true: {
		root: "参数", misfit: "参数不符合该工具的要求",
		missing: "缺少 %[1]s", typ: "%[1]s 必须是%[2]s", typGot: "%[1]s 必须是%[2]s，而不是 %[3]s",
		enum: "%[1]s 必须是以下之一：%[2]s", unknown: "%[1]s 不是该工具的参数", meant: "（也许是 %s）", known: "（可用参数：%s）",
		pattern: "%[1]s 必须匹配 %[2]s", format: "%[1]s 不是有效的 %[2]s", atLeast: "%[1]s 不能小于 %[2]s", atMost: "%[1]s 不能大于 %[2]s",
		above: "%[1]s 必须大于 %[2]s", below: "%[1]s 必须小于 %[2]s", multiple: "%[1]s 必须是 %[2]s 的倍数",
		minLength: "%[1]s 至少要有 %[2]d 个字符", maxLength: "%[1]s 最多 %[2]d 个字符",
		minItems: "%[1]s 至少要有 %[2]d 个元素", maxItems: "%[1]s 最多 %[2]d 个元素",
		unique: "%[1]s 不能有重复元素", minProps: "%[1]s 至少要有 %[2]d 项", maxProps: "%[1]s 最多 %[2]d 项",
		needs: "%[1]s 还需要 %[2]s", other: "%[1]s 不符合要求（%[2]s）",
		types: map[string]string{"string": "字符串", "integer": "整数", "number": "数字", "boolean": "true 或 false", "array": "列表", "object": "对象", "null": "null"},
	},
}

// A complainer words the errors of one check.
type complainer struct {
	args  any
	names []string
	w     wording
}

// say words one error; a missing or unknown name each gets a line of its own.
func (c complainer) say(v *jsonschema.ValidationError) []string {
	path := v.InstanceLocation
	at := c.place(path)
	switch k := v.ErrorKind.(type) {
	case *kind.Required:
		return c.each(k.Missing, path, func(name string) string { return fmt.Sprintf(c.w.missing, name) })
	case *kind.AdditionalProperties:
		return c.each(k.Properties, path, c.unknown(path))
	case *kind.DependentRequired:
		return []string{fmt.Sprintf(c.w.needs, c.place(append(path[:len(path):len(path)], k.Prop)), quoteAll(k.Missing))}
	}
	return []string{c.one(at, v)}
}

// each words an error for every name in an object.
func (c complainer) each(names, path []string, say func(quoted string) string) []string {
	var out []string
	for _, n := range names {
		out = append(out, say(c.place(append(path[:len(path):len(path)], n))))
	}
	return out
}

// one words the errors that are about one value.
func (c complainer) one(at string, v *jsonschema.ValidationError) string {
	switch k := v.ErrorKind.(type) {
	case *kind.Type:
		return c.typeError(at, k, v.InstanceLocation)
	case *kind.Enum:
		return fmt.Sprintf(c.w.enum, at, values(k.Want))
	case *kind.Const:
		return fmt.Sprintf(c.w.enum, at, values([]any{k.Want}))
	case *kind.Pattern:
		return fmt.Sprintf(c.w.pattern, at, k.Want)
	case *kind.Format:
		return fmt.Sprintf(c.w.format, at, k.Want)
	case *kind.Minimum:
		return fmt.Sprintf(c.w.atLeast, at, number(k.Want))
	case *kind.Maximum:
		return fmt.Sprintf(c.w.atMost, at, number(k.Want))
	case *kind.ExclusiveMinimum:
		return fmt.Sprintf(c.w.above, at, number(k.Want))
	case *kind.ExclusiveMaximum:
		return fmt.Sprintf(c.w.below, at, number(k.Want))
	case *kind.MultipleOf:
		return fmt.Sprintf(c.w.multiple, at, number(k.Want))
	case *kind.MinLength:
		return fmt.Sprintf(c.w.minLength, at, k.Want)
	case *kind.MaxLength:
		return fmt.Sprintf(c.w.maxLength, at, k.Want)
	case *kind.MinItems:
		return fmt.Sprintf(c.w.minItems, at, k.Want)
	case *kind.MaxItems:
		return fmt.Sprintf(c.w.maxItems, at, k.Want)
	case *kind.UniqueItems:
		return fmt.Sprintf(c.w.unique, at)
	case *kind.MinProperties:
		return fmt.Sprintf(c.w.minProps, at, k.Want)
	case *kind.MaxProperties:
		return fmt.Sprintf(c.w.maxProps, at, k.Want)
	}
	return fmt.Sprintf(c.w.other, at, strings.Join(v.ErrorKind.KeywordPath(), "."))
}

// typeError says which type is wanted and what came instead.
func (c complainer) typeError(at string, k *kind.Type, path []string) string {
	var want []string
	for _, t := range k.Want {
		want = append(want, c.w.types[t])
	}
	wanted := strings.Join(want, " / ")
	got, ok := lookup(c.args, path)
	if !ok {
		return fmt.Sprintf(c.w.typ, at, wanted)
	}
	return fmt.Sprintf(c.w.typGot, at, wanted, value(got))
}

// place names a value: "a.b", or the arguments as a whole.
func (c complainer) place(path []string) string {
	if len(path) == 0 {
		return c.w.root
	}
	return `"` + strings.Join(path, ".") + `"`
}

// suggest adds the name that was meant, or all the names there are.
func (c complainer) suggest(quoted string, path []string) string {
	if len(path) > 0 || len(c.names) == 0 {
		return ""
	}
	if near := Nearest(strings.Trim(quoted, `"`), c.names); len(near) > 0 {
		return fmt.Sprintf(c.w.meant, `"`+near[0]+`"`)
	}
	return fmt.Sprintf(c.w.known, quoteAll(c.names))
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

// value shows a value in a few words.
func value(v any) string {
	var w jsonWriter
	w.literal(v)
	if r := []rune(w.String()); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return w.String()
}

// values shows up to twelve choices.
func values(list []any) string {
	var out []string
	for i, v := range list {
		if i == 12 {
			out = append(out, "…")
			break
		}
		out = append(out, value(v))
	}
	return strings.Join(out, ", ")
}

// number shows a bound without a fraction's slash.
func number(r *big.Rat) string {
	if r.IsInt() {
		return r.Num().String()
	}
	f, _ := r.Float64()
	return fmt.Sprint(f)
}

// quoteAll lists names in quotes.
func quoteAll(names []string) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = `"` + n + `"`
	}
	return strings.Join(out, ", ")
}

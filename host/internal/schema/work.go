package schema

import (
	"encoding/json"
	"iter"
	"math/bits"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// Bounds on one check of a value. A unit of work is one evaluation of a subschema at
// a value, 0.1 to 2 µs; what takes longer counts as several.
const (
	maxWork        = 2_000_000 // of a check
	maxExampleWork = 400_000   // of the examples of a manifest
	// maxDetail is the work up to which Check explains each fault, and the work of an
	// example. An explanation takes up to 1.5 KiB for each evaluation.
	maxDetail = 20_000

	maxSchemas  = 1 << 20 // bytes of the schemas of a manifest
	maxParts    = 20_000  // of the schemas of a manifest; the library keeps some 900 bytes for each
	maxKeepSize = 2000    // instructions of a tool's expressions for lines to keep

	maxDepth      = 64  // of a value
	maxNumberSize = 400 // bytes, and the size of an exponent: a number is computed exactly

	patternUnit = 64   // instructions of an expression × bytes of a string
	textUnit    = 1024 // bytes of a string that are counted or copied
	valueUnit   = 8    // entries of a list or an object that are visited
	stringUnit  = 64   // choices that a string is compared with
	longUnits   = 40   // of computing with a long number
	regexUnits  = 4000 // of compiling a string of the format "regex"
)

// A Budget bounds what the schemas and the examples of one manifest, or of one server,
// cost together. The zero value is a budget of which nothing is used.
type Budget struct {
	schemas int // bytes
	parts   int // of the schemas
	work    int // units
	keep    int // instructions
	repairs int // compilations that found something broken
}

// CheckKeep checks an expression for lines to keep. All of one tool are searched for
// together, so their size is bounded together.
func (b *Budget) CheckKeep(pattern string) error {
	if len(pattern) > maxPattern {
		return errorf("one of its regular expressions is %d bytes long, and at most %d are read", len(pattern), maxPattern)
	}
	if b.keep += patternSize(pattern); b.keep > maxKeepSize {
		return errorf("its regular expressions are too large; use fewer and shorter repeats")
	}
	if err := limit.CheckHighlights([]string{pattern}); err != nil {
		return &Error{Text: msg.Of(err)}
	}
	return nil
}

// Compile is the function Compile, within the budget.
func (b *Budget) Compile(params json.RawMessage) (*Schema, error) {
	if b.schemas += len(params); b.schemas > maxSchemas {
		return nil, errorf("the parameters of all tools take more than %d bytes together", maxSchemas)
	}
	if b.parts > maxParts { // it costs nothing to refuse the rest
		return nil, tooManyParts()
	}
	s, err := Compile(params)
	if err != nil {
		return nil, err
	}
	if b.parts += s.rules.parts; b.parts > maxParts {
		return nil, tooManyParts()
	}
	return s, nil
}

func tooManyParts() error {
	return errorf("the parameters of all tools have more than %d parts together", maxParts)
}

// Check is s.Check for an example, within the budget.
func (b *Budget) Check(s *Schema, args any) []tool.Text {
	r := s.load()
	if r != nil && !r.flat.fits(args) {
		work, excess := r.work(args, maxDetail)
		if work > maxDetail {
			return []tool.Text{excess}
		}
		if b.work += work; b.work > maxExampleWork {
			return []tool.Text{tool.Textf("the examples of all tools need more than %d steps to check", maxExampleWork)}
		}
	}
	return s.Check(args)
}

// work returns the units of work of a check, at most most + 1, and why a value needs
// more than that. It visits no more than most pairs of a subschema and a value.
func (r *rules) work(args any, most int) (int, tool.Text) {
	c := &counter{rules: r, memo: map[place]int{}, left: most, most: most}
	n := c.count(r.compiled, args, 0)
	if n <= most {
		return n, tool.Text{}
	}
	slices.Reverse(c.path)
	at := name(c.path)
	switch c.cause {
	case deep:
		return n, tool.Textf("%s nests deeper than %d levels", at, maxDepth)
	case long:
		return n, tool.Textf("%s holds a number that is too long", at)
	}
	return n, tool.Textf("%s needs more than %d steps to check; shorten it or nest it less", at, most)
}

// A cause is why a value needs too much work.
type cause int

const (
	many cause = iota // evaluations
	deep
	long
)

// A counter adds up the evaluations that a check would make. It visits each pair of
// a subschema and a value once: the pairs are few where the evaluations are many.
type counter struct {
	rules *rules
	memo  map[place]int
	left  int // steps of the counter itself
	most  int // units
	cause cause
	path  []string // to the value that needs too much, from the inside out
}

// A place is a subschema at a value. Strings of similar length have one place, as their
// work is the same.
type place struct {
	schema *jsonschema.Schema
	value  uintptr // the address of a list or an object with entries, else 0
	kind   int
}

// Kinds of values. A string of n bytes has kind ofString + bits.Len(n), and a number the
// negative of its units.
const (
	ofOther = iota
	ofList
	ofObject
	ofString
)

func placeOf(s *jsonschema.Schema, v any) place {
	p := place{schema: s}
	switch v := v.(type) {
	case string:
		p.kind = ofString + bits.Len(uint(len(v)))
	case []any:
		if p.kind = ofList; len(v) > 0 {
			p.value = reflect.ValueOf(v).Pointer()
		}
	case map[string]any:
		if p.kind = ofObject; len(v) > 0 {
			p.value = reflect.ValueOf(v).Pointer()
		}
	case json.Number:
		p.kind = -numberUnits(v)
	}
	return p
}

// count returns the units of work of s at v, at most most + 1.
func (c *counter) count(s *jsonschema.Schema, v any, depth int) int {
	c.left--
	number, _ := v.(json.Number)
	switch {
	case c.left < 0:
		return c.most + 1
	case depth > maxDepth:
		c.cause = deep
		return c.most + 1
	case !shortNumber(string(number)):
		c.cause = long
		return c.most + 1
	}
	at := placeOf(s, v)
	if n, ok := c.memo[at]; ok {
		return n
	}
	n := c.own(s, v)
	if s.Bool == nil && typeFits(s, v) {
		for sub, part := range parts(s, v) {
			d := depth
			if part.inside {
				d++
			}
			one := c.count(sub, part.value, d)
			n = min(n+one, c.most+1)
			if n > c.most {
				if one > c.most && part.inside {
					c.path = append(c.path, part.step())
				}
				break
			}
		}
	}
	c.memo[at] = n
	return n
}

// own returns the units of one evaluation without the evaluations of other subschemas.
func (c *counter) own(s *jsonschema.Schema, v any) int {
	f := c.rules.facts[s]
	n := 1 + f.names/16
	switch v := v.(type) {
	case string:
		size := 1 << bits.Len(uint(len(v))) // as large as any of its kind
		n += f.choices/stringUnit + size/textUnit + f.pattern*size/patternUnit + f.format*(1+size/patternUnit)
	case []any:
		n += f.choices + len(v)/valueUnit
		if c.rules.unevaluated {
			n += len(v)
		}
		if s.UniqueItems {
			n += duplicatesWork(v)
		}
	case map[string]any:
		n += f.choices + len(v)/valueUnit
		if c.rules.unevaluated {
			n += len(v)
		}
		if f.keyPatterns > 0 {
			for key := range v {
				n += 1 + f.keyPatterns*len(key)/patternUnit
			}
		}
	case json.Number:
		n += f.choices + numberUnits(v)
	default:
		n += f.choices
	}
	return min(n, c.most+1)
}

// duplicatesWork returns the units of the search for equal elements. The library
// compares up to 20 elements, and those of equal hash, one by one. A value can be made
// whose lists and objects have equal hashes.
func duplicatesWork(list []any) int {
	size := size(list, maxWork)
	if len(list) <= 20 {
		return min(len(list)*size, maxWork+1)
	}
	for _, e := range list {
		switch e.(type) {
		case []any, map[string]any:
			return min(len(list)*size/4, maxWork+1)
		}
	}
	return size
}

// numberUnits returns the units of computing with a number exactly.
func numberUnits(v json.Number) int {
	if len(v) > 20 || strings.ContainsAny(string(v), "eE") {
		return longUnits
	}
	return 1
}

// size returns the number of values in v, in which long numbers count as several, at
// most about most.
func size(v any, most int) int {
	n := 1
	switch v := v.(type) {
	case json.Number:
		n = numberUnits(v)
	case []any:
		for _, e := range v {
			if n += size(e, most-n); n > most {
				break
			}
		}
	case map[string]any:
		for _, e := range v {
			if n += size(e, most-n); n > most {
				break
			}
		}
	}
	return n
}

// shortNumber reports whether a number is cheap to compute with exactly.
func shortNumber(s string) bool {
	if len(s) > maxNumberSize {
		return false
	}
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		e, err := strconv.Atoi(s[i+1:])
		return err == nil && max(e, -e) <= maxNumberSize
	}
	return true
}

// typeFits reports whether a value may be of a type that the schema allows. The
// library ends an evaluation that is of none.
func typeFits(s *jsonschema.Schema, v any) bool {
	if s.Types == nil || s.Types.IsEmpty() {
		return true
	}
	var t jsonschema.Types
	switch v.(type) {
	case nil:
		t.Add("null")
	case bool:
		t.Add("boolean")
	case string:
		t.Add("string")
	case []any:
		t.Add("array")
	case map[string]any:
		t.Add("object")
	default:
		t.Add("number")
		t.Add("integer")
	}
	return *s.Types&t != 0
}

// A part is a value that a subschema is evaluated at: the same value, or one inside it.
type part struct {
	value  any
	inside bool
	key    string // of an object's value
	index  int    // of a list's element
}

func (p part) step() string {
	if p.key != "" {
		return p.key
	}
	return strconv.Itoa(p.index)
}

// parts yields each evaluation that one of s at v may lead to, at least as often as
// the library makes it.
func parts(s *jsonschema.Schema, v any) iter.Seq2[*jsonschema.Schema, part] {
	return func(yield func(*jsonschema.Schema, part) bool) {
		object, _ := v.(map[string]any)
		for sub, key := range inPlace(s) {
			if _, ok := object[key]; (ok || key == "") && !yield(sub, part{value: v}) {
				return
			}
		}
		for key, e := range object {
			for sub := range ofEntry(s, key) {
				if !yield(sub, part{value: e, inside: true, key: key}) {
					return
				}
			}
			if s.PropertyNames != nil && !yield(s.PropertyNames, part{value: key, inside: true, key: key}) {
				return
			}
		}
		list, _ := v.([]any)
		for i, e := range list {
			for sub := range ofElement(s, i) {
				if !yield(sub, part{value: e, inside: true, index: i}) {
					return
				}
			}
		}
	}
}

// inPlace yields the subschemas that apply to the same value, with the key that the
// value must have for it, or "".
func inPlace(s *jsonschema.Schema) iter.Seq2[*jsonschema.Schema, string] {
	return func(yield func(*jsonschema.Schema, string) bool) {
		for _, sub := range slices.Concat([]*jsonschema.Schema{s.Ref, s.Not, s.If, s.Then, s.Else}, s.AllOf, s.AnyOf, s.OneOf) {
			if sub != nil && !yield(sub, "") {
				return
			}
		}
		for key, sub := range s.DependentSchemas {
			if !yield(sub, key) {
				return
			}
		}
		for key, dep := range s.Dependencies {
			if sub, ok := dep.(*jsonschema.Schema); ok && !yield(sub, key) {
				return
			}
		}
	}
}

// ofEntry yields the subschemas that may apply to the value of a key.
func ofEntry(s *jsonschema.Schema, key string) iter.Seq[*jsonschema.Schema] {
	return func(yield func(*jsonschema.Schema) bool) {
		sub, declared := s.Properties[key]
		if declared && !yield(sub) {
			return
		}
		for _, sub := range s.PatternProperties {
			if !yield(sub) {
				return
			}
		}
		if sub, ok := s.AdditionalProperties.(*jsonschema.Schema); ok && !declared && !yield(sub) {
			return
		}
		if s.UnevaluatedProperties != nil {
			yield(s.UnevaluatedProperties)
		}
	}
}

// ofElement yields the subschemas that may apply to element i of a list.
func ofElement(s *jsonschema.Schema, i int) iter.Seq[*jsonschema.Schema] {
	return func(yield func(*jsonschema.Schema) bool) {
		first := s.PrefixItems
		rest := s.Items2020
		switch items := s.Items.(type) {
		case *jsonschema.Schema:
			rest = items
		case []*jsonschema.Schema:
			first = items
			rest, _ = s.AdditionalItems.(*jsonschema.Schema)
		case nil:
			if sub, ok := s.AdditionalItems.(*jsonschema.Schema); ok {
				rest = sub
			}
		}
		if i < len(first) {
			rest = first[i]
		}
		for _, sub := range []*jsonschema.Schema{rest, s.Contains, s.UnevaluatedItems} {
			if sub != nil && !yield(sub) {
				return
			}
		}
	}
}

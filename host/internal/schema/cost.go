package schema

import (
	"encoding/json"
	"maps"
	"regexp"
	rx "regexp/syntax"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Bounds on the cost of a schema. A few bytes can require gigabytes, as a regular
// expression with nested repeats does, or hours, as references that double at each
// step do.
const (
	maxSchema      = 32 << 10 // bytes
	maxSchemaDepth = 64
	maxSubschemas  = 2000  // the library compiles in time that grows with the square of their number
	maxPattern     = 4096  // bytes of one expression
	maxPatternSize = 20000 // instructions of all expressions together
	maxSchemaSteps = 10000 // evaluations of subschemas at one value
	maxChain       = 100   // subschemas that lead to one another at one value
)

// checkSource refuses a schema that costs too much to compile. It returns the number of
// its parts.
func checkSource(root map[string]any) (parts int, err error) {
	c := &source{id: strings.TrimSuffix(str(root["$id"]), "#")}
	err = c.scan(root, 0)
	return c.subschemas, err
}

// str returns v if it is a string.
func str(v any) string {
	s, _ := v.(string)
	return s
}

// A source is a schema that is not compiled yet.
type source struct {
	id         string
	patterns   int // instructions
	subschemas int // what may be one: objects and booleans
}

// scan adds up the regular expressions and refuses what cannot be bounded.
func (c *source) scan(v any, depth int) error {
	if depth > maxSchemaDepth {
		return errorf("the schema nests deeper than %d levels", maxSchemaDepth)
	}
	switch v.(type) {
	case map[string]any, bool:
		if c.subschemas++; c.subschemas > maxSubschemas {
			return errorf("the schema has more than %d parts", maxSubschemas)
		}
	}
	switch v := v.(type) {
	case json.Number:
		if !shortNumber(string(v)) {
			return errorf("the schema holds a number that is too long")
		}
	case []any:
		for _, e := range v {
			if err := c.scan(e, depth+1); err != nil {
				return err
			}
		}
	case map[string]any:
		if err := c.keywords(v, depth); err != nil {
			return err
		}
		for _, e := range v {
			if err := c.scan(e, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// keywords checks the keywords of an object, which may be a schema.
func (c *source) keywords(v map[string]any, depth int) error {
	if id, ok := v["$id"].(string); ok && depth > 0 {
		return errorf("it holds a schema of its own, %q; write it without $id", id)
	}
	for _, key := range []string{"$dynamicRef", "$recursiveRef"} {
		if _, ok := v[key].(string); ok {
			return errorf("it holds %s; write $ref, which leads to one place", key)
		}
	}
	if ref, ok := v["$ref"].(string); ok && !strings.HasPrefix(ref, "#") && (c.id == "" || !strings.HasPrefix(ref, c.id+"#")) {
		return errorf("the schema refers to %q, and a schema cannot refer to other files or addresses", ref)
	}
	if err := c.addPattern(str(v["pattern"])); err != nil {
		return err
	}
	m, _ := v["patternProperties"].(map[string]any)
	for p := range m {
		if err := c.addPattern(p); err != nil {
			return err
		}
	}
	return nil
}

func (c *source) addPattern(pattern string) error {
	if len(pattern) > maxPattern {
		return errorf("one of its regular expressions is %d bytes long, and at most %d are read", len(pattern), maxPattern)
	}
	if c.patterns += patternSize(pattern); c.patterns > maxPatternSize {
		return errorf("its regular expressions are too large; use fewer and shorter repeats")
	}
	return nil
}

// patternSize estimates the number of instructions of an expression.
func patternSize(pattern string) int {
	re, err := rx.Parse(pattern, rx.Perl)
	if err != nil {
		return 0 // the compiler reports it
	}
	return instructions(re)
}

func instructions(re *rx.Regexp) int {
	n := 1 + len(re.Rune)/2
	for _, sub := range re.Sub {
		n += instructions(sub)
	}
	if re.Op == rx.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return min(n, maxPatternSize+1)
}

// facts are what the counter needs to know about a subschema.
type facts struct {
	pattern     int // instructions of its expression
	keyPatterns int // of the expressions of patternProperties
	choices     int // values that enum and const hold
	names       int // that must be there
	format      int // units of a check of its format
	steps       int // evaluations at one value; 0: being computed
	chain       int // the longest way of subschemas at one value
}

// factsOf returns the facts of a subschema itself.
func factsOf(s *jsonschema.Schema) *facts {
	f := &facts{names: len(s.Required)}
	for _, names := range s.DependentRequired {
		f.names += len(names)
	}
	for _, dep := range s.Dependencies {
		if names, ok := dep.([]string); ok {
			f.names += len(names)
		}
	}
	if s.Pattern != nil {
		f.pattern = patternSize(s.Pattern.String())
	}
	if s.Format != nil && s.Format.Name == "regex" {
		f.format = regexUnits
	} else if s.Format != nil {
		f.format = 1
	}
	for p := range s.PatternProperties {
		f.keyPatterns += patternSize(p.String())
	}
	if s.Enum != nil {
		f.choices = size(s.Enum.Values, maxWork)
	}
	if s.Const != nil {
		f.choices += size(*s.Const, maxWork)
	}
	return f
}

// measure collects the facts of a schema and of all that it leads to.
func (r *rules) measure() error {
	r.facts = map[*jsonschema.Schema]*facts{}
	seen := map[*jsonschema.Schema]bool{}
	for queue := []*jsonschema.Schema{r.compiled}; len(queue) > 0; queue = queue[1:] {
		s := queue[0]
		if seen[s] {
			continue
		}
		seen[s] = true
		if err := r.measureInPlace(s); err != nil {
			return err
		}
		r.unevaluated = r.unevaluated || s.UnevaluatedItems != nil || s.UnevaluatedProperties != nil
		for sub := range inPlace(s) {
			queue = append(queue, sub)
		}
		queue = append(queue, inside(s)...)
	}
	return nil
}

// measureInPlace collects the facts of a schema and of those that it leads to at the
// same value.
func (r *rules) measureInPlace(s *jsonschema.Schema) error {
	if f, known := r.facts[s]; known {
		if f.steps == 0 {
			return errorf("its references lead back to themselves without a step into the value")
		}
		return nil
	}
	f := factsOf(s)
	r.facts[s] = f
	steps, chain := 1, 0
	for sub := range inPlace(s) {
		if err := r.measureInPlace(sub); err != nil {
			return err
		}
		steps, chain = min(steps+r.facts[sub].steps, maxSchemaSteps+1), max(chain, r.facts[sub].chain)
	}
	f.steps, f.chain = steps, chain+1
	switch {
	case steps > maxSchemaSteps:
		return errorf("its references multiply too often; use fewer of them")
	case f.chain > maxChain:
		return errorf("more than %d of its references follow one another at one value", maxChain)
	}
	return nil
}

// inside returns the subschemas that apply to the entries of a value and to their names.
func inside(s *jsonschema.Schema) []*jsonschema.Schema {
	out := append([]*jsonschema.Schema{s.PropertyNames, s.UnevaluatedProperties, s.Contains, s.UnevaluatedItems, s.Items2020}, s.PrefixItems...)
	out = slices.AppendSeq(out, maps.Values(s.Properties))
	out = slices.AppendSeq(out, maps.Values(s.PatternProperties))
	for _, either := range []any{s.AdditionalProperties, s.Items, s.AdditionalItems} {
		switch sub := either.(type) {
		case *jsonschema.Schema:
			out = append(out, sub)
		case []*jsonschema.Schema:
			out = append(out, sub...)
		}
	}
	return slices.DeleteFunc(out, func(s *jsonschema.Schema) bool { return s == nil })
}

// boundedRegexp compiles an expression for the library: one of a schema, which the
// scan has bounded, or a string of the format "regex".
func boundedRegexp(pattern string) (jsonschema.Regexp, error) {
	if len(pattern) > maxPattern || patternSize(pattern) > maxPatternSize {
		return nil, errorf("the regular expression is too large")
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err // not re: an interface with a nil pointer is not nil
	}
	return re, nil
}

// Package schema checks the arguments of a tool against its JSON Schema.
//
// A schema comes from a manifest, another server or a third-party plugin, so it is
// not trusted: Compile bounds its cost (cost.go) and allows no references to other
// documents. Check counts the evaluations first (work.go) and returns what is wrong as sentences for a model (check.go). Most
// schemas are flat, a list of named strings, numbers and booleans; flat.go accepts
// valid arguments of these without the general validator.
//
// # Files
//
//   - schema, check: checks arguments
//   - flat: simple ones, fast
//   - cost: what a schema may cost, work what its checks and the expressions for lines to keep may cost
//   - tidy, language: schemas for models, in two languages
//   - fits, shorten: values of an output schema, and shorter ones that still fit it
package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/weirhost/weir/sdk/tool"
)

// The names of the schema being compiled and of its opposite; they are never fetched.
const (
	schemaURL = "weir:///params.json"
	misfitURL = "weir:///misfit.json"
)

// A Schema checks the arguments of one tool. It is safe for concurrent use.
type Schema struct {
	params json.RawMessage
	once   sync.Once
	rules  *rules // after once; nil: the schema cannot be compiled
}

// rules are a compiled schema.
type rules struct {
	compiled *jsonschema.Schema
	names    []string // the declared arguments, in order
	closed   bool     // refuse other arguments, although the schema does not say so
	opened   bool     // it was closed before Open
	flat     *flat    // nil: the schema is not flat

	// misfit accepts what compiled refuses, and builds no explanations.
	misfit      *jsonschema.Schema
	facts       map[*jsonschema.Schema]*facts
	parts       int
	unevaluated bool // a subschema applies to entries that no other one evaluates
}

// Lazy returns the Schema of params that Compile has accepted before. It compiles
// them at the first use.
func Lazy(params json.RawMessage) *Schema { return &Schema{params: params} }

func (s *Schema) load() *rules {
	s.once.Do(func() { s.rules, _ = compile(s.params) }) // Compile has reported an error before
	return s.rules
}

// Open returns the schema for a tool that itself decides about arguments that its schema
// neither names nor forbids. One that may be a misspelt name of an argument that is not given
// is told of if the arguments do not fit for another reason.
func (s *Schema) Open() *Schema {
	out := &Schema{params: s.params}
	out.once.Do(func() {
		before := s.load()
		if before == nil || !before.closed {
			out.rules = before
			return
		}
		r := *before
		r.closed, r.opened = false, true
		if r.flat != nil {
			r.flat = &flat{types: r.flat.types, required: r.flat.required, open: true}
		}
		out.rules = &r
	})
	return out
}

// Names returns the declared arguments in the order of the schema.
func (s *Schema) Names() []string {
	if r := s.load(); r != nil {
		return r.names
	}
	return nil
}

// Required returns the required arguments in the order of the schema.
func (s *Schema) Required() []string {
	if r := s.load(); r != nil {
		return r.compiled.Required
	}
	return nil
}

// An Error is a fault of a schema.
type Error struct {
	// Path leads from the schema's root to the fault: keys and element numbers.
	Path []string
	// Text is the problem, without a fix.
	Text tool.Text
}

// Error returns the problem in English.
func (e *Error) Error() string { return e.Text.String() }

// MsgText returns the problem for a reader of any language.
func (e *Error) MsgText() tool.Text { return e.Text }

func errorf(format string, args ...any) *Error { return &Error{Text: tool.Textf(format, args...)} }

// Compile returns the Schema of a JSON Schema with type = "object". A schema must not
// refer to files or addresses outside itself. The error is an *Error.
func Compile(params json.RawMessage) (*Schema, error) {
	r, err := compile(params)
	if err != nil {
		return nil, err
	}
	s := &Schema{params: params}
	s.once.Do(func() { s.rules = r })
	return s, nil
}

func compile(params json.RawMessage) (r *rules, err error) {
	defer func() {
		if p := recover(); p != nil {
			r, err = nil, errorf("the schema cannot be compiled")
		}
	}()
	if len(params) > maxSchema {
		return nil, errorf("the schema is %d bytes long, and at most %d are read", len(params), maxSchema)
	}
	root, err := jsonschema.UnmarshalJSON(bytes.NewReader(params))
	if err != nil {
		return nil, errorf("the schema is not valid JSON")
	}
	object, ok := root.(map[string]any)
	if !ok {
		return nil, errorf("the schema is not an object")
	}
	if object["type"] != "object" {
		return nil, &Error{Path: []string{"type"}, Text: tool.Textf(`the schema's type is not "object"`)}
	}
	parts, err := checkSource(object)
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(boundedRegexp)
	names := propertyNames(params)
	r = &rules{parts: parts, names: names, closed: len(names) > 0 && !allowsOthers(object), flat: flatten(object)}
	not := map[string]any{"not": map[string]any{"$ref": schemaURL}}
	if err := errors.Join(c.AddResource(schemaURL, root), c.AddResource(misfitURL, not)); err != nil {
		return nil, explain(err)
	}
	if r.compiled, err = c.Compile(schemaURL); err != nil {
		return nil, explain(err)
	}
	if r.misfit, err = c.Compile(misfitURL); err != nil {
		return nil, explain(err)
	}
	if err := r.measure(); err != nil {
		return nil, err
	}
	return r, nil
}

// allowsOthers reports whether a schema decides about further arguments, or may name
// some elsewhere than in its properties. JSON Schema accepts every unknown name; the
// call of a model that misspells one would then run with defaults.
func allowsOthers(schema map[string]any) bool {
	for _, key := range []string{
		"additionalProperties", "unevaluatedProperties", "patternProperties", "propertyNames", "$ref", "$dynamicRef",
		"allOf", "anyOf", "oneOf", "if", "dependentSchemas", "dependencies",
	} {
		if _, ok := schema[key]; ok {
			return true
		}
	}
	return false
}

// noLoader refuses every reference to another document.
type noLoader struct{}

func (noLoader) Load(string) (any, error) {
	return nil, errorf("a schema cannot refer to other files or addresses")
}

// explain shortens an error of the compiler and keeps its path.
func explain(err error) error {
	var invalid *jsonschema.SchemaValidationError
	var load *jsonschema.LoadURLError
	var regex *jsonschema.InvalidRegexError
	switch {
	case errors.As(err, &load):
		return errorf("the schema refers to %q, and a schema cannot refer to other files or addresses", load.URL)
	case errors.As(err, &regex):
		return errorf("%q is not a regular expression", regex.Regex)
	case errors.As(err, &invalid):
		var v *jsonschema.ValidationError
		if !errors.As(invalid.Err, &v) {
			break
		}
		leaf := deepestLeaf(v)
		return &Error{Path: leaf.InstanceLocation, Text: tool.Textf("the schema breaks the rules of JSON Schema: %s", joined(", ", new(checker).faults(leaf)))}
	}
	return errorf("the schema cannot be compiled: %s", err.Error())
}

// deepestLeaf returns the cause with the longest path: it is the most specific one.
func deepestLeaf(v *jsonschema.ValidationError) *jsonschema.ValidationError {
	best := v
	for _, l := range leaves(v, nil) {
		if best == v || len(l.InstanceLocation) > len(best.InstanceLocation) {
			best = l
		}
	}
	return best
}

// leaves appends the errors without further causes to out.
func leaves(v *jsonschema.ValidationError, out []*jsonschema.ValidationError) []*jsonschema.ValidationError {
	if len(v.Causes) == 0 {
		return append(out, v)
	}
	for _, c := range v.Causes {
		out = leaves(c, out)
	}
	return out
}

// propertyNames returns the keys of the schema's properties in their order.
func propertyNames(params json.RawMessage) []string {
	var s struct {
		Properties json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(params, &s) != nil || len(s.Properties) == 0 {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(s.Properties))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	var names []string
	for dec.More() {
		t, err := dec.Token()
		name, ok := t.(string)
		var skip json.RawMessage
		if err != nil || !ok || dec.Decode(&skip) != nil {
			return names
		}
		names = append(names, name)
	}
	return names
}

package registry

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schemaURL names the schema being compiled; it is never fetched.
const schemaURL = "weir:///params.json"

// A Schema checks the arguments of one tool. It is safe for concurrent use.
type Schema struct {
	params json.RawMessage
	once   sync.Once
	rules  *rules // nil, once it was read: it cannot be compiled
}

// rules are a schema that was compiled.
type rules struct {
	compiled *jsonschema.Schema
	names    []string // the declared arguments, in order
	closed   bool     // no others are taken, although the schema does not say so
	flat     *flat    // nil: the schema is not flat
}

// later is the Schema of params that were compiled once without a complaint. It
// is compiled again when it is first needed.
func later(params json.RawMessage) *Schema { return &Schema{params: params} }

// read compiles the schema, unless that is done.
func (s *Schema) read() *rules {
	s.once.Do(func() { s.rules, _ = compileRules(s.params) }) // why it cannot be compiled was told when it was read first
	return s.rules
}

// Names are the declared arguments in the manifest's order.
func (s *Schema) Names() []string {
	if r := s.read(); r != nil {
		return r.names
	}
	return nil
}

// A schemaError says what is wrong with a schema, and where in it.
type schemaError struct {
	path []string // keys and element numbers from the schema's root
	msg  string
}

func (e *schemaError) Error() string { return e.msg }

// CompileSchema reads a JSON Schema of type object. A schema cannot refer to
// files or addresses outside itself.
func CompileSchema(params json.RawMessage) (*Schema, error) {
	r, err := compileRules(params)
	if err != nil {
		return nil, err
	}
	s := &Schema{params: params}
	s.once.Do(func() { s.rules = r })
	return s, nil
}

func compileRules(params json.RawMessage) (r *rules, err error) {
	defer func() {
		if p := recover(); p != nil {
			r, err = nil, &schemaError{msg: "the schema cannot be compiled"}
		}
	}()
	root, err := jsonschema.UnmarshalJSON(bytes.NewReader(params))
	if err != nil {
		return nil, &schemaError{msg: "the schema is not valid JSON"}
	}
	object, ok := root.(map[string]any)
	if !ok {
		return nil, &schemaError{msg: "the schema is not an object"}
	}
	if object["type"] != "object" {
		return nil, &schemaError{path: []string{"type"}, msg: `the schema's type is not "object"`}
	}
	if err := afford(object); err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	if err := c.AddResource(schemaURL, root); err != nil {
		return nil, explainSchema(err)
	}
	compiled, err := c.Compile(schemaURL)
	if err != nil {
		return nil, explainSchema(err)
	}
	names := propertyNames(params)
	return &rules{compiled: compiled, names: names, closed: len(names) > 0 && !opened(object), flat: flatten(object)}, nil
}

// opened reports whether a schema decides about further arguments itself, or may
// name some elsewhere than in its properties. JSON Schema takes every unknown
// name; a model that misspells one would have its call run with defaults.
func opened(schema map[string]any) bool {
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

// noLoader refuses every reference that leads out of a schema.
type noLoader struct{}

func (noLoader) Load(string) (any, error) {
	return nil, errors.New("a schema cannot refer to other files or addresses")
}

// explainSchema shortens a compiler's error and keeps the place it is about.
func explainSchema(err error) error {
	var invalid *jsonschema.SchemaValidationError
	var load *jsonschema.LoadURLError
	var regex *jsonschema.InvalidRegexError
	switch {
	case errors.As(err, &load):
		return &schemaError{msg: fmt.Sprintf("the schema refers to %q, and a schema cannot refer to other files or addresses", load.URL)}
	case errors.As(err, &regex):
		return &schemaError{msg: fmt.Sprintf("%q is not a regular expression", regex.Regex)}
	case errors.As(err, &invalid):
		var v *jsonschema.ValidationError
		if !errors.As(invalid.Err, &v) {
			break
		}
		leaf := firstLeaf(v)
		return &schemaError{path: leaf.InstanceLocation, msg: "the schema breaks the rules of JSON Schema: " + sayEnglish(leaf)}
	}
	return &schemaError{msg: "the schema cannot be compiled: " + err.Error()}
}

// firstLeaf returns the cause that lies deepest in the value: it is the nearest
// to what the author wrote.
func firstLeaf(v *jsonschema.ValidationError) *jsonschema.ValidationError {
	best := v
	for _, l := range leaves(v, nil) {
		if best == v || len(l.InstanceLocation) > len(best.InstanceLocation) {
			best = l
		}
	}
	return best
}

// leaves collects the errors without further causes.
func leaves(v *jsonschema.ValidationError, out []*jsonschema.ValidationError) []*jsonschema.ValidationError {
	if len(v.Causes) == 0 {
		return append(out, v)
	}
	for _, c := range v.Causes {
		out = leaves(c, out)
	}
	return out
}

// propertyNames lists the keys of the schema's properties in their order.
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

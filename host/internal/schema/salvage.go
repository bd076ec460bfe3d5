package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/weirhost/weir/sdk/tool"
)

// maxRepairs bounds how often the schemas of one server are compiled to find what is wrong
// with them, and maxRounds how often one of them is.
const maxRepairs, maxRounds = 64, 4

// Salvage is Compile for a third-party schema, which may break the rules of JSON Schema:
// what is broken is left out, one keyword for one mistake, and the rest counts. It returns
// the schema that is left, and a fault for each part that is left out. The error says why
// nothing could be kept.
func (b *Budget) Salvage(raw json.RawMessage) (text json.RawMessage, s *Schema, faults []tool.Text, err error) {
	if text, err = Tidy(raw); err != nil {
		return nil, nil, nil, err
	}
	for round := 0; ; round++ {
		if s, err = b.Compile(text); err == nil {
			return text, s, faults, nil
		}
		root, bad := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		object, ok := root.(map[string]any)
		if b.repairs++; bad != nil || !ok || round == maxRounds || b.repairs > maxRepairs {
			return nil, nil, nil, err
		}
		found := findBroken(object)
		if len(found.faults) == 0 {
			found.compile(root)
		}
		if len(found.faults) == 0 {
			return nil, nil, nil, err // what is wrong is no one keyword: it is too large, or nests too deeply
		}
		faults = append(faults, found.told()...)
		b.schemas -= len(text) // which the rest takes again
		if text, err = Tidy(found.prune(text)); err != nil {
			return nil, nil, nil, err
		}
	}
}

// broken is what breaks the rules in a schema, by its paths.
type broken struct {
	root   map[string]any
	faults map[string]tool.Text // by key
}

// key returns a path as one string.
func key(path []string) string { return strings.Join(path, "\x00") }

func (b *broken) add(path []string, fault tool.Text) {
	if _, found := b.faults[key(path)]; len(path) > 0 && !found {
		b.faults[key(path)] = fault
	}
}

// told returns what is wrong, by the paths.
func (b *broken) told() []tool.Text {
	var out []tool.Text
	for _, at := range slices.Sorted(maps.Keys(b.faults)) {
		out = append(out, b.faults[at])
	}
	return out
}

// findBroken finds what can be seen without the library: references that lead nowhere,
// expressions that are none, schemas with an address of their own.
func findBroken(root map[string]any) *broken {
	b := &broken{root: root, faults: map[string]tool.Text{}}
	b.scan(root, nil)
	return b
}

// scan looks at a schema and at those in it.
func (b *broken) scan(v any, path []string) {
	s, ok := v.(map[string]any)
	if !ok || len(path) > maxTidyDepth {
		return
	}
	at := func(more ...string) []string { return append(slices.Clip(path), more...) }
	if ref, ok := s["$ref"].(string); ok && !b.leads(ref) {
		b.add(at("$ref"), tool.Textf("%s refers to %q, which is not in the schema", name(at("$ref")), ref))
	}
	for _, k := range []string{"$dynamicRef", "$recursiveRef"} {
		if _, ok := s[k]; ok {
			b.add(at(k), tool.Textf("%s cannot be followed", name(at(k))))
		}
	}
	for _, k := range []string{"$id", "$schema"} {
		if _, ok := s[k]; ok && len(path) > 0 {
			b.add(at(k), tool.Textf("%s begins a schema of its own", name(at(k))))
		}
	}
	if p, ok := s["pattern"].(string); ok {
		b.expression(p, at("pattern"))
	}
	for k, v := range s {
		switch k {
		case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
			m, _ := v.(map[string]any)
			for n, sub := range m {
				if k == "patternProperties" {
					b.expression(n, at(k, n))
				}
				b.scan(sub, at(k, n))
			}
		case "items", "additionalItems", "additionalProperties", "unevaluatedItems", "unevaluatedProperties", "contains", "propertyNames", "not", "if", "then", "else":
			b.scan(v, at(k))
			list, _ := v.([]any)
			for i, sub := range list {
				b.scan(sub, at(k, strconv.Itoa(i)))
			}
		case "allOf", "anyOf", "oneOf", "prefixItems":
			list, _ := v.([]any)
			for i, sub := range list {
				b.scan(sub, at(k, strconv.Itoa(i)))
			}
		}
	}
}

// expression looks at a regular expression.
func (b *broken) expression(pattern string, path []string) {
	_, err := boundedRegexp(pattern)
	var long *Error
	switch {
	case errors.As(err, &long):
		b.add(path, tool.Textf("%s is too large a regular expression", name(path)))
	case err != nil:
		b.add(path, tool.Textf("%s is no regular expression that weir knows", name(path)))
	}
}

// leads reports whether a reference leads to a schema in this document. Names of schemas
// are left to the library.
func (b *broken) leads(ref string) bool {
	id := strings.TrimSuffix(str(b.root["$id"]), "#")
	pointer, ok := strings.CutPrefix(ref, id+"#")
	if id == "" || !ok {
		if pointer, ok = strings.CutPrefix(ref, "#"); !ok {
			return false
		}
	}
	if pointer != "" && pointer[0] != '/' {
		return true
	}
	var v any = b.root
	for _, step := range strings.Split(pointer, "/")[1:] {
		step = strings.NewReplacer("~1", "/", "~0", "~", "%24", "$", "%25", "%").Replace(step)
		switch at := v.(type) {
		case map[string]any:
			v, ok = at[step]
		case []any:
			i, err := strconv.Atoi(step)
			if ok = err == nil && i >= 0 && i < len(at); ok {
				v = at[i]
			}
		default:
			ok = false
		}
		if !ok {
			return false
		}
	}
	switch v.(type) {
	case map[string]any, bool:
		return true
	}
	return false
}

// compile finds what the library refuses.
func (b *broken) compile(root any) {
	defer func() { _ = recover() }() // a panic of the library finds nothing
	if b.root["type"] != "object" {
		b.add([]string{"type"}, tool.Textf(`the schema's type is not "object"`))
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(boundedRegexp)
	err := c.AddResource(schemaURL, root)
	if err == nil {
		_, err = c.Compile(schemaURL)
	}
	var invalid *jsonschema.SchemaValidationError
	var v *jsonschema.ValidationError
	switch {
	case err == nil:
	case errors.As(err, &invalid) && errors.As(invalid.Err, &v):
		all := leaves(v, nil)
		for _, leaf := range all[:min(len(all), maxLeaves)] {
			if told := (checker{args: root}).faults(leaf); len(told) > 0 {
				b.add(leaf.InstanceLocation, told[0])
			}
		}
	case b.root["$schema"] != nil:
		b.add([]string{"$schema"}, tool.Textf("%q is a draft that weir does not know", str(b.root["$schema"])))
	}
}

// prune returns a schema without what is broken. A property that has no schema keeps its
// name, unless that is a keyword, which is in the wrong place then; an alternative that is
// none fits everything.
func (b *broken) prune(text json.RawMessage) json.RawMessage {
	p := &pruner{broken: b, dec: json.NewDecoder(bytes.NewReader(text))}
	p.dec.UseNumber()
	p.value(nil)
	return p.out.Bytes()
}

// A pruner copies JSON in its order, without what is broken.
type pruner struct {
	*broken
	dec *json.Decoder
	out Buffer
}

// value copies the next value, which Tidy has written: it is valid JSON.
func (p *pruner) value(path []string) {
	t, err := p.dec.Token()
	open, isDelim := t.(json.Delim)
	if err != nil || !isDelim {
		p.out.Literal(t)
		return
	}
	p.out.WriteString(open.String())
	for i, n := 0, 0; p.dec.More(); i++ {
		step, put := strconv.Itoa(i), ""
		if open == '{' {
			t, _ := p.dec.Token()
			step, _ = t.(string)
			put = step
		}
		at := append(slices.Clip(path), step)
		stands := "" // what takes the place of a broken part
		if _, bad := p.faults[key(at)]; bad {
			if stands = standIn(at, open == '['); stands == "" {
				var skip json.RawMessage
				_ = p.dec.Decode(&skip) // valid, as above
				continue
			}
		}
		if n++; n > 1 {
			p.out.WriteByte(',')
		}
		if open == '{' {
			p.out.Literal(put)
			p.out.WriteByte(':')
		}
		if stands != "" {
			var skip json.RawMessage
			_ = p.dec.Decode(&skip)
			p.out.WriteString(stands)
			continue
		}
		p.value(at)
	}
	end, _ := p.dec.Token()
	if d, ok := end.(json.Delim); ok {
		p.out.WriteString(d.String())
	}
}

// standIn returns what takes the place of a broken part; empty: nothing.
func standIn(path []string, inList bool) string {
	switch parent := parentOf(path); {
	case inList && slices.Contains([]string{"anyOf", "oneOf", "prefixItems", "items"}, parent):
		return "true"
	case !inList && parent == "properties" && !isKeyword(path[len(path)-1]):
		return "{}"
	}
	return ""
}

func parentOf(path []string) string {
	if len(path) < 2 {
		return ""
	}
	return path[len(path)-2]
}

// isKeyword reports whether a name is a keyword that authors put among the properties.
func isKeyword(name string) bool {
	return slices.Contains([]string{"type", "properties", "required", "items", "enum", "additionalProperties", "$schema"}, name)
}

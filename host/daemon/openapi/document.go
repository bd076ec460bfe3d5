// Package openapi writes the OpenAPI document of the daemon's routes.
//
// A Route describes one row of the daemon's HTTP interface. Document derives the schemas
// of bodies and answers from their Go types by reflection. Descriptions of types and
// fields are their comments in the source; comments.json holds a copy, which a test of
// package daemon compares and updates.
package openapi

import (
	"cmp"
	_ "embed" // comments.json
	"encoding"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/openai"
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/sdk/tool"
)

// comments holds the comments of types and fields, by package, type and field. A test
// writes the file.
//
//go:embed comments.json
var comments []byte

// object is one of JSON.
type object = map[string]any

// A Writer makes the document from types. Each named type becomes one component. Use
// NewWriter, and a Writer for one document only.
type Writer struct {
	comments map[string]string // of "package.Type" and "package.Type.Field"
	used     map[string]bool   // keys of comments that the document needs
	strict   bool              // schemas refuse unknown members
	schemas  object
	types    map[string]reflect.Type
}

// NewWriter returns a Writer. If strict is true, its schemas refuse unknown members.
func NewWriter(strict bool) *Writer {
	w := &Writer{strict: strict, comments: map[string]string{}, used: map[string]bool{}, schemas: object{}, types: map[string]reflect.Type{}}
	if err := json.Unmarshal(comments, &w.comments); err != nil {
		panic("openapi: comments.json: " + err.Error()) // part of the program
	}
	return w
}

// Used returns the comments that the document needs, by key; empty: the type or field
// has none.
func (w *Writer) Used() map[string]string {
	out := map[string]string{}
	for key := range w.used {
		out[key] = w.comments[key]
	}
	return out
}

// about returns the comment of a type or a field; empty: none.
func (w *Writer) about(key string) string {
	w.used[key] = true
	return w.comments[key]
}

// typeName returns the name of a type in the document.
func typeName(t reflect.Type) string {
	title := func(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
	pkg := t.PkgPath()[strings.LastIndexByte(t.PkgPath(), '/')+1:]
	if strings.Contains(t.PkgPath()+"/", "/host/daemon/") {
		return title(t.Name())
	}
	return title(pkg) + title(t.Name())
}

// schema describes a type.
func (w *Writer) schema(t reflect.Type) object {
	switch {
	case t == reflect.TypeFor[json.RawMessage](), t.Kind() == reflect.Interface:
		return object{}
	case t == reflect.TypeFor[tool.Text]():
		return object{"type": "string"}
	case t == reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case t == reflect.TypeFor[api.Load]():
		return object{"description": "a uuid, or an object with a uuid and the arguments of load_tool_history", "type": []string{"string", "object"}}
	case t.Kind() != reflect.Pointer && t.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return object{"type": "string"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		inner := w.schema(t.Elem())
		if kind, ok := inner["type"].(string); ok {
			inner["type"] = []string{kind, "null"}
			return inner
		}
		return object{"anyOf": []object{inner, {"type": "null"}}}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.String:
		return object{"type": "string"}
	case reflect.Float64, reflect.Float32:
		return object{"type": "number"}
	case reflect.Slice:
		return object{"type": []string{"array", "null"}, "items": w.schema(t.Elem())}
	case reflect.Map:
		return object{"type": []string{"object", "null"}, "additionalProperties": w.schema(t.Elem())}
	case reflect.Struct:
		return w.structure(t)
	case reflect.Int, reflect.Int64, reflect.Int32:
		return object{"type": "integer"}
	}
	panic(fmt.Sprintf("openapi: the type %s cannot be described in openapi.json", t))
}

// structure returns a reference to a named type, and the schema of one without a name.
func (w *Writer) structure(t reflect.Type) object {
	if t.Name() == "" {
		return w.members(t)
	}
	name := typeName(t)
	if other, ok := w.types[name]; ok && other != t {
		panic(fmt.Sprintf("openapi: %s and %s would both be called %s in openapi.json", t, other, name))
	}
	w.types[name] = t
	if _, ok := w.schemas[name]; !ok {
		w.schemas[name] = object{} // it may refer to itself
		s := w.members(t)
		if text := w.about(t.String()); text != "" {
			s["description"] = text
		}
		if t == reflect.TypeFor[store.ToolStats]() { // it has its own MarshalJSON
			s["properties"].(object)["duration_ms"] = object{"type": "number", "description": "of all calls"}
		}
		w.schemas[name] = s
	}
	return object{"$ref": "#/components/schemas/" + name}
}

// fields returns a type's fields as encoding/json finds them, each with the type that
// declares it.
func fields(t reflect.Type) iter.Seq2[reflect.StructField, reflect.Type] {
	return func(yield func(reflect.StructField, reflect.Type) bool) {
		for i := range t.NumField() {
			f := t.Field(i)
			if f.Anonymous && f.Type.Kind() == reflect.Struct {
				for inner, owner := range fields(f.Type) {
					if !yield(inner, owner) {
						return
					}
				}
			} else if !yield(f, t) {
				return
			}
		}
	}
}

func (w *Writer) members(t reflect.Type) object {
	props, required := object{}, []string{}
	for f, owner := range fields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || name == "-" {
			continue
		}
		name = cmp.Or(name, f.Name)
		s := w.schema(f.Type)
		if text := w.about(owner.String() + "." + f.Name); text != "" {
			if s["$ref"] != nil {
				s = object{"allOf": []object{s}}
			}
			s["description"] = text
		}
		props[name] = s
		if !strings.Contains(options, "omitempty") && !strings.Contains(options, "omitzero") {
			required = append(required, name)
		}
	}
	out := object{"type": "object", "properties": props}
	if len(required) > 0 {
		out["required"] = required
	}
	if w.strict {
		out["additionalProperties"] = false
	}
	return out
}

// body returns the schema of a route's body. The route says which members are required.
func (w *Writer) body(r Route) object {
	ref := w.schema(reflect.TypeOf(r.Takes))
	w.optional(reflect.TypeOf(r.Takes), r.Loose, map[reflect.Type]bool{})
	if s := w.schemas[typeName(reflect.TypeOf(r.Takes))].(object); len(r.Needs) > 0 {
		s["required"] = r.Needs
	}
	return ref
}

// optional makes all members of a body optional, also in nested types; loose allows
// unknown members.
func (w *Writer) optional(t reflect.Type, loose bool, seen map[reflect.Type]bool) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || seen[t] || t.Name() == "" {
		return
	}
	seen[t] = true
	if s, ok := w.schemas[typeName(t)].(object); ok {
		delete(s, "required")
		open(s, loose)
	}
	for f := range fields(t) {
		w.optional(f.Type, loose, seen)
	}
}

// open does so in a schema and in the unnamed schemas inside it.
func open(s object, loose bool) {
	delete(s, "required")
	if loose && s["additionalProperties"] == false {
		delete(s, "additionalProperties")
	}
	if props, ok := s["properties"].(object); ok {
		for _, p := range props {
			open(p.(object), loose)
		}
	}
}

// Document returns the document of the routes, ready for encoding/json. It panics at a
// type that it cannot describe.
func (w *Writer) Document(routes []Route) map[string]any {
	paths := object{}
	for _, r := range routes {
		if r.Method == "" {
			continue // the page
		}
		path := strings.ReplaceAll(r.Path, "...}", "}")
		item, ok := paths[path].(object)
		if !ok {
			item = object{}
			paths[path] = item
		}
		item[strings.ToLower(r.Method)] = w.operation(r)
	}
	events := object{}
	for name, v := range api.EventData() {
		events[name] = w.schema(reflect.TypeOf(v))
	}
	problems := object{}
	for _, t := range []reflect.Type{reflect.TypeFor[api.ErrorBody](), reflect.TypeFor[openai.OpenAIError]()} {
		problems[typeName(t)] = object{"description": "A problem: a code for programs, a sentence and what to do for people",
			"content": object{"application/json": object{"schema": w.schema(t)}}}
	}
	return object{
		"openapi": "3.1.0",
		"info": object{"title": "weir", "version": "0.1", "summary": "Sandboxed tools for any chat model, with limits, an archive and placeholders",
			"license": object{"name": "Apache 2.0", "identifier": "Apache-2.0"}},
		"servers":  []object{{"url": "http://127.0.0.1:8420"}},
		"security": []object{{"token": []string{}}},
		"paths":    paths,
		"components": object{
			"schemas":         w.schemas,
			"responses":       problems,
			"securitySchemes": object{"token": object{"type": "http", "scheme": "bearer", "description": "`weir paths` says where the token is"}},
		},
		"x-events": events,
	}
}

// pathParam matches a parameter in a route's path.
var pathParam = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{(\w+)(?:\.\.\.)?\}`) })

func (w *Writer) operation(r Route) object {
	about := r.About
	if r.Auth == Operator {
		about += ". For the operator alone"
	}
	op := object{"summary": about, "responses": w.responses(r), "operationId": strings.ToLower(r.Method) + strings.NewReplacer("/", "_", "{", "", "}", "", ".", "").Replace(r.Path)}
	var params []object
	for _, m := range pathParam().FindAllStringSubmatch(r.Path, -1) {
		params = append(params, object{"name": m[1], "in": "path", "required": true, "schema": object{"type": "string"}})
	}
	for _, q := range r.Query {
		params = append(params, object{"name": q.Name, "in": "query", "description": q.About, "schema": object{"type": q.Type}})
	}
	for _, name := range slices.Sorted(maps.Keys(r.Headers)) {
		params = append(params, object{"name": name, "in": "header", "description": r.Headers[name], "schema": object{"type": "string"}})
	}
	if params != nil {
		op["parameters"] = params
	}
	if r.Takes != nil {
		op["requestBody"] = object{"required": !r.Bare, "content": object{"application/json": object{"schema": w.body(r)}}}
	}
	if r.Auth == Public {
		op["security"] = []object{}
	}
	return op
}

func (w *Writer) responses(r Route) object {
	if r.Other {
		return object{"default": object{"description": "As that protocol says"}}
	}
	out := object{}
	content := object{}
	if r.Gives != nil {
		content["application/json"] = object{"schema": w.schema(reflect.TypeOf(r.Gives))}
	}
	for kind := range strings.SplitSeq(r.Kind, ", ") {
		switch kind {
		case "":
		case "application/json":
			content[kind] = object{"schema": object{}}
		default:
			content[kind] = object{"schema": object{"type": "string"}}
		}
	}
	if len(content) > 0 {
		out["200"] = object{"description": "Done", "content": content}
	} else {
		out["204"] = object{"description": "Done"}
	}
	if _, ok := r.Headers["If-None-Match"]; ok {
		out["304"] = object{"description": "Nothing has changed"}
	}
	for _, status := range r.Statuses() {
		out[fmt.Sprint(status)] = object{"$ref": "#/components/responses/" + r.ProblemType()}
	}
	return out
}

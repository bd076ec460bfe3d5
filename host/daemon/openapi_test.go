package daemon

import (
	"bytes"
	"encoding"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"iter"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host/archive"
)

var update = flag.Bool("update", false, "write openapi.json anew")

// openapi.json is what the routes, the types of their bodies and the comments of
// these say. `go test ./host/daemon -run OpenAPI -update` writes it.
func TestOpenAPIIsWhatTheRoutesSay(t *testing.T) {
	w := newWriter(t, false)
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(w.document((&Daemon{}).routes())); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("openapi.json", b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff(string(openAPIDocument), b.String()); d != "" && !*update {
		t.Errorf("openapi.json is not what the routes say; -update writes it:\n%s", clip(d, 4000))
	}
	s := newServer(t, replay.New())
	if a := s.get("/openapi.json"); a.status != 200 || a.body != string(openAPIDocument) {
		t.Errorf("%d %.100s", a.status, a.body)
	}
}

type object = map[string]any

// A writer makes the document from types. Those of the project with a name are
// written once, as components.
type writer struct {
	t        *testing.T
	comments map[string]string // of "package.Type" and "package.Type.Field"
	values   map[string][]string
	strict   bool // members that are not known are refused
	schemas  object
	types    map[string]reflect.Type
}

func newWriter(t *testing.T, strict bool) *writer {
	w := &writer{t: t, strict: strict, schemas: object{}, types: map[string]reflect.Type{}, comments: map[string]string{}, values: map[string][]string{}}
	for _, dir := range []string{".", "..", "../archive", "../../agent", "../../sdk/tool"} {
		w.read(dir)
	}
	return w
}

// read takes the comments of a package's types, and the values that its named
// texts have.
func (w *writer) read(dir string) {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		w.t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, decl := range f.Decls {
			if g, ok := decl.(*ast.GenDecl); ok {
				for _, spec := range g.Specs {
					w.note(f.Name.Name, g, spec)
				}
			}
		}
	}
}

func (w *writer) note(pkg string, g *ast.GenDecl, spec ast.Spec) {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		at := pkg + "." + s.Name.Name
		w.comments[at] = sentence(g.Doc, s.Doc)
		if st, ok := s.Type.(*ast.StructType); ok {
			for _, f := range st.Fields.List {
				for _, n := range f.Names {
					w.comments[at+"."+n.Name] = sentence(f.Doc, f.Comment)
				}
			}
		}
	case *ast.ValueSpec:
		if kind, ok := s.Type.(*ast.Ident); ok && g.Tok == token.CONST {
			for _, v := range s.Values {
				if lit, ok := v.(*ast.BasicLit); ok && lit.Kind == token.STRING && lit.Value != `""` {
					w.values[pkg+"."+kind.Name] = append(w.values[pkg+"."+kind.Name], strings.Trim(lit.Value, `"`))
				}
			}
		}
	}
}

var link = regexp.MustCompile(`\[([A-Za-z.]+)\]`)

func sentence(groups ...*ast.CommentGroup) string {
	var parts []string
	for _, g := range groups {
		if text := strings.Join(strings.Fields(g.Text()), " "); text != "" {
			parts = append(parts, link.ReplaceAllString(text, "$1"))
		}
	}
	return strings.Join(parts, " ")
}

// typeName is what a type is called in the document.
func typeName(t reflect.Type) string {
	title := func(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
	pkg := t.PkgPath()[strings.LastIndexByte(t.PkgPath(), '/')+1:]
	if pkg == "daemon" {
		return title(t.Name())
	}
	return title(pkg) + title(t.Name())
}

// schema describes a type.
func (w *writer) schema(t reflect.Type) object {
	switch {
	case t == reflect.TypeFor[json.RawMessage](), t.Kind() == reflect.Interface:
		return object{}
	case t == reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case t == reflect.TypeFor[Load]():
		return object{"description": "a uuid, or an object with a uuid and what load_tool_history takes", "type": []string{"string", "object"}}
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
		out := object{"type": "string"}
		if v := w.values[t.String()]; len(v) > 0 {
			out["examples"] = v
		}
		return out
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
	w.t.Fatalf("%s cannot be described", t)
	return nil
}

// structure refers to a named type, and describes one without a name.
func (w *writer) structure(t reflect.Type) object {
	if t.Name() == "" {
		return w.members(t)
	}
	name := typeName(t)
	if other, ok := w.types[name]; ok && other != t {
		w.t.Fatalf("%s and %s would both be called %s", t, other, name)
	}
	w.types[name] = t
	if _, ok := w.schemas[name]; !ok {
		w.schemas[name] = object{} // it may refer to itself
		s := w.members(t)
		if text := w.comments[t.String()]; text != "" {
			s["description"] = text
		}
		if t == reflect.TypeFor[archive.ToolStats]() { // which writes itself
			s["properties"].(object)["duration_ms"] = object{"type": "number", "description": "of all calls"}
		}
		w.schemas[name] = s
	}
	return object{"$ref": "#/components/schemas/" + name}
}

// fields goes through a type's fields as encoding/json does, each with the type
// that it stands in.
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

func (w *writer) members(t reflect.Type) object {
	props, required := object{}, []string{}
	for f, owner := range fields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || name == "-" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		s := w.schema(f.Type)
		if text := w.comments[owner.String()+"."+f.Name]; text != "" {
			if s["$ref"] != nil {
				s = object{"allOf": []object{s}}
			}
			s["description"] = text
		}
		props[name] = s
		if !strings.Contains(options, "omitempty") {
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

// taken describes a body: what it must have is for its route to say.
func (w *writer) taken(d doc) object {
	ref := w.schema(reflect.TypeOf(d.takes))
	w.optional(reflect.TypeOf(d.takes), d.loose, map[reflect.Type]bool{})
	if s := w.schemas[typeName(reflect.TypeOf(d.takes))].(object); len(d.needs) > 0 {
		s["required"] = d.needs
	}
	return ref
}

// optional makes every member of a body and of what it holds optional; loose lets
// it hold others.
func (w *writer) optional(t reflect.Type, loose bool, seen map[reflect.Type]bool) {
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

// open does so in a schema and in those that stand inside it without a name.
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

func (w *writer) document(routes []route) object {
	paths := object{}
	for _, r := range routes {
		if r.method == "" {
			continue // the page
		}
		path := strings.ReplaceAll(r.path, "...}", "}")
		item, ok := paths[path].(object)
		if !ok {
			item = object{}
			paths[path] = item
		}
		item[strings.ToLower(r.method)] = w.operation(r)
	}
	events := object{}
	for name, v := range eventData() {
		events[name] = w.schema(reflect.TypeOf(v))
	}
	problems := object{}
	for _, t := range []reflect.Type{reflect.TypeFor[ErrorBody](), reflect.TypeFor[OpenAIError]()} {
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

var pathParam = regexp.MustCompile(`\{(\w+)(?:\.\.\.)?\}`)

func (w *writer) operation(r route) object {
	op := object{"summary": r.about, "responses": w.responses(r), "operationId": strings.ToLower(r.method) + strings.NewReplacer("/", "_", "{", "", "}", "", ".", "").Replace(r.path)}
	var params []object
	for _, m := range pathParam.FindAllStringSubmatch(r.path, -1) {
		params = append(params, object{"name": m[1], "in": "path", "required": true, "schema": object{"type": "string"}})
	}
	for _, q := range r.query {
		params = append(params, object{"name": q.name, "in": "query", "description": q.about, "schema": object{"type": q.kind}})
	}
	for _, name := range slices.Sorted(maps.Keys(r.headers)) {
		params = append(params, object{"name": name, "in": "header", "description": r.headers[name], "schema": object{"type": "string"}})
	}
	if params != nil {
		op["parameters"] = params
	}
	if r.takes != nil {
		op["requestBody"] = object{"required": !r.bare, "content": object{"application/json": object{"schema": w.taken(r.doc)}}}
	}
	if r.public {
		op["security"] = []object{}
	}
	return op
}

func (w *writer) responses(r route) object {
	out := object{}
	content := object{}
	if r.gives != nil {
		content["application/json"] = object{"schema": w.schema(reflect.TypeOf(r.gives))}
	}
	if r.kind != "" {
		content[r.kind] = object{"schema": object{"type": "string"}}
	}
	if len(content) > 0 {
		out["200"] = object{"description": "Done", "content": content}
	} else {
		out["204"] = object{"description": "Done"}
	}
	for _, status := range r.statuses() {
		out[fmt.Sprint(status)] = object{"$ref": "#/components/responses/" + r.problems()}
	}
	return out
}

// problems is the shape of what a route answers without success.
func (r route) problems() string {
	if strings.HasPrefix(r.path, "/v1/") {
		return "OpenAIError"
	}
	return "ErrorBody"
}

// statuses are those of all problems that a route can answer with.
func (r route) statuses() []int {
	out := append([]int{http.StatusForbidden, http.StatusInternalServerError}, r.fails...)
	if !r.public {
		out = append(out, http.StatusUnauthorized)
	}
	if r.takes != nil {
		out = append(out, http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// A contract holds what is sent and answered to the document, strictly: a member
// that the document does not know is a fault.
type contract struct {
	mux    *http.ServeMux
	routes map[string]route
	doc    any

	mu      sync.Mutex
	schemas map[string]*jsonschema.Schema
}

// theContract is made once for all tests of the package.
var theContract struct {
	once sync.Once
	*contract
}

func contractOf(t *testing.T) *contract {
	theContract.once.Do(func() {
		c := &contract{mux: http.NewServeMux(), routes: map[string]route{}, schemas: map[string]*jsonschema.Schema{}}
		w := newWriter(t, true)
		raw, err := json.Marshal(w.document((&Daemon{}).routes()))
		if err != nil {
			t.Fatal(err)
		}
		if c.doc, err = jsonschema.UnmarshalJSON(bytes.NewReader(raw)); err != nil {
			t.Fatal(err)
		}
		for _, r := range (&Daemon{}).routes() {
			c.routes[r.pattern()] = r
			c.mux.HandleFunc(r.pattern(), func(http.ResponseWriter, *http.Request) {})
		}
		theContract.contract = c
	})
	return theContract.contract
}

// valid holds JSON to a schema that stands somewhere in the document.
func (c *contract) valid(pointer, text string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.schemas[pointer]
	if s == nil {
		compiler := jsonschema.NewCompiler()
		if err := compiler.AddResource("weir.json", c.doc); err != nil {
			return err
		}
		var err error
		if s, err = compiler.Compile("weir.json#" + pointer); err != nil {
			return err
		}
		c.schemas[pointer] = s
	}
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return err
	}
	return s.Validate(v)
}

func escaped(s string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(s) }

// check holds one exchange to the document.
func (c *contract) check(r *http.Request, sent string, a answer) error {
	_, pattern := c.mux.Handler(httptest.NewRequest(r.Method, r.URL.String(), nil))
	row, ok := c.routes[pattern]
	if !ok || row.method == "" {
		return nil // the page, and what nothing answers
	}
	at := "/paths/" + escaped(strings.ReplaceAll(row.path, "...}", "}")) + "/" + strings.ToLower(row.method)
	if a.status < 300 && row.takes != nil && sent != "" && r.Header.Get("Last-Event-ID") == "" {
		if err := c.valid(at+"/requestBody/content/application~1json/schema", sent); err != nil {
			return fmt.Errorf("the body that was taken: %w", err)
		}
	}
	if a.status >= 400 {
		if !slices.Contains(row.statuses(), a.status) {
			return fmt.Errorf("the status %d is not in the document", a.status)
		}
		return c.valid("/components/schemas/"+row.problems(), a.body)
	}
	kind, _, _ := strings.Cut(a.header.Get("Content-Type"), ";")
	switch {
	case a.status == 204 && row.gives == nil && row.kind == "":
		return nil
	case a.status != 200:
		return fmt.Errorf("the status %d is not in the document", a.status)
	case kind == "application/json" && row.gives != nil:
		return c.valid(at+"/responses/200/content/application~1json/schema", a.body)
	case kind != row.kind:
		return fmt.Errorf("the answer is %s, which is not in the document", kind)
	case kind == kindStream:
		return c.stream(row, a.body)
	}
	return nil
}

func (c *contract) stream(r route, body string) error {
	for _, e := range events(body) {
		at := "/x-events/" + escaped(e.name)
		switch {
		case strings.HasPrefix(r.path, "/v1/") && e.data == "[DONE]":
			continue
		case strings.HasPrefix(r.path, "/v1/") && strings.HasPrefix(e.data, `{"error"`):
			at = "/components/schemas/OpenAIError"
		case strings.HasPrefix(r.path, "/v1/"):
			at = "/components/schemas/Completion"
		}
		if err := c.valid(at, e.data); err != nil {
			return fmt.Errorf("the event %s: %w", e.name, err)
		}
	}
	return nil
}

// The page's files are not part of the document; everything else that answers is.
func TestOpenAPIHasEveryRoute(t *testing.T) {
	var doc struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(openAPIDocument, &doc); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, r := range (&Daemon{}).routes() {
		if r.method == "" {
			continue
		}
		n++
		if doc.Paths[strings.ReplaceAll(r.path, "...}", "}")][strings.ToLower(r.method)] == nil {
			t.Errorf("%s is missing", r.pattern())
		}
		if r.about == "" {
			t.Errorf("%s does not say what it is for", r.pattern())
		}
	}
	for path, item := range doc.Paths {
		n -= len(item)
		if strings.Contains(path, "...") {
			t.Errorf("%s is no path", path)
		}
	}
	if n != 0 {
		t.Errorf("the document has %d routes more than the daemon", -n)
	}
}

// A test that compares with a document needs to see it change.
func TestContractRefuses(t *testing.T) {
	c := contractOf(t)
	req := func(method, path string) *http.Request {
		return httptest.NewRequest(method, "http://localhost"+path, nil)
	}
	json := http.Header{"Content-Type": {"application/json"}}
	for _, row := range []struct {
		why  string
		r    *http.Request
		sent string
		a    answer
	}{
		{"a status that no row has", req("GET", "/api/tools"), "", answer{418, json, `{"error":{"code":"teapot","message":"x"}}`}},
		{"a member that no type has", req("GET", "/healthz"), "", answer{200, json, `{"status":"ok","extra":1}`}},
		{"a member that is missing", req("GET", "/healthz"), "", answer{200, json, `{}`}},
		{"an event that nobody knows", req("POST", "/api/chat"), `{"message":"x"}`, answer{200, http.Header{"Content-Type": {kindStream}}, "event: chat.sung\ndata: {}\n\n"}},
		{"a body that is not in the document", req("POST", "/api/chat"), `{"massage":"x"}`, answer{200, http.Header{"Content-Type": {kindStream}}, ""}},
		{"an answer of another kind", req("GET", "/api/tools"), "", answer{200, http.Header{"Content-Type": {"text/html"}}, ""}},
	} {
		if err := c.check(row.r, row.sent, row.a); err == nil {
			t.Errorf("%s: taken", row.why)
		}
	}
}

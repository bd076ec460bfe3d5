package daemon

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host/daemon/models"
	"github.com/weirhost/weir/host/daemon/openapi"
	"github.com/weirhost/weir/host/daemon/plugins"
	"github.com/weirhost/weir/host/daemon/pulse"
	"github.com/weirhost/weir/host/daemon/scripts"
)

var update = flag.Bool("update", false, "write openapi/comments.json again")

// openapi/comments.json holds the comments of types; `go test ./host/daemon -run
// OpenAPIComments -update` writes it. Those of other packages may be older.
func TestOpenAPIComments(t *testing.T) {
	said := map[string]string{}
	own, err := filepath.Glob("*") // the packages below, by their names
	if err != nil {
		t.Fatal(err)
	}
	ours := map[string]bool{"daemon": true}
	for _, dir := range own {
		ours[dir] = true
	}
	for _, dir := range append([]string{".", "..", "../plugin", "../archive", "../../agent", "../../sdk/tool"}, own...) {
		readComments(t, dir, said)
	}
	w := openapi.NewWriter(false)
	w.Document(theRoutes())
	words := map[string]string{}
	used := w.Used()
	for key := range used {
		if said[key] != "" {
			words[key] = said[key]
		}
	}
	if *update {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", " ")
		if err := enc.Encode(words); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile("openapi/comments.json", b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	for key, text := range used {
		if pkg, _, _ := strings.Cut(key, "."); ours[pkg] && words[key] != text {
			t.Errorf("openapi/comments.json says of %s %q, and its comment %q; -update writes it", key, text, words[key])
		}
	}
}

// theRoutes are the routes of a daemon that does nothing.
func theRoutes() []openapi.Route {
	d := &Daemon{chat: &chat{}, plugins: &plugins.Plugins{}, mcp: &mcpClients{}, pulse: &pulse.Pulse{}, models: &models.Models{}, runs: &scripts.Scripts{}}
	return d.routes()
}

// readComments takes the comments of a package's types and their fields.
func readComments(t *testing.T, dir string, said map[string]string) {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range f.Decls {
			g, ok := decl.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range g.Specs {
				s, ok := spec.(*ast.TypeSpec)
				if !ok {
					continue
				}
				at := f.Name.Name + "." + s.Name.Name
				said[at] = sentence(g.Doc, s.Doc)
				if st, ok := s.Type.(*ast.StructType); ok {
					for _, field := range st.Fields.List {
						for _, n := range field.Names {
							said[at+"."+n.Name] = sentence(field.Doc, field.Comment)
						}
					}
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

// A contract holds what is sent and answered to the document, strictly: a member
// that the document does not know is a fault.
type contract struct {
	mux    *http.ServeMux
	routes map[string]openapi.Route
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
		c := &contract{mux: http.NewServeMux(), routes: map[string]openapi.Route{}, schemas: map[string]*jsonschema.Schema{}}
		w := openapi.NewWriter(true)
		raw, err := json.Marshal(w.Document(theRoutes()))
		if err != nil {
			t.Fatal(err)
		}
		if c.doc, err = jsonschema.UnmarshalJSON(bytes.NewReader(raw)); err != nil {
			t.Fatal(err)
		}
		for _, r := range theRoutes() {
			c.routes[r.Pattern()] = r
			c.mux.HandleFunc(r.Pattern(), func(http.ResponseWriter, *http.Request) {})
		}
		theContract.contract = c
	})
	return theContract.contract
}

// valid checks JSON against a schema in the document.
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
	if !ok || row.Method == "" || row.Other {
		return nil // the page, what nothing answers, and what another document describes
	}
	at := "/paths/" + escaped(strings.ReplaceAll(row.Path, "...}", "}")) + "/" + strings.ToLower(row.Method)
	if a.status < 300 && row.Takes != nil && sent != "" && r.Header.Get("Last-Event-ID") == "" {
		if err := c.valid(at+"/requestBody/content/application~1json/schema", sent); err != nil {
			return fmt.Errorf("the body that was taken: %w", err)
		}
	}
	if a.status >= 400 {
		if !slices.Contains(row.Statuses(), a.status) {
			return fmt.Errorf("the status %d is not in the document", a.status)
		}
		return c.valid("/components/schemas/"+row.ProblemType(), a.body)
	}
	kind, _, _ := strings.Cut(a.header.Get("Content-Type"), ";")
	switch {
	case a.status == 204 && row.Gives == nil && row.Kind == "":
		return nil
	case a.status == 304 && a.body == "" && row.Headers["If-None-Match"] != "" && r.Header.Get("If-None-Match") != "":
		return nil
	case a.status != 200:
		return fmt.Errorf("the status %d is not in the document", a.status)
	case kind == "application/json" && row.Gives != nil:
		return c.valid(at+"/responses/200/content/application~1json/schema", a.body)
	case !slices.Contains(strings.Split(row.Kind, ", "), kind):
		return fmt.Errorf("the answer is %s, which is not in the document", kind)
	case kind == kindStream:
		return c.stream(row, a.body)
	}
	return nil
}

func (c *contract) stream(r openapi.Route, body string) error {
	for _, e := range events(body) {
		at := "/x-events/" + escaped(e.name)
		switch {
		case strings.HasPrefix(r.Path, "/v1/") && e.data == "[DONE]":
			continue
		case strings.HasPrefix(r.Path, "/v1/") && strings.HasPrefix(e.data, `{"error"`):
			at = "/components/schemas/OpenAIError"
		case strings.HasPrefix(r.Path, "/v1/"):
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
	s := newServer(t, replay.New())
	if err := json.Unmarshal([]byte(s.get("/openapi.json").body), &doc); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, r := range theRoutes() {
		if r.Method == "" {
			continue
		}
		n++
		if doc.Paths[strings.ReplaceAll(r.Path, "...}", "}")][strings.ToLower(r.Method)] == nil {
			t.Errorf("%s is missing", r.Pattern())
		}
		if r.About == "" {
			t.Errorf("%s does not say what it is for", r.Pattern())
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

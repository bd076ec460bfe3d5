package daemon

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"net/http"
	"strings"

	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/openapi"
)

// page has the files of the page, and answers what no other route answers.
type page struct {
	files fs.FS  // nil: no page
	tag   string // of all files, so that a browser keeps them until one changes
}

// newPage returns the page that consists of files.
func newPage(files fs.FS) page {
	if files == nil {
		return page{}
	}
	sum := sha256.New()
	err := fs.WalkDir(files, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := fs.ReadFile(files, name)
		fmt.Fprintln(sum, name, len(data))
		sum.Write(data)
		return err
	})
	if err != nil { // serve reports it; without a tag a browser loads the files each time
		return page{files: files}
	}
	return page{files: files, tag: fmt.Sprintf(`"%x"`, sum.Sum(nil)[:12])}
}

func (p page) route() openapi.Route {
	return openapi.Route{
		Path: "/",
		Auth: openapi.Public, Handle: p.rest,
		About: "The page",
		Kind:  "text/html",
		Fails: []int{404},
	}
}

// rest answers what no route answers: the page's files, and for all else a
// problem that a program can read.
func (p page) rest(w http.ResponseWriter, r *http.Request) error {
	forPrograms := strings.HasPrefix(r.URL.Path, "/api/") || strings.HasPrefix(r.URL.Path, "/chat/") || r.URL.Path == "/models" || r.URL.Path == "/v1" ||
		strings.HasPrefix(r.URL.Path, "/v1/") || r.URL.Path == "/mcp"
	if p.files == nil || forPrograms || r.Method != http.MethodGet && r.Method != http.MethodHead {
		return api.Problemf(http.StatusNotFound, "no_route", routeHint(r.URL.Path), "nothing answers %s %s", api.Clip(r.Method, 20), api.Clip(r.URL.Path, 80))
	}
	return p.serve(w, r)
}

// routeHint says where to go instead. Packages for OpenAI's API ask for its other
// routes where they are not told otherwise.
func routeHint(path string) string {
	switch strings.TrimSuffix(path, "/") {
	case "/v1/responses", "/v1/completions":
		return "weir speaks chat completions: in the npm packages client.chat.completions of openai, openai.chat(…) of @ai-sdk/openai, or @ai-sdk/openai-compatible; after setOpenAIAPI(\"chat_completions\") @openai/agents"
	case "/v1/embeddings":
		return "ask the model's own server: weir has no embeddings for others"
	case "/v1", "/chat/completions", "/models":
		return "the base URL of OpenAI's protocol ends with /v1, and what is asked is /v1/chat/completions"
	}
	return "/openapi.json lists the routes, each with its method"
}

// serve serves the static files. The policy forbids everything that the page
// does not need, so that text in a result cannot load or run anything.
func (p page) serve(w http.ResponseWriter, r *http.Request) error {
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "+
		"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'")
	h.Set("Cache-Control", "no-cache") // the browser asks whether its copy is still true
	if p.tag != "" {
		h.Set("ETag", p.tag)
	}
	http.FileServerFS(p.files).ServeHTTP(w, r)
	return nil
}

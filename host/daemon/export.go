package daemon

import (
	"bufio"
	"cmp"
	"mime"
	"net/http"
	"strings"
	"time"
	"unicode"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/access"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/export"
	"github.com/weirhost/weir/host/daemon/openapi"
	"github.com/weirhost/weir/host/daemon/params"
	"github.com/weirhost/weir/host/daemon/store"
)

// exports has the route of a conversation's export.
type exports struct {
	store *store.Store
	log   hclog.Logger
}

func (e *exports) routes() []openapi.Route {
	return []openapi.Route{
		{
			Method: "GET", Path: "/api/conversations/{id}/export",
			Auth: openapi.Token, Handle: e.exportConversation,
			About: "Everything of a conversation, as JSON lines, as one JSON document, or as Markdown for people",
			Query: []openapi.Param{
				params.Query("format", "string", "jsonl, json or markdown; left out: jsonl"),
				params.Query("archives", "boolean", "whether to include the archived texts; left out: only in jsonl, which always has them"),
				params.Query("locale", "string", "the language of Markdown's headings, en or zh; left out: en"),
			},
			Kind:  kindLines + ", " + kindJSON + ", " + kindMarkdown,
			Fails: []int{400, 404},
		},
	}
}

// The forms of an export.
const (
	formLines    = "jsonl"
	formJSON     = "json"
	formMarkdown = "markdown"
)

// exportConversation writes everything of one conversation, a piece at a time.
func (e *exports) exportConversation(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	form := cmp.Or(q.Get("format"), formLines)
	whole, err := params.Bool(r, "archives", form == formLines)
	if err != nil {
		return err
	}
	out, ok := map[string]*exportWriter{
		formLines: {kind: kindLines, file: ".jsonl"}, formJSON: {kind: kindJSON, file: ".json"}, formMarkdown: {kind: kindMarkdown, file: ".md"},
	}[form]
	switch {
	case !ok:
		return api.Problemf(http.StatusBadRequest, "bad_query", "use jsonl, json or markdown", "there is no format %q", api.Clip(form, 40))
	case form == formLines && !whole:
		return api.Problemf(http.StatusBadRequest, "bad_query", "use format=json for an export without the texts", "an export as JSON lines has the archives whole")
	}
	locale, err := params.Locale(r)
	if err != nil {
		return err
	}
	scope := archive.Scope{Principal: access.Principal(r), Conversation: r.PathValue("id")}
	c, err := e.store.Conversation(r.Context(), scope)
	if err != nil {
		return err
	}
	out.w, out.file = w, exportName(c)+out.file
	buffered := bufio.NewWriterSize(out, 32<<10)
	switch form {
	case formLines:
		err = e.store.Export(r.Context(), scope, buffered)
	case formJSON:
		err = e.store.ExportDocument(r.Context(), scope, buffered, whole)
	default:
		err = export.Markdown(r.Context(), e.store, scope, buffered, whole, locale)
	}
	if err == nil {
		err = buffered.Flush()
	}
	if err != nil && out.begun {
		e.log.Error("an export broke off", "conversation", scope.Conversation, "error", err)
		panic(http.ErrAbortHandler) // the only way to report an error after status 200
	}
	return err
}

// exportName names the file of a conversation: its title as far as it can be a part of a
// file's name, and the day on which it began.
func exportName(c store.Conversation) string {
	words := strings.FieldsFunc(c.Title, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	title := []rune(strings.Join(words, "-"))
	return strings.TrimLeft(string(title[:min(len(title), 60)])+"-"+c.Created.Format(time.DateOnly), "-")
}

// exportWriter answers 200 with the first bytes, so that what fails before them
// is an answer of its own.
type exportWriter struct {
	w          http.ResponseWriter
	kind, file string
	begun      bool
}

func (e *exportWriter) Write(p []byte) (int, error) {
	if !e.begun {
		e.begun = true
		h := e.w.Header()
		h.Set("Content-Type", e.kind+"; charset=utf-8")
		h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": e.file}))
		e.w.WriteHeader(http.StatusOK)
	}
	return e.w.Write(p)
}

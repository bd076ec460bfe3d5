package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/sdk/tool"
)

// A Problem is what a route answers when it cannot do what was asked: a code
// for programs, a sentence and a hint for people.
type Problem struct {
	Status int    `json:"-"`
	Code   string `json:"code"`
	Msg    string `json:"message"`
	Hint   string `json:"hint,omitempty"`
	// Param is the parameter of a request to /v1 that is wrong; empty: none is.
	Param string `json:"-"`
	// RetryAfter is how long to wait before asking again; 0: nobody knows.
	RetryAfter time.Duration `json:"-"`
	// Quota is the bound that is used up; left out: none is.
	Quota *QuotaState `json:"quota,omitempty"`
}

func (p *Problem) Error() string {
	if p.Hint == "" {
		return p.Msg
	}
	return p.Msg + "; " + p.Hint
}

func problem(status int, code, hint, format string, args ...any) *Problem {
	return &Problem{Status: status, Code: code, Msg: fmt.Sprintf(format, args...), Hint: hint}
}

// asProblem gives every error a status and a code. What it does not know is
// told as internal, without the error's own text: that goes to the log.
func asProblem(err error) *Problem {
	var p *Problem
	var te *tool.Error
	var me *agent.ModelError
	switch {
	case errors.As(err, &p):
		return p
	case pluginProblem(err) != nil:
		return pluginProblem(err)
	case errors.As(err, &me):
		return &Problem{Status: modelStatus(me.Code), Code: "model_" + string(me.Code), Msg: me.Msg, Hint: me.Hint, RetryAfter: me.RetryAfter}
	case errors.As(err, &te):
		return &Problem{Status: toolStatus(te.Code), Code: string(te.Code), Msg: te.Msg, Hint: te.Hint}
	case errors.Is(err, archive.ErrNotFound):
		return problem(http.StatusNotFound, "not_found", "list the archives with `weir archive list`, the conversations with `weir conversation list`", "there is nothing with that id here")
	case errors.Is(err, archive.ErrExpired):
		return problem(http.StatusGone, "expired", "call the tool again", "the archive was pruned; its text is gone")
	case errors.Is(err, archive.ErrFull):
		return problem(http.StatusInsufficientStorage, "storage", "free some space or check the data folder's permissions", "the data folder cannot be written")
	case errors.Is(err, context.Canceled):
		return problem(499, "cancelled", "", "the request was cancelled")
	}
	return problem(http.StatusInternalServerError, "internal", "the daemon's log has the details", "something went wrong inside weir")
}

// modelStatus says whose fault a model's failure is: of the request, of too many
// requests, or of what stands behind weir.
func modelStatus(c agent.ModelCode) int {
	switch c {
	case agent.ModelBadRequest, agent.ModelWindow:
		return http.StatusBadRequest
	case agent.ModelRateLimited:
		return http.StatusTooManyRequests
	case agent.ModelOverloaded:
		return http.StatusServiceUnavailable
	}
	return http.StatusBadGateway
}

func toolStatus(c tool.Code) int {
	switch c {
	case tool.UnknownTool, tool.Expired:
		return http.StatusNotFound
	case tool.BadArgs:
		return http.StatusBadRequest
	case tool.Denied:
		return http.StatusForbidden
	case tool.RateLimited:
		return http.StatusTooManyRequests
	}
	return http.StatusUnprocessableEntity
}

// inWords says a problem in Chinese to a client that wants that most: the page
// does, for who reads it so.
func (d *Daemon) inWords(r *http.Request, p *Problem) *Problem {
	return d.wordsFor(r)(p)
}

// wordsFor is inWords for problems that come up when the request may be over.
func (d *Daemon) wordsFor(r *http.Request) func(*Problem) *Problem {
	if !strings.HasPrefix(strings.TrimSpace(r.Header.Get("Accept-Language")), "zh") {
		return func(p *Problem) *Problem { return p }
	}
	return d.chineseProblem
}

func (d *Daemon) chineseProblem(p *Problem) *Problem {
	book, err := d.chinese()
	if err != nil {
		d.log.Error("the Chinese texts cannot be read", "error", err)
		return p
	}
	out := *p
	out.Msg, out.Hint = book.Text(p.Msg), book.Text(p.Hint)
	return &out
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // the client is gone if this fails; there is nobody to tell
}

// An ErrorBody is what every answer without success holds, but for those of /v1.
type ErrorBody struct {
	Error *Problem `json:"error"`
}

// writeProblem answers a request with a problem, in the words of its protocol.
func writeProblem(w http.ResponseWriter, r *http.Request, p *Problem) {
	if p.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(p.RetryAfter.Seconds()))))
	}
	if !inOpenAI(r) {
		writeJSON(w, p.Status, ErrorBody{p})
		return
	}
	if inVain(p) {
		w.Header().Set("X-Should-Retry", "false")
	}
	writeJSON(w, p.Status, inOpenAIsShape(p))
}

// readJSON decodes a body of at most 8 MiB, strictly.
func readJSON(w http.ResponseWriter, r *http.Request, into any) error {
	return readJSONUpTo(w, r, into, 8<<20)
}

func readJSONUpTo(w http.ResponseWriter, r *http.Request, into any, limit int64) error {
	if err := sentAsJSON(r); err != nil {
		return err
	}
	dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, limit))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return bodyProblem(err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return problem(http.StatusBadRequest, codeBadBody, "send one JSON object", "the body has something behind its JSON object")
	}
	return nil
}

// codeBadBody is the problem of a body that cannot be read or meant.
const codeBadBody = "bad_body"

// sentAsJSON refuses a body of another type, or of none: those a page of another
// site can send without being asked whether it may.
func sentAsJSON(r *http.Request) error {
	if r.ContentLength == 0 {
		return nil
	}
	sent := r.Header.Get("Content-Type")
	if kind, _, _ := mime.ParseMediaType(sent); kind == "application/json" {
		return nil
	}
	if sent == "" {
		return problem(http.StatusUnsupportedMediaType, "content_type", "send the header Content-Type: application/json", "the body does not say what it is")
	}
	return problem(http.StatusUnsupportedMediaType, "content_type", "send the header Content-Type: application/json", "the body is sent as %q, and only JSON is read", clip(sent, 80))
}

func bodyProblem(err error) *Problem {
	var syntax *json.SyntaxError
	var wrong *json.UnmarshalTypeError
	var big *http.MaxBytesError
	var p *Problem
	hint := "send one JSON object with the fields that /openapi.json lists"
	switch {
	case errors.As(err, &p): // of a member that reads itself
		return p
	case errors.As(err, &big):
		return problem(http.StatusRequestEntityTooLarge, "too_large", "", "the body is longer than %d bytes", big.Limit)
	case errors.As(err, &syntax):
		return problem(http.StatusBadRequest, codeBadBody, hint, "the body is not JSON: it breaks at byte %d", syntax.Offset)
	case errors.As(err, &wrong) && wrong.Field == "":
		return problem(http.StatusBadRequest, codeBadBody, hint, "the body is no JSON object but JSON of the kind %s", wrong.Value)
	case errors.As(err, &wrong):
		p := problem(http.StatusBadRequest, codeBadBody, hint, "%q has the wrong type, %s", wrong.Field, wrong.Value)
		p.Param = wrong.Field
		return p
	}
	if field, ok := unknownField(err); ok {
		return problem(http.StatusBadRequest, codeBadBody, hint, "the body has an unknown field %s", field)
	}
	return problem(http.StatusBadRequest, codeBadBody, hint, "the body is empty or cut off")
}

// unknownField reads the field's name out of encoding/json's error, which has
// no type for it.
func unknownField(err error) (string, bool) {
	const prefix = "json: unknown field "
	s := err.Error()
	if len(s) > len(prefix) && s[:len(prefix)] == prefix {
		return s[len(prefix):], true
	}
	return "", false
}

package daemon

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/sdk/tool"
)

// asProblem returns the problem of an error, also of one about a plugin.
func asProblem(err error) *api.Problem {
	if p := pluginProblem(err); p != nil {
		return p
	}
	return api.AsProblem(err)
}

// localeOf returns the language in which a request wants its errors.
func localeOf(r *http.Request) tool.Locale {
	if strings.HasPrefix(strings.TrimSpace(r.Header.Get("Accept-Language")), "zh") {
		return tool.Zh
	}
	return tool.En
}

// render returns a problem in the language l.
func (d *Daemon) render(l tool.Locale, p *api.Problem) *api.Problem {
	if l != tool.Zh {
		return p
	}
	out := *p.In(l)
	book, err := d.chinese()
	if err != nil {
		d.log.Error("the Chinese texts cannot be read", "error", err)
		return p
	}
	// Texts that other packages render in English before they return them.
	out.Msg.Format, out.Hint.Format = book.Text(out.Msg.Format), book.Text(out.Hint.Format)
	return &out
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // the client is gone if this fails; there is nobody to tell
}

// writeProblem answers a request with a problem, in the words of its protocol.
func (d *Daemon) writeProblem(w http.ResponseWriter, r *http.Request, p *api.Problem) {
	p = d.render(localeOf(r), p)
	if p.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(p.RetryAfter.Seconds()))))
	}
	if !inOpenAI(r) {
		writeJSON(w, p.Status, api.ErrorBody{Error: p})
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
		return api.Problemf(http.StatusBadRequest, api.CodeBadBody, "send one JSON object", "the body has something behind its JSON object")
	}
	return nil
}

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
		return api.Problemf(http.StatusUnsupportedMediaType, "content_type", "send the header Content-Type: application/json", "the body does not say what it is")
	}
	return api.Problemf(http.StatusUnsupportedMediaType, "content_type", "send the header Content-Type: application/json", "the body is sent as %q, and only JSON is read", api.Clip(sent, 80))
}

func bodyProblem(err error) *api.Problem {
	var syntax *json.SyntaxError
	var wrong *json.UnmarshalTypeError
	var big *http.MaxBytesError
	var p *api.Problem
	hint := "send one JSON object with the fields that /openapi.json lists"
	switch {
	case errors.As(err, &p): // of a member that reads itself
		return p
	case errors.As(err, &big):
		return api.Problemf(http.StatusRequestEntityTooLarge, "too_large", "", "the body is longer than %d bytes", big.Limit)
	case errors.As(err, &syntax):
		return api.Problemf(http.StatusBadRequest, api.CodeBadBody, hint, "the body is not JSON: it breaks at byte %d", syntax.Offset)
	case errors.As(err, &wrong) && wrong.Field == "":
		return api.Problemf(http.StatusBadRequest, api.CodeBadBody, hint, "the body is no JSON object but JSON of the kind %s", wrong.Value)
	case errors.As(err, &wrong):
		p := api.Problemf(http.StatusBadRequest, api.CodeBadBody, hint, "%q has the wrong type, %s", wrong.Field, wrong.Value)
		p.Param = wrong.Field
		return p
	}
	if field, ok := unknownField(err); ok {
		return api.Problemf(http.StatusBadRequest, api.CodeBadBody, hint, "the body has an unknown field %s", field)
	}
	return api.Problemf(http.StatusBadRequest, api.CodeBadBody, hint, "the body is empty or cut off")
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

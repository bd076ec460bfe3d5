// Package httpjson reads and writes JSON bodies for the handlers of the daemon. A body
// that is not acceptable becomes an *api.Problem which says what is wrong with it.
package httpjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/internal/jsonscan"
	"github.com/weirhost/weir/sdk/tool"
)

// MaxBody is the size limit of a request's body, in bytes, unless a route has its own.
const MaxBody = 8 << 20

// Read decodes one JSON object of at most MaxBody bytes and rejects unknown fields.
func Read(w http.ResponseWriter, r *http.Request, into any) error {
	return ReadUpTo(w, r, into, MaxBody)
}

// ReadUpTo is Read with another limit, in bytes.
func ReadUpTo(w http.ResponseWriter, r *http.Request, into any, limit int64) error {
	if err := checkType(r); err != nil {
		return err
	}
	dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, limit))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return Problem(err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return api.Problemf(http.StatusBadRequest, api.CodeBadBody, "send one JSON object", "the body continues after its JSON object")
	}
	return nil
}

// maxValues bounds the values of a body that ReadLoose reads, at all levels: of 2.3 million
// empty objects, 7 MB of text, Go values took 939 MB.
const maxValues = 200_000

// ReadLoose decodes one JSON object of at most MaxBody bytes and maxValues values, and
// ignores unknown fields.
func ReadLoose(w http.ResponseWriter, r *http.Request, into any) error {
	body, err := ReadWhole(w, r, MaxBody)
	if err != nil {
		return err
	}
	return DecodeLoose(body, into)
}

// ReadWhole returns a body of JSON of at most limit bytes and maxValues values. It does not
// check whether it is valid.
func ReadWhole(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if err := checkType(r); err != nil {
		return nil, err
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err != nil {
		return nil, Problem(err)
	}
	if n := jsonscan.Count(body).Values; n > maxValues {
		return nil, api.Problemf(http.StatusRequestEntityTooLarge, "too_large", "send fewer messages or shorter schemas", "the body has %d JSON values, and at most %d are accepted", n, maxValues)
	}
	return body, nil
}

// DecodeLoose decodes the JSON object that a body begins with, and ignores unknown fields.
func DecodeLoose(body []byte, into any) error {
	if err := json.NewDecoder(bytes.NewReader(body)).Decode(into); err != nil {
		return Problem(err)
	}
	return nil
}

// Answer writes v as JSON with status 200 and returns nil, as the end of a handler.
func Answer(w http.ResponseWriter, v any) error {
	Write(w, http.StatusOK, v)
	return nil
}

// AnswerOr returns err, or else is Answer.
func AnswerOr(w http.ResponseWriter, v any, err error) error {
	if err != nil {
		return err
	}
	return Answer(w, v)
}

// Write answers with a status and v as JSON. It ignores a client that has disconnected.
func Write(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // the client has disconnected if this fails
}

// WriteRaw answers 200 with a JSON text as it is. It ignores a client that has disconnected.
func WriteRaw(w http.ResponseWriter, text json.RawMessage) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_, _ = w.Write(text)
}

// checkType rejects a body of another type, or without one: a page of another site can
// send those without the browser's permission check.
func checkType(r *http.Request) error {
	if r.ContentLength == 0 {
		return nil
	}
	sent := r.Header.Get("Content-Type")
	if kind, _, _ := mime.ParseMediaType(sent); kind == "application/json" {
		return nil
	}
	const status, code, hint = http.StatusUnsupportedMediaType, "content_type", "send the header Content-Type: application/json"
	if sent == "" {
		return api.Problemf(status, code, hint, "the body has no Content-Type")
	}
	return api.Problemf(status, code, hint, "the body has the type %q, and only JSON is accepted", api.Clip(sent, 80))
}

// Problem returns what is wrong with a body, of an error of encoding/json or net/http.
func Problem(err error) *api.Problem {
	const hint = "send one JSON object with the fields that /openapi.json lists"
	if p, ok := errors.AsType[*api.Problem](err); ok { // of a type that decodes itself
		return p
	}
	if big, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return api.Problemf(http.StatusRequestEntityTooLarge, "too_large", "", "the body is longer than %d bytes", big.Limit)
	}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return api.Problemf(http.StatusBadRequest, api.CodeBadBody, hint, "the body is not JSON: syntax error at byte %d", syntax.Offset)
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if wrong.Field == "" {
			return api.Problemf(http.StatusBadRequest, api.CodeBadBody, hint, "the body is not a JSON object but a JSON value of the kind %s", wrong.Value)
		}
		p := api.Problemf(http.StatusBadRequest, api.CodeBadBody, hint, "%q has the wrong type, %s", wrong.Field, wrong.Value)
		p.Param = wrong.Field
		return p
	}
	if field, ok := unknownField(err); ok {
		if right := otherName(strings.Trim(field, `"`)); !right.IsZero() {
			p := api.Problemf(http.StatusBadRequest, api.CodeBadBody, "", "the body has an unknown field %s", field)
			p.Hint = right
			return p
		}
		return api.Problemf(http.StatusBadRequest, api.CodeBadBody, hint, "the body has an unknown field %s", field)
	}
	return api.Problemf(http.StatusBadRequest, api.CodeBadBody, hint, "the body is empty or incomplete")
}

// otherName returns what to send in place of a field that other APIs have; zero: it is
// not one of them.
func otherName(field string) tool.Text {
	switch field {
	case "modelType", "model_type", "model_name":
		return tool.Textf(`send "model" with the name of a configured model; GET /api/models lists them`)
	case "userId", "user_id", "user":
		return tool.Textf("leave it out: the token of the request says who asks; `weir user add NAME` makes a token for each user")
	case "conversationId", "sessionId", "session_id":
		return tool.Textf(`send "conversation_id"`)
	case "threadId":
		return tool.Textf(`send "thread_id"`)
	case "agent", "agentId", "agent_id":
		return tool.Textf(`send "profile"; GET /api/profiles lists them`)
	}
	return tool.Text{}
}

// unknownField returns the field's name from an error of encoding/json, which has no
// type for it.
func unknownField(err error) (string, bool) {
	return strings.CutPrefix(err.Error(), "json: unknown field ")
}

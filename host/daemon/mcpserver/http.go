package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/weirhost/weir/host/daemon/params"
	"github.com/weirhost/weir/host/internal/jsonscan"
)

// The headers of the protocol.
const (
	sessionHeader = "Mcp-Session-Id"
	versionHeader = "Mcp-Protocol-Version"
	methodHeader  = "Mcp-Method"
	nameHeader    = "Mcp-Name"
)

// ServeHTTP answers a request of a principal. The caller has checked whose it
// is, and Host and Origin.
func (s *Server) ServeHTTP(principal string, w http.ResponseWriter, r *http.Request) {
	u, err := s.user(principal)
	if err != nil {
		refuse(w, http.StatusServiceUnavailable, jsonrpc.CodeInvalidRequest, err.Error())
		return
	}
	if name, values := addressed(r); name != "" {
		refuse(w, http.StatusBadRequest, jsonrpc.CodeInvalidRequest, fmt.Sprintf(textsIn(u.locale()).address, name, strings.Join(values, ", ")))
		return
	}
	if r.Header.Get(versionHeader) >= stateless {
		u.serveStateless(w, r)
		return
	}
	u.serveSession(w, r)
}

// serveSession answers a request of the revisions with sessions.
func (u *user) serveSession(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get(sessionHeader)
	if id == "" {
		if r.Method != http.MethodPost { // a client that looks for a stream takes this for "there is none"
			w.Header().Set("Allow", http.MethodPost)
			refuse(w, http.StatusMethodNotAllowed, jsonrpc.CodeInvalidRequest, "there is no session: begin with a POST of initialize")
			return
		}
		made, ok := u.s.room(u)
		if !ok {
			w.Header().Set("Retry-After", strconv.Itoa(int(inUse.Seconds())))
			refuse(w, http.StatusTooManyRequests, jsonrpc.CodeInvalidRequest, textsIn(u.locale()).full)
			return
		}
		defer made()
		if body, _, ok := receive(w, r); ok {
			u.stateful.ServeHTTP(w, again(r, body))
		}
		return
	}
	x, done := u.s.find(u, id)
	if x == nil {
		refuse(w, http.StatusNotFound, jsonrpc.CodeInvalidRequest, "session not found")
		return
	}
	defer done()
	v := r.Header.Get(versionHeader)
	known := v == "" || knows(v)
	if r.Method == http.MethodDelete && known {
		x.cancel() // the SDK waits for its calls
	}
	if r.Method != http.MethodPost || !known {
		u.stateful.ServeHTTP(w, r)
		return
	}
	body, m, ok := receive(w, r)
	if !ok {
		return
	}
	m.client = u.s.client(r.Header, x.infoOf())
	switch {
	case m.kind == call && wellSent(r) && m.version == "" && x.takes(m):
		var c running
		x.begin(&c, m.id)
		defer c.end()
		u.serveCall(c.ctx, w, m)
	case m.kind == cancel && wellSent(r) && x.stop(m.id):
		w.WriteHeader(http.StatusAccepted)
	default:
		u.stateful.ServeHTTP(w, again(r, body))
	}
}

// serveStateless answers a request of the revisions without sessions, in which
// a request that breaks off ends what it asked for.
func (u *user) serveStateless(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		u.stateless.ServeHTTP(w, r)
		return
	}
	body, m, ok := receive(w, r)
	if !ok {
		return
	}
	ctx, end := context.WithCancel(r.Context())
	defer end()
	defer context.AfterFunc(u.s.ctx, end)()
	h := r.Header
	m.client = u.s.client(h, m.info)
	if wellSent(r) && m.kind == call && m.version == stateless && h.Get(versionHeader) == stateless &&
		h.Get(methodHeader) == "tools/call" && h.Get(nameHeader) == m.name && u.plain(m) && !(m.elicits && u.tools().MayAsk(m.name)) {
		u.serveCall(ctx, w, m)
		return
	}
	u.stateless.ServeHTTP(w, again(r.WithContext(ctx), body))
}

// serveCall answers a plain call with JSON.
func (u *user) serveCall(ctx context.Context, w http.ResponseWriter, m message) {
	out := u.serve(ctx, m)
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(out) // the client is gone if this fails
}

// serve makes a plain call and writes its answer.
func (u *user) serve(ctx context.Context, m message) []byte {
	r, err := u.run(ctx, u.tools(), m.client, m.name, m.args, m.trace, nil)
	if err != nil {
		return failure(m.id, jsonrpc.CodeInternalError, textsIn(u.locale()).broken)
	}
	return u.reply(m, r)
}

// receive reads a request's body, and the message in it; false: it was refused. What is no
// message is refused in the language that the request asks for.
func receive(w http.ResponseWriter, r *http.Request) (body []byte, m message, ok bool) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxMessage))
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		refuse(w, http.StatusRequestEntityTooLarge, jsonrpc.CodeInvalidRequest, "the message is too long")
	case err != nil:
		refuse(w, http.StatusBadRequest, jsonrpc.CodeInvalidRequest, "the message broke off")
	case tooMany(body):
		refuse(w, http.StatusRequestEntityTooLarge, jsonrpc.CodeInvalidRequest, fmt.Sprintf("the batch has more than %d messages", MaxBatch))
	case tooHeavy(body):
		refuse(w, http.StatusRequestEntityTooLarge, jsonrpc.CodeInvalidRequest, fmt.Sprintf("the message has more than %d values", maxValues))
	default:
		switch m = recognise(body); {
		case m.kind == broken:
			refuse(w, http.StatusBadRequest, jsonrpc.CodeParseError, textsIn(params.Language(r)).garbled)
		case m.kind == other && !sound(body):
			refuse(w, http.StatusBadRequest, jsonrpc.CodeInvalidRequest, textsIn(params.Language(r)).garbled)
		default:
			m.tracedBy(r.Header)
			return body, m, true
		}
	}
	return nil, m, false
}

// tooHeavy reports whether a text has more than maxValues values, those of arguments of
// calls not counted.
func tooHeavy(text []byte) bool {
	if len(text) < 2*maxValues { // a value has two bytes at least
		return false
	}
	n := jsonscan.Count(text).Values
	if n <= maxValues {
		return false
	}
	messages := []json.RawMessage{text}
	if bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("[")) && json.Unmarshal(text, &messages) != nil {
		return true
	}
	for _, m := range messages {
		var call struct {
			Params struct {
				Arguments json.RawMessage `json:"arguments"`
			} `json:"params"`
		}
		if json.Unmarshal(m, &call) == nil {
			n -= jsonscan.Count(call.Params.Arguments).Values
		}
	}
	return n > maxValues
}

// sound reports whether the SDK reads JSON as a message or a batch of some.
func sound(text []byte) bool {
	all := []string{string(bytes.TrimSpace(text))}
	if all[0][0] == '[' {
		all = slices.Collect(jsonscan.Items(all[0]))
	}
	return len(all) > 0 && !slices.ContainsFunc(all, func(m string) bool { _, err := jsonrpc.DecodeMessage([]byte(m)); return err != nil })
}

// tooMany reports whether a text is a batch of too many messages.
func tooMany(text []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("[")) && jsonscan.Count(text).Items > MaxBatch
}

// again gives a request its body back.
func again(r *http.Request, body []byte) *http.Request {
	r.Body = io.NopCloser(bytes.NewReader(body))
	return r
}

// wellSent reports whether the headers are as the protocol wants them: JSON, to
// be answered with JSON or a stream.
func wellSent(r *http.Request) bool {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	accept := strings.Join(r.Header.Values("Accept"), ",")
	return err == nil && kind == "application/json" && len(r.Header.Values("Last-Event-Id")) == 0 &&
		strings.Contains(accept, "application/json") && strings.Contains(accept, "text/event-stream")
}

// refuse answers a request that gets no further.
func refuse(w http.ResponseWriter, status int, code int64, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(failure("null", code, text)) // the client is gone if this fails
}

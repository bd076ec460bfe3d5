package wire

import (
	"cmp"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/sdk/tool"
)

// MaxErrorBody is how much of an error's body is read, in bytes.
const MaxErrorBody = 64 << 10

// maxSaid bounds the provider's own sentence in an error, in characters.
const maxSaid = 300

// errFinal marks failures that a retry cannot fix, although their code allows one.
var errFinal = errors.New("asking again would not help")

// Said is the provider's description of a failure.
type Said struct {
	Text, Code, Type string
	// Status is an HTTP status inside the body; 0: none.
	Status int
}

// ReadSaid returns the provider's description in the body of an error. It knows the
// forms of OpenAI, Google, Ollama, FastAPI and plain text; HTML has none.
func ReadSaid(body []byte) Said {
	var top map[string]json.RawMessage
	var list []json.RawMessage // Google's compatible API puts its errors into one
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	if json.Unmarshal(body, &top) != nil {
		s := strings.TrimSpace(string(body))
		if strings.HasPrefix(s, "<") {
			return Said{}
		}
		return Said{Text: oneLine(s)}
	}
	inner := top
	if e := object(top["error"]); e != nil {
		inner = e
	}
	said := Said{Code: word(inner["code"]), Type: word(inner["type"])}
	for _, v := range []json.RawMessage{inner["message"], top["error"], top["message"], top["detail"], top["msg"]} {
		if said.Text = oneLine(word(v)); said.Text != "" {
			break
		}
	}
	if n, err := strconv.Atoi(said.Code); err == nil && n >= 400 && n < 600 {
		said.Status, said.Code = n, ""
	}
	return said
}

func object(raw json.RawMessage) map[string]json.RawMessage {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil {
		return nil
	}
	return m
}

// word reads a string or a number; a list or an object gives its JSON.
func word(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	if t := strings.TrimSpace(string(raw)); t != "null" && t != "{}" {
		return t
	}
	return ""
}

func oneLine(s string) string {
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
	if r := []rune(s); len(r) > maxSaid {
		s = string(r[:maxSaid]) + "…"
	}
	return s
}

// Status returns the error of an HTTP answer that is not 200. header may be nil.
func (p Peer) Status(status int, header http.Header, body []byte) *agent.ModelError {
	e := p.FromSaid(status, ReadSaid(body))
	e.Status = status
	e.RetryAfter = retryAfter(header, time.Now())
	return e
}

// FromSaid returns the error of a failure that the provider described. status 0: there
// is none, as for an error inside a stream.
func (p Peer) FromSaid(status int, s Said) *agent.ModelError {
	status = cmp.Or(status, s.Status)
	e := p.classify(status, s)
	if s.Text != "" {
		e.MsgText = tool.Textf("%s: %s", e.MsgText, p.scrub(s.Text))
		e.Msg = e.MsgText.String()
	}
	return e
}

func (p Peer) classify(status int, s Said) *agent.ModelError {
	all := strings.ToLower(s.Code + " " + s.Type + " " + s.Text)
	switch {
	case status != http.StatusUnauthorized && hasAny(all, windowWords):
		return p.Error(agent.ModelWindow, tool.Textf("the prompt is longer than the model's window"),
			p.windowHint(tool.Textf("set window in [models.%s] to the server's real limit, or lower max_tool_result_length or memory_limit in [agent]", p.Name)))
	case status == http.StatusBadRequest && strings.Contains(all, "http request to an https server"):
		return p.Error(agent.ModelUnreachable, tool.Textf("%s wants a secure connection", p.Where()),
			tool.Textf("write https:// in base_url of [models.%s]", p.Name))
	case strings.Contains(all, "parsing tool call"): // Ollama, as a 500 or in the stream
		return p.Error(agent.ModelGarbage, tool.Textf("the server could not read the model's tool call"), p.noToolsHint())
	case status == http.StatusPaymentRequired || hasAny(all, quotaWords):
		return p.final(agent.ModelRateLimited, tool.Textf("the provider account has no balance or quota left"),
			tool.Textf("top up the account or choose another model"))
	case status == http.StatusUnauthorized || status == http.StatusForbidden || hasAny(all, authWords):
		return p.auth(status)
	case hasAny(all, closedWords):
		return p.Error(agent.ModelNotFound, tool.Textf("the model %q is not opened for this account", p.Model), p.openHint())
	case status == http.StatusNotFound || status == http.StatusBadRequest || status == 0:
		return p.missing(status, s, all)
	case status == http.StatusMethodNotAllowed || status < 400:
		return p.Error(agent.ModelNotFound, tool.Textf("nothing here takes questions (HTTP %d)", status), p.urlHint())
	case status == http.StatusTooManyRequests:
		return p.Error(agent.ModelRateLimited, tool.Textf("the provider limits the rate of requests (429)"),
			tool.Textf("wait, or raise the rate limit of the account"))
	case status == http.StatusRequestEntityTooLarge:
		return p.Error(agent.ModelWindow, tool.Textf("the request is too large for the server (413)"),
			p.windowHint(tool.Textf("lower window in [models.%s]", p.Name)))
	case status == http.StatusNotImplemented:
		return p.final(agent.ModelOverloaded, tool.Textf("the server cannot do this (501)"), p.urlHint())
	case hasAny(all, []string{"tools param requires --jinja", "unsupported param: tools"}): // llama.cpp, as a 500
		return p.refused(status, all)
	case status == http.StatusRequestTimeout || status >= 500:
		return p.Error(agent.ModelOverloaded, tool.Textf("the server failed (HTTP %d)", status),
			tool.Textf("try again later; for a server of your own, read its log"))
	}
	return p.refused(status, all)
}

// windowHint returns what makes a prompt fit; own is for the requests of weir's loop.
func (p Peer) windowHint(own tool.Text) tool.Text {
	if p.passing {
		return tool.Textf("shorten the conversation, or begin a new one")
	}
	return own
}

// missing returns the error of a 404, and of 400 and in-stream errors that may mean the
// same.
func (p Peer) missing(status int, s Said, all string) *agent.ModelError {
	noModel := hasAny(all, missingWords)
	switch {
	case noModel || status == http.StatusNotFound && s.Text != "" && strings.Contains(all, "model"):
		return p.Error(agent.ModelNotFound, tool.Textf("the server does not know the model %q", p.Model), p.nameHint())
	case status == http.StatusNotFound:
		return p.Error(agent.ModelNotFound, tool.Textf("the address does not exist (404)"), p.urlHint())
	case status == 0 && hasAny(all, rateWords):
		return p.Error(agent.ModelRateLimited, tool.Textf("the provider limits the rate of requests"), tool.Text{})
	case status == 0:
		return p.Error(agent.ModelOverloaded, tool.Textf("the provider reported an error while it answered"), tool.Text{})
	}
	return p.refused(status, all)
}

func (p Peer) auth(status int) *agent.ModelError {
	if !p.HasKey {
		e := p.Error(agent.ModelAuth, tool.Textf("the server wants a key and none is set"), p.keyHint())
		e.KeyEnv = p.KeyEnv
		return e
	}
	if status == http.StatusForbidden {
		return p.Error(agent.ModelAuth, tool.Textf("the key may not use this model (403)"),
			tool.Textf("check the rights of the key and of the account, or %s", p.keyHint()))
	}
	return p.Error(agent.ModelAuth, tool.Textf("the key was refused"), p.keyHint())
}

func (p Peer) refused(status int, all string) *agent.ModelError {
	hint := tool.Textf("check the settings of [models.%s]", p.Name)
	if strings.Contains(all, "tool") && hasAny(all, []string{"support", "enable-auto-tool-choice", "tool-call-parser", "jinja", "template"}) {
		hint = p.noToolsHint()
	}
	return p.Error(agent.ModelBadRequest, tool.Textf("the server refuses the request (HTTP %d)", status), hint)
}

func (p Peer) noToolsHint() tool.Text {
	return tool.Textf("this model or server has no native tool calling that works: set native_tools = false in [models.%s]", p.Name)
}

func (p Peer) openHint() tool.Text {
	if p.ark() {
		return tool.Textf("open it in the Ark console (Model activation), or give the id of a running endpoint (ep-…) as model in [models.%s]", p.Name)
	}
	return tool.Textf("open the model in the provider's console, or choose another")
}

func (p Peer) final(code agent.ModelCode, msg, hint tool.Text) *agent.ModelError {
	e := p.Error(code, msg, hint)
	e.Err, e.Final = errFinal, true
	return e
}

func hasAny(s string, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(s, w) })
}

// How servers word what has no status of its own; all lower case.
var (
	windowWords = []string{
		"context_length_exceeded", "maximum context length", "context window", "exceed_context_size",
		"exceeds the available context", "exceeds the context length", "input length exceeds", "prompt is too long",
		"range of input length", "exceed max message tokens", "greater than the context length",
		"loaded with context length", "reduce the length of the messages", "maximum prompt length", "too many input tokens",
	}
	quotaWords   = []string{"insufficient_quota", "insufficient balance", "accountoverdue", "arrearage", "billing_hard_limit", "quotaexceeded", "freetieronly", "credit balance is too low", "billing_error"}
	authWords    = []string{"invalid_api_key", "authenticationerror", "authentication_error", "invalidapikey", "permission_error"}
	closedWords  = []string{"modelnotopen", "has not activated the model", "closedendpoint", "model.accessdenied", "modelidaccessdisabled"}
	missingWords = []string{
		"model_not_found", "invalidendpointormodel", "model not exist", "model_not_exist", "does not exist or you do not have access",
		"no models loaded", "model not found", "not a valid model", "invalid model", "unknown model", "try pulling it first",
	}
	rateWords = []string{"rate_limit", "rate limit", "too many requests", "throttl"}
)

// retryAfter reads what a server asks for, as seconds, milliseconds or a date;
// 0: nothing. It never gives more than a day.
func retryAfter(h http.Header, now time.Time) time.Duration {
	const most = 24 * time.Hour
	unit := time.Millisecond
	v := h.Get("Retry-After-Ms")
	if v == "" {
		unit, v = time.Second, h.Get("Retry-After")
	}
	if at, err := http.ParseTime(v); err == nil {
		return min(max(at.Sub(now), 0), most)
	}
	n, err := strconv.ParseFloat(v, 64)
	if math.IsNaN(n) || n <= 0 || err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0
	}
	return time.Duration(min(n*float64(unit), float64(most)))
}

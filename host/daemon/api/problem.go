package api

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/sdk/tool"
)

// A Problem is the answer of a route that fails: a code for programs, a sentence
// and a hint for people. It is an error, and must not be modified once it is
// returned as one.
type Problem struct {
	// Status is the HTTP status; 499 means that the client cancelled the request.
	Status int       `json:"-"`
	Code   string    `json:"code"`
	Msg    tool.Text `json:"message"`
	// Hint says in the imperative how to fix it; zero: there is no fix.
	Hint tool.Text `json:"hint,omitzero"`
	// KeyEnv is the variable of the model's key that the daemon lacks; empty: none is
	// missing.
	KeyEnv string `json:"key_env,omitempty"`
	// Param names the wrong parameter of a request to /v1; empty: none is wrong.
	Param string `json:"-"`
	// RetryAfter is the time to wait before the same request; 0: unknown.
	RetryAfter time.Duration `json:"-"`
	// Quota is the exhausted quota; nil: no quota is exhausted.
	Quota *QuotaState `json:"quota,omitempty"`
}

// An ErrorBody is the body of every answer without success, except those of /v1.
type ErrorBody struct {
	Error *Problem `json:"error"`
}

// A QuotaState is the used part of one quota.
type QuotaState struct {
	// Name is the quota's key in tools.toml.
	Name string `json:"name"`
	// Used and Limit have the quota's own unit. A negative Limit allows nothing.
	Used  float64 `json:"used"`
	Limit float64 `json:"limit"`
	// Unit is the currency of a cost; empty for all other quotas.
	Unit string `json:"unit,omitempty"`
	// Free is when a part of an exhausted quota becomes free again; nil: unknown, or
	// the quota is not exhausted.
	Free *time.Time `json:"free_at"`
}

// Exhausted reports whether nothing of the quota is left.
func (q QuotaState) Exhausted() bool { return q.Limit < 0 || q.Used >= q.Limit }

// Codes of problems that more than one package of the daemon returns.
const (
	CodeBadBody     = "bad_body"      // the body cannot be parsed, or contradicts itself
	CodeBusy        = "busy"          // another turn of the conversation runs
	CodeDraining    = "draining"      // the daemon shuts down
	CodeQuota       = "quota"         // a quota of the user is exhausted
	CodeBadValue    = "invalid_value" // of a parameter of /v1
	CodeUnsupported = "unsupported_parameter"
)

// Problemf returns a Problem of a constant hint and a format with arguments. An
// empty hint means that there is none.
func Problemf(status int, code, hint, format string, args ...any) *Problem {
	return &Problem{Status: status, Code: code, Msg: tool.Textf(format, args...), Hint: tool.Text{Format: hint}}
}

// Paramf returns a Problem of one parameter of a request to /v1.
func Paramf(param, code, hint, format string, args ...any) *Problem {
	p := Problemf(http.StatusBadRequest, code, hint, format, args...)
	p.Param = param
	return p
}

// WithHint returns a copy of the problem with a hint that has arguments.
func (p *Problem) WithHint(format string, args ...any) *Problem {
	out := *p
	out.Hint = tool.Textf(format, args...)
	return &out
}

// Error returns the sentence and the hint in English.
func (p *Problem) Error() string { return p.MsgText().String() }

// MsgText returns the sentence and the hint as one Text.
func (p *Problem) MsgText() tool.Text {
	if p.Hint.IsZero() {
		return p.Msg
	}
	return tool.Textf("%v; %v", p.Msg, p.Hint)
}

// In returns the problem rendered in the language l.
func (p *Problem) In(l tool.Locale) *Problem { return msg.Localize(l, p) }

// AsProblem returns the Problem of an error, with a status and a code. An unknown
// error, and nil, become "internal" without the error's own text, which belongs
// into the log.
func AsProblem(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	if e, ok := errors.AsType[*agent.ModelError](err); ok {
		text, hint := e.Texts()
		return &Problem{Status: modelStatus(e.Code), Code: ModelCode(e.Code), RetryAfter: e.RetryAfter, Msg: text, Hint: hint, KeyEnv: e.KeyEnv}
	}
	if e, ok := errors.AsType[*tool.Error](err); ok {
		return ofTool(e)
	}
	switch {
	case errors.Is(err, archive.ErrNotFound), errors.Is(err, store.ErrNotFound):
		return Problemf(http.StatusNotFound, "not_found", "list the archives with `weir archive list`, the conversations with `weir conversation list`", "there is nothing with that id here")
	case errors.Is(err, archive.ErrExpired):
		return Problemf(http.StatusGone, "expired", "call the tool again", "the archive was pruned; its text is gone")
	case errors.Is(err, archive.ErrUnreachable):
		return Problemf(http.StatusServiceUnavailable, "storage", "ask again when the database runs", "the database cannot be reached")
	case errors.Is(err, archive.ErrFullDatabase):
		return Problemf(http.StatusInsufficientStorage, "storage", "free some space on the database's disk, or let its user write", "the database cannot be written")
	case errors.Is(err, archive.ErrFull):
		return Problemf(http.StatusInsufficientStorage, "storage", "free some space or check the data folder's permissions", "the data folder cannot be written")
	case errors.Is(err, context.Canceled):
		return Problemf(499, "cancelled", "", "the request was cancelled")
	}
	return Problemf(http.StatusInternalServerError, "internal", "the daemon's log has the details", "something went wrong inside weir")
}

// ModelCode returns the code of a problem that a model's provider caused.
func ModelCode(c agent.ModelCode) string { return modelPrefix + string(c) }

const modelPrefix = "model_"

// modelStatus separates what the request causes from what the provider causes.
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

func ofTool(e *tool.Error) *Problem {
	p := &Problem{Status: toolStatus(e.Code), Code: string(e.Code), Msg: e.MsgText, Hint: e.HintText}
	if p.Msg.IsZero() {
		p.Msg = tool.Text{Format: e.Msg}
	}
	if p.Hint.IsZero() {
		p.Hint = tool.Text{Format: e.Hint}
	}
	return p
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

// Clip returns the first n characters of s, with an ellipsis if any are missing.
func Clip(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n]) + "…"
}

// CleanTitle returns a text as one line of visible characters, safe for lists, terminals
// and web pages.
func CleanTitle(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r == utf8.RuneError, !unicode.IsGraphic(r), unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	return strings.Join(strings.Fields(s), " ")
}

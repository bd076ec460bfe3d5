package openai

import (
	"net/http"
	"time"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/daemon/api"
)

// An OpenAIError is a problem in the form of OpenAI's protocol.
type OpenAIError struct {
	Error struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    string  `json:"code"`
		Hint    string  `json:"hint,omitempty"`
	} `json:"error"`
}

// ErrorOf returns a problem in the form of OpenAI's protocol. Its clients show only the
// message, and therefore the message contains the hint too.
func ErrorOf(p *api.Problem) OpenAIError {
	var out OpenAIError
	e := &out.Error
	e.Message, e.Code, e.Hint = p.Error(), p.Code, p.Hint.String()
	if p.Code == api.ModelCode(agent.ModelWindow) {
		e.Code = "context_length_exceeded" // clients test for this code
	}
	if p.Param != "" {
		e.Param = &p.Param
	}
	switch {
	case p.Status == http.StatusUnauthorized:
		e.Type = "authentication_error"
	case p.Status == http.StatusForbidden:
		e.Type = "permission_error"
	case p.Status == http.StatusTooManyRequests:
		e.Type = "rate_limit_error"
	case p.Status >= 500:
		e.Type = "server_error"
	default:
		e.Type = "invalid_request_error"
	}
	return out
}

// RetryIsUseless reports whether the same request will fail again, although its status
// makes clients repeat it.
func RetryIsUseless(p *api.Problem) bool {
	if p.Code == api.CodeQuota { // clients wait for a minute at most
		return p.RetryAfter <= 0 || p.RetryAfter > time.Minute
	}
	return p.Status >= 500 &&
		(p.Code == api.ModelCode(agent.ModelAuth) || p.Code == api.ModelCode(agent.ModelNotFound) || p.Code == api.ModelCode(agent.ModelGarbage))
}

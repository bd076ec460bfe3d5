package wire

import (
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/weirhost/weir/agent"
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
// forms of OpenAI, Ollama, FastAPI and plain text; HTML has none.
func ReadSaid(body []byte) Said {
	var top map[string]json.RawMessage
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
	if status == 0 {
		status = s.Status
	}
	e := p.classify(status, s)
	if s.Text != "" {
		// Scrubbed before it is joined: a quote must not split a secret.
		e.Msg += p.Say(": %s", "：%s", p.scrub(s.Text))
	}
	return e
}

func (p Peer) classify(status int, s Said) *agent.ModelError {
	all := strings.ToLower(s.Code + " " + s.Type + " " + s.Text)
	switch {
	case status != http.StatusUnauthorized && hasAny(all, windowWords):
		return p.Error(agent.ModelWindow, p.Say("the prompt is longer than the model's window", "提示词超出了模型的上下文窗口"),
			p.Say("set window in [models.%s] to the server's real limit, or lower max_tool_result_length or memory_limit in [agent]",
				"请把 [models.%s] 的 window 设为服务端的实际上限，或调低 [agent] 的 max_tool_result_length、memory_limit", p.Name))
	case status == http.StatusBadRequest && strings.Contains(all, "http request to an https server"):
		return p.Error(agent.ModelUnreachable, p.Say("%s wants a secure connection", "%s 需要安全连接", p.Where()),
			p.Say("write https:// in base_url of [models.%s]", "请把 [models.%s] 的 base_url 改为 https://", p.Name))
	case strings.Contains(all, "parsing tool call"): // Ollama, as a 500 or in the stream
		return p.Error(agent.ModelGarbage, p.Say("the server could not read the model's tool call", "服务端无法解析模型的工具调用"), p.noToolsHint())
	case status == http.StatusPaymentRequired || hasAny(all, quotaWords):
		return p.final(agent.ModelRateLimited, p.Say("the provider account has no balance or quota left", "账户余额或额度已用完"),
			p.Say("top up the account or choose another model", "请充值，或改用其他模型"))
	case status == http.StatusUnauthorized || status == http.StatusForbidden || hasAny(all, authWords):
		return p.auth(status)
	case hasAny(all, closedWords):
		return p.Error(agent.ModelNotFound, p.Say("the model %q is not opened for this account", "此账户尚未开通模型 %q", p.Model), p.openHint())
	case status == http.StatusNotFound || status == http.StatusBadRequest || status == 0:
		return p.missing(status, s, all)
	case status == http.StatusMethodNotAllowed || status < 400:
		return p.Error(agent.ModelNotFound, p.Say("nothing here takes questions (HTTP %d)", "此地址不接受提问（HTTP %d）", status), p.urlHint())
	case status == http.StatusTooManyRequests:
		return p.Error(agent.ModelRateLimited, p.Say("the provider limits the rate of requests (429)", "请求过于频繁（429）"),
			p.Say("wait, or raise the rate limit of the account", "请稍候，或提高账户的限流额度"))
	case status == http.StatusRequestEntityTooLarge:
		return p.Error(agent.ModelWindow, p.Say("the request is too large for the server (413)", "请求对服务端来说过大（413）"),
			p.Say("lower window in [models.%s]", "请调低 [models.%s] 的 window", p.Name))
	case status == http.StatusNotImplemented:
		return p.final(agent.ModelOverloaded, p.Say("the server cannot do this (501)", "服务端不支持此请求（501）"), p.urlHint())
	case hasAny(all, []string{"tools param requires --jinja", "unsupported param: tools"}): // llama.cpp, as a 500
		return p.refused(status, all)
	case status == http.StatusRequestTimeout || status >= 500:
		return p.Error(agent.ModelOverloaded, p.Say("the server failed (HTTP %d)", "服务端出错（HTTP %d）", status),
			p.Say("try again later; for a server of your own, read its log", "请稍后重试；若是自建服务，请查看其日志"))
	}
	return p.refused(status, all)
}

// missing returns the error of a 404, and of 400 and in-stream errors that may mean the
// same.
func (p Peer) missing(status int, s Said, all string) *agent.ModelError {
	noModel := hasAny(all, missingWords)
	switch {
	case noModel || status == http.StatusNotFound && s.Text != "" && strings.Contains(all, "model"):
		return p.Error(agent.ModelNotFound, p.Say("the server does not know the model %q", "服务端没有模型 %q", p.Model), p.nameHint())
	case status == http.StatusNotFound:
		return p.Error(agent.ModelNotFound, p.Say("the address does not exist (404)", "地址不存在（404）"), p.urlHint())
	case status == 0 && hasAny(all, rateWords):
		return p.Error(agent.ModelRateLimited, p.Say("the provider limits the rate of requests", "请求过于频繁"), "")
	case status == 0:
		return p.Error(agent.ModelOverloaded, p.Say("the provider reported an error while it answered", "服务端在回答过程中报告了错误"), "")
	}
	return p.refused(status, all)
}

func (p Peer) auth(status int) *agent.ModelError {
	if !p.HasKey {
		return p.Error(agent.ModelAuth, p.Say("the server wants a key and none is set", "服务端需要密钥，但未设置"), p.keyHint())
	}
	if status == http.StatusForbidden {
		return p.Error(agent.ModelAuth, p.Say("the key may not use this model (403)", "此密钥无权使用该模型（403）"),
			p.Say("check the rights of the key and of the account, or %s", "请检查密钥和账户的权限，或%s", p.keyHint()))
	}
	return p.Error(agent.ModelAuth, p.Say("the key was refused", "密钥被拒绝"), p.keyHint())
}

func (p Peer) refused(status int, all string) *agent.ModelError {
	hint := p.Say("check the settings of [models.%s]", "请检查 [models.%s] 的设置", p.Name)
	if strings.Contains(all, "tool") && hasAny(all, []string{"support", "enable-auto-tool-choice", "tool-call-parser", "jinja", "template"}) {
		hint = p.noToolsHint()
	}
	return p.Error(agent.ModelBadRequest, p.Say("the server refuses the request (HTTP %d)", "服务端拒绝了请求（HTTP %d）", status), hint)
}

func (p Peer) noToolsHint() string {
	return p.Say("this model or server has no native tool calling that works: set native_tools = false in [models.%s]",
		"此模型或服务没有可用的原生工具调用：请在 [models.%s] 中设置 native_tools = false", p.Name)
}

func (p Peer) openHint() string {
	if p.ark() {
		return p.Say("open it in the Ark console (Model activation), or give the id of a running endpoint (ep-…) as model in [models.%s]",
			"请在方舟控制台“开通管理”中开通，或在 [models.%s] 的 model 中填写运行中的推理接入点 ID（ep-…）", p.Name)
	}
	return p.Say("open the model in the provider's console, or choose another", "请在服务商控制台开通该模型，或改用其他模型")
}

func (p Peer) final(code agent.ModelCode, msg, hint string) *agent.ModelError {
	e := p.Error(code, msg, hint)
	e.Err = errFinal
	return e
}

func hasAny(s string, words []string) bool {
	for _, w := range words {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}

// How servers word what has no status of its own; all lower case.
var (
	windowWords = []string{
		"context_length_exceeded", "maximum context length", "context window", "exceed_context_size",
		"exceeds the available context", "exceeds the context length", "input length exceeds", "prompt is too long",
		"range of input length", "exceed max message tokens", "greater than the context length",
		"loaded with context length", "reduce the length of the messages", "maximum prompt length", "too many input tokens",
	}
	quotaWords   = []string{"insufficient_quota", "insufficient balance", "accountoverdue", "arrearage", "billing_hard_limit", "quotaexceeded", "credit balance is too low", "billing_error"}
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

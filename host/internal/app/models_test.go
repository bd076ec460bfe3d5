package app

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/provider"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/sdk/tool"
)

// A mishap is what a person gets wrong, or what goes wrong on the way to a
// server, and how the report has to name it.
type mishap struct {
	name string
	// serve answers every request; nil: no server listens.
	serve  http.HandlerFunc
	secure bool // by TLS, with an unknown certificate
	https  bool // asked by https what speaks http
	http   bool // asked by http what speaks https
	code   agent.ModelCode
	// In each language, what the report has to say and to propose.
	en, zh []string
}

// refusing answers with a status and a body, as that provider words it.
func refusing(status int, kind, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

// canary is the key, which no text may contain.
const canary = "sk-canary-7f3a9b2c1d"

func mishaps(p string) []mishap {
	const json = "application/json"
	wrongKey := map[string]string{
		"ark":       `{"error":{"code":"AuthenticationError","message":"The API key format is incorrect. Request id: 0217","param":"","type":"Unauthorized"}}`,
		"anthropic": `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`,
		"ollama":    `{"error":"unauthorized"}`,
		"deepseek":  `{"error":{"message":"Authentication Fails, Your api key: ****b is invalid","type":"authentication_error","param":null,"code":"invalid_request_error"}}`,
		"qwen":      `{"error":{"message":"Incorrect API key provided. ","type":"invalid_request_error","param":null,"code":"invalid_api_key"},"request_id":"x"}`,
	}[p]
	if wrongKey == "" {
		wrongKey = `{"error":{"message":"Incorrect API key provided: sk-***","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`
	}
	status, wrongName := 404, `{"error":{"message":"The model 'modle' does not exist or you do not have access to it.","type":"invalid_request_error","param":null,"code":"model_not_found"}}`
	switch p {
	case "ark":
		wrongName = `{"error":{"code":"InvalidEndpointOrModel.NotFound","message":"The model or endpoint modle does not exist or you do not have access to it.","param":"","type":"NotFound"}}`
	case "anthropic":
		wrongName = `{"type":"error","error":{"type":"not_found_error","message":"model: modle"}}`
	case "ollama":
		wrongName = `{"error":"model 'modle' not found"}`
	case "deepseek":
		status, wrongName = 400, `{"error":{"message":"Model Not Exist","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}`
	case "lmstudio":
		wrongName = `{"error":{"message":"No models loaded. Please load a model in the developer page or use the 'lms load' command.","type":"invalid_request_error","param":"model","code":"model_not_found"}}`
	}
	window := map[string]string{
		"anthropic": `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 203456 tokens > 200000 maximum"}}`,
		"ollama":    `{"error":"the input length exceeds the context length"}`,
		"llamacpp":  `{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":5000,"n_ctx":4096}}`,
		"qwen":      `{"error":{"message":"<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 6000]","type":"invalid_request_error","param":null,"code":"invalid_parameter_error"}}`,
		"lmstudio":  `{"error":"Trying to keep the first 4961 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough."}`,
	}[p]
	if window == "" {
		window = `{"error":{"message":"This model's maximum context length is 4096 tokens. However, your messages resulted in 9000 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`
	}
	page := "<!doctype html><html><title>Welcome</title></html>"
	out := []mishap{
		{name: "the key is wrong", serve: refusing(401, json, wrongKey), code: agent.ModelAuth, en: []string{"key was refused", "correct"}, zh: []string{"密钥被拒绝", "请修正"}},
		{name: "the name is wrong", serve: refusing(status, json, wrongName), code: agent.ModelNotFound, en: []string{`"modle"`, "model"}, zh: []string{`"modle"`, "模型"}},
		{name: "the window is too small", serve: refusing(400, json, window), code: agent.ModelWindow, en: []string{"longer than the model's window", "window in [models.mine]"}, zh: []string{"超出了模型的上下文窗口", "[models.mine] 的 window"}},
		{name: "no server listens", code: agent.ModelUnreachable, en: []string{"no server listens at"}, zh: []string{"没有服务在监听"}},
		{name: "a certificate that nobody knows", serve: refusing(200, json, "{}"), secure: true, code: agent.ModelUnreachable, en: []string{"no secure connection", "does not trust its certificate", "SSL_CERT_FILE"}, zh: []string{"安全连接", "不信任其证书", "SSL_CERT_FILE"}},
		{name: "https where http is spoken", serve: refusing(200, json, "{}"), https: true, code: agent.ModelUnreachable, en: []string{"speaks http", "write http://"}, zh: []string{"使用的是 http", "改为 http://"}},
		{name: "http where https is spoken", serve: refusing(200, json, "{}"), secure: true, http: true, code: agent.ModelUnreachable, en: []string{"wants a secure connection", "write https://"}, zh: []string{"需要安全连接", "改为 https://"}},
		{name: "a web page", serve: refusing(200, "text/html; charset=utf-8", page), code: agent.ModelGarbage, en: []string{"web page", "base_url"}, zh: []string{"网页", "base_url"}},
		{name: "a page that says 404", serve: refusing(404, "text/html", page), code: agent.ModelNotFound, en: []string{"404", "base_url"}, zh: []string{"404", "base_url"}},
		{name: "a gateway's page", serve: refusing(502, "text/html", page), code: agent.ModelOverloaded, en: []string{"502"}, zh: []string{"502"}},
	}
	closed := map[string]string{
		"ark":  `{"error":{"code":"ModelNotOpen","message":"Your account 21 has not activated the model modle. Please activate the model service in the Ark Console.","param":"","type":"NotFound"}}`,
		"qwen": `{"error":{"message":"Access to model denied. Please make sure you are eligible for using the model.","type":"Model.AccessDenied","param":null,"code":"Model.AccessDenied"}}`,
	}[strings.TrimSuffix(p, "-intl")]
	if closed != "" {
		out = append(out, mishap{name: "it is not opened", serve: refusing(404, json, closed), code: agent.ModelNotFound, en: []string{"not opened", "console"}, zh: []string{"尚未开通", "控制台"}})
	}
	return out
}

// What a person gets wrong is named as it is, with what to change, for every
// provider and in both languages.
func TestWhatPeopleGetWrong(t *testing.T) {
	providers := []string{"openai", "anthropic", "ollama"}
	for _, p := range provider.Presets() {
		if !slices.Contains(providers, p.Name) {
			providers = append(providers, p.Name)
		}
	}
	for _, p := range providers {
		for _, x := range mishaps(p) {
			t.Run(p+"/"+x.name, func(t *testing.T) {
				url := "http://127.0.0.1:1"
				if x.serve != nil {
					srv := httptest.NewUnstartedServer(x.serve)
					srv.Config.ErrorLog = log.New(io.Discard, "", 0)
					if x.secure {
						srv.StartTLS()
					} else {
						srv.Start()
					}
					defer srv.Close()
					url = srv.URL
				}
				if x.https {
					url = strings.Replace(url, "http://", "https://", 1)
				}
				if x.http {
					url = strings.Replace(url, "https://", "http://", 1)
				}
				m, err := provider.New(provider.Config{Name: "mine", Provider: p, BaseURL: url, Key: canary, Model: "modle", Retries: -1, Getenv: func(string) string { return "" }}, nil)
				if err != nil {
					t.Fatal(err)
				}
				r := provider.Test(t.Context(), m, provider.TestOptions{})
				for l, want := range map[tool.Locale][]string{tool.En: x.en, tool.Zh: x.zh} {
					last := msg.Localize(l, r.Steps[len(r.Steps)-1])
					t.Logf("%s: %s: %s → %s", l, last.Code, last.Msg, last.Hint)
					said := last.Msg.String() + "\n" + last.Hint.String()
					if r.OK || last.OK || last.Code != x.code || last.Hint.IsZero() || strings.Contains(said, canary) {
						t.Errorf("%s: OK %v, code %q, want %q: %s", l, r.OK, last.Code, x.code, said)
					}
					for _, w := range want {
						if !strings.Contains(said, w) {
							t.Errorf("%s: no %q in %s", l, w, said)
						}
					}
				}
			})
		}
	}
}

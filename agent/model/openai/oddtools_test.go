package openai

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/internal/modeltest"
	"github.com/weirhost/weir/sdk/tool"
)

func toolsOf(body []byte) (names []string, params []json.RawMessage) {
	var r struct {
		Tools []struct {
			Function struct {
				Name       string
				Parameters json.RawMessage
			}
		}
	}
	_ = json.Unmarshal(body, &r) // no JSON has no tools
	for _, t := range r.Tools {
		names, params = append(names, t.Function.Name), append(params, t.Function.Parameters)
	}
	return names, params
}

func TestOddTools(t *testing.T) {
	protocol := modeltest.Protocol{
		Tools: toolsOf, Schema: modeltest.OpenAISchema, Text: modeltest.SSE(events(delta("content", "Hi"), finish("stop"), done)),
		Refusal: func(i int, name, complaint string) string {
			return fmt.Sprintf(`{"error":{"message":"Invalid schema for function '%s': %s","type":"invalid_request_error","param":"tools[%d].function.parameters","code":"invalid_function_parameters"}}`, name, complaint, i)
		},
		Call: func(name, args string) http.HandlerFunc {
			return modeltest.SSE(events(fmt.Sprintf(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":%q,"arguments":%q}}]},"finish_reason":"tool_calls"}]}`, name, args), done))
		},
	}
	modeltest.OddTools(t, func(h http.HandlerFunc) agent.Model { return serve(t, h) }, protocol)
	t.Run("gemini", func(t *testing.T) {
		protocol.Schema = modeltest.GeminiSchema
		protocol.Refusal = func(i int, _, complaint string) string {
			return fmt.Sprintf(`[{"error":{"code":400,"message":"* GenerateContentRequest.tools[0].function_declarations[%d].parameters: %s\n","status":"INVALID_ARGUMENT"}}]`, i, complaint)
		}
		modeltest.OddTools(t, func(h http.HandlerFunc) agent.Model {
			return serve(t, h, func(c *Config) { c.Model = "google/gemini-3-flash" })
		}, protocol)
	})
}

// Google's API is known by its address, wherever its models are asked by that.
func TestRulesOf(t *testing.T) {
	for url, gemini := range map[string]bool{"https://generativelanguage.googleapis.com/v1beta/openai": true, DefaultBaseURL: false} {
		cfg := Config{}
		cfg.BaseURL, cfg.Model = url, "m"
		d := rulesOf(cfg).Declare([]tool.Spec{{Name: "t"}}, "").List[0]
		if (d.Params == nil) != gemini {
			t.Errorf("%s: %s", url, d.Params)
		}
	}
}

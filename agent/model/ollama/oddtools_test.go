package ollama

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/internal/modeltest"
)

func TestOddTools(t *testing.T) {
	modeltest.OddTools(t, func(h http.HandlerFunc) agent.Model { return serve(t, showQwen, h) }, modeltest.Protocol{
		Schema: modeltest.OllamaSchema,
		Tools: func(body []byte) (names []string, params []json.RawMessage) {
			var r request
			_ = json.Unmarshal(body, &r) // no JSON has no tools
			for _, t := range r.Tools {
				names, params = append(names, t.Function.Name), append(params, t.Function.Parameters)
			}
			return names, params
		},
		Refusal: func(_ int, name, complaint string) string {
			return fmt.Sprintf(`{"error":"tool '%s' %s"}`, name, complaint)
		},
		Call: func(name, args string) http.HandlerFunc {
			return lines(fmt.Sprintf(`{"message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":%q,"arguments":%s}}]},"done":false}`, name, args), `{"done":true,"done_reason":"stop"}`)
		},
		Text: lines(`{"message":{"role":"assistant","content":"Hi"},"done":false}`, `{"done":true,"done_reason":"stop"}`),
	})
}

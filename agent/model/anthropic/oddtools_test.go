package anthropic

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/internal/modeltest"
)

func TestOddTools(t *testing.T) {
	block := func(begin, grow string) string {
		return events(start, `{"type":"content_block_start","index":0,"content_block":`+begin+`}`, `{"type":"content_block_delta","index":0,"delta":`+grow+`}`,
			`{"type":"content_block_stop","index":0}`, `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":5}}`, `{"type":"message_stop"}`)
	}
	modeltest.OddTools(t, func(h http.HandlerFunc) agent.Model { return serve(t, h) }, modeltest.Protocol{
		Schema: modeltest.AnthropicSchema,
		Tools: func(body []byte) (names []string, params []json.RawMessage) {
			var r struct {
				Tools []struct {
					Name        string
					InputSchema json.RawMessage `json:"input_schema"`
				}
			}
			_ = json.Unmarshal(body, &r) // no JSON has no tools
			for _, t := range r.Tools {
				names, params = append(names, t.Name), append(params, t.InputSchema)
			}
			return names, params
		},
		Refusal: func(i int, _, complaint string) string {
			return fmt.Sprintf(`{"type":"error","error":{"type":"invalid_request_error","message":"tools.%d.custom.input_schema: %s"},"request_id":"req_1"}`, i, complaint)
		},
		Call: func(name, args string) http.HandlerFunc {
			return modeltest.SSE(block(fmt.Sprintf(`{"type":"tool_use","id":"toolu_1","name":%q,"input":{}}`, name), fmt.Sprintf(`{"type":"input_json_delta","partial_json":%q}`, args)))
		},
		Text: modeltest.SSE(block(`{"type":"text","text":""}`, `{"type":"text_delta","text":"Hi"}`)),
	})
}

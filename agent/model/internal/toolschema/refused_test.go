package toolschema

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/weirhost/weir/sdk/tool"
)

// Which tool a refusal is about, in the words in which providers refuse.
func TestRefused(t *testing.T) {
	specs := []tool.Spec{
		{Name: "echo", Params: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}}}`)},
		{Name: "catalog.get", Params: json.RawMessage(`{"type":"object","properties":{"id":{"type":"string"}}}`)},
		{Name: "list-dbs", Params: json.RawMessage(`{"type":"object","properties":{"filters":{"type":"object","properties":{"hidden":{"type":"string"}}},"args":{"type":"array","items":{"type":"string","pattern":"^x$"}}}}`)},
	}
	tools := OpenAI().Declare(specs, tool.En)
	for _, c := range []struct {
		name, body string
		want       []string
	}{
		{"OpenAI, by name", `{"error":{"message":"Invalid schema for function 'list-dbs': In context=(), object schema missing properties.","type":"invalid_request_error","param":"tools[2].function.parameters","code":"invalid_function_parameters"}}`, []string{"list-dbs"}},
		{"by a name that was replaced", `{"error":{"message":"Invalid schema for function '` + tools.List[1].Name + `': x"}}`, []string{"catalog.get"}},
		{"OpenAI, by place", `{"error":{"message":"Invalid 'tools[1].function.name': string does not match pattern.","param":"tools[1].function.name"}}`, []string{"catalog.get"}},
		{"Anthropic", `{"type":"error","error":{"type":"invalid_request_error","message":"tools.2.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level"}}`, []string{"list-dbs"}},
		{"Gemini", `[{"error":{"code":400,"message":"* GenerateContentRequest.tools[0].function_declarations[1].parameters.properties[tags].items: missing field.\n* GenerateContentRequest.tools[0].function_declarations[2].name: Invalid function name.\n","status":"INVALID_ARGUMENT"}}]`, []string{"catalog.get", "list-dbs"}},
		{"a gateway around Gemini", `{"error":{"message":"{\n \"error\": {\"code\": 400, \"message\": \"* GenerateContentRequest.tools[0].function_declarations[2].parameters: x\"}}","code":400}}`, []string{"list-dbs"}},
		{"SGLang", `{"object":"error","message":"Tool 2 function has invalid 'parameters' schema: None is not of type 'array'","code":400}`, []string{"list-dbs"}},
		{"Ark", `{"error":{"message":"tools[0].***.parameters must be valid JSON (line 1, column 1). Request id: 02","type":"BadRequest","code":"InvalidParameter"}}`, []string{"echo"}},
		{"Moonshot, by the place of the fault", `{"error":{"message":"Invalid request: tools.function.parameters is not a valid moonshot flavored json schema, details: <At path 'properties.filters.properties.hidden': type is not defined>","type":"invalid_request_error"}}`, []string{"list-dbs"}},
		{"llama.cpp, by the part", `{"error":{"code":400,"message":"JSON schema conversion failed:\nUnrecognized schema: {\"type\": \"string\", \"pattern\": \"^x$\"}","type":"invalid_request_error"}}`, []string{"list-dbs"}},
		{"a part that two have", `{"error":{"message":"JSON schema conversion failed:\nUnrecognized schema: {\"type\":\"string\"}"}}`, nil},
		{"no tool can be seen", `{"error":{"message":"JSON schema conversion failed:\nPattern must start with '^' and end with '$'"}}`, nil},
		{"tools as such", `{"error":"m does not support tools"}`, nil},
		{"something else with the name of a tool", `{"error":{"message":"Unknown value 'echo' for reasoning_effort"}}`, nil},
		{"a place that is not there", `{"error":{"message":"tools.7.custom: x"}}`, nil},
		{"no JSON", `upstream: tools[1] is odd`, []string{"catalog.get"}},
	} {
		if got := tools.Refused([]byte(c.body)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q", c.name, got)
		}
	}
	one := OpenAI().Declare(specs[:1], tool.En)
	if got := one.Refused([]byte(`{"error":{"message":"JSON schema conversion failed"}}`)); !slices.Equal(got, []string{"echo"}) {
		t.Errorf("the only tool there is: %q", got)
	}
	if got := one.Refused([]byte(`{"error":{"message":"Invalid schema for response_format 'x'"}}`)); got != nil {
		t.Errorf("the schema of the answer: %q", got)
	}
}

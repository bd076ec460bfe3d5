package schema

import (
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/sdk/tool"
)

func TestComplaints(t *testing.T) {
	const schema = `{"type":"object","required":["path"],"additionalProperties":false,"properties":{
		"path":{"type":"string","minLength":2,"maxLength":5,"pattern":"^[a-z]+$"},
		"count":{"type":"integer","minimum":1,"maximum":9,"multipleOf":2},
		"ratio":{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1.5},
		"mode":{"enum":["fast","slow"]}, "kind":{"const":"x"},
		"tags":{"type":"array","minItems":1,"maxItems":2,"uniqueItems":true,"items":{"type":"string"}},
		"opt":{"type":["string","null"]},
		"nested":{"type":"object","required":["a"],"properties":{"a":{"type":"boolean"}},"maxProperties":2,"minProperties":1},
		"either":{"anyOf":[{"type":"string"},{"type":"integer"}]},
		"from":{}, "to":{}},
		"dependentRequired":{"from":["to"]}}`
	s, err := Compile([]byte(schema))
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct{ args, en, zh string }{
		{`{"path":"abc"}`, ``, ``},
		{`{}`, `"path" is missing`, `缺少 "path"`},
		{`{"paht":"abc"}`, `"path" is missing|"paht" is not an argument of this tool (perhaps "path" is meant)`, `缺少 "path"|"paht" 不是该工具的参数（也许是 "path"）`},
		{`{"path":"abc","zzzzzz":1}`, `"zzzzzz" is not an argument of this tool (it takes "path", "count", "ratio", "mode", "kind", "tags", "opt", "nested", "either", "from", "to")`,
			`"zzzzzz" 不是该工具的参数（可用参数："path", "count", "ratio", "mode", "kind", "tags", "opt", "nested", "either", "from", "to"）`},
		{`{"path":5}`, `"path" must be a string, not 5`, `"path" 必须是字符串，而不是 5`},
		{`{"path":"a"}`, `"path" must have at least 2 characters`, `"path" 至少要有 2 个字符`},
		{`{"path":"abcdef"}`, `"path" must have at most 5 characters`, `"path" 最多 5 个字符`},
		{`{"path":"ABC"}`, `"path" must match the pattern ^[a-z]+$`, `"path" 必须匹配 ^[a-z]+$`},
		{`{"path":"abc","count":"4"}`, `"count" must be a whole number, not "4"`, `"count" 必须是整数，而不是 "4"`},
		{`{"path":"abc","count":0}`, `"count" must be at least 1`, `"count" 不能小于 1`},
		{`{"path":"abc","count":10}`, `"count" must be at most 9`, `"count" 不能大于 9`},
		{`{"path":"abc","count":3}`, `"count" must be a multiple of 2`, `"count" 必须是 2 的倍数`},
		{`{"path":"abc","count":2.5}`, `"count" must be a whole number, not 2.5`, `"count" 必须是整数，而不是 2.5`},
		{`{"path":"abc","ratio":0}`, `"ratio" must be more than 0`, `"ratio" 必须大于 0`},
		{`{"path":"abc","ratio":1.5}`, `"ratio" must be less than 1.5`, `"ratio" 必须小于 1.5`},
		{`{"path":"abc","mode":"medium"}`, `"mode" must be one of "fast", "slow"`, `"mode" 必须是以下之一："fast", "slow"`},
		{`{"path":"abc","kind":"y"}`, `"kind" must be one of "x"`, `"kind" 必须是以下之一："x"`},
		{`{"path":"abc","tags":[]}`, `"tags" must have at least 1 elements`, `"tags" 至少要有 1 个元素`},
		{`{"path":"abc","tags":["a","b","c"]}`, `"tags" must have at most 2 elements`, `"tags" 最多 2 个元素`},
		{`{"path":"abc","tags":["a","a"]}`, `"tags" must not hold the same element twice`, `"tags" 不能有重复元素`},
		{`{"path":"abc","tags":["a",{"b":"<c>"}]}`, `"tags.1" must be a string, not {"b":"<c>"}`, `"tags.1" 必须是字符串，而不是 {"b":"<c>"}`},
		{`{"path":"abc","opt":5}`, `"opt" must be null / a string, not 5`, `"opt" 必须是null / 字符串，而不是 5`},
		{`{"path":"abc","nested":{"b":1}}`, `"nested.a" is missing`, `缺少 "nested.a"`},
		{`{"path":"abc","nested":{"a":"yes"}}`, `"nested.a" must be true or false, not "yes"`, `"nested.a" 必须是true 或 false，而不是 "yes"`},
		{`{"path":"abc","nested":{"a":true,"b":1,"c":2}}`, `"nested" must have at most 2 entries`, `"nested" 最多 2 项`},
		{`{"path":"abc","either":true}`, `"either" must be a string, not true|"either" must be a whole number, not true`, `"either" 必须是字符串，而不是 true|"either" 必须是整数，而不是 true`},
		{`{"path":"abc","from":1}`, `"from" also needs "to"`, `"from" 还需要 "to"`},
		{`{"path":["` + strings.Repeat("x", 200) + `"]}`, `"path" must be a string, not ["` + strings.Repeat("x", 58) + `…`, `"path" 必须是字符串，而不是 ["` + strings.Repeat("x", 58) + `…`}, // a long value is shown in part
		{`{"path":1,"count":"a","ratio":"b","mode":3,"tags":4}`, `4`, `4`},                                                                                                           // no more than four at a time
	}
	for _, tt := range tests {
		args, err := jsonschema.UnmarshalJSON(strings.NewReader(tt.args))
		if err != nil {
			t.Fatal(err)
		}
		for l, want := range map[tool.Locale]string{tool.En: tt.en, tool.Zh: tt.zh} {
			got := rendered(l, s.Check(args))
			if want == "4" {
				if len(got) != 4 {
					t.Errorf("%s: %v", tt.args, got)
				}
				continue
			}
			if strings.Join(sorted(got), "|") != strings.Join(sorted(strings.Split(want, "|")), "|") {
				t.Errorf("%s:\n got %s\nwant %s", tt.args, strings.Join(got, "|"), want)
			}
		}
	}
}

// A name that the schema does not declare is refused, unless the schema itself
// decides about further names or may declare them elsewhere.
func TestUnknownArguments(t *testing.T) {
	const lines = `"properties":{"lines":{"type":"integer"},"seed":{"type":"integer"}}`
	const refused, zh = `"characters" is not an argument of this tool (it takes "lines", "seed")`, `"characters" 不是该工具的参数（可用参数："lines", "seed"）`
	for _, tt := range []struct{ schema, args, en, zh, why string }{
		{lines, `{"characters":9000}`, refused, zh, "nothing said about further names"},
		{lines, `{"lines":1,"seed":2}`, "", "", "declared names"},
		{lines, `{"line":1}`, `"line" is not an argument of this tool (perhaps "lines" is meant)`, `"line" 不是该工具的参数（也许是 "lines"）`, "a misspelt name"},
		{lines, `{"b":1,"a":1,"lines":"x"}`, strings.ReplaceAll(refused, "characters", "a") + "|" + strings.ReplaceAll(refused, "characters", "b") + `|"lines" must be a whole number, not "x"`,
			strings.ReplaceAll(zh, "characters", "a") + "|" + strings.ReplaceAll(zh, "characters", "b") + `|"lines" 必须是整数，而不是 "x"`, "several, by name, with what else is wrong"},
		{lines + `,"additionalProperties":false`, `{"characters":9000}`, refused, zh, "closed by the schema: said once"},
		{lines + `,"additionalProperties":true`, `{"characters":9000}`, "", "", "opened by the schema"},
		{lines + `,"additionalProperties":{"type":"integer"}`, `{"characters":9000}`, "", "", "opened for some values"},
		{lines + `,"patternProperties":{"^x-":{}}`, `{"x-a":1}`, "", "", "names by pattern"},
		{lines + `,"allOf":[{"properties":{"characters":{}}}]`, `{"characters":9000}`, "", "", "declared elsewhere"},
		{`"properties":{}`, `{"characters":9000}`, "", "", "no properties at all"},
		{`"description":"anything"`, `{"characters":9000}`, "", "", "a foreign schema that says nothing"},
	} {
		s, err := Compile([]byte(`{"type":"object",` + tt.schema + `}`))
		if err != nil {
			t.Fatal(err)
		}
		args, err := jsonschema.UnmarshalJSON(strings.NewReader(tt.args))
		if err != nil {
			t.Fatal(err)
		}
		for l, want := range map[tool.Locale]string{tool.En: tt.en, tool.Zh: tt.zh} {
			if got := strings.Join(rendered(l, s.Check(args)), "|"); got != want {
				t.Errorf("%s:\n got %s\nwant %s", tt.why, got, want)
			}
		}
	}
}

// Of a tool that decides itself, names that its schema does not have pass where it allows them.
// What looks like a misspelt name is told of if something else does not fit.
func TestUnknownArgumentsOfAnOpenSchema(t *testing.T) {
	const message = `"properties":{"message":{"type":"string"},"times":{"type":"integer"}},"required":["message"]`
	for _, tt := range []struct{ schema, args, want string }{
		{message, `{"message":"x","extra":1}`, ""},
		{message, `{"message":"x","extra":{"deep":[1]}}`, ""},
		{message, `{"message":"x","tims":2}`, ""},
		{strings.Replace(message, `"times"`, `"a":{"type":"array"},"times"`, 1), `{"message":"x","extra":1}`, ""},
		{message, `{"mesage":"x","extra":1}`, `"mesage" is not an argument of this tool (perhaps "message" is meant)|"message" is missing`},
		{message, `{"message":"x","messag":1,"times":"y"}`, `"times" must be a whole number, not "y"`},
		{message, `{"extra":1}`, `"message" is missing`},
		{message + `,"additionalProperties":false`, `{"message":"x","extra":1}`, `"extra" is not an argument of this tool (it takes "message", "times")`},
		{message + `,"additionalProperties":{"type":"string"}`, `{"message":"x","extra":1}`, `"extra" must be a string, not 1`},
	} {
		s, err := Compile([]byte(`{"type":"object",` + tt.schema + `}`))
		if err != nil {
			t.Fatal(err)
		}
		args, err := jsonschema.UnmarshalJSON(strings.NewReader(tt.args))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(rendered(tool.En, s.Open().Check(args)), "|"); got != tt.want {
			t.Errorf("%s: %s:\n got %s\nwant %s", tt.schema, tt.args, got, tt.want)
		}
	}
}

func TestCompile(t *testing.T) {
	tests := []struct{ schema, want string }{
		{`{"type":"object"}`, ""},
		{`{"type":"object","$schema":"http://json-schema.org/draft-07/schema#"}`, ""},
		{`{"type":"object","$defs":{"n":{"type":"integer"}},"properties":{"a":{"$ref":"#/$defs/n"}}}`, ""}, // a reference inside
		{`{"type":"object","properties":{"a":{"$ref":"#/$defs/gone"}}}`, "the schema cannot be compiled"},
		{`{"type":"object","$schema":"https://evil.example/schema"}`, "cannot refer to other files or addresses"},
		{`{"type":["object","null"]}`, `the schema's type is not "object"`},
		{`true`, "the schema is not an object"},
		{`{`, "not valid JSON"},
		{`{"type":"object","properties":{"a":{"minimum":"1"}}}`, `"properties.a.minimum" must be a number`},
	}
	for _, tt := range tests {
		_, err := Compile([]byte(tt.schema))
		if got := errText(err); !strings.Contains(got, tt.want) || (tt.want == "") != (err == nil) {
			t.Errorf("%s: %s", tt.schema, got)
		}
	}
}

func rendered(l tool.Locale, faults []tool.Text) []string {
	var out []string
	for _, f := range faults {
		out = append(out, msg.In(l, f))
	}
	return out
}

func sorted(list []string) []string { return slices.Sorted(slices.Values(list)) }

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

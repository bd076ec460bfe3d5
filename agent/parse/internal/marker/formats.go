package marker

import (
	"slices"
	"strings"

	"github.com/weirhost/weir/agent/parse/internal/lex"
)

// A Shape is the notation of a call after its opening.
type Shape string

// The shapes. A reader reads each of them after any opening; an Entry names the usual one.
const (
	ShapeObject   Shape = `{"name": …, "arguments": {…}}`
	ShapeNamed    Shape = `name{…}`
	ShapePythonic Shape = `name(key=value)`
	ShapeTagged   Shape = `<parameter=key>value</parameter>`
	ShapeLabels   Shape = `Action: name / Action Input: {…}`
)

// An Entry is one format of calls.
type Entry struct {
	Format Format
	// Openings are what a call begins with, as models write it. A tag, a token or a
	// word in square brackets is read from here; case and separators do not matter.
	// Other openings have a function in package parse.
	Openings []string
	Shape    Shape
	// Example calls get_weather with the city Oslo.
	Example string
	// En and Zh say who writes it.
	En, Zh string
}

// Formats are all formats. A format with a new opening is a new entry here;
// docs/formats.md and the marks that package limit neutralises are generated from it.
var Formats = []Entry{
	{FormatTag, []string{"<tool_call>"}, ShapeObject, `<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_call>`,
		"weir's own prompt, Hermes, Qwen", "weir 自己的提示词、Hermes、Qwen"},
	{FormatFunction, []string{"<function_call>", "<functioncall>", "<start_function_call>"}, ShapeObject, `<function_call> {"name": "get_weather", "arguments": {"city": "Oslo"}}`,
		"Granite, Glaive, Gemma", "Granite、Glaive、Gemma"},
	{FormatTags, []string{"<tool_calls>", "<toolcall>", "<toolcalls>", "<tools>", "<tool_use>", "<tool_code>", "<tool>"}, ShapeObject, `<tool_use>{"name": "get_weather", "input": {"city": "Oslo"}}</tool_use>`,
		"Nemotron, Jamba, MiniMax-M1; also a tag with the tool's own name", "Nemotron、Jamba、MiniMax-M1；也包括以工具名为标签的写法"},
	{FormatInvoke, []string{"<function_calls>", "<dots_function_call>", "<invoke name=…>", "<function name=…>"}, ShapeTagged, `<function_calls><invoke name="get_weather"><parameter name="city">Oslo</parameter></invoke></function_calls>`,
		"Claude, DeepSeek V3.2, MiniMax-M2, GigaChat 3.5, Step, MiniCPM, dots", "Claude、DeepSeek V3.2、MiniMax-M2、GigaChat 3.5、Step、MiniCPM、dots"},
	{FormatXML, []string{"<function=…>"}, ShapeTagged, "<function=get_weather>\n<parameter=city>Oslo</parameter>\n</function>",
		"Qwen3-Coder, Seed, Llama", "Qwen3-Coder、Seed、Llama"},
	{FormatGLM, []string{"<longcat_tool_call>"}, ShapeTagged, "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n</tool_call>",
		"GLM, LongCat, Hunyuan", "GLM、LongCat、混元"},
	{FormatMistral, []string{"[TOOL_CALLS]"}, ShapeNamed, `[TOOL_CALLS]get_weather[ARGS]{"city": "Oslo"}`, "Mistral", "Mistral"},
	{FormatPythonTag, []string{"<|python_tag|>", "<|python_start|>"}, ShapeObject, `<|python_tag|>{"name": "get_weather", "parameters": {"city": "Oslo"}}`, "Llama 3 and 4", "Llama 3 与 4"},
	{FormatDeepSeek, []string{"<|tool_calls_begin|>", "<|tool_call_begin|>"}, ShapeNamed, `<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{"city": "Oslo"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>`,
		"DeepSeek V3, R1", "DeepSeek V3、R1"},
	{FormatKimi, []string{"<|tool_calls_section_begin|>", "<|tool_call_section_begin|>"}, ShapeNamed, `<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{"city": "Oslo"}<|tool_call_end|><|tool_calls_section_end|>`,
		"Kimi K2", "Kimi K2"},
	{FormatToken, []string{"<|tool_call|>", "<|tool_calls|>", "<|tool_call_start|>", "<|tool_calls_start|>", "<|function_call|>", "<|action_start|>", "<|tool_list_start|>", "<|tools_prefix|>", RoleForm, CallForm + "name"}, ShapeObject,
		`<|tool_call|>[{"name": "get_weather", "arguments": {"city": "Oslo"}}]`, "Granite 3, Phi-4, LFM2, InternLM, Apertus, Solar, GigaChat, Gemma 4", "Granite 3、Phi-4、LFM2、InternLM、Apertus、Solar、GigaChat、Gemma 4"},
	{FormatHarmony, append([]string{"<|channel|>", "<|start|>"}, RecipientForms...), ShapeNamed, `<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city": "Oslo"}<|call|>`,
		"gpt-oss (harmony)", "gpt-oss（harmony）"},
	{FormatCommand, []string{"<|start_action|>"}, ShapeObject, `<|START_ACTION|>[{"tool_name": "get_weather", "parameters": {"city": "Oslo"}}]<|END_ACTION|>`, "Command R and A", "Command R 与 A"},
	{FormatFunctools, []string{"functools["}, ShapeObject, `functools[{"name": "get_weather", "arguments": {"city": "Oslo"}}]`, "Phi-4-mini", "Phi-4-mini"},
	{FormatBracket, []string{"[TOOL_CALL]", "[TOOL_REQUEST]"}, ShapeObject, `[TOOL_REQUEST]{"name": "get_weather", "arguments": {"city": "Oslo"}}[END_TOOL_REQUEST]`, "LM Studio's prompt, MiniMax", "LM Studio 的提示词、MiniMax"},
	{FormatCalling, callingOpenings(), ShapeNamed, `[Calling tool: get_weather with arguments: {"city": "Oslo"}]`, "models that repeat a log of calls", "复述调用记录的模型"},
	{FormatReAct, []string{"Action:", "Tool:", "Function:"}, ShapeLabels, "Action: get_weather\nAction Input: {\"city\": \"Oslo\"}", "ReAct prompts", "ReAct 提示词"},
	{FormatFence, fenceOpenings(), ShapeObject, "```tool_call\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}\n```", "small models", "小模型"},
	{FormatFenceJSON, []string{"```json", "```xml", "```"}, ShapeObject, "```json\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}\n```", "any model", "任何模型"},
	{FormatFenceCode, []string{"```python", "```"}, ShapePythonic, "```python\nget_weather(city=\"Oslo\")\n```", "any model", "任何模型"},
	{FormatJSON, append([]string{"{", "["}, wrapperOpenings()...), ShapeObject, `{"name": "get_weather", "arguments": {"city": "Oslo"}}`, "any model; also after a special token that replaces a lost tag", "任何模型；也包括用特殊标记代替丢失标签的写法"},
	{FormatPythonic, []string{"name(", "["}, ShapePythonic, `[get_weather(city="Oslo")]`, "Llama, Olmo, models of the Berkeley leaderboard", "Llama、Olmo、伯克利榜单中的模型"},
	{FormatNameJSON, []string{"name", Prompt + "name"}, ShapeNamed, "get_weather\n{\"city\": \"Oslo\"}", "GLM-4, Functionary", "GLM-4、Functionary"},
}

func callingOpenings() []string {
	var out []string
	for _, f := range CallingForms {
		out = append(out, "["+strings.ToUpper(f[:1])+f[1:]+":")
	}
	return out
}

func fenceOpenings() []string {
	var out []string
	for _, f := range lex.CallFences {
		out = append(out, "```"+f)
	}
	return out
}

func wrapperOpenings() []string {
	var out []string
	for _, w := range wrappers {
		out = append(out, "<"+w+">")
	}
	return out
}

// opened returns the words of the tags and tokens that open a call, folded, each with
// its format. A token is |word.
func opened() map[string]Format {
	words := map[string]Format{"|tool_outputs_begin": ""}
	for _, e := range Formats {
		if slices.Contains([]Format{FormatJSON, FormatHarmony}, e.Format) { // those have a function
			continue
		}
		for _, o := range e.Openings {
			word, tag := strings.CutPrefix(o, "<")
			word, closed := strings.CutSuffix(word, ">")
			if tag && closed && !strings.ContainsAny(word, " =") {
				words[strings.TrimSuffix(word, "|")] = e.Format
			}
		}
	}
	return words
}

// square returns the tokens in square brackets, all in capitals.
func square() map[string]Token {
	tokens := map[string]Token{
		"[END_TOOL_REQUEST]": {Role: RoleClose}, "[/TOOL_CALL]": {Role: RoleClose}, "[/TOOL_CALLS]": {Role: RoleClose},
		"[ARGS]": {Role: RoleSep}, "[CALL_ID]": {Role: RoleSep}, "[THINK]": {Role: RoleThink, Word: "[think"}, "[/THINK]": {Role: RoleThinkEnd, Word: "[/think"}, "[BEGIN FINAL RESPONSE]": {Role: RoleThinkEnd, Word: "[/think"},
	}
	for _, e := range Formats {
		for _, o := range e.Openings {
			if strings.HasPrefix(o, "[") && strings.HasSuffix(o, "]") {
				tokens[o] = Token{Role: RoleOpen, Format: e.Format}
			}
		}
	}
	return tokens
}

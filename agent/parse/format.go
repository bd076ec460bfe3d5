package parse

import "github.com/weirhost/weir/agent/parse/internal/marker"

// A Format names how a call was written, for counters and logs.
type Format = marker.Format

// The formats. A reply may hold several; a call has the format of its outermost
// marker.
const (
	FormatTag       = marker.FormatTag       // <tool_call>…</tool_call>, also unclosed and doubled
	FormatFunction  = marker.FormatFunction  // <function_call>, <functioncall>, <start_function_call>
	FormatTags      = marker.FormatTags      // <tools>, <tool_use>, <TOOLCALL>, <tool_code>, <name>…</name>
	FormatInvoke    = marker.FormatInvoke    // <invoke name="…"><parameter name="…">
	FormatXML       = marker.FormatXML       // <function=…><parameter=…>
	FormatGLM       = marker.FormatGLM       // name, <arg_key>, <arg_value>
	FormatMistral   = marker.FormatMistral   // [TOOL_CALLS]
	FormatPythonTag = marker.FormatPythonTag // <|python_tag|>
	FormatDeepSeek  = marker.FormatDeepSeek  // <｜tool▁calls▁begin｜>
	FormatKimi      = marker.FormatKimi      // <|tool_calls_section_begin|>
	FormatToken     = marker.FormatToken     // <|tool_call|>, <|tool_call_start|>, <|action_start|>
	FormatHarmony   = marker.FormatHarmony   // <|channel|>commentary to=functions.…
	FormatCommand   = marker.FormatCommand   // <|START_ACTION|>
	FormatFunctools = marker.FormatFunctools // functools[…]
	FormatBracket   = marker.FormatBracket   // [TOOL_CALL]…[/TOOL_CALL], [TOOL_REQUEST]
	FormatCalling   = marker.FormatCalling   // [Calling tool: … with arguments: …]
	FormatReAct     = marker.FormatReAct     // Action: … Action Input: …
	FormatFence     = marker.FormatFence     // ```tool_call
	FormatFenceJSON = marker.FormatFenceJSON // ```json, and JSON in any other fence
	FormatFenceCode = marker.FormatFenceCode // name(a=1) in a fence
	FormatJSON      = marker.FormatJSON      // bare {…} or […]
	FormatPythonic  = marker.FormatPythonic  // bare name(a=1) or [name(a=1)]
	FormatNameJSON  = marker.FormatNameJSON  // name and {…}, on one line or two
)

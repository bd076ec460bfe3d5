package marker

// A Format names how a call was written. Package parse lists the formats.
type Format string

// The formats, with an example each in package parse.
const (
	FormatTag       Format = "tool_call"
	FormatFunction  Format = "function_call"
	FormatTags      Format = "tool_tag"
	FormatInvoke    Format = "invoke"
	FormatXML       Format = "function_xml"
	FormatGLM       Format = "glm"
	FormatMistral   Format = "mistral"
	FormatPythonTag Format = "python_tag"
	FormatDeepSeek  Format = "deepseek"
	FormatKimi      Format = "kimi"
	FormatToken     Format = "tool_token"
	FormatHarmony   Format = "harmony"
	FormatCommand   Format = "command"
	FormatFunctools Format = "functools"
	FormatBracket   Format = "bracket"
	FormatCalling   Format = "calling_tool"
	FormatReAct     Format = "react"
	FormatFence     Format = "fence"
	FormatFenceJSON Format = "fence_json"
	FormatFenceCode Format = "fence_pythonic"
	FormatJSON      Format = "json"
	FormatPythonic  Format = "pythonic"
	FormatNameJSON  Format = "name_json"
)

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

// Misuse returns in which form, not asked for by the prompt, a call was written, in words
// for a log. It is empty for the tags of the prompt and for the marks that models are
// trained to write.
func (f Format) Misuse() string {
	switch f {
	case FormatFence, FormatFenceJSON, FormatFenceCode:
		return "in a code fence"
	case FormatJSON, FormatNameJSON:
		return "bare JSON without tags"
	case FormatPythonic:
		return "written as code"
	case FormatReAct, FormatCalling:
		return "written as text"
	}
	return ""
}

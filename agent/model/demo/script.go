package demo

import (
	"strconv"

	"github.com/weirhost/weir/sdk/tool"
)

// countByFile matches questions that one script answers: how often a word is in each file.
const countByFile = `(?i)\b(?:count|how (?:many|often))\b.*\b(?:each|per|every|by) file\b|(?:每个|各|按)文件`

// script returns a call of run_script for a question that needs more than one result says.
func script(s scene) (tool.Call, bool) {
	if !s.has(tool.RunScript) || !s.has("grep_search") || !compiled(countByFile).MatchString(s.question) {
		return tool.Call{}, false
	}
	for _, expr := range []string{quotedPattern, `(?P<pattern>` + ident + `)`} {
		m := compiled(expr).FindStringSubmatch(s.question)
		if m == nil {
			continue
		}
		args := &object{}
		args.setText("code", "const r = await tools.grep_search({ pattern: "+strconv.Quote(m[len(m)-1])+" });\n"+
			"const files = {};\n"+
			"for (const [, file] of (await r.text()).matchAll(/^([^:\\n]+):\\d+: /gm)) files[file] = (files[file] ?? 0) + 1;\n"+
			"return Object.entries(files).map(([file, n]) => `${file}: ${n}`).join(\"\\n\");")
		return call(tool.RunScript, args), true
	}
	return tool.Call{}, false
}

package prompt

import (
	"encoding/json"
	"regexp"
	"strings"
	"sync"

	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// maxAbout bounds a description of a tool or an argument in a prompt, in bytes: some
// providers take no longer one. describe_tool has all of it.
const maxAbout = 1024

// Brief returns a tool as a prompt in language l has it, and each text that is too long
// with sign at its end. Its texts are neutralised first: a cut could make a mark of one.
func Brief(s tool.Spec, l tool.Locale, sign string) tool.Spec {
	params := limit.Neutralise(unescape(string(s.Parameters(l))))
	s.Description, s.DescriptionZh = brief(Clean(s.Describe(l)), sign), ""
	s.Params, s.ParamsZh = json.RawMessage(briefSchema(params, sign)), nil
	return s
}

// brief returns a text, or the beginning of a long one with a sign that says where the
// rest is.
func brief(text, sign string) string {
	if len(text) <= maxAbout {
		return text
	}
	return strings.TrimSpace(strings.ToValidUTF8(text[:maxAbout-len(sign)], "")) + sign
}

// abouts are the descriptions in a compact JSON Schema.
var abouts = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`"description":"(?:[^"\\]|\\.)*"`) })

// briefSchema returns a schema whose descriptions are brief.
func briefSchema(schema, sign string) string {
	if len(schema) <= maxAbout {
		return schema
	}
	return abouts().ReplaceAllStringFunc(schema, func(member string) string {
		var text string
		quoted := strings.TrimPrefix(member, `"description":`)
		if len(quoted) <= maxAbout || json.Unmarshal([]byte(quoted), &text) != nil || len(text) <= maxAbout {
			return member
		}
		return `"description":` + Quote(brief(text, sign))
	})
}

// saysMore reports whether describe_tool tells more of a tool than a prompt.
func saysMore(s tool.Spec) bool {
	about := s.Remote != nil && s.Remote.Instructions != "" || max(len(s.Description), len(s.DescriptionZh)) > maxAbout
	for _, params := range []string{string(s.Params), string(s.ParamsZh)} {
		about = about || briefSchema(params, "") != params
	}
	return about
}

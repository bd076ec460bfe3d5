package prompt

import (
	"fmt"
	"strings"
	"time"

	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// maxSources bounds the sources of a placeholder; the archive holds them all.
const maxSources = 3

// rule is the line between the parts of a Chinese placeholder.
var rule = strings.Repeat("━", 37)

// Placeholder is what is in the conversation for an archived result, in
// language l. Its bytes depend on its arguments alone. Fields that come from a
// tool or a model are neutralised and folded into one line, so that they can
// forge neither a line of the placeholder nor a call.
func Placeholder(ref tool.Ref, toolName string, l tool.Locale) string {
	if l == tool.Zh {
		return placeholderZh(ref, toolName)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "📎 [Tool result archived: %s]\n", ref.UUID)
	fmt.Fprintf(&b, "tool: %s · query: %s · %s · %d characters, %d lines\n",
		Clean(toolName), Clean(ref.Query), stamp(ref.CreatedAt), ref.Chars, ref.Lines)
	fmt.Fprintf(&b, "summary: %s\n", Clean(ref.Summary))
	if s := sources(ref.Sources); len(s) > 0 {
		fmt.Fprintf(&b, "sources: %s\n", strings.Join(s, "; "))
	}
	fmt.Fprintf(&b, `To read it: load_tool_history(uuid="%s") — add lines="a-b", grep="re", pointer="/json/path", head=n, tail=n or offset=n for a part`, ref.UUID)
	return b.String()
}

func placeholderZh(ref tool.Ref, toolName string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "📎 [工具结果存档: %s]\n%s\n", ref.UUID, rule)
	fmt.Fprintf(&b, "工具: %s\n查询: %s\n时间: %s\n原始长度: %d字\n%s\n",
		Clean(toolName), Clean(ref.Query), stamp(ref.CreatedAt), ref.Chars, rule)
	fmt.Fprintf(&b, "内容摘要:\n%s\n", Clean(ref.Summary))
	if s := sources(ref.Sources); len(s) > 0 {
		fmt.Fprintf(&b, "\n主要来源:\n- %s\n", strings.Join(s, "\n- "))
	}
	fmt.Fprintf(&b, "%s\n如需查看完整内容，请调用 load_tool_history(uuid=\"%s\")\n", rule, ref.UUID)
	fmt.Fprintf(&b, `如只需其中一部分，可加上 lines="a-b"、grep="正则"、pointer="/json/路径"、head=n、tail=n 或 offset=n（共 %d 行）`, ref.Lines)
	return b.String()
}

func stamp(t time.Time) string { return t.Format(time.DateTime) }

// sources names up to three sources, each by URL or path, or else by title.
func sources(all []tool.Source) []string {
	var out []string
	for _, s := range all {
		name := s.URL
		switch {
		case s.URL == "":
			name = s.Title
		case s.Title != "" && s.Title != s.URL:
			name = s.Title + " " + s.URL
		}
		if name = limit.Neutralise(OneLine(name)); name != "" {
			out = append(out, name)
		}
		if len(out) == maxSources {
			break
		}
	}
	return out
}

// Stub is what stays of a load, or of a search in the archive, when its turns
// are over.
func Stub(ref *tool.Ref, toolName, text string, l tool.Locale) string {
	if ref == nil {
		return fmt.Sprintf(For(l).searchStub, toolName, RuneCount(text))
	}
	return fmt.Sprintf(For(l).loadStub, ref.UUID, RuneCount(text))
}

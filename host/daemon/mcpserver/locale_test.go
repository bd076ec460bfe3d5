package mcpserver

import (
	"strings"
	"sync/atomic"
	"testing"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/sdk/tool"
)

// Whoever changes their language is answered in the new one, by whatever way the call
// goes and whoever words it.
func TestLanguageChanges(t *testing.T) {
	var zh atomic.Bool
	b := newBench(t, func(_ *host.Config, c *Config) {
		c.LocaleOf = func(string) tool.Locale {
			if zh.Load() {
				return tool.Zh
			}
			return tool.En
		}
	})
	everyWay(t, b, nil, func(mine *bench, s *mcp.ClientSession) {
		for _, chinese := range []bool{false, true} {
			zh.Store(chinese)
			b.server.Refresh()
			for _, token := range []any{nil, "p"} {
				p := &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"text": 7}}
				if token != nil {
					p.SetProgressToken(token)
				}
				r, err := s.CallTool(mine.Context(), p)
				if err != nil || strings.Contains(textOf(r), "参数") != chinese {
					mine.Errorf("Chinese %t, token %v: %v, %v", chinese, token, textOf(r), err)
				}
			}
		}
	})
}

// What is said of archived results is in the user's language, too.
func TestResourcesSpeakChinese(t *testing.T) {
	b := newBench(t, func(_ *host.Config, c *Config) { c.Locale = tool.Zh })
	s := b.http(nil, "2025-06-18", "me")
	said := map[string]string{}
	templates, err := s.ListResourceTemplates(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range templates.ResourceTemplates {
		said[x.URITemplate] = x.Description
	}
	if _, err := s.ListResources(t.Context(), &mcp.ListResourcesParams{Cursor: "x"}); err != nil {
		said["a cursor"] = err.Error()
	}
	if err := b.host.Archive().Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.ListResources(t.Context(), nil); err != nil {
		said["an archive that is closed"] = err.Error()
	}
	if len(said) != 6 {
		t.Fatalf("said: %q", said)
	}
	for of, text := range said {
		if !strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
			t.Errorf("%s is said to be %q", of, text)
		}
	}
}

package mcpserver

import (
	"strings"
	"sync/atomic"
	"testing"

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

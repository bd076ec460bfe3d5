package daemon

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/approval"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/host/script/offer"
	"github.com/weirhost/weir/sdk/tool"
)

// maxToolTokens is what 510 tools may cost; 2,000 are promised.
const maxToolTokens = 1950

// catalogue returns 510 tools of 69 servers by their server: those of the corpus that
// WEIR_CORPORA names, else made up ones in the same sizes.
func catalogue(t *testing.T) map[string][]*mcp.Tool {
	out := map[string][]*mcp.Tool{}
	if dir := os.Getenv("WEIR_CORPORA"); dir != "" {
		data, err := os.ReadFile(filepath.Join(dir, "livemcp.tools.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		in := bufio.NewScanner(bytes.NewReader(data))
		in.Buffer(nil, 1<<20)
		for in.Scan() {
			var x struct {
				Name, Server, Description string
				Parameters                json.RawMessage
			}
			if err := json.Unmarshal(in.Bytes(), &x); err != nil {
				t.Fatal(err)
			}
			server := strings.TrimLeft(regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(x.Server), "_"), "0123456789_")
			out[server] = append(out[server], &mcp.Tool{Name: x.Name, Description: x.Description, InputSchema: x.Parameters})
		}
		return out
	}
	nouns, verbs := strings.Fields(officeNouns), strings.Fields(officeVerbs)
	sizes := []int{35, 32, 25, 23, 22, 21, 19, 19, 19, 16, 14, 14, 13, 12, 10, 10, 9, 9, 8, 8, 8, 8, 8, 8, 7, 7, 7, 6, 5, 5, 5, 5, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4,
		3, 3, 3, 3, 3, 3, 3, 3, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}
	for i, n := range sizes {
		server := fmt.Sprintf("%s_%s_server", nouns[i%len(nouns)], verbs[i%len(verbs)])
		if i >= len(nouns) {
			server = nouns[i%len(nouns)]
		}
		for j := range n {
			out[server] = append(out[server], &mcp.Tool{
				Name: fmt.Sprintf("%s%sOf%d", verbs[j%len(verbs)], nouns[(i+j)%len(nouns)], j), Description: strings.Repeat("Does one thing with care. ", 8),
				InputSchema: json.RawMessage(`{"type":"object","properties":{"number":{"type":"integer","description":"which one"}}}`),
			})
		}
	}
	return out
}

// TestToolTokens measures what the tools of a large catalogue cost in every mode, in both
// languages, with scripts and without.
func TestToolTokens(t *testing.T) {
	native := false
	m := replay.Func(func(int, agent.Request) replay.Reply { return replay.Text("Done.") }).Describing(agent.ModelInfo{Name: "m", Window: 32768, NativeTools: &native})
	list, all := catalogue(t), 0
	s := serverWith(t, m, func(c *host.Config) {
		c.Approvals = approval.Policy{Default: approval.Allow}
		for name, tools := range list {
			srv := mcp.NewServer(&mcp.Implementation{Name: name, Version: "1"}, nil)
			for _, x := range tools {
				all++
				srv.AddTool(x, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					return &mcp.CallToolResult{}, nil
				})
			}
			web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return srv }, nil))
			t.Cleanup(web.Close)
			c.Servers = append(c.Servers, plugin.Server{Name: name, URL: web.URL})
		}
		slices.SortFunc(c.Servers, func(a, b plugin.Server) int { return strings.Compare(a.Name, b.Name) })
	})
	if err := s.host.WaitServers(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(s.host.Tools()); n < all {
		t.Fatalf("%d of %d tools are there", n, all)
	}
	check := func(what, text string) {
		n := new(agent.Estimator).Tokens(text)
		t.Logf("%-40s %5d characters %5d tokens", what, len([]rune(text)), n)
		if n > maxToolTokens {
			t.Errorf("%s: %d tools cost %d tokens", what, all, n)
		}
	}
	for _, scripts := range []offer.Offering{offer.Never, offer.Always} {
		s.offers(scripts, false)
		for _, l := range []tool.Locale{tool.En, tool.Zh} {
			question := map[tool.Locale]string{tool.En: "Hello there.", tool.Zh: "你好，你是谁？"}[l]
			for _, native = range []bool{false, true} {
				s.post("/api/chat", fmt.Sprintf(`{"message":%q}`, question))
				r := m.Requests()[len(m.Requests())-1]
				told := r.System
				for _, x := range r.Tools {
					def, _ := json.Marshal(map[string]any{"type": "function", "function": map[string]any{"name": x.Name, "description": x.Describe(l), "parameters": x.Parameters(l)}})
					told += string(def)
				}
				if (len(r.Tools) > 0) != native || len(r.Tools) > 6 {
					t.Fatalf("%d tools are declared", len(r.Tools))
				}
				check(fmt.Sprintf("native %v, scripts %s, %s", native, scripts, l), told)
			}
			c := s.daemon.current.State().Config
			c.Users = map[string]User{"ann": {TokenSHA256: sha256.Sum256([]byte(annToken)), Locale: l}}
			if err := s.daemon.Configure(c); err != nil {
				t.Fatal(err)
			}
			session := s.mcpAs(annToken, "")
			listed, err := session.ListTools(t.Context(), nil)
			if err != nil || len(listed.Tools) > 6 {
				t.Fatalf("%d tools, %v", len(listed.Tools), err)
			}
			var b bytes.Buffer
			out := json.NewEncoder(&b)
			out.SetEscapeHTML(false)
			_ = out.Encode(listed.Tools) // of the protocol's library
			check(fmt.Sprintf("MCP, scripts %s, %s", scripts, l), b.String()+session.InitializeResult().Instructions)
		}
	}
}

package cluster

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// turning sends each request to the next daemon.
type turning struct {
	*world
	n *atomic.Int64
}

func (t turning) RoundTrip(r *http.Request) (*http.Response, error) {
	d := t.daemons[int(t.n.Add(1))%len(t.daemons)]
	r = r.Clone(r.Context())
	r.URL.Host, r.Host = d.addr, d.addr
	r.Header.Set("Authorization", "Bearer "+d.token)
	return http.DefaultTransport.RoundTrip(r)
}

// Sessions of all versions of MCP are whole where each of their requests goes to another
// daemon.
func TestMCP(t *testing.T) {
	if number("WEIR_CLUSTER_DAEMONS", 1) < 2 {
		t.Skip("make test-cluster runs it")
	}
	w := newWorld(t, 3)
	const sessions, calls = 15, 6
	for _, version := range []string{"2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"} {
		turn := turning{w, new(atomic.Int64)}
		session := func(n int) error {
			c := mcp.NewClient(&mcp.Implementation{Name: "turning", Version: "1"}, nil)
			transport := &mcp.StreamableClientTransport{Endpoint: "http://daemon/mcp", HTTPClient: &http.Client{Transport: turn}}
			s, err := c.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
			if err != nil {
				return err
			}
			for i := range calls {
				if _, err := s.ListTools(t.Context(), nil); err != nil {
					return fmt.Errorf("list %d: %w", i, err)
				}
				id := fmt.Sprint(version, " ", n, " ", i)
				r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "effects__once", Arguments: map[string]any{"id": id}})
				if err != nil || r.IsError || w.effects.happened(id) != 1 {
					return fmt.Errorf("call %d: %v %+v, it happened %d times", i, err, r, w.effects.happened(id))
				}
			}
			return s.Close()
		}
		var all sync.WaitGroup
		var clean atomic.Int64
		for n := range sessions {
			all.Go(func() {
				if err := session(n); err != nil {
					t.Errorf("%s: session %d: %v", version, n, err)
					return
				}
				clean.Add(1)
			})
		}
		all.Wait()
		t.Logf("%s: %d of %d sessions are clean, %d requests", version, clean.Load(), sessions, turn.n.Load())
	}
}

package daemon

import (
	"encoding/json"
	"testing"

	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host/daemon/api"
)

// The operator sees which clients are connected, until they end their sessions.
func TestMCPClients(t *testing.T) {
	s := newServer(t, replay.New())
	list := func() []api.MCPClient {
		t.Helper()
		var out api.MCPClients
		if err := json.Unmarshal([]byte(s.get("/api/mcp/clients").body), &out); err != nil {
			t.Fatal(err)
		}
		return out.Clients
	}
	if got := list(); len(got) != 0 {
		t.Fatalf("before anyone comes: %+v", got)
	}
	session := s.mcp("2025-11-25")
	got := list()
	if len(got) != 1 || got[0].Name != "test" || got[0].Version != "1" || got[0].Principal != "local" || got[0].Transport != "http" || got[0].Began.IsZero() || got[0].Last.Before(got[0].Began) {
		t.Errorf("%+v", got)
	}
	if err := session.Close(); err != nil {
		t.Fatal(err)
	}
	if got := list(); len(got) != 0 {
		t.Errorf("after the client ended its session: %+v", got)
	}
}

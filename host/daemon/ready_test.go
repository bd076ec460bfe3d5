package daemon

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/plugin"
)

// A daemon is ready when other servers have said which tools they have, or 10 seconds after
// its start; then it says whose tools are missing.
func TestReadyWithOtherServers(t *testing.T) {
	goOn := make(chan struct{})
	m := mcp.NewServer(&mcp.Implementation{Name: "slow", Version: "1"}, nil)
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return m }, nil)
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-goOn:
			handler.ServeHTTP(w, r)
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(slow.Close)
	gone := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(gone.Close)
	s := serverWith(t, replay.New(), func(c *host.Config) {
		c.Servers = []plugin.Server{{Name: "slow", URL: slow.URL}, {Name: "gone", URL: gone.URL}}
	})
	var forward atomic.Int64
	s.daemon.now = func() time.Time { return s.daemon.began.Add(time.Duration(forward.Load())) }
	if a := s.get("/readyz"); a.status != 503 || a.code(t) != "starting" || !strings.Contains(a.body, "slow") {
		t.Errorf("while one starts: %d %s", a.status, a.body)
	}
	forward.Store(int64(firstLists))
	if a := s.get("/readyz"); a.status != 200 || !strings.Contains(a.body, `"missing":["gone","slow"]`) && !strings.Contains(a.body, `"missing":["slow","gone"]`) {
		t.Errorf("after 10 seconds: %d %s", a.status, a.body)
	}
	forward.Store(0)
	close(goOn)
	if err := s.host.WaitServers(t.Context()); err != nil {
		t.Fatal(err)
	}
	if a := s.get("/readyz"); a.status != 200 || !strings.Contains(a.body, `"missing":["gone"]`) {
		t.Errorf("when both have answered: %d %s", a.status, a.body)
	}
}

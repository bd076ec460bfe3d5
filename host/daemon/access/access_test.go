package access

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host/daemon/openapi"
	"github.com/weirhost/weir/host/daemon/setup"
)

// A daemon without a token opens nothing, not even to an empty one.
func TestNoTokenConfigured(t *testing.T) {
	current, err := setup.New("", "", setup.Config{
		Models:   map[string]setup.Model{"m": {Model: replay.New()}},
		Profiles: map[string]setup.Profile{"default": {Model: "m", Agent: agent.Defaults()}},
	})
	if err != nil {
		t.Fatal(err)
	}
	a := &Check{Setup: current, Hosts: []string{"localhost"}, Auth: func(*http.Request) openapi.Auth { return openapi.Token }}
	for _, h := range []string{"Bearer ", "Bearer  ", "Bearer"} {
		q := httptest.NewRequest("GET", "http://localhost/api/tools", nil)
		q.Header.Set("Authorization", h)
		if _, p := a.check(q); p == nil {
			t.Errorf("%q opened it", h)
		}
	}
}

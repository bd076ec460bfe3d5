package access

import (
	"context"
	"errors"
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

// A store that does not answer is no wrong token: a client tries again, and does not ask for
// another one.
type away struct{}

func (away) Whose(context.Context, string) (string, string, bool, error) {
	return "", "", false, errors.New("away")
}

func TestATokenThatCannotBeLookedUp(t *testing.T) {
	current, err := setup.New("", "operators", setup.Config{
		Models:   map[string]setup.Model{"m": {Model: replay.New()}},
		Profiles: map[string]setup.Profile{"default": {Model: "m", Agent: agent.Defaults()}},
	})
	if err != nil {
		t.Fatal(err)
	}
	a := &Check{Setup: current, Clients: away{}, Hosts: []string{"localhost"}, Auth: func(*http.Request) openapi.Auth { return openapi.Client }}
	for token, want := range map[string]int{"operators": 0, "weir_client_x": http.StatusServiceUnavailable} {
		q := httptest.NewRequest("GET", "http://localhost/v1/models", nil)
		q.Header.Set("Authorization", "Bearer "+token)
		_, p := a.check(q)
		if got := 0; p != nil {
			got = p.Status
			if got != want || p.RetryAfter <= 0 {
				t.Errorf("%s: %+v", token, p)
			}
		} else if want != got {
			t.Errorf("%s was let in", token)
		}
	}
}

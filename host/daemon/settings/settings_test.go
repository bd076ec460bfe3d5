package settings

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/daemon/api"
)

// An editor remembers what it was asked to write.
type editor struct{ matches []string }

func (*editor) SettingsTag() (string, error)                { return `"tag"`, nil }
func (*editor) SettingsSchema() (api.SettingsSchema, error) { return api.SettingsSchema{}, nil }

func (e *editor) PatchSettings(_ context.Context, match string, _ api.SettingsPatch) (api.SettingsPatched, error) {
	e.matches = append(e.matches, match)
	return api.SettingsPatched{ETag: `"next"`}, nil
}

// A request that does not say which settings it changes writes nothing.
func TestPatchNeedsIfMatch(t *testing.T) {
	e := &editor{}
	s := &Settings{Editor: e, Log: hclog.NewNullLogger()}
	patch := func(match string) error {
		r := httptest.NewRequest(http.MethodPatch, "/api/settings", strings.NewReader(`{"changes":[{"key":["locale"],"value":"zh"}]}`))
		r.Header.Set("Content-Type", "application/json")
		if match != "" {
			r.Header.Set("If-Match", match)
		}
		return s.patch(httptest.NewRecorder(), r)
	}
	var problem *api.Problem
	if err := patch(""); !errors.As(err, &problem) || problem.Status != http.StatusPreconditionRequired {
		t.Errorf("without If-Match: %v, want status 428", err)
	}
	if err := patch(`"tag"`); err != nil {
		t.Errorf("with If-Match: %v", err)
	}
	if len(e.matches) != 1 || e.matches[0] != `"tag"` {
		t.Errorf("the file was written for %q", e.matches)
	}
}

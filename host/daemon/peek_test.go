package daemon

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host/daemon/api"
)

// Whoever looks at an archived result over the API is no model that loads it.
func TestShowingAnArchiveIsNoLoad(t *testing.T) {
	s := newServer(t, replay.New())
	var kept KeptResult
	if r := s.post("/api/results", `{"tool_name":"theirs","result":"`+strings.Repeat("row ", 20_000)+`"}`); json.Unmarshal([]byte(r.body), &kept) != nil || kept.UUID == "" {
		t.Fatalf("%d %s", r.status, r.body)
	}
	for range 2 {
		var page struct{ Loads int }
		if r := s.get("/api/archives/" + kept.UUID); r.status != 200 || json.Unmarshal([]byte(r.body), &page) != nil || page.Loads != 0 {
			t.Errorf("%d, %d loads", r.status, page.Loads)
		}
	}
	if r := s.get("/api/stats"); !strings.Contains(r.body, `"loaded_back":0`) {
		t.Errorf("%s", r.body)
	}
}

// What is refused because the daemon stops is no failure to look into.
func TestDrainingIsNoErrorInTheLog(t *testing.T) {
	current := newServer(t, replay.New()).daemon.current
	for _, row := range []struct {
		why    string
		err    error
		logged bool
	}{
		{"a stop refuses new turns", api.Problemf(http.StatusServiceUnavailable, api.CodeDraining, "", "the daemon is shutting down"), false},
		{"too many turns are worth a look", api.Problemf(http.StatusServiceUnavailable, "overloaded", "", "too many"), true},
		{"what nobody foresaw", errors.New("odd"), true},
	} {
		var log bytes.Buffer
		g := guard{log: hclog.New(&hclog.LoggerOptions{Output: &log, Level: hclog.Info}), current: current}
		w := httptest.NewRecorder()
		g.wrap(func(http.ResponseWriter, *http.Request) error { return row.err })(w, httptest.NewRequest("GET", "/readyz", nil))
		if w.Code < 500 || strings.Contains(log.String(), "ERROR") != row.logged {
			t.Errorf("%s: status %d, log %q", row.why, w.Code, &log)
		}
	}
}

func TestNegativeNumbersOfAQuery(t *testing.T) {
	s := newServer(t, replay.New())
	for _, q := range []string{"limit=-1", "offset=-3", "limit=many"} {
		if r := s.get("/api/archives?" + q); r.code(t) != "bad_query" || !strings.Contains(r.body, "must be 0 or more") {
			t.Errorf("%s: %s", q, r.body)
		}
	}
}

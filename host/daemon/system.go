package daemon

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/access"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/httpjson"
	"github.com/weirhost/weir/host/daemon/openapi"
	"github.com/weirhost/weir/host/daemon/params"
	"github.com/weirhost/weir/host/daemon/setup"
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/host/daemon/telemetry"
	"github.com/weirhost/weir/host/daemon/turns"
	"github.com/weirhost/weir/host/daemon/usage"
)

// system has the routes about the daemon itself.
type system struct {
	host      *host.Host
	store     *store.Store
	current   *setup.Current
	admission *turns.Admission
	metrics   *telemetry.Metrics
	calls     *usage.CallLog
	now       func() time.Time
	began     time.Time // of the daemon
	all       func() []openapi.Route
}

func (s *system) routes() []openapi.Route {
	return []openapi.Route{
		{
			Method: "GET", Path: "/healthz",
			Auth: openapi.Public, Handle: s.healthz,
			About: "Whether the daemon lives",
			Gives: Health{},
		},
		{
			Method: "GET", Path: "/readyz",
			Auth: openapi.Public, Handle: s.readyz,
			About: "Whether a question can be asked",
			Gives: Readiness{},
			Fails: []int{503},
		},
		{
			Method: "GET", Path: "/openapi.json",
			Auth: openapi.Public, Handle: s.openAPI,
			About: "This document",
			Gives: map[string]any{},
		},
		{
			Method: "GET", Path: "/api/models",
			Auth: openapi.Token, Handle: s.listModels,
			About: "List the configured models",
			Gives: api.ConfiguredModels{},
		},
		{
			Method: "GET", Path: "/api/stats",
			Auth: openapi.Operator, Handle: s.stats,
			About: "Sums of the call log and the archive",
			Query: []openapi.Param{params.Query("days", "integer", "also the sums of each tool and day, for so many days, at most 400; left out: none")},
			Gives: store.Stats{},
			Fails: []int{400},
		},
		{
			Method: "GET", Path: "/metrics",
			Auth: openapi.Operator, Handle: s.serveMetrics,
			About: "Counters and times for Prometheus",
			Kind:  kindText,
		},
	}
}

func (s *system) healthz(w http.ResponseWriter, _ *http.Request) error {
	return httpjson.Answer(w, Health{"ok"})
}

// Health says that the daemon answers at all.
type Health struct {
	Status string `json:"status"`
}

// Readiness says that a question can be asked, how many tools there are, and the names of the
// other MCP servers whose tools are missing, because they do not answer.
type Readiness struct {
	Status  string   `json:"status"`
	Tools   int      `json:"tools"`
	Missing []string `json:"missing,omitempty"`
}

// readyTime is how long the database may take to answer.
const readyTime = 2 * time.Second

// firstLists is how long after its start a daemon is not ready as long as other MCP servers
// have not said for the first time which tools they have.
const firstLists = 10 * time.Second

// readyz says whether a question can be asked: the daemon is not draining, at least one
// model is there, the database answers, and other servers' tools are in or late.
func (s *system) readyz(w http.ResponseWriter, r *http.Request) error {
	if s.admission.Closed() {
		return api.Problemf(http.StatusServiceUnavailable, api.CodeDraining, "", "the daemon is shutting down")
	}
	ctx, cancel := context.WithTimeout(r.Context(), readyTime)
	defer cancel()
	if err := s.store.Ping(ctx); err != nil {
		return archive.ErrUnreachable
	}
	missing, starting := s.host.MissingServers()
	if len(starting) > 0 && s.now().Sub(s.began) < firstLists {
		return api.Problemf(http.StatusServiceUnavailable, "starting", "ask again in a second", "these MCP servers have not said yet which tools they have: %s", strings.Join(starting, ", "))
	}
	return httpjson.Answer(w, Readiness{"ready", len(s.host.Tools()), missing})
}

func (s *system) stats(w http.ResponseWriter, r *http.Request) error {
	days, err := params.Int(r, "days", 0)
	if err != nil {
		return err
	}
	s.calls.Flush()
	sums, err := s.store.Stats(r.Context())
	if err != nil {
		return err
	}
	if days > 0 {
		if sums.Days, err = s.store.StatsByDay(r.Context(), s.now(), min(days, mostDays)); err != nil {
			return err
		}
	}
	return httpjson.Answer(w, sums)
}

// serveMetrics answers with the counters in Prometheus' format.
func (s *system) serveMetrics(w http.ResponseWriter, r *http.Request) error {
	s.metrics.ServeHTTP(w, r)
	return nil
}

// openAPI answers with the description of all routes.
func (s *system) openAPI(w http.ResponseWriter, _ *http.Request) error {
	return httpjson.Answer(w, openapi.NewWriter(false).Document(s.all()))
}

func (s *system) listModels(w http.ResponseWriter, r *http.Request) error {
	out := api.ConfiguredModels{Models: []api.ConfiguredModel{}}
	set := s.current.View(access.Principal(r))
	windows := set.Windows(r.Context())
	for _, name := range slices.Sorted(maps.Keys(set.Models)) {
		i := set.Models[name].Info
		out.Models = append(out.Models, api.ConfiguredModel{
			Name: name, Provider: i.Provider, Model: i.Model, Window: windows[name], Simulated: i.Simulated,
			Default: name == set.Profiles[set.First].Model,
		})
	}
	return httpjson.Answer(w, out)
}

package daemon

import (
	"context"
	"maps"
	"net/http"
	"slices"
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

// Readiness says that a question can be asked, and how many tools there are.
type Readiness struct {
	Status string `json:"status"`
	Tools  int    `json:"tools"`
}

// readyTime is how long the database may take to answer.
const readyTime = 2 * time.Second

// readyz says whether a question can be asked: the daemon is not draining, at least one
// model is there, and the database answers.
func (s *system) readyz(w http.ResponseWriter, r *http.Request) error {
	if s.admission.Closed() {
		return api.Problemf(http.StatusServiceUnavailable, api.CodeDraining, "", "the daemon is shutting down")
	}
	ctx, cancel := context.WithTimeout(r.Context(), readyTime)
	defer cancel()
	if err := s.store.Ping(ctx); err != nil {
		return archive.ErrUnreachable
	}
	return httpjson.Answer(w, Readiness{"ready", len(s.host.Tools())})
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

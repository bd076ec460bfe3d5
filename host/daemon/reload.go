package daemon

import (
	"context"
	"net/http"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/httpjson"
	"github.com/weirhost/weir/host/daemon/openapi"
	"github.com/weirhost/weir/host/daemon/params"
	"github.com/weirhost/weir/host/daemon/turns"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/sdk/tool"
)

// A ReloadReport is the outcome of a reload of the configuration.
type ReloadReport struct {
	// Change lists the changes of plugins.
	Change host.Change `json:"change"`
	// InForce names the changed settings that apply now, by their keys in tools.toml;
	// Restart those that apply after a restart.
	InForce []string `json:"in_force"`
	Restart []string `json:"restart"`
	// Notes say what else a person has to do.
	Notes []tool.Text `json:"notes"`
}

// reloads has the routes that reload everything and that stop the daemon.
type reloads struct {
	admission *turns.Admission
	reload    func(context.Context) (ReloadReport, error)
	stop      func()                   // nil: refused
	handOver  func(api.HandOver) error // nil: refused
}

func (l *reloads) routes() []openapi.Route {
	return []openapi.Route{
		{
			Method: "POST", Path: "/api/reload",
			Auth: openapi.Operator, Handle: l.admission.Whole(l.postReload),
			About: "Read the configuration and the plugin folders again",
			Gives: ReloadReport{},
			Fails: []int{409, 503},
		},
		{
			Method: "POST", Path: "/api/stop",
			Auth: openapi.Operator, Handle: l.postStop,
			About: "Stop the daemon: running answers have their time to end",
			Fails: []int{409},
		},
		{
			Method: "POST", Path: "/api/handover",
			Auth: openapi.Operator, Handle: l.postHandOver,
			About: "For `weir serve`: have a `weir mcp` give the data folder back, and forward to the new daemon",
			Takes: api.HandOver{},
			Fails: []int{409},
		},
	}
}

// postReload reloads and says what became different.
func (l *reloads) postReload(w http.ResponseWriter, r *http.Request) error {
	out, err := l.reload(r.Context())
	return httpjson.AnswerOr(w, msg.Localize(params.Language(r), out), err)
}

// postStop stops the daemon after its answer.
func (l *reloads) postStop(w http.ResponseWriter, r *http.Request) error {
	if l.stop == nil {
		return api.Problemf(http.StatusConflict, "not_stopped", "close the MCP client, or end the program that contains the daemon", "the daemon belongs to another program and ends with it")
	}
	w.WriteHeader(http.StatusNoContent)
	l.stop()
	return nil
}

// postHandOver has this process give the data folder to another one, after its answer.
func (l *reloads) postHandOver(w http.ResponseWriter, r *http.Request) error {
	var to api.HandOver
	if err := httpjson.Read(w, r, &to); err != nil {
		return err
	}
	if l.handOver == nil {
		return api.Problemf(http.StatusConflict, "not_handed_over", "stop this daemon first: `weir stop`", "this daemon keeps the data folder until it ends")
	}
	if err := l.handOver(to); err != nil {
		return api.Problemf(http.StatusConflict, "not_handed_over", "", "the daemon keeps the data folder: %v", msg.Of(err))
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

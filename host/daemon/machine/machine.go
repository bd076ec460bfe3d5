// Package machine has the routes about the machine of the daemon: its health, and how MCP
// clients on it are set up.
package machine

import (
	"context"
	"net/http"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/daemon/access"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/httpjson"
	"github.com/weirhost/weir/host/daemon/openapi"
	"github.com/weirhost/weir/host/daemon/params"
	"github.com/weirhost/weir/host/daemon/turns"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/sdk/tool"
)

// About knows the machine.
type About interface {
	// Doctor checks everything that weir needs, and changes nothing.
	Doctor(context.Context, tool.Locale) api.HealthReport
	// MCPConfigs returns the set-up of the known MCP clients, with the operator's token if
	// withToken is true.
	MCPConfigs(withToken bool) (api.MCPConfigs, error)
}

// Machine has the routes. It is safe for concurrent use.
type Machine struct {
	About     About // nil: nothing is known
	Admission *turns.Admission
	Log       hclog.Logger

	checking sync.Mutex // held by an examination
}

// Routes returns the routes.
func (m *Machine) Routes() []openapi.Route {
	return []openapi.Route{
		{
			Method: "GET", Path: "/api/doctor",
			Auth: openapi.Operator, Handle: m.Admission.Awaited(m.doctor),
			About: "Check everything that weir needs, and say how to fix it; takes seconds",
			Gives: api.HealthReport{},
			Fails: []int{409, 503},
		},
		{
			Method: "GET", Path: "/api/mcp/config",
			Auth: openapi.Operator, Handle: m.config,
			About: "What each known MCP client needs in its own file to find weir",
			Query: []openapi.Param{params.Query("token", "boolean", "with the operator's token; left out: with the word TOKEN in its place")},
			Gives: api.MCPConfigs{},
			Fails: []int{400, 409},
		},
	}
}

func (m *Machine) doctor(w http.ResponseWriter, r *http.Request) error {
	if m.About == nil {
		return unknown()
	}
	if !m.checking.TryLock() {
		return api.Problemf(http.StatusConflict, api.CodeBusy, "wait until it ends", "an examination is running")
	}
	defer m.checking.Unlock()
	l := params.Language(r)
	return httpjson.Answer(w, msg.Localize(l, m.About.Doctor(r.Context(), l)))
}

func (m *Machine) config(w http.ResponseWriter, r *http.Request) error {
	withToken, err := params.Bool(r, "token", false)
	if err != nil {
		return err
	}
	if m.About == nil {
		return unknown()
	}
	out, err := m.About.MCPConfigs(withToken)
	if err != nil {
		return unknown()
	}
	if withToken {
		m.Log.Info("the token was shown over the API", "by", access.Principal(r))
	}
	w.Header().Set("Cache-Control", "no-store")
	return httpjson.Answer(w, msg.Localize(params.Language(r), out))
}

func unknown() error {
	return api.Problemf(http.StatusConflict, "not_known", "use `weir doctor` and `weir mcp config` on the machine of the daemon", "the daemon belongs to another program and knows nothing of this machine")
}

package daemon

import (
	"net/http"
	"runtime/debug"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/setup"
	"github.com/weirhost/weir/host/daemon/turns"
	"github.com/weirhost/weir/host/internal/panics"
)

// A guard wraps the handlers of all routes.
type guard struct {
	log     hclog.Logger
	current *setup.Current
}

// wrap turns a handler's error into an answer and keeps a panic of one
// request from ending the daemon.
func (g guard) wrap(h turns.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if p := recover(); p != nil {
				if p == http.ErrAbortHandler {
					panic(p)
				}
				g.log.Error("a request panicked", "path", r.URL.Path, "panic", panics.Says(p), "stack", string(debug.Stack()))
				writeProblem(w, r, asProblem(nil))
			}
		}()
		if err := h(w, g.current.State().Tracing.Extract(r)); err != nil {
			p := asProblem(err)
			if p.Status >= 500 && p.Code != api.CodeDraining { // which is how a stop begins, not a failure
				g.log.Error("request failed", "path", r.URL.Path, "status", p.Status, "error", err)
			}
			writeProblem(w, r, p)
		}
	}
}

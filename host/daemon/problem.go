package daemon

import (
	"errors"
	"math"
	"net/http"
	"strconv"

	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/httpjson"
	"github.com/weirhost/weir/host/daemon/openai"
	"github.com/weirhost/weir/host/daemon/params"
	"github.com/weirhost/weir/host/plugin"
)

// asProblem returns the problem of an error, also of one about a plugin.
func asProblem(err error) *api.Problem {
	if p := pluginProblem(err); p != nil {
		return p
	}
	return api.AsProblem(err)
}

// writeProblem answers a request with a problem, in the words of its protocol.
func writeProblem(w http.ResponseWriter, r *http.Request, p *api.Problem) {
	p = p.In(params.Language(r))
	if p.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(p.RetryAfter.Seconds()))))
	}
	if !openai.Speaks(r) {
		httpjson.Write(w, p.Status, api.ErrorBody{Error: p})
		return
	}
	if openai.RetryIsUseless(p) {
		w.Header().Set("X-Should-Retry", "false")
	}
	httpjson.Write(w, p.Status, openai.ErrorOf(p))
}

// pluginProblem gives a PluginError a status; nil: err is none.
func pluginProblem(err error) *api.Problem {
	e, ok := errors.AsType[*plugin.Error](err)
	if !ok {
		return nil
	}
	status := http.StatusConflict
	switch e.Code {
	case plugin.CodeUnknown, plugin.CodeNoVersion:
		status = http.StatusNotFound
	case plugin.CodeInvalid:
		status = http.StatusUnprocessableEntity
	}
	return &api.Problem{Status: status, Code: string(e.Code), Msg: e.Msg, Hint: e.Hint}
}

package daemon

import (
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/httpjson"
	"github.com/weirhost/weir/host/daemon/openai"
	"github.com/weirhost/weir/sdk/tool"
)

// asProblem returns the problem of an error, also of one about a plugin.
func asProblem(err error) *api.Problem {
	if p := pluginProblem(err); p != nil {
		return p
	}
	return api.AsProblem(err)
}

// localeOf returns the language in which a request wants its errors.
func localeOf(r *http.Request) tool.Locale {
	if strings.HasPrefix(strings.TrimSpace(r.Header.Get("Accept-Language")), "zh") {
		return tool.Zh
	}
	return tool.En
}

// writeProblem answers a request with a problem, in the words of its protocol.
func (d *Daemon) writeProblem(w http.ResponseWriter, r *http.Request, p *api.Problem) {
	p = p.In(localeOf(r))
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

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

// render returns a problem in the language l.
func (d *Daemon) render(l tool.Locale, p *api.Problem) *api.Problem {
	if l != tool.Zh {
		return p
	}
	out := *p.In(l)
	book, err := d.chinese()
	if err != nil {
		d.log.Error("the Chinese texts cannot be read", "error", err)
		return p
	}
	// Texts that other packages render in English before they return them.
	out.Msg.Format, out.Hint.Format = book.Text(out.Msg.Format), book.Text(out.Hint.Format)
	return &out
}

// writeProblem answers a request with a problem, in the words of its protocol.
func (d *Daemon) writeProblem(w http.ResponseWriter, r *http.Request, p *api.Problem) {
	p = d.render(localeOf(r), p)
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

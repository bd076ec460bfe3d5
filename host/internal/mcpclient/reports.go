package mcpclient

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// reports forwards progress to the calls that request it. They take it as it is read: the SDK
// hands notifications on beside answers, so that an answer overtakes the reports before it.
type reports struct {
	next atomic.Int64
	mu   sync.Mutex
	to   map[string]*reported
}

// A reported is a call that requests progress.
type reported struct {
	f     func(done, total int, msg string)
	parts int
}

// add returns a token, and a function that ends its reports: after it f is not called. f must
// not block: the answers of other calls come after it.
func (r *reports) add(f func(done, total int, msg string)) (token string, end func()) {
	token = fmt.Sprintf("weir-%d", r.next.Add(1))
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.to == nil {
		r.to = map[string]*reported{}
	}
	r.to[token] = &reported{f, 1}
	return token, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.to, token)
	}
}

// take reports whether a message, which is a notification of progress, was handed on or is for
// no call. What cannot be read here is the SDK's.
func (r *reports) take(message string) bool {
	var m struct {
		Params mcp.ProgressNotificationParams
	}
	if json.Unmarshal([]byte(message), &m) != nil {
		return false
	}
	r.put(&m.Params)
	return true
}

func (r *reports) handle(_ context.Context, n *mcp.ProgressNotificationClientRequest) {
	r.put(n.Params)
}

func (r *reports) put(p *mcp.ProgressNotificationParams) {
	token, ok := p.ProgressToken.(string)
	if !ok {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	to := r.to[token]
	if to == nil {
		return
	}
	if p.Progress != math.Trunc(p.Progress) || p.Total != math.Trunc(p.Total) {
		to.parts = 100 // of 1, for example; what is reported must grow
	}
	to.f(int(p.Progress*float64(to.parts)), int(p.Total*float64(to.parts)), short(p.Message, 500))
}

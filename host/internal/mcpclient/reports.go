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
	to   map[string]chan<- *mcp.ProgressNotificationParams
}

// add returns a token, and a function that ends its reports: it returns when f was called for
// all that came before.
func (r *reports) add(f func(done, total int, msg string)) (token string, end func()) {
	token = fmt.Sprintf("weir-%d", r.next.Add(1))
	queue, ended := make(chan *mcp.ProgressNotificationParams, unaskedBurst), make(chan struct{})
	go func() {
		defer close(ended)
		parts := 1.0
		for p := range queue {
			if p.Progress != math.Trunc(p.Progress) || p.Total != math.Trunc(p.Total) {
				parts = 100 // of 1, for example; what is reported must grow
			}
			f(int(p.Progress*parts), int(p.Total*parts), short(p.Message, 500))
		}
	}()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.to == nil {
		r.to = map[string]chan<- *mcp.ProgressNotificationParams{}
	}
	r.to[token] = queue
	return token, func() {
		r.mu.Lock()
		delete(r.to, token)
		close(queue)
		r.mu.Unlock()
		<-ended
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

// put drops what a slow call has no room for: each report tells more than the one before.
func (r *reports) put(p *mcp.ProgressNotificationParams) {
	token, ok := p.ProgressToken.(string)
	if !ok {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if queue := r.to[token]; queue != nil {
		select {
		case queue <- p:
		default:
		}
	}
}

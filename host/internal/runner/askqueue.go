package runner

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weirhost/weir/host/internal/registry"
)

// An askQueue admits the calls that ask plugins, listConcurrent at a time. Of those that
// wait, the next is one that has not failed before, of the top folder that has used the
// least time, and the newest of these. So plugins that hang delay another one by the calls
// that run, and not by all that wait. It is safe for concurrent use.
type askQueue struct {
	mu      sync.Mutex
	running int
	used    map[string]time.Duration // by top folder, since the queue was last empty
	waiting []*ask                   // the newest last
}

// An ask waits in an askQueue.
type ask struct {
	top    string // folder
	failed bool   // before
	begin  chan struct{}
}

// wait returns when a may begin. The caller then calls end. An error is that of ctx.
func (q *askQueue) wait(ctx context.Context, a *ask) (end func(), err error) {
	a.begin = make(chan struct{})
	q.mu.Lock()
	q.waiting = append(q.waiting, a)
	q.admit()
	q.mu.Unlock()
	select {
	case <-a.begin:
	case <-ctx.Done():
		if q.leave(a) {
			return nil, ctx.Err()
		}
	}
	began := time.Now()
	return func() { q.end(a, time.Since(began)) }, nil
}

// leave reports whether a was still waiting.
func (q *askQueue) leave(a *ask) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.waiting, a)
	if i >= 0 {
		q.waiting = slices.Delete(q.waiting, i, i+1)
	}
	return i >= 0
}

func (q *askQueue) end(a *ask, took time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.running--
	if q.used == nil {
		q.used = map[string]time.Duration{}
	}
	if q.used[a.top] += took; q.running == 0 && len(q.waiting) == 0 {
		clear(q.used)
	}
	q.admit()
}

// admit begins what may begin; q.mu must be held.
func (q *askQueue) admit() {
	for q.running < listConcurrent && len(q.waiting) > 0 {
		next := len(q.waiting) - 1
		for i := next - 1; i >= 0; i-- {
			if q.before(q.waiting[i], q.waiting[next]) {
				next = i
			}
		}
		a := q.waiting[next]
		q.waiting = slices.Delete(q.waiting, next, next+1)
		q.running++
		close(a.begin)
	}
}

// before reports whether a comes before b, which is newer.
func (q *askQueue) before(a, b *ask) bool {
	if a.failed != b.failed {
		return b.failed
	}
	return q.used[a.top] < q.used[b.top]
}

// topFolder returns the folder, or file, right below the plugin folder that p is in.
func topFolder(p *registry.Plugin) string {
	rel, err := filepath.Rel(p.Folder.Path, p.Source)
	if err != nil {
		return p.Source
	}
	first, _, _ := strings.Cut(filepath.ToSlash(rel), "/")
	return filepath.Join(p.Folder.Path, first)
}

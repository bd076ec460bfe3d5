package judge

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/internal/frames"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/internal/worker"
	"github.com/weirhost/weir/sdk/tool"
)

// Bounds of one manifest. The costliest that the counts let through takes a second.
const (
	maxMemory = tool.Bytes(512 << 20)
	maxCPU    = 3 * time.Second
	maxTime   = time.Minute // on a busy machine
)

const (
	mostChildren = 4
	perChild     = 16 // manifests, before another child is started beside it
)

// Judges check the manifests of one scan. They are safe for concurrent use.
type Judges struct {
	pool   *worker.Pool
	log    hclog.Logger
	ctx    context.Context
	memory tool.Bytes
	cpu    time.Duration

	mu      sync.Mutex
	free    *sync.Cond // a child is idle, or may be started
	idle    []*worker.Helper
	started int // children that are there
	checked int // manifests
}

// New returns Judges for a scan that ends with ctx. They start no child before the first
// manifest.
func New(ctx context.Context, pool *worker.Pool, log hclog.Logger) *Judges {
	j := &Judges{pool: pool, log: log, ctx: ctx, memory: maxMemory, cpu: maxCPU}
	j.free = sync.NewCond(&j.mu)
	return j
}

// Close ends the children; no check may run.
func (j *Judges) Close() {
	for _, h := range j.idle {
		h.Close()
	}
	j.idle, j.started = nil, 0
}

// Judge is a registry.Judge.
func (j *Judges) Judge(name, file string, text []byte, beside func(string) ([]byte, error)) (m registry.Manifest, problems []registry.Problem, err error) {
	sum := sha256.Sum256(text)
	digest := hex.EncodeToString(sum[:])
	if e, held := j.pool.Quarantine().Held(digest); held {
		return m, nil, &worker.Quarantined{Plugin: name, Entry: e}
	}
	h, err := j.take()
	if err != nil {
		return m, nil, msg.Errorf("the manifest cannot be checked: %w; it is tried again at the next look", err)
	}
	ctx, cancel := context.WithTimeout(j.ctx, maxTime)
	defer cancel()
	lost, err := h.Do(ctx, func(r *frames.Reader, w *frames.Writer) (err error) {
		m, problems, err = ask(r, w, file, text, beside)
		return err
	})
	j.put(h, err != nil)
	switch {
	case err == nil:
		if err := j.pool.Quarantine().Release(digest); err != nil { // an attempt that was stopped
			j.log.Warn("the quarantine cannot be written", "error", err)
		}
		return m, problems, nil
	case j.ctx.Err() != nil:
		return registry.Manifest{}, nil, j.ctx.Err()
	case lost == worker.LostStopped:
		return registry.Manifest{}, nil, msg.Errorf("the sandbox is closed")
	}
	j.log.Warn("checking a manifest ended its process", "file", file, "error", err)
	return registry.Manifest{}, nil, j.hold(digest, name, lost)
}

// hold puts a manifest into quarantine that ended its child, and returns why.
func (j *Judges) hold(digest, name string, lost worker.Loss) error {
	why, final := tool.Textf("checking its manifest crashed"), true
	switch lost {
	case worker.LostMemory:
		why = tool.Textf("checking its manifest needs more than %s of memory", j.memory)
	case worker.LostCPU:
		why = tool.Textf("checking its manifest needs more than %s of CPU time", j.cpu)
	case worker.LostSlow:
		why = tool.Textf("checking its manifest took too long")
	case worker.LostKilled:
		why, final = tool.Textf("another program stopped the process that checked its manifest"), false
	}
	q := j.pool.Quarantine()
	if err := errors.Join(q.Begin(digest, name), q.End(digest, why, final)); err != nil {
		return msg.Errorf("%s", why)
	}
	if e, held := q.Held(digest); held {
		return &worker.Quarantined{Plugin: name, Entry: e}
	}
	return msg.Errorf("%s; it is tried again at the next look", why)
}

// take returns an idle child, or a new one: a second only when there is much to check.
func (j *Judges) take() (*worker.Helper, error) {
	j.mu.Lock()
	for j.checked++; len(j.idle) == 0 && j.started > 0 && (j.started == mostChildren || j.checked < perChild*j.started); {
		j.free.Wait()
	}
	if n := len(j.idle); n > 0 {
		h := j.idle[n-1]
		j.idle = slices.Delete(j.idle, n-1, n)
		j.mu.Unlock()
		return h, nil
	}
	j.started++
	j.mu.Unlock()
	h, err := j.pool.NewHelper(j.ctx, worker.Manifests, int64(j.memory), j.cpu)
	if err != nil {
		j.ended()
	}
	return h, err
}

// put makes a child idle again, or closes one that is lost or has used its CPU time.
func (j *Judges) put(h *worker.Helper, lost bool) {
	if lost || h.Spent() {
		h.Close()
		j.ended()
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.idle = append(j.idle, h)
	j.free.Signal()
}

// ended notes that a child is there no more.
func (j *Judges) ended() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.started--
	j.free.Signal()
}

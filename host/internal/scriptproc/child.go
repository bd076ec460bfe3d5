package scriptproc

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/weirhost/weir/host/internal/frames"
	"github.com/weirhost/weir/host/internal/scriptvm"
	"github.com/weirhost/weir/host/internal/worker"
)

// The kinds of frames: of the parent, then of the child.
const (
	kindOpen    frames.Kind = iota + 1 // openMeta; the engine, then the prelude
	kindRequest                        // requestMeta; a request as JSON, or a snapshot
	kindReply                          // replyMeta; a State as JSON, or a snapshot
)

// The small parts of frames, as JSON.
type (
	openMeta struct {
		Options scriptvm.Options
		Engine  int // bytes of it; 0: the own one
	}
	requestMeta struct{ Do string }
	replyMeta   struct {
		Failed string `json:",omitempty"` // a word of failures
		Digest string `json:",omitempty"` // of the engine, after kindOpen
	}
)

// failures are the errors of a script, by the word in a reply.
var failures = map[string]error{
	"source": scriptvm.ErrSource, "time": scriptvm.ErrTime, "broken": scriptvm.ErrBroken, "snapshot": scriptvm.ErrSnapshot,
}

const (
	maxMeta = 4 << 10
	// maxState bounds a State as JSON, in bytes: an output of 8 MiB, or the arguments of
	// calls, with their escapes.
	maxState = 32 << 20
	// maxAnswers bounds what a step hands over: the whole of results.
	maxAnswers = 256 << 20
)

// cpuTime is how long a process computes, for all of its scripts, before another takes its
// slot.
const cpuTime = 10 * time.Minute

// A child is a slot in a process.
type child struct {
	helper *worker.Helper
	vm     scriptvm.Options
	digest string
	dead   bool
}

// start starts a process and opens the engine in it.
func start(ctx context.Context, pool *worker.Pool, vm scriptvm.Options) (*child, error) {
	// The script's memory, twice while it grows, and what is packed, encoded and decoded of it.
	h, err := pool.NewHelper(ctx, worker.Scripts, 320<<20+6*int64(vm.Memory), cpuTime)
	if err != nil {
		return nil, errors.Join(ErrLost, err)
	}
	c := &child{helper: h, vm: vm}
	m := openMeta{Options: vm, Engine: len(vm.Files.Engine)}
	m.Options.Files = scriptvm.Files{}
	meta, _, err := c.exchange(ctx, kindOpen, m, append(vm.Files.Engine[:m.Engine:m.Engine], vm.Files.Prelude...))
	if c.digest = meta.Digest; err != nil || c.digest == "" {
		c.close()
		return nil, errors.Join(ErrLost, err)
	}
	return c, nil
}

func (c *child) close() { c.helper.Close() }

func (c *child) do(ctx context.Context, r request) (out reply, err error) {
	if c.dead {
		return out, ErrLost
	}
	data := r.Data
	if r.Do != doResume {
		if data, err = json.Marshal(r); err != nil {
			return out, err
		}
	}
	// The process bounds a step itself; this ends one that does not.
	bound, cancel := context.WithTimeout(ctx, c.vm.Time+2*c.vm.StepTime+time.Minute)
	defer cancel()
	meta, data, err := c.exchange(bound, kindRequest, requestMeta{r.Do}, data)
	switch {
	case err != nil && ctx.Err() != nil:
		return out, ctx.Err()
	case err != nil:
		return out, err
	case meta.Failed != "":
		if err := failures[meta.Failed]; err != nil {
			return out, err
		}
		return out, scriptvm.ErrBroken
	case r.Do == doSnapshot:
		return reply{Data: data}, nil
	}
	if out.State, err = scriptvm.ReadState(data); err != nil {
		return out, scriptvm.ErrBroken
	}
	return out, nil
}

// exchange sends a frame and returns the reply to it. After an error the child is dead.
func (c *child) exchange(ctx context.Context, k frames.Kind, meta any, data []byte) (m replyMeta, out []byte, err error) {
	lost, err := c.helper.Do(ctx, func(r *frames.Reader, w *frames.Writer) error {
		if err := w.Write(k, meta, data); err != nil {
			return err
		}
		f, err := r.Read(&frames.Limits{kindReply: {Meta: maxMeta, Data: max(maxState, c.vm.Memory+(1<<20))}}, nil)
		if err != nil {
			return err
		}
		m, err = frames.Decode[replyMeta](f)
		out = f.Data
		return err
	})
	if err == nil {
		return m, out, nil
	}
	c.dead = true
	switch lost {
	case worker.LostMemory, worker.LostCrashed:
		return m, nil, errors.Join(scriptvm.ErrBroken, err)
	case worker.LostCPU, worker.LostSlow:
		return m, nil, errors.Join(scriptvm.ErrTime, err)
	}
	return m, nil, errors.Join(ErrLost, err)
}

// spent reports whether another process has to take the slot.
func (c *child) spent() bool { return c.dead || c.helper.Spent() }

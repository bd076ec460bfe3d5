package worker

import (
	"context"
	"errors"
	"time"

	"github.com/weirhost/weir/host/internal/confine"
	"github.com/weirhost/weir/host/internal/frames"
)

// A Task is what a Helper does, and its name in lists of processes.
type Task string

// The tasks.
const (
	Manifests Task = "manifests" // package judge
	Scripts   Task = "scripts"   // package scriptproc
)

// Tasks are what a program does as a Helper, until its parent closes in. It calls seal, once,
// before it handles anything that a stranger made: then it has its pipes and nothing else.
type Tasks map[Task]func(in *frames.Reader, out *frames.Writer, seal func() error) error

// A Helper is a child process that does one of Main's Tasks, one piece of it at a time.
type Helper struct {
	pool *Pool
	w    *process
	cpu  time.Duration // of one piece, at least
	keep func() bool   // ends the kill with the pool
}

// NewHelper starts a Helper whose pieces of work need up to that memory and CPU time each,
// which the kernel holds it to.
func (p *Pool) NewHelper(ctx context.Context, task Task, memory int64, cpu time.Duration) (*Helper, error) {
	if !p.enter() {
		return nil, errSpawn
	}
	w, err := p.spawn(string(task), nil)
	if err == nil {
		if err = w.load(ctx, loadMeta{Task: task, Bounds: confine.Bounds{Data: memory, CPU: int64((2 * cpu).Seconds()), Files: maxFiles}}, nil); err != nil {
			w.discard()
		}
	}
	if err != nil {
		p.tasks.Done()
		return nil, err
	}
	return &Helper{p, w, cpu, context.AfterFunc(p.ending, w.kill)}, nil
}

// Do does a piece of work: f talks to the child, which is lost if f fails or ctx ends; l says how.
func (h *Helper) Do(ctx context.Context, f func(*frames.Reader, *frames.Writer) error) (l Loss, err error) {
	stop := context.AfterFunc(ctx, h.w.kill)
	if err = f(h.w.read, h.w.send); stop() && err == nil {
		return l, nil
	}
	if ctx.Err() != nil {
		err = errSlow
	}
	lost := h.w.lossOf(err)
	if h.pool.ending.Err() != nil {
		return LostStopped, lost
	}
	return lost.loss(2*h.cpu - h.cpu/4), lost // pieces before have used less than one time
}

// Spent reports whether too little CPU time is left for another piece.
func (h *Helper) Spent() bool { return h.w.cpuTime() >= h.cpu }

// PID returns the number of the child's process.
func (h *Helper) PID() int { return h.w.cmd.Process.Pid }

// Close ends the child.
func (h *Helper) Close() {
	h.keep()
	h.w.discard()
	h.pool.tasks.Done()
}

// A Loss is how a child was lost.
type Loss byte

const (
	LostCrashed Loss = iota
	LostMemory
	LostCPU
	LostSlow
	LostKilled  // by another program
	LostStopped // with the pool
)

// loss returns how a child was lost. One that was killed and had used at least that CPU
// time was killed for it.
func (e *lossError) loss(cpu time.Duration) Loss {
	switch {
	case e.outOfMemory():
		return LostMemory
	case errors.Is(e, errSlow):
		return LostSlow
	case errors.Is(e, frames.ErrProtocol) || !killed(e.state): // after the first it was killed here
		return LostCrashed
	case e.cpu() >= cpu:
		return LostCPU
	}
	return LostKilled
}

package scriptproc

import (
	"context"
	"errors"

	"github.com/weirhost/weir/host/internal/scriptvm"
)

// ErrLost says that the process of a script has ended, and not by the script.
var ErrLost = errors.New("the process of the script has ended")

// A slot runs one script at a time. Its methods are for one goroutine at a time. After an
// error of lost the slot is gone; after any other one its script is.
type slot interface {
	// do makes one step of a script. The reply of snapshot has Data, the others a State.
	do(ctx context.Context, r request) (reply, error)
	// close ends the slot.
	close()
}

// What a slot does.
const (
	doStart    = "start"    // request: Source, Setting
	doCheck    = "check"    // request: Source
	doStep     = "step"     // request: Answers
	doResume   = "resume"   // request: Data is a snapshot
	doSnapshot = "snapshot" // reply: Data is a snapshot
	doEnd      = "end"      // frees the memory of the script
)

// A request is what a slot does next.
type request struct {
	Do      string            `json:"do"`
	Source  string            `json:"source,omitempty"`
	Setting scriptvm.Setting  `json:"setting,omitzero"`
	Answers []scriptvm.Answer `json:"answers,omitempty"`
	Data    []byte            `json:"-"`
}

// A reply is what came of a request.
type reply struct {
	State scriptvm.State
	Data  []byte
}

// A local slot runs its script in this process.
type local struct {
	vm     *scriptvm.Runtime
	script *scriptvm.Script // nil: none
}

func (l *local) close() { l.end() }

func (l *local) end() {
	if l.script != nil {
		_ = l.script.Close(context.Background()) // frees memory alone
		l.script = nil
	}
}

func (l *local) do(ctx context.Context, r request) (out reply, err error) {
	switch r.Do {
	case doStart:
		l.end()
		l.script, out.State, err = l.vm.Start(ctx, r.Source, r.Setting)
	case doCheck:
		out.State.Done = true
		out.State.Fault, err = l.vm.Check(ctx, r.Source)
	case doResume:
		l.end()
		l.script, err = l.vm.Resume(ctx, r.Data)
	case doEnd:
		l.end()
	default:
		if l.script == nil {
			return out, scriptvm.ErrBroken
		}
		if r.Do == doSnapshot {
			out.Data, err = l.script.Snapshot()
		} else {
			out.State, err = l.script.Step(ctx, r.Answers)
		}
	}
	return out, err
}

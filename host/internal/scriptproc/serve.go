package scriptproc

import (
	"context"
	"encoding/json"
	"errors"
	"runtime/debug"

	"github.com/weirhost/weir/host/internal/frames"
	"github.com/weirhost/weir/host/internal/scriptvm"
)

// Serve runs the scripts of a parent, one after the other, until it closes its end. It is
// what the process of a [worker.Helper] does. The engine, which is weir's own, is compiled
// and started before the process is sealed.
func Serve(in *frames.Reader, out *frames.Writer, seal func() error) error {
	f, err := in.Read(&frames.Limits{kindOpen: {Meta: maxMeta, Data: maxState}}, nil)
	if err != nil {
		return nil
	}
	open, err := frames.Decode[openMeta](f)
	if err != nil {
		return err
	}
	if open.Engine > 0 {
		open.Options.Files = scriptvm.Files{Engine: f.Data[:open.Engine], Prelude: f.Data[open.Engine:]}
	}
	vm, err := scriptvm.Open(context.Background(), open.Options)
	if err == nil {
		err = seal()
	}
	if err != nil {
		return err
	}
	if err := out.Write(kindReply, replyMeta{Digest: vm.Digest()}, nil); err != nil {
		return nil
	}
	p := &local{vm: vm}
	for {
		f, err := in.Read(&frames.Limits{kindRequest: {Meta: maxMeta, Data: maxAnswers}}, nil)
		if err != nil {
			return nil
		}
		meta, data := p.serve(f)
		if err := out.Write(kindReply, meta, data); err != nil {
			return nil
		}
		if p.script == nil { // a process without a script keeps no memory of one
			debug.FreeOSMemory()
		}
	}
}

// serve answers a frame.
func (l *local) serve(f frames.Frame) (m replyMeta, data []byte) {
	meta, err := frames.Decode[requestMeta](f)
	r := request{Do: meta.Do, Data: f.Data}
	if err == nil && r.Do != doResume {
		err = json.Unmarshal(f.Data, &r)
	}
	if err != nil {
		return replyMeta{Failed: "broken"}, nil
	}
	answer, err := l.do(context.Background(), r)
	if err == nil && r.Do == doSnapshot {
		return m, answer.Data
	}
	if err == nil {
		data, err = json.Marshal(answer.State)
	}
	if err == nil && len(data) > maxState {
		err = scriptvm.ErrBroken
	}
	if err == nil {
		return m, data
	}
	for word, known := range failures {
		if errors.Is(err, known) {
			return replyMeta{Failed: word}, nil
		}
	}
	return replyMeta{Failed: "broken"}, nil
}

package sandbox

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/tetratelabs/wazero/api"
)

// upFlag is the flag that a guest checks.
type upFlag struct {
	api.MutableGlobal
	value atomic.Uint64
}

func (f *upFlag) Set(v uint64) { f.value.Store(v) }

// A late stop of one span does not affect the next one.
func TestALateStopDoesNotAffectTheNextSpan(t *testing.T) {
	flag := &upFlag{}
	s := stopper{flags: []api.MutableGlobal{flag}}
	first, endFirst := context.WithCancel(t.Context())
	s.arm(spareSpan{first})
	endFirst()
	if s.disarm(); flag.value.Load() != 0 {
		t.Error("the flag stays up")
	}
	second, endSecond := context.WithCancel(t.Context())
	s.arm(spareSpan{second})
	s.stopOuter() // of the first
	if flag.value.Load() != 0 {
		t.Error("the end of one span stops the next")
	}
	endSecond()
	s.stopOuter()
	if flag.value.Load() != 1 || !s.disarm() || flag.value.Load() != 0 {
		t.Error("the end of a span does not stop it")
	}
	s.stopOuter()
	if flag.value.Load() != 0 {
		t.Error("a span that is over is stopped")
	}
}

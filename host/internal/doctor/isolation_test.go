package doctor

import (
	"testing"

	"github.com/weirhost/weir/host/internal/wasmtest"
)

func TestProbeModule(t *testing.T) {
	if want := string(wasmtest.Echo("answer")); probeModule != want {
		t.Errorf("%q\nshould be\n%q", probeModule, want)
	}
}

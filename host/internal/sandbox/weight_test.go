package sandbox

import (
	"testing"

	"github.com/weirhost/weir/sdk/tool"
)

// The size of a module grows with the module and with its waiting instances.
func TestWeight(t *testing.T) {
	small := load(t, newEngine(t, Config{}), Plugin{Name: "echo", Wasm: echoModule()})
	if w := small.Weight(); w != perByte*tool.Bytes(len(echoModule())) {
		t.Errorf("a module without a memory weighs %s", w)
	}
	bare := load(t, newEngine(t, Config{}), Plugin{Name: "guest", Wasm: goGuest})
	ready := load(t, newEngine(t, Config{Spares: 2}), Plugin{Name: "guest", Wasm: goGuest})
	if more := ready.Weight() - bare.Weight(); more < 2<<20 || bare.Weight() < perByte*tool.Bytes(len(goGuest)) {
		t.Errorf("two spares of a Go guest weigh %s, the module %s", more, bare.Weight())
	}
}

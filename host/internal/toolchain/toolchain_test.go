package toolchain_test

import (
	"slices"
	"testing"

	"github.com/weirhost/weir/host/internal/toolchain"
)

// On a machine that has nothing all is missing, and each says how it is got, on any
// system.
func TestNothingIsHere(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("WASI_SYSROOT", t.TempDir())
	for _, n := range slices.Concat(toolchain.Go(), toolchain.C(), toolchain.Node()) {
		if n.Here() || n.How() == "" || n.Get[""] == "" {
			t.Errorf("%s: here %v, got by %q", n.Program, n.Here(), n.How())
		}
	}
	if _, _, ok := toolchain.Rustc("wasm32-of-nobody"); ok {
		t.Error("a compiler has a target that there is not")
	}
}

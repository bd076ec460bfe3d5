package wasmcheck

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"

	"github.com/weirhost/weir/host/internal/guesttest"
)

// moduleDir is where the Go module cache keeps a dependency, which came with
// the modules that its authors built: nothing of them is in this repository.
func moduleDir(t testing.TB, path string) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", path).Output()
	dir := strings.TrimSpace(string(out))
	if err != nil || dir == "" {
		t.Fatalf("go list -m %s: %v", path, err)
	}
	return dir
}

// wasmFiles lists the .wasm files below the folders.
func wasmFiles(t testing.TB, dirs ...string) []string {
	t.Helper()
	var files []string
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".wasm") && !d.IsDir() {
				files = append(files, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestHonestModules lets through what compilers of seven languages make. The
// counts tell a folder that went missing from one that is fine.
func TestHonestModules(t *testing.T) {
	wazero, extism := moduleDir(t, "github.com/tetratelabs/wazero"), moduleDir(t, "github.com/extism/go-sdk")
	in := func(names ...string) (dirs []string) {
		for _, n := range names {
			dirs = append(dirs, filepath.Join(wazero, filepath.FromSlash(n)))
		}
		return dirs
	}
	for _, row := range []struct {
		made  string
		dirs  []string
		least int
	}{
		{"Go, TinyGo, Rust and Haskell", []string{filepath.Join(extism, "wasm")}, 20},
		{"TinyGo", in("imports/wasi_snapshot_preview1/testdata/tinygo", "examples/allocation/tinygo", "cmd/wazero/testdata/cat"), 3},
		{"Rust", in("imports/wasi_snapshot_preview1/testdata/cargo-wasi", "examples/allocation/rust"), 2},
		{"Zig and its C compiler", in("imports/wasi_snapshot_preview1/testdata/zig", "imports/wasi_snapshot_preview1/testdata/zig-cc", "examples/allocation/zig",
			"internal/testing/dwarftestdata/testdata/zig", "internal/testing/dwarftestdata/testdata/zig-cc"), 5},
		{"AssemblyScript", in("imports/assemblyscript"), 1},
		{"C by Emscripten", in("imports/emscripten/testdata"), 2},
		{"our own guests", []string{guesttest.Shipped(t, "calculator", "fetch_url", "read_data_from_excel")}, 3},
	} {
		t.Run(row.made, func(t *testing.T) {
			files := wasmFiles(t, row.dirs...)
			if len(files) < row.least {
				t.Errorf("found %d modules, want %d at least", len(files), row.least)
			}
			for _, f := range files {
				if _, err := Check(read(t, f), Limits{}); err != nil {
					t.Errorf("%s: %v", f, err)
				}
			}
		})
	}
}

// TestAgreesWithTheEngine runs the suite of the WebAssembly specification, which
// is full of odd modules, by both: what the engine compiles must pass, but for
// what our limits are there to refuse. No bomb is among these files.
func TestAgreesWithTheEngine(t *testing.T) {
	suite := filepath.Join(moduleDir(t, "github.com/tetratelabs/wazero"), "internal", "integration_test", "spectest")
	ctx := context.Background()
	config := wazero.NewRuntimeConfigInterpreter()
	r := wazero.NewRuntimeWithConfig(ctx, config)
	defer r.Close(ctx)
	wide := DefaultLimits()
	wide.TableEntries, wide.BranchTable = 1<<27, 1<<16
	compiled, refused := 0, 0
	for _, f := range wasmFiles(t, filepath.Join(suite, "v1"), filepath.Join(suite, "v2")) {
		wasm := read(t, f)
		m, err := r.CompileModule(ctx, wasm)
		_, gate := Check(wasm, wide)
		if err != nil {
			if gate != nil {
				refused++
			}
			continue
		}
		compiled++
		if gate != nil && !strings.Contains(gate.Error(), "declares no maximum") && !strings.Contains(gate.Error(), "invisible characters") {
			t.Errorf("the engine compiles %s, and the gate says: %v", f, gate)
		}
		if err := m.Close(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if compiled < 1500 || refused < 100 {
		t.Errorf("%d compiled and %d were refused by both: the suite is not what it was", compiled, refused)
	}
}

package instrument

import (
	"fmt"
	"strings"

	"github.com/weirhost/weir/host/internal/wasmcheck"
)

// Names that a rewritten module exports; see the package's comment.
const (
	// Prefix begins all of them. A module that exports such a name itself is
	// not rewritten.
	Prefix = "weir:"

	StopGlobal    = Prefix + "stop"    // i32, mutable
	SaveExport    = Prefix + "save"    // () → ()
	RestoreExport = Prefix + "restore" // () → ()
	UsedGlobal    = Prefix + "used"    // i32, mutable
	// StartExport is () → (): what the module's start section named. The host
	// calls it first, once weir:stop can be reached.
	StartExport = Prefix + "start"
)

// SavedGlobal is the name of the mutable global that holds what weir:save saved
// of the i-th kept one; see Result.Portable.
func SavedGlobal(i int) string { return fmt.Sprintf("%ssaved%d", Prefix, i) }

// Options say what to change. The zero value changes nothing but that custom
// sections, which no engine needs, are left out.
type Options struct {
	// Stop adds weir:stop and the code that looks at it.
	Stop bool
	// Renew adds weir:save and weir:restore, unless Result.Obstacles says why not.
	Renew bool
	// Used adds weir:used, which each exported function of the module's own sets
	// to 1 when it begins. Nothing puts it back.
	Used bool
	// Stdio sends the calls that change WASI's descriptors to StdioModule, which
	// the host must offer; see Stdio.
	Stdio bool
	// Import gives an import the names it is asked for by; nil: its own.
	Import func(wasmcheck.Import) (module, name string)
	// Export gives an export its name; nil: its own. Two of the same name are an
	// error.
	Export func(wasmcheck.Export) string
}

// A Result is a rewritten module.
type Result struct {
	Wasm []byte
	// Obstacles are the reasons why instances cannot be renewed, in the words of
	// the WebAssembly specification ("table.set", "imported memory"); none: they
	// can. They are looked for with Stop or Renew.
	Obstacles []string
	// Renewable says that the module exports weir:save and weir:restore.
	Renewable bool
	// Start says that the module exports weir:start. With Stop or Renew that
	// takes the place of every start section.
	Start bool
	// Portable says that what weir:save saves can be carried to another instance:
	// the module exports SavedGlobal(0) to SavedGlobal(Globals-1), which are
	// numbers.
	Portable bool
	// Checks counts the places that look at weir:stop, Globals those that
	// weir:restore puts back.
	Checks, Globals int
}

// A module's code may come to take mostGrowth times its size when it is
// rewritten, and smallGrowth bytes in any case; the compiler's time and memory go
// by it. Guests made from Go grow by a twentieth.
const (
	mostGrowth  = 2
	smallGrowth = 64 << 10
)

var errGrowth = fmt.Errorf("its code would grow to more than %d times its size", mostGrowth)

// Rewrite instruments a checked module. It only appends, so indices of the module
// keep their meaning; package wasmcheck has checked all indices in the code against
// the module's own counts, so an invalid module does not become valid. If it returns
// an error, there is no Wasm, and the caller runs the module unmodified. Rewrite takes time and
// memory in proportion to the file.
func Rewrite(r *wasmcheck.Report, o Options) (Result, error) {
	for _, e := range r.Exports {
		if strings.HasPrefix(e.Name, Prefix) {
			return Result{}, fmt.Errorf("it exports %.40q, and names that begin with %s are the host's own", e.Name, Prefix)
		}
	}
	s, err := examine(r, o)
	if err != nil {
		return Result{}, err
	}
	e := newEncoder(r, o, s)
	wasm, err := e.module()
	if err != nil {
		return Result{}, err
	}
	return Result{Wasm: wasm, Obstacles: s.obstacles, Renewable: e.renew, Start: e.start >= 0, Portable: e.portable, Checks: s.checks, Globals: len(e.kept)}, nil
}

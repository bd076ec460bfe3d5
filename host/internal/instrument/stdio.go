package instrument

import (
	"encoding/binary"
	"slices"

	"github.com/weirhost/weir/host/internal/wasmcheck"
)

// StdioModule is where Options.Stdio sends calls to.
const StdioModule = Prefix + "stdio"

const wasi = "wasi_snapshot_preview1"

// Errors of WASI.
const (
	badDescriptor = 8
	invalid       = 28
	notThere      = 52
	notSupported  = 58
)

// descriptorFunctions are WASI's that change what a descriptor is, in the order
// of the code in Stdio.
func descriptorFunctions() []string {
	return []string{"fd_close", "fd_renumber", "fd_fdstat_set_flags"}
}

func changesDescriptors(i wasmcheck.Import) bool {
	return i.Module == wasi && i.Kind() == wasmcheck.KindFunc && slices.Contains(descriptorFunctions(), i.Name)
}

// Stdio is a module, to be instantiated as StdioModule, that answers for a guest
// which has stdin, stdout and stderr and no other descriptor. It answers as in a
// new instance and changes nothing: what was closed can still be written to.
func Stdio() []byte {
	const i32 = wasmcheck.TypeI32
	open := func(answer code) code { // answer for descriptors 0 to 2
		c := code{}.op(wasmcheck.OpLocalGet, 0).i32(3).op(opLtU)
		c = append(append(c, wasmcheck.OpIf, i32), answer...)
		return append(append(c, wasmcheck.OpElse).i32(badDescriptor), wasmcheck.OpEnd)
	}
	const nonblock, sync = 1 << 2, 1<<1 | 1<<3 | 1<<4
	flag := func(flags int32, then int32, otherwise code) code {
		c := code{}.op(wasmcheck.OpLocalGet, 1).i32(flags).op(opAnd)
		c = append(append(c, wasmcheck.OpIf, i32).i32(then), wasmcheck.OpElse)
		return append(append(c, otherwise...), wasmcheck.OpEnd)
	}
	bodies := [...]code{
		open(code{}.i32(0)),
		open(code{}.i32(notSupported)),
		flag(sync, invalid, open(flag(nonblock, notThere, code{}.i32(0)))),
	}
	out := appendSection([]byte(header), wasmcheck.SectionType, []byte{2, 0x60, 1, i32, 1, i32, 0x60, 2, i32, i32, 1, i32})
	out = appendSection(out, wasmcheck.SectionFunction, []byte{3, 0, 1, 1})
	exports, all := []byte{byte(len(bodies))}, []byte{byte(len(bodies))}
	for i, name := range descriptorFunctions() {
		exports = append(appendName(exports, name), wasmcheck.KindFunc, byte(i))
		all = binary.AppendUvarint(all, uint64(len(bodies[i])+2))
		all = append(append(append(all, 0), bodies[i]...), wasmcheck.OpEnd)
	}
	out = appendSection(out, wasmcheck.SectionExport, exports)
	return appendSection(out, wasmcheck.SectionCode, all)
}

package rewrite

import (
	"encoding/binary"

	"github.com/weirhost/weir/host/internal/gate"
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
func descriptorFunctions() [3]string {
	return [...]string{"fd_close", "fd_renumber", "fd_fdstat_set_flags"}
}

func changesDescriptors(i gate.Import) bool {
	if i.Module == wasi && i.Kind() == gate.KindFunc {
		for _, name := range descriptorFunctions() {
			if i.Name == name {
				return true
			}
		}
	}
	return false
}

// Stdio is a module, to be instantiated as StdioModule, that answers for a guest
// which has stdin, stdout and stderr and no other descriptor. It answers as in a
// new instance and changes nothing: what was closed can still be written to.
func Stdio() []byte {
	const i32 = gate.TypeI32
	open := func(answer code) code { // answer for descriptors 0 to 2
		c := code{}.op(gate.OpLocalGet, 0).i32(3).op(opLtU)
		c = append(append(c, gate.OpIf, i32), answer...)
		return append(append(c, gate.OpElse).i32(badDescriptor), gate.OpEnd)
	}
	const nonblock, sync = 1 << 2, 1<<1 | 1<<3 | 1<<4
	flag := func(flags int32, then int32, otherwise code) code {
		c := code{}.op(gate.OpLocalGet, 1).i32(flags).op(opAnd)
		c = append(append(c, gate.OpIf, i32).i32(then), gate.OpElse)
		return append(append(c, otherwise...), gate.OpEnd)
	}
	bodies := [...]code{
		open(code{}.i32(0)),
		open(code{}.i32(notSupported)),
		flag(sync, invalid, open(flag(nonblock, notThere, code{}.i32(0)))),
	}
	out := appendSection([]byte(header), gate.SectionType, []byte{2, 0x60, 1, i32, 1, i32, 0x60, 2, i32, i32, 1, i32})
	out = appendSection(out, gate.SectionFunction, []byte{3, 0, 1, 1})
	exports, all := []byte{byte(len(bodies))}, []byte{byte(len(bodies))}
	for i, name := range descriptorFunctions() {
		exports = append(appendName(exports, name), gate.KindFunc, byte(i))
		all = binary.AppendUvarint(all, uint64(len(bodies[i])+2))
		all = append(append(append(all, 0), bodies[i]...), gate.OpEnd)
	}
	out = appendSection(out, gate.SectionExport, exports)
	return appendSection(out, gate.SectionCode, all)
}

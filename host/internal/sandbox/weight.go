package sandbox

import (
	"github.com/weirhost/weir/host/internal/wasmcheck"
	"github.com/weirhost/weir/sdk/tool"
)

// perByte is what a loaded module takes for each byte of its file, by
// measurement: machine code, and what the engine knows of the module.
const perByte = 6

// Weight is about how much memory the module takes while no call runs: its code
// and the instances that are kept ready.
func (m *Module) Weight() tool.Bytes { return m.weight }

// weight is that of a plugin with so many spares.
func (s *structure) weight(p Plugin, spares int) tool.Bytes {
	w := tool.Bytes(perByte * len(p.Wasm))
	for _, mem := range s.Memories {
		w += tool.Bytes(max(spares, 0)) * tool.Bytes(mem.Least) * wasmcheck.PageSize
	}
	return w
}

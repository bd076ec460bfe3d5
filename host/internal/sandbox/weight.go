package sandbox

import (
	"github.com/weirhost/weir/host/internal/wasmcheck"
	"github.com/weirhost/weir/sdk/tool"
)

// perByte is the measured memory of a loaded module per byte of its file: machine
// code, and what the engine stores about the module.
const perByte = 6

// Weight returns about how much memory the module needs while no call runs: its code
// and its waiting instances.
func (m *Module) Weight() tool.Bytes { return m.weight }

// weight is Weight for a plugin with a number of spare instances.
func (s *structure) weight(p Plugin, spares int) tool.Bytes {
	w := tool.Bytes(perByte * len(p.Wasm))
	for _, mem := range s.Memories {
		w += tool.Bytes(max(spares, 0)) * tool.Bytes(mem.Least) * wasmcheck.PageSize
	}
	return w
}

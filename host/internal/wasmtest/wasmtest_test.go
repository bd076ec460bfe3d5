package wasmtest

import (
	"context"
	"encoding/binary"
	"testing"

	"github.com/tetratelabs/wazero"
)

// TestModules holds the writer to an engine's reading of the format.
func TestModules(t *testing.T) {
	r := wazero.NewRuntimeWithConfig(context.Background(), wazero.NewRuntimeConfigInterpreter())
	defer r.Close(context.Background())
	for name, wasm := range map[string][]byte{
		"empty": New().Bytes(), "one export": Exporting("run", I32Const, 0), "echo": Echo("run"),
		"every section": New().Types(Func(nil, []byte{I32}), Func(nil, nil)).
			Imports(ImportFunc("env", "f", 1), Import("env", "g", KindGlobal, I32, 0)).
			Functions(0, 1).Tables(Table(FuncRef, 2, 5)).Memories(Limits(1, 2)).
			Globals(Global(I32, true, Cat([]byte{I32Const}, S32(-70))...)).
			Exports(ExportFunc("run", 1), Export("memory", KindMemory, 0)).Start(2).
			Elements(Element(0, 0, 1)).DataCount(1).
			Code(Body(I32Const, 1), BodyWith([][]byte{Locals(3, I64), Locals(1, F64)})).
			Data(Segment(8, []byte("text"))).Custom("note", []byte("x")).Bytes(),
	} {
		m, err := r.CompileModule(t.Context(), wasm)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if name == "every section" && (len(m.ImportedFunctions()) != 1 || len(m.ExportedMemories()) != 1) {
			t.Errorf("%s: the engine sees other things", name)
		}
	}
}

func TestSigned(t *testing.T) {
	for _, n := range []int64{0, 1, -1, 63, 64, -64, -65, 1 << 40, -1 << 63, 1<<63 - 1} {
		b := S64(n)
		var got uint64
		shift := 0
		for _, c := range b {
			got |= uint64(c&0x7f) << shift
			shift += 7
		}
		if shift < 64 && b[len(b)-1]&0x40 != 0 {
			got |= ^uint64(0) << shift
		}
		if int64(got) != n {
			t.Errorf("%d became %x", n, b)
		}
	}
	if n, _ := binary.Uvarint(Lie(4294967295)); n != 4294967295 {
		t.Errorf("the lie became %d", n)
	}
}

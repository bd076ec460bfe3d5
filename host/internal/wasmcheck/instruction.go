package wasmcheck

// Instructions that the code names; the others are recognised by their ranges.
const (
	OpUnreachable  = 0x00
	OpBlock        = 0x02
	OpLoop         = 0x03
	OpIf           = 0x04
	OpElse         = 0x05
	OpEnd          = 0x0b
	OpBr           = 0x0c
	OpBrIf         = 0x0d
	OpBrTable      = 0x0e
	OpReturn       = 0x0f
	OpCall         = 0x10
	OpCallIndirect = 0x11
	OpLocalGet     = 0x20
	OpGlobalGet    = 0x23
	OpGlobalSet    = 0x24
	OpTableSet     = 0x26
	OpMemorySize   = 0x3f
	OpMemoryGrow   = 0x40
	OpI32Const     = 0x41
	OpI64Const     = 0x42
	OpF32Const     = 0x43
	OpF64Const     = 0x44
	OpRefNull      = 0xd0
	OpRefFunc      = 0xd2
	OpMisc         = 0xfc // a number follows, see MiscMemoryInit and so on
	OpVector       = 0xfd // a number follows
)

// The second bytes of OpMisc.
const (
	MiscMemoryInit = 8
	MiscDataDrop   = 9
	MiscMemoryCopy = 10
	MiscMemoryFill = 11
	MiscTableInit  = 12
	MiscElemDrop   = 13
	MiscTableCopy  = 14
	MiscTableGrow  = 15
	MiscTableSize  = 16
	MiscTableFill  = 17
)

// instruction reads one instruction with what belongs to it. It knows what the
// engine runs: the first version of WebAssembly, sign extension, saturating
// conversions, several results, bulk memory, reference types and 128-bit
// vectors. Everything else is refused by name.
func (f *function) instruction() {
	switch op := f.byte(); {
	case op >= 0x45 && op <= 0xc4: // numbers
	case op >= 0x28 && op <= 0x3e:
		f.access(widestAccess(op))
	case op == OpLocalGet || op == 0x21 || op == 0x22: // local.get, set, tee
		f.index("local", f.locals)
	case op == OpI32Const:
		f.signed(32)
	case op == OpI64Const:
		f.signed(64)
	case op == OpF32Const:
		f.take(4)
	case op == OpF64Const:
		f.take(8)
	case op <= 0x11:
		f.control(op)
	case op == 0x1a || op == 0x1b: // drop, select
	case op == 0x1c:
		f.selectTypes()
	case op == OpGlobalGet || op == OpGlobalSet:
		f.index("global", len(f.m.Globals))
	case op == 0x25 || op == OpTableSet: // table.get, set
		f.table()
	case op == OpMemorySize || op == OpMemoryGrow:
		f.zero()
	case op == OpRefNull:
		f.refType()
	case op == 0xd1: // ref.is_null
	case op == OpRefFunc:
		f.index("function", len(f.m.Functions))
	case op == OpMisc:
		f.misc()
	case op == OpVector:
		f.vector()
	default:
		f.unknown(op)
	}
}

// widestAccess is the alignment of a load or store, as a power of two.
func widestAccess(op byte) uint32 {
	const widths = "\x02\x03\x02\x03\x00\x00\x01\x01\x00\x00\x01\x01\x02\x02\x02\x03\x02\x03\x00\x01\x00\x01\x02"
	return uint32(widths[op-0x28])
}

func (f *function) control(op byte) {
	switch op {
	case OpUnreachable, 0x01: // and nop
	case OpBlock, OpLoop, OpIf:
		f.block(op)
	case OpElse:
		if top := &f.frames[len(f.frames)-1]; top.op == OpIf {
			top.op = OpElse
		} else {
			f.fail("holds an else without an if, before byte %d of the file", f.base+f.at)
		}
	case OpEnd:
		f.pop()
	case OpBr, OpBrIf:
		f.carried += f.target()
	case OpBrTable:
		f.branchTable()
	case OpReturn:
		f.carried += int(f.results)
	case OpCall:
		n := f.index("function", len(f.m.Functions))
		if f.err == nil {
			f.call(f.m.Functions[n])
		}
	case OpCallIndirect:
		t := f.index("type", len(f.m.Types))
		f.table()
		f.call(t)
	default:
		f.unknown(op)
	}
}

// misc reads the instructions with the prefix 0xfc.
func (f *function) misc() {
	switch op := f.u32(); {
	case op <= 7: // saturating conversions
	case op == MiscMemoryInit:
		f.segment()
		f.zero()
	case op == MiscDataDrop:
		f.segment()
	case op == MiscMemoryCopy:
		f.zero()
		f.zero()
	case op == MiscMemoryFill:
		f.zero()
	case op == MiscTableInit:
		f.index("element segment", f.m.elements)
		f.table()
	case op == MiscElemDrop:
		f.index("element segment", f.m.elements)
	case op == MiscTableCopy:
		f.table()
		f.table()
	case op == MiscTableGrow:
		if n := f.table(); f.err == nil {
			f.m.tables[n].grows = true
		}
	case op == MiscTableSize || op == MiscTableFill:
		f.table()
	default:
		f.fail("uses the instruction 0xfc %d, which weir's engine does not run", op)
	}
}

// vector reads the instructions with the prefix 0xfd. The engine takes the
// number for one byte and reads the rest of a longer one as an instruction, so
// only the shortest form is let through.
func (f *function) vector() {
	op := f.byte()
	if op >= 0x80 && f.byte() != 1 {
		f.fail("uses a vector instruction of a number above 255, which weir's engine does not run; build without relaxed SIMD")
		return
	}
	switch {
	case op <= 11: // loads and a store
		const widths = "\x04\x03\x03\x03\x03\x03\x03\x00\x01\x02\x03\x04"
		f.access(uint32(widths[op]))
	case op == 12: // v128.const
		f.take(16)
	case op == 13: // shuffle
		for _, lane := range f.take(16) {
			f.lane(lane, 32)
		}
	case op >= 21 && op <= 34: // lanes of a value
		const lanes = "\x10\x10\x10\x08\x08\x08\x04\x04\x02\x02\x04\x04\x02\x02"
		f.lane(f.byte(), lanes[op-21])
	case op >= 84 && op <= 91: // a lane from memory and back
		width := uint32(op-84) % 4
		f.access(width)
		f.lane(f.byte(), 16>>width)
	case op == 92 || op == 93: // the first lane from memory
		f.access(uint32(op - 90))
	case !isVector(op):
		f.fail("uses the vector instruction %d, which there is not", op)
	}
}

func (f *function) lane(n, lanes byte) {
	if n >= lanes {
		f.fail("names lane %d of %d", n, lanes)
	}
}

// isVector reports whether a number after 0xfd is an instruction.
func isVector(op byte) bool {
	switch op {
	case 0x9a, 0xa2, 0xa5, 0xa6, 0xaf, 0xb0, 0xb2, 0xb3, 0xb4, 0xbb, 0xc2, 0xc5, 0xc6, 0xcf, 0xd0, 0xd2, 0xd3, 0xd4, 0xe2, 0xee:
		return false
	}
	return true
}

// unknown refuses an instruction by the feature it belongs to.
func (f *function) unknown(op byte) {
	if f.err != nil {
		return
	}
	feature := ""
	switch op {
	case 0x06, 0x07, 0x08, 0x09, 0x0a, 0x18, 0x19, 0x1f:
		feature = "exceptions"
	case 0x12, 0x13, 0x15:
		feature = "tail calls"
	case 0x14, 0xd3, 0xd4, 0xd5, 0xd6:
		feature = "typed references"
	case 0xfb:
		feature = "garbage-collected types"
	case 0xfe:
		feature = "threads"
	default:
		f.fail("uses the instruction %#x before byte %d of the file, which there is not", op, f.base+f.at)
		return
	}
	f.fail("uses %s (instruction %#x), which weir's engine does not run; build without them", feature, op)
}

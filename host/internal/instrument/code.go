package instrument

import (
	"encoding/binary"

	"github.com/weirhost/weir/host/internal/wasmcheck"
)

// code is a piece of a function.
type code []byte

// op appends an instruction and its unsigned operands.
func (c code) op(op byte, numbers ...uint32) code {
	c = append(c, op)
	for _, n := range numbers {
		c = binary.AppendUvarint(c, uint64(n))
	}
	return c
}

// i32 adds a constant.
func (c code) i32(n int32) code {
	for c = append(c, wasmcheck.OpI32Const); ; n >>= 7 {
		if n < 64 && n >= -64 {
			return append(c, byte(n)&0x7f)
		}
		c = append(c, byte(n)|0x80)
	}
}

// Instructions that only this package names.
const (
	opDrop     = 0x1a
	opLocalSet = 0x21
	opLocalTee = 0x22
	opEqz      = 0x45
	opNe       = 0x47
	opLtS      = 0x48
	opLtU      = 0x49
	opAdd      = 0x6a
	opSub      = 0x6b
	opAnd      = 0x71
	opShrU     = 0x76
	typeNone   = 0x40 // of a block
)

// number reads an unsigned one that the gate has seen, and how long it is.
func number(b []byte) (n uint32, size int) {
	u, size := binary.Uvarint(b)
	return uint32(u), size
}

// trapIf ends the guest if the number on the stack is not zero.
func (c code) trapIf() code {
	return append(c, wasmcheck.OpIf, typeNone, wasmcheck.OpUnreachable, wasmcheck.OpEnd)
}

// pay takes from the fuel what is put on the stack, and looks if there is none
// left.
func (e *encoder) pay(c code, price func(code) code) code {
	c = price(c.op(wasmcheck.OpGlobalGet, e.fuel)).op(opSub).op(wasmcheck.OpGlobalSet, e.fuel)
	c = append(c.op(wasmcheck.OpGlobalGet, e.fuel).i32(0).op(opLtS), wasmcheck.OpIf, typeNone)
	return append(c.op(wasmcheck.OpCall, e.look), wasmcheck.OpEnd)
}

// lookCode fills the fuel, hands over to the engine, and traps if weir:stop is
// set. memory.grow is the one instruction that every engine runs in its own
// code; by nothing, it does nothing.
func (e *encoder) lookCode() code {
	c := code{}.i32(fuel).op(wasmcheck.OpGlobalSet, e.fuel)
	c = c.i32(0).op(wasmcheck.OpMemoryGrow, 0).op(opDrop)
	return c.op(wasmcheck.OpGlobalGet, e.stop).trapIf()
}

// refillCode pays for turns.
func (e *encoder) refillCode() code {
	return e.pay(code{}, func(c code) code { return c.i32(turnsPrice) })
}

// spendCode pays for a stretch and returns its length, which it is given: a
// unit for each 64 bytes, and something for the beginning.
func (e *encoder) spendCode() code {
	return e.pay(code{}, func(c code) code {
		return c.op(wasmcheck.OpLocalGet, 0).i32(6).op(opShrU).i32(16).op(opAdd)
	}).op(wasmcheck.OpLocalGet, 0)
}

// zero is the first value of a global.
func zero(typ byte) code {
	switch typ {
	case wasmcheck.TypeI64:
		return code{wasmcheck.OpI64Const, 0}
	case wasmcheck.TypeF32:
		return append(code{wasmcheck.OpF32Const}, make([]byte, 4)...)
	case wasmcheck.TypeF64:
		return append(code{wasmcheck.OpF64Const}, make([]byte, 8)...)
	case wasmcheck.TypeV128:
		return append(code{wasmcheck.OpVector, 12}, make([]byte, 16)...)
	case wasmcheck.TypeFuncRef, wasmcheck.TypeExternRef:
		return code{wasmcheck.OpRefNull, typ}
	}
	return code{wasmcheck.OpI32Const, 0}
}

// size puts the memory's size in pages, and 1, on the stack.
func (e *encoder) size(c code) code {
	if len(e.r.Memories) == 0 {
		return c.i32(1)
	}
	return c.op(wasmcheck.OpMemorySize, 0).i32(1).op(opAdd)
}

// save is weir:save.
func (e *encoder) save() code {
	c := e.size(code{}).op(wasmcheck.OpGlobalSet, e.saved)
	for i, g := range e.kept {
		c = c.op(wasmcheck.OpGlobalGet, g).op(wasmcheck.OpGlobalSet, e.copies+uint32(i))
	}
	return c
}

// restore is weir:restore.
func (e *encoder) restore() code {
	c := code{}.op(wasmcheck.OpGlobalGet, e.saved).op(opEqz).trapIf()
	if len(e.r.Memories) > 0 {
		grown := func(c code) code { return e.size(c).op(wasmcheck.OpGlobalGet, e.saved).op(opNe) }
		c = append(grown(c), wasmcheck.OpIf, typeNone)
		c = c.i32(1).op(wasmcheck.OpMemoryGrow, 0).op(opDrop)
		c = append(grown(c).trapIf(), wasmcheck.OpEnd)
	}
	for i, g := range e.kept {
		c = c.op(wasmcheck.OpGlobalGet, e.copies+uint32(i)).op(wasmcheck.OpGlobalSet, g)
	}
	return c
}

// growWithin is memory.grow for a module that declares the given maximum.
func growWithin(most uint32) code {
	c := code{}.i32(int32(most)).op(wasmcheck.OpMemorySize, 0).op(opSub)
	c = append(c.op(wasmcheck.OpLocalGet, 0).op(opLtU), wasmcheck.OpIf, wasmcheck.TypeI32)
	c = append(c.i32(-1), wasmcheck.OpElse)
	return append(c.op(wasmcheck.OpLocalGet, 0).op(wasmcheck.OpMemoryGrow, 0), wasmcheck.OpEnd)
}

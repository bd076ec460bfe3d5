package instrument

import (
	w "github.com/weirhost/weir/host/internal/wasmtest"
)

// A program is a valid module that bytes decide on: whatever they are, it
// compiles and it ends, for its loops and functions use up a budget. It has
// three functions that call each other, each (i32, i32) → i32, of which the
// first is exported as run; mutable globals g0 (the budget) to g2, a memory of 1
// to 4 pages, and a table of its functions.
type program struct {
	choices []byte
	code    []byte
	labels  []int // what a branch to each open block carries: 0 or 1 numbers
	size    int
}

// Types of a program.
const (
	typeFunction = iota // (i32, i32) → i32
	typeTurn            // (i32) → i32
)

const (
	callIndirect, globalGet, globalSet = 0x11, 0x23, 0x24
	memorySize, refFunc, misc          = 0x3f, 0xd2, 0xfc
)

func newProgram(choices []byte) []byte {
	p := &program{choices: choices}
	var bodies [][]byte
	for range 3 {
		p.code, p.labels, p.size = nil, []int{1}, 0
		p.pay()
		p.statements(0)
		p.expression(0)
		bodies = append(bodies, w.BodyWith([][]byte{w.Locals(2, w.I32)}, p.code...))
	}
	return w.New().Types(w.Func([]byte{w.I32, w.I32}, []byte{w.I32}), w.Func([]byte{w.I32}, []byte{w.I32})).
		Functions(0, 0, 0).Tables(w.Table(w.FuncRef, 4, -1)).Memories(w.Limits(1, 4)).
		Globals(w.Global(w.I32, true, w.Cat([]byte{w.I32Const}, w.S32(200))...), w.Global(w.I32, true, w.I32Const, 5), w.Global(w.I32, true, w.I32Const, 0)).
		Exports(w.ExportFunc("run", 0), w.Export("g0", w.KindGlobal, 0), w.Export("g1", w.KindGlobal, 1)).
		Elements(w.Element(0, 0, 1, 2)).DataCount(1).Code(bodies...).
		Data(w.Cat([]byte{1}, w.Name("passive data"))).Bytes()
}

// choose takes the next choice below n; 0 when there are no more.
func (p *program) choose(n int) int {
	if len(p.choices) == 0 {
		return 0
	}
	c := p.choices[0]
	p.choices = p.choices[1:]
	return int(c) % n
}

func (p *program) emit(b ...byte) {
	p.code = append(p.code, b...)
	p.size++
}

// pay takes one from the budget, and ends the program when there is none.
func (p *program) pay() {
	p.emit(globalGet, 0, w.I32Const, 1, sub, globalSet, 0, globalGet, 0, w.I32Const, 0, lts, w.If, w.Empty, w.Unreachable, w.End)
}

func (p *program) statements(depth int) {
	for range p.choose(6) {
		if p.size > 400 {
			return
		}
		p.statement(depth + 1)
	}
}

func (p *program) statement(depth int) {
	kind := p.choose(16)
	if depth > 6 && kind >= 10 {
		kind = 1
	}
	switch kind {
	case 0:
	case 1:
		p.expression(depth)
		p.emit(set, byte(p.choose(4)))
	case 2:
		p.expression(depth)
		p.emit(globalSet, byte(1+p.choose(2)))
	case 3:
		p.address(depth)
		p.expression(depth)
		p.emit(store, 2, 0)
	case 4: // a branch
		n := p.choose(len(p.labels))
		p.carry(n, depth)
		p.emit(append([]byte{w.Br}, w.U32(uint32(n))...)...)
	case 5:
		n := p.choose(len(p.labels))
		p.carry(n, depth)
		p.expression(depth)
		p.emit(append([]byte{w.BrIf}, w.U32(uint32(n))...)...)
		if p.labels[len(p.labels)-1-n] == 1 {
			p.emit(w.Drop)
		}
	case 6:
		p.table(depth)
	case 7:
		p.expression(depth)
		p.emit(w.Return)
	case 8:
		p.expression(depth)
		p.emit(w.I32Const, 1, and, w.MemoryGrow, 0, set, byte(p.choose(4)))
	case 9: // a stretch
		p.address(depth)
		ops := [][]byte{{10, 0, 0}, {11, 0}, {8, 0, 0}}
		op := ops[p.choose(3)]
		if op[0] == 10 {
			p.address(depth)
		} else {
			p.emit(w.I32Const, 3)
		}
		p.emit(w.I32Const, byte(p.choose(9)), misc)
		p.emit(op...)
	case 10:
		p.block(w.Block, w.Empty, 0, depth)
	case 11:
		p.expression(depth)
		p.block(w.If, w.Empty, 0, depth)
	case 12, 13:
		p.block(w.Loop, w.Empty, 0, depth)
	case 14: // a loop that takes a number and leaves one
		p.expression(depth)
		p.block(w.Loop, typeTurn, 1, depth)
		p.emit(set, byte(p.choose(4)))
	case 15: // a long line
		for range 150 {
			p.code = append(p.code, get, 0, w.I32Const, 3, add, set, 0)
		}
	}
}

// block opens a block, loop or if, fills and closes it. takes is what it finds
// on the stack; a type that takes or is no empty one leaves a number.
func (p *program) block(op, typ byte, takes, depth int) {
	p.emit(op, typ)
	leaves := 0
	if typ != w.Empty {
		leaves = 1
	}
	carries := leaves
	if op == w.Loop {
		carries = takes
	}
	p.labels = append(p.labels, carries)
	if takes == 1 {
		p.emit(set, byte(p.choose(4)))
	}
	part := func() {
		if op == w.Loop {
			p.pay()
		}
		p.statements(depth)
		if leaves == 1 {
			p.expression(depth + 1)
		}
	}
	part()
	if op == w.If && (leaves == 1 || p.choose(2) == 1) {
		p.emit(w.Else)
		part()
	}
	if op == w.Loop && takes == 0 && leaves == 0 && p.choose(2) == 1 {
		p.expression(depth + 1)
		p.emit(w.BrIf, 0)
	}
	p.labels = p.labels[:len(p.labels)-1]
	p.emit(w.End)
}

func (p *program) carry(label, depth int) {
	if p.labels[len(p.labels)-1-label] == 1 {
		p.expression(depth + 1)
	}
}

// table branches to labels that carry the same.
func (p *program) table(depth int) {
	carries := p.choose(2)
	var targets []byte
	n := 0
	for i := range p.labels {
		if label := len(p.labels) - 1 - i; p.labels[i] == carries {
			targets = append(targets, w.U32(uint32(label))...)
			n++
		}
	}
	if n == 0 {
		return
	}
	if carries == 1 {
		p.expression(depth + 1)
	}
	p.expression(depth + 1)
	p.emit(w.Cat([]byte{w.BrTable}, w.U32(uint32(n-1)), targets)...)
}

func (p *program) address(depth int) {
	p.expression(depth + 1)
	p.emit(w.Cat([]byte{w.I32Const}, w.S32(0xfff0), []byte{and})...)
}

// expression puts a number on the stack.
func (p *program) expression(depth int) {
	kind := p.choose(12)
	if (depth > 6 || p.size > 400) && kind > 3 {
		kind = 1
	}
	switch kind {
	case 0:
		p.emit(w.I32Const, byte(p.choose(64)))
	case 1:
		p.emit(get, byte(p.choose(4)))
	case 2:
		p.emit(globalGet, byte(p.choose(3)))
	case 3:
		p.emit(memorySize, 0)
	case 4, 5:
		p.expression(depth + 1)
		p.expression(depth + 1)
		p.emit([]byte{add, sub, mul, and, lts, geu}[p.choose(6)])
	case 6:
		p.address(depth)
		p.emit(load, 2, 0)
	case 7:
		p.expression(depth + 1)
		p.expression(depth + 1)
		p.emit(w.Call, byte(p.choose(3)))
	case 8:
		p.expression(depth + 1)
		p.expression(depth + 1)
		p.expression(depth + 1)
		p.emit(w.I32Const, 3, and, callIndirect, typeFunction, 0)
	case 9:
		p.block(w.Block, w.I32, 0, depth+1)
	case 10:
		p.expression(depth + 1)
		p.block(w.If, w.I32, 0, depth+1)
	case 11:
		p.block(w.Loop, w.I32, 0, depth+1)
	}
}

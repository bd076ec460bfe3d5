package wasmcheck

// frame is one open block.
type frame struct {
	op    byte   // OpBlock and so on; 0: the function itself
	label uint16 // how many values a branch to it carries
}

// function is one body on its way through the reader.
type function struct {
	*reader
	m       *module
	locals  int // parameters included
	results uint16
	frames  []frame
	loops   int // and ifs, among the frames
	carried int
}

func (m *module) readCode(r *reader) {
	n := r.count("functions", 3, m.limits.Functions)
	own := len(m.Functions) - m.imported.funcs
	if r.err == nil && n != own {
		r.fail("holds %d functions, and the function section declares %d", n, own)
	}
	for i := range n {
		size := r.count("bytes of a function", 1, m.limits.FunctionBytes)
		body := r.take(size)
		if r.err != nil {
			return
		}
		index := m.imported.funcs + i
		f := m.function(index, body, r.base+r.at-size, r.what)
		f.read(m.shapes[m.Functions[index]])
		m.frames = f.frames
		if r.err = f.err; r.err != nil {
			return
		}
		m.Most.FunctionBytes = max(m.Most.FunctionBytes, size)
	}
	m.bodies = n
}

func (m *module) function(index int, body []byte, base int, what string) function {
	return function{m: m, frames: m.frames[:0], reader: &reader{b: body, base: base, what: what, function: index + 1}}
}

// begin reads the declarations before the first instruction.
func (f *function) begin(t shape) {
	f.readLocals(t)
	f.results = t.results
	f.push(0, t.results)
}

func (f *function) read(t shape) {
	f.begin(t)
	for len(f.frames) > 0 && f.err == nil {
		f.instruction()
	}
	if f.err == nil && !f.done() {
		f.fail("has %d bytes after its end", f.left())
	}
	if f.carried > f.m.limits.Carried {
		f.fail("moves %d values by its branches, blocks and calls, and at most %d are taken", f.carried, f.m.limits.Carried)
	}
	f.m.Most.Carried = max(f.m.Most.Carried, f.carried)
}

func (f *function) readLocals(t shape) {
	sum := uint64(t.params)
	for range f.count("groups of locals", 2, len(f.b)) {
		sum += uint64(f.u32())
		f.valueType()
		if sum > uint64(f.m.limits.Locals) && f.err == nil {
			f.fail("declares %d locals, and at most %d are taken", sum, f.m.limits.Locals)
		}
		if f.err != nil {
			return
		}
	}
	f.locals = int(sum)
	f.m.locals += f.locals
	if f.m.locals > f.m.limits.TotalLocals {
		f.fail("is the one that takes the locals of all functions beyond %d", f.m.limits.TotalLocals)
	}
	f.m.Most.Locals, f.m.Most.TotalLocals = max(f.m.Most.Locals, f.locals), f.m.locals
}

func (f *function) push(op byte, label uint16) {
	if len(f.frames) > f.m.limits.Nesting {
		f.fail("nests its blocks deeper than %d", f.m.limits.Nesting)
		return
	}
	f.m.Most.Nesting = max(f.m.Most.Nesting, len(f.frames))
	f.frames = append(f.frames, frame{op, label})
	if op != OpLoop && op != OpIf {
		return
	}
	if f.loops++; f.loops > f.m.limits.Loops {
		f.fail("nests its loops and ifs deeper than %d", f.m.limits.Loops)
	}
	f.m.Most.Loops = max(f.m.Most.Loops, f.loops)
}

// pop closes the innermost block.
func (f *function) pop() {
	top := f.frames[len(f.frames)-1]
	f.frames = f.frames[:len(f.frames)-1]
	if top.op > OpBlock {
		f.loops--
	}
}

// block opens a block, loop or if.
func (f *function) block(op byte) {
	var t shape
	switch b := f.peek(); {
	case b == 0x40:
		f.byte()
	case isValue(b):
		f.byte()
		t.results = 1
	default:
		n := f.signed(33)
		if f.err == nil && (n < 0 || n >= int64(len(f.m.shapes))) {
			f.fail("opens a block of the type %d, and the module has %d types", n, len(f.m.shapes))
		}
		if f.err != nil {
			return
		}
		t = f.m.shapes[n]
	}
	f.carried += int(t.params) + int(t.results)
	if op == OpLoop {
		f.push(op, t.params)
	} else {
		f.push(op, t.results)
	}
}

func (r *reader) peek() byte {
	if r.at < len(r.b) {
		return r.b[r.at]
	}
	return 0
}

// target reads the number of a block to leave and returns what that carries.
func (f *function) target() int {
	n := f.u32()
	if f.err != nil {
		return 0
	}
	if int64(n) >= int64(len(f.frames)) {
		f.fail("branches out of %d blocks, and is in %d", uint64(n)+1, len(f.frames))
		return 0
	}
	return int(f.frames[len(f.frames)-1-int(n)].label)
}

func (f *function) branchTable() {
	n := f.count("branch targets", 1, f.m.limits.BranchTable)
	for range n + 1 { // the default follows
		f.carried += f.target()
		if f.err != nil {
			return
		}
	}
	f.m.Most.BranchTable = max(f.m.Most.BranchTable, n)
}

func (f *function) call(t uint32) {
	if f.err == nil {
		f.carried += int(f.m.shapes[t].params) + int(f.m.shapes[t].results)
	}
}

// access reads the operands of a load or store: the alignment, as a power of two,
// and an offset.
func (f *function) access(widest uint32) {
	f.memory()
	if align := f.u32(); f.err == nil && align > widest {
		f.fail("aligns a memory access to 2^%d bytes, and at most 2^%d fit it", align, widest)
	}
	f.u32()
}

func (f *function) memory() {
	if f.err == nil && len(f.m.Memories) == 0 {
		f.fail("uses memory, and the module has none")
	}
}

// zero reads the byte that will name a memory when there can be several.
func (f *function) zero() {
	f.memory()
	if f.byte() != 0 {
		f.fail("uses a second memory, which weir's engine does not run")
	}
}

func (f *function) table() uint32 { return f.index("table", len(f.m.tables)) }
func (f *function) segment() {
	if !f.m.hasCount {
		f.fail("uses a data segment, and the file has no data count section")
	}
	f.index("data segment", f.m.dataCount)
}

// selectTypes reads the type of what a select chooses from.
func (f *function) selectTypes() {
	if n := f.count("types of a select", 1, len(f.b)); n != 1 {
		f.fail("selects among %d values, and 1 is the rule", n)
	}
	f.valueType()
}

package wasmcheck

// Value types, for readers of a Report.
const (
	TypeI32       = 0x7f
	TypeI64       = 0x7e
	TypeF32       = 0x7d
	TypeF64       = 0x7c
	TypeV128      = 0x7b
	TypeFuncRef   = 0x70
	TypeExternRef = 0x6f
)

// isValue reports whether a byte is a type of the features the engine has on.
func isValue(b byte) bool { return b >= TypeV128 && b <= TypeI32 || isRef(b) }

func isRef(b byte) bool { return b == TypeFuncRef || b == TypeExternRef }

func (r *reader) valueType() {
	if b := r.byte(); r.err == nil && !isValue(b) {
		r.fail("holds a value of the unknown type %#x before byte %d of the file; build without features newer than WebAssembly 2.0", b, r.base+r.at)
	}
}

func (r *reader) refType() {
	if b := r.byte(); r.err == nil && !isRef(b) {
		r.fail("holds a reference of the unknown type %#x before byte %d of the file; build without features newer than WebAssembly 2.0", b, r.base+r.at)
	}
}

func (m *module) readTypes(r *reader) {
	n := r.count("types", 3, m.limits.Types)
	for range n {
		if b := r.byte(); r.err == nil && b != 0x60 {
			r.fail("holds a type of the unknown kind %#x; build without garbage-collected types", b)
		}
		var n [2]int
		for i, things := range []string{"parameters", "results"} {
			n[i] = r.count(things, 1, m.limits.Params)
			for range n[i] {
				r.valueType()
			}
			m.Most.Params = max(m.Most.Params, n[i])
		}
		if r.err != nil {
			return
		}
		m.Types = append(m.Types, Signature{n[0], n[1]})
		m.shapes = append(m.shapes, shape{uint16(min(n[0], 1<<16-1)), uint16(min(n[1], 1<<16-1))})
	}
	m.Most.Types = n
}

func (m *module) readImports(r *reader) {
	n := r.count("imports", 4, m.limits.Imports)
	for range n {
		i := Import{Module: r.name("a module's name", m.limits.NameBytes), Name: r.name("an import's name", m.limits.NameBytes)}
		from := r.at
		switch kind := r.byte(); kind {
		case KindFunc:
			m.Functions = append(m.Functions, r.index("type", len(m.Types)))
			m.imported.funcs++
		case KindTable:
			m.readTable(r)
		case KindMemory:
			m.readMemory(r)
		case KindGlobal:
			m.readGlobalType(r)
			m.imported.globals++
		case kindTag:
			r.fail("imports an exception, which weir's engine does not run; build without exceptions")
		default:
			r.fail("holds an import of unknown kind %d", kind)
		}
		if r.err != nil {
			return
		}
		i.Desc = r.b[from:r.at:r.at]
		m.Imports = append(m.Imports, i)
	}
	m.Most.Imports = n
}

func (m *module) readFunctions(r *reader) {
	n := r.count("functions", 1, m.limits.Functions)
	for range n {
		t := r.index("type", len(m.Types))
		if r.err != nil {
			return
		}
		m.Functions = append(m.Functions, t)
	}
	m.Most.Functions = n
}

// bounds reads the limits of a table or memory.
func (r *reader) bounds(thing string) (least, most uint32, bounded bool) {
	flags := r.byte()
	switch {
	case r.err != nil:
		return
	case flags&^1 == 2:
		r.fail("declares a %s shared between threads, which weir's engine does not run; build without threads", thing)
	case flags > 3:
		r.fail("declares a %s with 64-bit addresses or another unknown property (%d), which weir's engine does not run", thing, flags)
	}
	least = r.u32()
	if flags == 1 {
		most, bounded = r.u32(), true
		if r.err == nil && most < least {
			r.fail("declares a %s of at least %d and at most %d", thing, least, most)
		}
	}
	return least, most, bounded
}

func (m *module) readTable(r *reader) {
	r.refType()
	least, most, bounded := r.bounds("table")
	if r.err == nil && int64(least) > int64(m.limits.TableEntries) {
		r.fail("declares a table of %d entries, and at most %d are taken", least, m.limits.TableEntries)
	}
	if r.err == nil {
		m.tables = append(m.tables, table{least: least, most: most, bounded: bounded})
	}
}

func (m *module) readMemory(r *reader) {
	least, most, bounded := r.bounds("memory")
	if r.err != nil {
		return
	}
	if n := max(least, most); int64(n) > int64(m.limits.MemoryPages) {
		r.fail("declares a memory of %d pages, and at most %d are taken", n, m.limits.MemoryPages)
	}
	if bounded {
		m.Most.MemoryPages = int(most)
	}
	m.Memories = append(m.Memories, Memory{Least: uint64(least), Most: uint64(most), Bounded: bounded})
}

func (m *module) readGlobalType(r *reader) {
	typ := r.peek()
	r.valueType()
	b := r.byte()
	if b > 1 {
		r.fail("holds a global that is neither constant nor variable (%d)", b)
	}
	m.Globals = append(m.Globals, Global{Type: typ, Mutable: b == 1})
	m.Most.Globals++
}

func (m *module) readExports(r *reader) {
	n := r.count("exports", 3, m.limits.Exports)
	seen := make(map[string]struct{}, n)
	for range n {
		e := Export{Name: r.name("an export's name", m.limits.NameBytes), Kind: r.byte()}
		counts := [...]struct {
			thing string
			n     int
		}{KindFunc: {"function", len(m.Functions)}, KindTable: {"table", len(m.tables)}, KindMemory: {"memory", len(m.Memories)}, KindGlobal: {"global", len(m.Globals)}}
		if int(e.Kind) >= len(counts) {
			r.fail("holds an export of unknown kind %d", e.Kind)
			return
		}
		e.Index = r.index(counts[e.Kind].thing, counts[e.Kind].n)
		if _, dup := seen[e.Name]; dup {
			r.fail("exports the name %q twice", e.Name)
		}
		if r.err != nil {
			return
		}
		seen[e.Name] = struct{}{}
		m.Exports = append(m.Exports, e)
	}
	m.Most.Exports = n
}

// readElements knows eight forms: bit 0 says that the segment is not put into a
// table at the start, bit 1 that it names its table (or is only declared), and
// bit 2 that its entries are expressions.
func (m *module) readElements(r *reader) {
	n := r.count("element segments", 3, m.limits.Elements)
	for range n {
		form := r.u32()
		if r.err == nil && form > 7 {
			r.fail("holds a segment of the unknown form %d", form)
		}
		active := form&1 == 0
		if active && form&2 != 0 {
			r.index("table", len(m.tables))
		} else if active && r.err == nil && len(m.tables) == 0 {
			r.fail("fills a table, and the module has none")
		}
		if active {
			m.constant(r, len(m.Globals))
		}
		if form&3 != 0 {
			m.elementKind(r, form&4 != 0)
		}
		m.readEntries(r, form&4 != 0)
		if r.err != nil {
			return
		}
	}
	m.elements, m.Most.Elements = n, n
}

func (m *module) elementKind(r *reader, typed bool) {
	if typed {
		r.refType()
	} else if b := r.byte(); b != 0 {
		r.fail("holds a segment of the unknown kind %d", b)
	}
}

func (m *module) readEntries(r *reader, expressions bool) {
	n := r.count("entries", 1, m.limits.TableEntries)
	if m.entries += n; m.entries > m.limits.TableEntries {
		r.fail("declares more than %d entries in all", m.limits.TableEntries)
	}
	for range n {
		if r.err != nil {
			return
		}
		if expressions {
			m.constant(r, len(m.Globals))
		} else {
			r.index("function", len(m.Functions))
		}
	}
}

func (m *module) readData(r *reader) {
	n := r.count("data segments", 2, m.limits.DataSegments)
	for range n {
		form := r.u32()
		switch {
		case r.err != nil:
			return
		case form > 2:
			r.fail("holds a segment of the unknown form %d", form)
		case form == 2:
			r.index("memory", len(m.Memories))
		case form == 0 && len(m.Memories) == 0:
			r.fail("fills a memory, and the module has none")
		}
		if form != 1 {
			m.constant(r, len(m.Globals))
		}
		r.take(r.count("bytes of data", 1, len(r.b)))
		if r.err != nil {
			return
		}
	}
	m.datas, m.Most.DataSegments = n, n
}

// constant reads the instructions that make a first value. globals is how many
// may be named.
func (m *module) constant(r *reader, globals int) {
	for r.err == nil {
		switch op := r.byte(); op {
		case OpEnd:
			return
		case OpI32Const:
			r.signed(32)
		case OpI64Const:
			r.signed(64)
		case OpF32Const:
			r.take(4)
		case OpF64Const:
			r.take(8)
		case OpGlobalGet:
			r.index("global", globals)
		case OpRefNull:
			r.refType()
		case OpRefFunc:
			r.index("function", len(m.Functions))
		case OpVector:
			if r.u32() != 12 {
				r.fail("computes a first value by a vector instruction")
			}
			r.take(16)
		default:
			if r.err == nil {
				r.fail("computes a first value by the instruction %#x before byte %d of the file, which weir's engine does not run", op, r.base+r.at)
			}
		}
	}
}

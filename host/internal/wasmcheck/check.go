package wasmcheck

import "fmt"

// Check reads a module whole and reports what it looks like from outside. The
// error is a sentence that says what the file is instead, or which section
// declares what it must not. It takes time and memory in proportion to the
// file's length, whatever the file says, and never panics.
func Check(file []byte, l Limits) (*Report, error) {
	l = l.withDefaults()
	if len(file) > l.FileBytes {
		return nil, fmt.Errorf("the file is %d bytes long, and at most %d are taken", len(file), l.FileBytes)
	}
	if err := magic(file); err != nil {
		return nil, err
	}
	m := &module{limits: l, Report: Report{Custom: map[string][]byte{}, Most: Limits{FileBytes: len(file)}}}
	if err := m.sections(file); err != nil {
		return nil, err
	}
	if err := m.agree(); err != nil {
		return nil, err
	}
	return &m.Report, nil
}

// module is a Report in the making, and what is needed to hold later sections
// to earlier ones.
type module struct {
	Report
	limits Limits

	shapes    []shape // of Types
	imported  struct{ funcs, globals int }
	tables    []table
	elements  int
	dataCount int // -1 after a file without the section
	hasCount  bool
	datas     int
	bodies    int
	entries   int // of all element segments
	locals    int // of all functions
	customs   int
	frames    []frame // the control stack, kept from function to function
}

// table is what a table may come to hold.
type table struct {
	least, most uint32
	bounded     bool // most is declared
	grows       bool // some code grows it
}

// shape is a function type's numbers once more, small, for the code's reader.
type shape struct{ params, results uint16 }

func sectionName(id byte) string {
	names := []string{"custom section", "type section", "import section", "function section", "table section", "memory section",
		"global section", "export section", "start section", "element section", "code section", "data section", "data count section", "tag section"}
	if int(id) < len(names) {
		return names[id]
	}
	return fmt.Sprintf("section %d", id)
}

// place is a section's place in the order the format asks for; 0: there is no
// such section.
func place(id byte) int {
	places := [...]int{SectionType: 1, SectionImport: 2, SectionFunction: 3, SectionTable: 4, SectionMemory: 5, SectionGlobal: 6,
		SectionExport: 7, SectionStart: 8, SectionElement: 9, SectionDataCount: 10, SectionCode: 11, SectionData: 12}
	if int(id) >= len(places) {
		return 0
	}
	return places[id]
}

func (m *module) sections(file []byte) error {
	last := byte(0)
	r := &reader{b: file, at: 8, what: "file"}
	for !r.done() {
		id := r.byte()
		name := sectionName(id)
		size := r.u32()
		if r.err != nil {
			return fmt.Errorf("the file is cut short or damaged in the head of its %s, at byte %d", name, r.at)
		}
		if int64(size) > int64(r.left()) {
			return fmt.Errorf("the file is cut short: its %s says %d bytes and %d are left", name, size, r.left())
		}
		s := &reader{b: r.take(int(size)), base: r.at - int(size), what: name}
		if id != SectionCustom {
			if err := follows(last, id); err != nil {
				return err
			}
			last = id
		} else if m.customs++; m.customs > m.limits.Sections {
			return fmt.Errorf("the file holds more than %d custom sections", m.limits.Sections)
		}
		m.Sections = append(m.Sections, Section{ID: id, Body: s.b})
		m.section(id, s)
		if s.err == nil && !s.done() {
			s.fail("holds %d bytes more than it declares", s.left())
		}
		if s.err != nil {
			return s.err
		}
	}
	return nil
}

// follows holds the sections to their order.
func follows(last, id byte) error {
	switch {
	case id == sectionTag:
		return fmt.Errorf("the file uses exceptions (its %s), which weir's engine does not run; build without them", sectionName(id))
	case place(id) == 0:
		return fmt.Errorf("the file holds a section of the unknown number %d", id)
	case id == last:
		return fmt.Errorf("the file is damaged: its %s comes twice", sectionName(id))
	case place(id) < place(last):
		return fmt.Errorf("the file is damaged: its %s is after its %s", sectionName(id), sectionName(last))
	}
	return nil
}

func (m *module) section(id byte, r *reader) {
	switch id {
	case SectionCustom:
		name := r.name("its name", m.limits.NameBytes)
		content := r.take(r.left())
		m.Sections[len(m.Sections)-1].Name = name
		if _, dup := m.Custom[name]; !dup && r.err == nil {
			m.Custom[name] = content
		}
	case SectionType:
		m.readTypes(r)
	case SectionImport:
		m.readImports(r)
	case SectionFunction:
		m.readFunctions(r)
	case SectionTable:
		for range r.count("tables", 3, m.limits.Tables) {
			m.readTable(r)
		}
	case SectionMemory:
		for range r.count("memories", 2, 1) {
			m.readMemory(r)
		}
	case SectionGlobal:
		for range r.count("globals", 4, m.limits.Globals) {
			m.readGlobalType(r)
			m.constant(r, m.imported.globals)
			if r.err != nil {
				return
			}
		}
	case SectionExport:
		m.readExports(r)
	case SectionStart:
		r.index("function", len(m.Functions))
	case SectionElement:
		m.readElements(r)
	case SectionDataCount:
		m.dataCount, m.hasCount = int(r.u32()), true
		if m.dataCount > m.limits.DataSegments {
			r.fail("declares %d data segments, and at most %d are taken", m.dataCount, m.limits.DataSegments)
		}
	case SectionCode:
		m.readCode(r)
	case SectionData:
		m.readData(r)
	}
}

// agree holds sections to each other that must count the same, and bounds what
// all tables together can come to hold.
func (m *module) agree() error {
	if own := len(m.Functions) - m.imported.funcs; own != m.bodies {
		return fmt.Errorf("the function section declares %d functions, and the code section holds %d", own, m.bodies)
	}
	if m.hasCount && m.dataCount != m.datas {
		return fmt.Errorf("the data count section declares %d data segments, and the data section holds %d", m.dataCount, m.datas)
	}
	if len(m.Memories) > 1 {
		return fmt.Errorf("the module has %d memories, and at most one is taken", len(m.Memories))
	}
	if len(m.tables) > m.limits.Tables {
		return fmt.Errorf("the module has %d tables, and at most %d are taken", len(m.tables), m.limits.Tables)
	}
	var sum uint64
	for i, t := range m.tables {
		room := uint64(t.least)
		if t.grows {
			if !t.bounded {
				return fmt.Errorf("table %d grows by table.grow and declares no maximum; give it one of at most %d entries", i, m.limits.TableEntries)
			}
			room = uint64(t.most)
		}
		sum += room
	}
	if sum > uint64(m.limits.TableEntries) {
		return fmt.Errorf("the table section declares room for %d entries, and at most %d are taken", sum, m.limits.TableEntries)
	}
	m.Most.Tables, m.Most.TableEntries = len(m.tables), max(int(sum), m.entries)
	return nil
}

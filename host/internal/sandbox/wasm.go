package sandbox

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// Section numbers of the WebAssembly binary format.
const (
	sectionCustom   = 0
	sectionType     = 1
	sectionImport   = 2
	sectionFunction = 3
	sectionMemory   = 5
	sectionExport   = 7
)

// Kinds of imports and exports.
const (
	kindFunc   = 0
	kindTable  = 1
	kindMemory = 2
	kindGlobal = 3
	kindTag    = 4
)

// pageSize is a page of linear memory, in bytes.
const pageSize = 64 << 10

// structure is what a look at a module's outside tells. All slices and strings
// are bounded by the module's own length.
type structure struct {
	sections []section
	types    []signature // nil when they use features this reader does not know
	funcs    []uint32    // type of each function, imported ones first
	imports  []importEntry
	exports  []exportEntry
	memory   []uint64 // least size of each memory, in pages, imported ones first
	custom   map[string][]byte
}

type section struct {
	id   byte
	body []byte
}

type signature struct{ params, results int }

type importEntry struct {
	module, name string
	desc         []byte // kind and what follows, as it stands
}

type exportEntry struct {
	name  string
	kind  byte
	index uint32
}

// parseModule reads a module's structure. Its errors are sentences that say
// what is wrong with the file.
func parseModule(wasm []byte) (*structure, error) {
	if err := checkMagic(wasm); err != nil {
		return nil, err
	}
	s := &structure{custom: make(map[string][]byte)}
	var seen [256]bool
	for r := (&reader{b: wasm, at: 8}); !r.done(); {
		id := r.byte()
		size := r.u32()
		if r.err == nil && uint64(size) > uint64(len(r.b)-r.at) {
			return nil, fmt.Errorf("the file is cut short: its %s says %d bytes and %d are left", sectionName(id), size, len(r.b)-r.at)
		}
		body := r.take(int(size))
		if r.err != nil {
			return nil, fmt.Errorf("the file is cut short or damaged at byte %d", r.at)
		}
		if seen[id] && id != sectionCustom {
			return nil, fmt.Errorf("the file is damaged: its %s comes twice", sectionName(id))
		}
		seen[id] = true
		s.sections = append(s.sections, section{id, body})
		sr := &reader{b: body}
		s.read(id, sr)
		if sr.err != nil {
			return nil, fmt.Errorf("its %s is damaged: %w", sectionName(id), sr.err)
		}
	}
	return s, nil
}

func checkMagic(wasm []byte) error {
	switch {
	case len(wasm) == 0:
		return fmt.Errorf("the file is empty")
	case !bytes.HasPrefix(wasm, []byte("\x00asm")[:min(4, len(wasm))]):
		return fmt.Errorf("this is not a WebAssembly file; build the plugin for wasm32, for example with GOOS=wasip1 GOARCH=wasm")
	case len(wasm) < 8:
		return fmt.Errorf("the file is cut short: it ends within the first 8 bytes")
	case bytes.HasPrefix(wasm[4:], []byte{1, 0, 0, 0}):
		return nil
	case bytes.HasPrefix(wasm[6:], []byte{1, 0}):
		return fmt.Errorf("this is a WebAssembly component; weir runs core modules, so build for wasip1 (wasm32-wasip1), not wasip2")
	}
	return fmt.Errorf("this WebAssembly file has version %x; weir runs version 1", wasm[4:8])
}

func sectionName(id byte) string {
	names := []string{"custom section", "type section", "import section", "function section", "table section", "memory section",
		"global section", "export section", "start section", "element section", "code section", "data section", "data count section", "tag section"}
	if int(id) < len(names) {
		return names[id]
	}
	return fmt.Sprintf("section %d", id)
}

// read takes in the sections that matter here; the engine checks the others.
func (s *structure) read(id byte, r *reader) {
	switch id {
	case sectionCustom:
		name := r.name()
		if _, dup := s.custom[name]; !dup && r.err == nil {
			s.custom[name] = r.rest()
		}
	case sectionType:
		s.readTypes(r)
	case sectionImport:
		for range r.count() {
			s.readImport(r)
		}
	case sectionFunction:
		for range r.count() {
			s.funcs = append(s.funcs, r.u32())
		}
	case sectionMemory:
		for range r.count() {
			s.memory = append(s.memory, r.limits())
		}
	case sectionExport:
		for range r.count() {
			e := exportEntry{name: r.name(), kind: r.byte(), index: r.u32()}
			if r.err != nil {
				return
			}
			s.exports = append(s.exports, e)
		}
	}
}

// readTypes gives up without an error at the first type that is no plain
// function: signatures are then unknown, and the engine has the last word.
func (s *structure) readTypes(r *reader) {
	types := []signature{}
	for range r.count() {
		if r.byte() != 0x60 {
			s.types = nil
			return
		}
		var sig signature
		for _, n := range []*int{&sig.params, &sig.results} {
			*n = r.count()
			for range *n {
				if b := r.byte(); b == 0x63 || b == 0x64 { // a reference with a heap type
					r.s33()
				}
			}
		}
		types = append(types, sig)
	}
	s.types = types
}

func (s *structure) readImport(r *reader) {
	e := importEntry{module: r.name(), name: r.name()}
	from := r.at
	switch kind := r.byte(); kind {
	case kindFunc:
		s.funcs = append(s.funcs, r.u32())
	case kindTable:
		r.byte()
		r.limits()
	case kindMemory:
		s.memory = append(s.memory, r.limits())
	case kindGlobal:
		r.byte()
		r.byte()
	case kindTag:
		r.byte()
		r.u32()
	default:
		r.fail("an import of unknown kind %d", kind)
	}
	if r.err == nil {
		e.desc = r.b[from:r.at]
		s.imports = append(s.imports, e)
	}
}

// trim drops what refers to the file's bytes, once the module is compiled.
func (s *structure) trim() { s.sections, s.imports, s.custom = nil, nil, nil }

// function finds an exported function; ok is false when there is none of the name.
func (s *structure) function(name string) (sig signature, known, ok bool) {
	for _, e := range s.exports {
		if e.name != name || e.kind != kindFunc {
			continue
		}
		if int(e.index) < len(s.funcs) && int(s.funcs[e.index]) < len(s.types) {
			return s.types[s.funcs[e.index]], true, true
		}
		return signature{}, false, true
	}
	return signature{}, false, false
}

// reader reads the primitives of the binary format. After an error it returns
// zero values, so callers check once.
type reader struct {
	b   []byte
	at  int
	err error
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
	r.at = len(r.b)
}

func (r *reader) done() bool { return r.err != nil || r.at >= len(r.b) }

func (r *reader) byte() byte {
	if r.at >= len(r.b) {
		r.fail("it ends too early")
		return 0
	}
	r.at++
	return r.b[r.at-1]
}

func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.b)-r.at {
		r.fail("it ends too early")
		return nil
	}
	r.at += n
	return r.b[r.at-n : r.at : r.at]
}

func (r *reader) rest() []byte { return r.take(len(r.b) - r.at) }

// leb reads an unsigned number of at most the given bits.
func (r *reader) leb(bits uint) uint64 {
	var n uint64
	for shift := uint(0); ; shift += 7 {
		b := r.byte()
		if r.err != nil {
			return 0
		}
		if shift >= bits || bits-shift < 7 && uint64(b&0x7f)>>(bits-shift) != 0 {
			r.fail("a number is longer than %d bits", bits)
			return 0
		}
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return n
		}
	}
}

func (r *reader) u32() uint32 { return uint32(r.leb(32)) }

// s33 skips a signed number of up to 33 bits.
func (r *reader) s33() {
	for range 5 {
		if r.byte() < 0x80 {
			return
		}
	}
	r.fail("a type is longer than 33 bits")
}

// count reads the length of a list. Each entry takes at least one byte, so a
// count beyond the bytes that are left is a lie, and nothing is allocated for it.
func (r *reader) count() int {
	n := r.u32()
	if r.err == nil && uint64(n) > uint64(len(r.b)-r.at) {
		r.fail("it says %d entries in %d bytes", n, len(r.b)-r.at)
		return 0
	}
	return int(n)
}

func (r *reader) name() string {
	b := r.take(r.count())
	if !utf8.Valid(b) {
		r.fail("a name is not UTF-8")
		return ""
	}
	return string(b)
}

// limits reads the bounds of a memory or table and returns the lower one.
func (r *reader) limits() uint64 {
	flags := r.leb(32)
	if flags > 7 {
		r.fail("limits with unknown flags %d", flags)
		return 0
	}
	least := r.leb(64)
	if flags&1 != 0 {
		r.leb(64)
	}
	return least
}

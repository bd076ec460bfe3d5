package instrument

import (
	"encoding/binary"
	"fmt"

	"github.com/weirhost/weir/host/internal/wasmcheck"
)

// encoder writes the new module. It appends to sections, so
// no index changes.
type encoder struct {
	r        *wasmcheck.Report
	o        Options
	s        *survey
	sections [wasmcheck.SectionDataCount + 1][]byte // nil: none

	renew    bool
	portable bool     // what weir:save saved is exported
	start    int      // the function that the start section named; -1: none
	kept     []uint32 // globals that are put back
	stop     uint32   // the global weir:stop
	used     uint32   // the global weir:used
	fuel     uint32   // the global of what the guest may still spend
	saved    uint32   // the global of the memory's size at weir:save in pages, and 1
	copies   uint32   // the first of the globals that hold what kept ones held

	globals   []byte // added ones
	globalsN  int
	functions []function // added ones
	// Added functions by their numbers; 0: there is none.
	look, refill, spend, grow uint32
	exports                   []wasmcheck.Export
}

// function is one that is added.
type function struct {
	typ  uint32
	code code
}

// The types of added functions, counted from the end of the module's own.
const (
	typeNothing = iota // () → ()
	typeNumber         // (i32) → (i32)
	addedTypes
)

func newEncoder(r *wasmcheck.Report, o Options, s *survey) *encoder {
	e := &encoder{r: r, o: o, s: s, start: -1}
	for _, sec := range r.Sections {
		if sec.ID != wasmcheck.SectionCustom {
			e.sections[sec.ID] = sec.Body
		}
	}
	e.renew = o.Renew && len(s.obstacles) == 0
	if o.Stop {
		e.addChecks()
	}
	if o.Used {
		e.used = e.addGlobal(wasmcheck.TypeI32)
		e.exports = append(e.exports, wasmcheck.Export{Name: UsedGlobal, Kind: wasmcheck.KindGlobal, Index: e.used})
	}
	if body := e.sections[wasmcheck.SectionStart]; body != nil && (o.Stop || o.Renew) {
		n, _ := binary.Uvarint(body)
		e.start = int(n)
		e.sections[wasmcheck.SectionStart] = nil
		// The function itself could be one of imports; exporting it would let
		// code refer to it that may not.
		e.addFunction(StartExport, typeNothing, code{}.op(wasmcheck.OpCall, uint32(n)))
	}
	if e.renew {
		e.addRenewal()
	}
	return e
}

// addChecks adds what looks at weir:stop.
func (e *encoder) addChecks() {
	e.stop = e.addGlobal(wasmcheck.TypeI32)
	e.exports = append(e.exports, wasmcheck.Export{Name: StopGlobal, Kind: wasmcheck.KindGlobal, Index: e.stop})
	e.fuel = e.addGlobal(wasmcheck.TypeI32)
	e.look = e.addFunction("", typeNothing, e.lookCode())
	e.refill = e.addFunction("", typeNothing, e.refillCode())
	e.spend = e.addFunction("", typeNumber, e.spendCode())
	if len(e.r.Memories) == 0 {
		e.sections[wasmcheck.SectionMemory] = []byte{1, 1, 0, 0} // empty, for ever
	}
}

// addRenewal adds what saves and restores.
func (e *encoder) addRenewal() {
	e.keep()
	e.saved = e.addGlobal(wasmcheck.TypeI32)
	for i, g := range e.kept {
		n := e.addGlobal(e.r.Globals[g].Type)
		if i == 0 {
			e.copies = n
		}
	}
	if e.portable = e.numbersOnly(); e.portable {
		for i := range e.kept {
			e.exports = append(e.exports, wasmcheck.Export{Name: SavedGlobal(i), Kind: wasmcheck.KindGlobal, Index: e.copies + uint32(i)})
		}
	}
	e.addFunction(SaveExport, typeNothing, e.save())
	e.addFunction(RestoreExport, typeNothing, e.restore())
	if m := e.r.Memories; len(m) > 0 && m[0].Bounded {
		e.grow = e.addFunction("", typeNumber, growWithin(uint32(m[0].Most)))
	}
}

// keep lists the module's own globals that code sets, or others could.
func (e *encoder) keep() {
	imported := 0
	for _, i := range e.r.Imports {
		if i.Kind() == wasmcheck.KindGlobal {
			imported++
		}
	}
	open := make([]bool, len(e.r.Globals))
	for _, x := range e.r.Exports {
		if x.Kind == wasmcheck.KindGlobal {
			open[x.Index] = true
		}
	}
	for i, g := range e.r.Globals {
		if i >= imported && g.Mutable && (e.s.written[i] || open[i]) {
			e.kept = append(e.kept, uint32(i))
		}
	}
}

// numbersOnly says that what is kept fits 64 bits and means the same in every
// instance, as references and vectors do not.
func (e *encoder) numbersOnly() bool {
	for _, g := range e.kept {
		switch e.r.Globals[g].Type {
		case wasmcheck.TypeI32, wasmcheck.TypeI64, wasmcheck.TypeF32, wasmcheck.TypeF64:
		default:
			return false
		}
	}
	return true
}

func (e *encoder) addGlobal(typ byte) uint32 {
	e.globals = append(e.globals, typ, 1)
	e.globals = append(e.globals, zero(typ)...)
	e.globals = append(e.globals, wasmcheck.OpEnd)
	e.globalsN++
	return uint32(len(e.r.Globals) + e.globalsN - 1)
}

// addFunction adds one, and exports it if it has a name.
func (e *encoder) addFunction(name string, typ uint32, c code) uint32 {
	index := uint32(len(e.r.Functions) + len(e.functions))
	e.functions = append(e.functions, function{uint32(len(e.r.Types)) + typ, c})
	if name != "" {
		e.exports = append(e.exports, wasmcheck.Export{Name: name, Kind: wasmcheck.KindFunc, Index: index})
	}
	return index
}

// order is the sections' order in a file.
func order() [12]byte {
	return [...]byte{wasmcheck.SectionType, wasmcheck.SectionImport, wasmcheck.SectionFunction, wasmcheck.SectionTable, wasmcheck.SectionMemory, wasmcheck.SectionGlobal,
		wasmcheck.SectionExport, wasmcheck.SectionStart, wasmcheck.SectionElement, wasmcheck.SectionDataCount, wasmcheck.SectionCode, wasmcheck.SectionData}
}

func (e *encoder) module() ([]byte, error) {
	if err := e.rewriteSections(); err != nil {
		return nil, err
	}
	size := len(header)
	for _, body := range e.sections {
		size += 6 + len(body)
	}
	out := append(make([]byte, 0, size), header...)
	for _, id := range order() {
		if body := e.sections[id]; body != nil {
			out = appendSection(out, id, body)
		}
	}
	return out, nil
}

func (e *encoder) rewriteSections() error {
	if n := len(e.functions); n > 0 {
		e.extend(wasmcheck.SectionType, addedTypes, []byte{0x60, 0, 0, 0x60, 1, wasmcheck.TypeI32, 1, wasmcheck.TypeI32})
		var types []byte
		for _, f := range e.functions {
			types = binary.AppendUvarint(types, uint64(f.typ))
		}
		e.extend(wasmcheck.SectionFunction, n, types)
	}
	if e.globalsN > 0 {
		e.extend(wasmcheck.SectionGlobal, e.globalsN, e.globals)
	}
	if e.renew {
		e.raiseMaximum()
	}
	e.encodeImports()
	if err := e.encodeExports(); err != nil {
		return err
	}
	return e.encodeCode()
}

// extend appends entries to a section.
func (e *encoder) extend(id byte, n int, entries []byte) {
	count, size := binary.Uvarint(e.sections[id])
	body := binary.AppendUvarint(make([]byte, 0, len(e.sections[id])+len(entries)+5), count+uint64(n))
	body = append(body, e.sections[id][max(size, 0):]...)
	e.sections[id] = append(body, entries...)
}

// raiseMaximum lets a memory grow by a page more than the module declares, so
// that weir:restore can ask for one at any size.
func (e *encoder) raiseMaximum() {
	if m := e.r.Memories; len(m) > 0 && m[0].Bounded {
		body := binary.AppendUvarint([]byte{1, 1}, m[0].Least)
		e.sections[wasmcheck.SectionMemory] = binary.AppendUvarint(body, min(m[0].Most+1, mostPages))
	}
}

// mostPages is the size of a memory that 32 bits can address.
const mostPages = 1 << 16

func (e *encoder) encodeImports() {
	if len(e.r.Imports) == 0 || e.o.Import == nil && !e.o.Stdio {
		return
	}
	out := binary.AppendUvarint(nil, uint64(len(e.r.Imports)))
	for _, i := range e.r.Imports {
		module, name := i.Module, i.Name
		if e.o.Import != nil {
			module, name = e.o.Import(i)
		}
		if e.o.Stdio && changesDescriptors(i) {
			module = StdioModule
		}
		out = appendName(appendName(out, module), name)
		out = append(out, i.Desc...)
	}
	e.sections[wasmcheck.SectionImport] = out
}

func (e *encoder) encodeExports() error {
	if len(e.r.Exports)+len(e.exports) == 0 {
		return nil
	}
	out := binary.AppendUvarint(nil, uint64(len(e.r.Exports)+len(e.exports)))
	seen := make(map[string]bool, len(e.r.Exports)+len(e.exports))
	for i, x := range append(e.r.Exports[:len(e.r.Exports):len(e.r.Exports)], e.exports...) {
		name := x.Name
		if e.o.Export != nil && i < len(e.r.Exports) {
			name = e.o.Export(x)
		}
		if seen[name] {
			return fmt.Errorf("its export %.40q would have the name of another", x.Name)
		}
		seen[name] = true
		out = append(appendName(out, name), x.Kind)
		out = binary.AppendUvarint(out, uint64(x.Index))
	}
	e.sections[wasmcheck.SectionExport] = out
	return nil
}

// encodeCode makes the changes to the bodies and adds new ones.
func (e *encoder) encodeCode() error {
	if len(e.functions) == 0 && !e.o.Stop && !e.o.Used {
		return nil
	}
	old := e.sections[wasmcheck.SectionCode]
	out := binary.AppendUvarint(make([]byte, 0, len(old)+len(old)/8+1024), uint64(len(e.s.bodies)+len(e.functions)))
	var changed []byte
	for _, b := range e.s.bodies {
		changed = e.apply(changed[:0], b)
		out = append(binary.AppendUvarint(out, uint64(len(changed))), changed...)
		if len(out) > mostGrowth*len(old)+smallGrowth {
			return errGrowth
		}
	}
	for _, f := range e.functions {
		out = binary.AppendUvarint(out, uint64(len(f.code)+2))
		out = append(append(append(out, 0), f.code...), wasmcheck.OpEnd) // no locals
	}
	e.sections[wasmcheck.SectionCode] = out
	return nil
}

package instrument

import (
	"slices"

	"github.com/weirhost/weir/host/internal/wasmcheck"
)

// survey is what a look at all code of a module found.
type survey struct {
	bodies    []body
	obstacles []string
	written   []bool // the globals that code sets
	checks    int
	grown     int // bytes that the edits add, at least
}

// body is one function's code and what happens to it.
type body struct {
	bytes   []byte
	edits   []edit // by place
	counter uint32 // the local that counts turns of loops, if there are such
}

// examine looks at every instruction, twice if the guest shall be stoppable, and
// at none if only names change.
func examine(r *wasmcheck.Report, o Options) (*survey, error) {
	s := &survey{written: make([]bool, len(r.Globals))}
	if !o.Stop && !o.Renew && !o.Used {
		return s, nil
	}
	s.imports(r)
	open := exported(r, o)
	turns := &loops{report: r}
	most := smallGrowth
	for _, sec := range r.Sections {
		if sec.ID == wasmcheck.SectionCode {
			most += (mostGrowth - 1) * len(sec.Body)
		}
	}
	for b, err := range r.Bodies() {
		if err != nil {
			return nil, err
		}
		if o.Stop {
			turns.read(b)
			b.Rewind()
		}
		p := newPlacement(b, turns.all, o.Stop)
		if open[len(s.bodies)] {
			p.edits = append(p.edits, edit{at: uint32(b.Start), what: use})
		}
		for b.Next() {
			s.note(b)
			if p.step(b); s.grown+p.grown > most {
				return nil, errGrowth
			}
		}
		edits := p.finish()
		s.checks += p.checks
		s.grown += p.grown
		s.bodies = append(s.bodies, body{b.Bytes, edits, uint32(b.Locals)})
	}
	return s, nil
}

// exported are the module's own functions that others can call and that are to
// say so, by the number of their bodies.
func exported(r *wasmcheck.Report, o Options) map[int]bool {
	open := map[int]bool{}
	if !o.Used {
		return open
	}
	imported := 0
	for _, i := range r.Imports {
		if i.Kind() == wasmcheck.KindFunc {
			imported++
		}
	}
	for _, x := range r.Exports {
		if x.Kind == wasmcheck.KindFunc {
			open[int(x.Index)-imported] = true
		}
	}
	return open
}

func (s *survey) imports(r *wasmcheck.Report) {
	globals := 0
	for _, i := range r.Imports {
		switch i.Kind() {
		case wasmcheck.KindTable:
			s.obstacle("imported table")
		case wasmcheck.KindMemory:
			s.obstacle("imported memory")
		case wasmcheck.KindGlobal:
			if r.Globals[globals].Mutable {
				s.obstacle("imported mutable global")
			}
			globals++
		}
	}
}

// note records the state that an instruction can change.
func (s *survey) note(b *wasmcheck.Body) {
	switch b.Op {
	case wasmcheck.OpGlobalSet:
		s.written[b.Number()] = true
	case wasmcheck.OpTableSet:
		s.obstacle("table.set")
	case wasmcheck.OpMisc:
		switch b.Number() {
		case wasmcheck.MiscTableInit:
			s.obstacle("table.init")
		case wasmcheck.MiscTableCopy:
			s.obstacle("table.copy")
		case wasmcheck.MiscTableGrow:
			s.obstacle("table.grow")
		case wasmcheck.MiscTableFill:
			s.obstacle("table.fill")
		case wasmcheck.MiscElemDrop:
			s.obstacle("elem.drop")
		case wasmcheck.MiscDataDrop:
			s.obstacle("data.drop")
		}
	}
}

func (s *survey) obstacle(what string) {
	if !slices.Contains(s.obstacles, what) {
		s.obstacles = append(s.obstacles, what)
	}
}

package wasmcheck

import (
	"bytes"
	"path/filepath"
	"slices"
	"testing"

	"github.com/weirhost/weir/host/internal/guesttest"
	w "github.com/weirhost/weir/host/internal/wasmtest"
)

// TestBodies reads a module's code twice and finds what was written.
func TestBodies(t *testing.T) {
	module := w.New().Types(w.Func(nil, []byte{w.I32}), w.Func([]byte{w.I64}, nil)).Imports(w.ImportFunc("m", "f", 1)).Functions(0, 1).
		Code(w.BodyWith([][]byte{w.Locals(3, w.I32)}, w.Block, w.Empty, w.I32Const, 0, w.BrTable, 2, 0, 0x81, 0, 0, w.End, w.I32Const, 0x80, 1),
			w.Body(w.LocalGet, 0, w.Call, 0, w.Loop, w.Empty, w.I32Const, 1, w.BrIf, 0, w.End)).Bytes()
	r, err := Check(module, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	type seen struct {
		function uint32
		locals   int
		ops      string
		labels   []uint32
	}
	var got []seen
	for b, err := range r.Bodies() {
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			s := seen{function: b.Function, locals: b.Locals}
			code := []byte(nil)
			for b.Next() {
				s.ops += string(b.Op)
				code = append(code, b.Bytes[b.At:b.End]...)
				if b.Op == OpBrIf || b.Op == OpBrTable {
					for at, label := range b.Labels() {
						if b.Bytes[at]&0x7f != byte(label) {
							t.Errorf("label %d is not at byte %d", label, at)
						}
						s.labels = append(s.labels, label)
					}
				}
				if b.Op == OpCall && b.Number() != 0 {
					t.Errorf("calls %d", b.Number())
				}
			}
			if !bytes.Equal(code, b.Bytes[b.Start:]) {
				t.Errorf("instructions %x of %x", code, b.Bytes)
			}
			got = append(got, s)
			b.Rewind()
		}
	}
	first := seen{1, 3, "\x02\x41\x0e\x0b\x41\x0b", []uint32{0, 1, 0}}
	second := seen{2, 1, "\x20\x10\x03\x41\x0d\x0b\x0b", []uint32{0}}
	same := func(a, b seen) bool {
		return a.function == b.function && a.locals == b.locals && a.ops == b.ops && slices.Equal(a.labels, b.labels)
	}
	if !slices.EqualFunc(got, []seen{first, first, second, second}, same) {
		t.Errorf("got %+v", got)
	}
}

// TestBodiesOfAnother reads by a report whose sections were exchanged.
func TestBodiesOfAnother(t *testing.T) {
	r, err := Check(full().Bytes(), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range r.Sections {
		if s.ID == SectionCode {
			r.Sections[i].Body = s.Body[:len(s.Body)-1]
		}
	}
	for b, e := range r.Bodies() {
		err = e
		for b != nil && b.Next() {
			continue
		}
	}
	if err == nil {
		t.Error("a code section that is cut short is read to its end")
	}
}

// BenchmarkBodies walks through what BenchmarkCheck checks.
func BenchmarkBodies(b *testing.B) {
	wasm := read(b, filepath.Join(guesttest.Shipped(b, "grep_search"), "grep_search", "grep_search.wasm"))
	r, err := Check(wasm, Limits{})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(wasm)))
	b.ReportAllocs()
	for b.Loop() {
		for body, err := range r.Bodies() {
			if err != nil {
				b.Fatal(err)
			}
			for body.Next() {
				continue
			}
		}
	}
}

package instrument

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/weirhost/weir/host/internal/wasmcheck"
	w "github.com/weirhost/weir/host/internal/wasmtest"
)

// node is an instruction of a rewritten function and where it leads.
type node struct {
	op     byte
	labels []uint32
	next   []int
	weight int
	pays   bool // it pays, or counts a turn
	calls  bool
	end    int // of a block: its end; of an if: its else, too
	other  int
}

// graph reads a body of a module that was rewritten.
func (e *encoder) graph(b *wasmcheck.Body) []node {
	var nodes []node
	var open []int
	for b.Next() {
		at := len(nodes)
		n := node{op: b.Op, weight: min(b.End-b.At, callWeight), other: -1}
		switch b.Op {
		case wasmcheck.OpBlock, wasmcheck.OpLoop, wasmcheck.OpIf:
			open = append(open, at)
		case wasmcheck.OpElse:
			nodes[open[len(open)-1]].other = at
		case wasmcheck.OpEnd:
			if len(open) > 0 {
				nodes[open[len(open)-1]].end = at
				open = open[:len(open)-1]
			}
		case wasmcheck.OpBr, wasmcheck.OpBrTable, wasmcheck.OpBrIf:
			for _, l := range b.Labels() {
				n.labels = append(n.labels, l)
			}
		case wasmcheck.OpGlobalSet:
			n.pays = b.Number() == e.fuel
		case wasmcheck.OpCall, wasmcheck.OpCallIndirect:
			if f := b.Number(); b.Op == wasmcheck.OpCall && int(f) >= len(e.r.Functions) {
				n.pays = f == e.look || f == e.refill || f == e.spend
			} else {
				n.calls, n.weight = true, callWeight
			}
		case opLocalTee:
			n.pays = int(b.Number()) == b.Locals-1 && e.counts(b.Function)
		}
		nodes = append(nodes, n)
	}
	connect(nodes)
	return nodes
}

// connect draws the ways from instruction to instruction.
func connect(nodes []node) {
	open := []int{-1}
	last := len(nodes) - 1
	for i := range nodes {
		n := &nodes[i]
		for _, l := range n.labels {
			switch to := open[len(open)-1-int(l)]; {
			case to < 0:
				n.next = append(n.next, last)
			case nodes[to].op == wasmcheck.OpLoop:
				n.next = append(n.next, to)
			default:
				n.next = append(n.next, nodes[to].end)
			}
		}
		switch n.op {
		case wasmcheck.OpBr, wasmcheck.OpBrTable, wasmcheck.OpReturn, wasmcheck.OpUnreachable:
			continue
		case wasmcheck.OpElse:
			n.next = append(n.next, nodes[open[len(open)-1]].end)
			continue
		case wasmcheck.OpBlock, wasmcheck.OpLoop, wasmcheck.OpIf:
			open = append(open, i)
			if n.op == wasmcheck.OpIf && n.other >= 0 {
				n.next = append(n.next, n.other+1)
			} else if n.op == wasmcheck.OpIf {
				n.next = append(n.next, n.end)
			}
		case wasmcheck.OpEnd:
			open = open[:len(open)-1]
		}
		if i < last {
			n.next = append(n.next, i+1)
		}
	}
}

// counts says whether a function has been given a counter.
func (e *encoder) counts(function uint32) bool {
	imported := len(e.r.Functions) - len(e.s.bodies)
	for _, x := range e.s.bodies[int(function)-imported].edits {
		if x.what == counter {
			return true
		}
	}
	return false
}

// longest measures the longest way between payments from a node on, in bytes;
// an error is a way that comes back to itself, or, from a function's beginning,
// one that leads to a call.
func longest(nodes []node, from int, memo map[int]int, beginning bool) (int, error) {
	const visiting = -1
	type frame struct{ at, child, best int }
	stack := []frame{{at: from}}
	memo[from] = visiting
	for {
		f := &stack[len(stack)-1]
		n := nodes[f.at]
		if beginning && n.calls {
			return 0, fmt.Errorf("instruction %d is a call that nothing was paid for", f.at)
		}
		if !n.pays && f.child < len(n.next) {
			to := n.next[f.child]
			f.child++
			switch d, known := memo[to]; {
			case known && d == visiting:
				return 0, fmt.Errorf("instruction %d goes back to %d, and nothing is paid", f.at, to)
			case known:
				f.best = max(f.best, d)
			default:
				memo[to] = visiting
				stack = append(stack, frame{at: to})
			}
			continue
		}
		total := f.best + n.weight
		memo[f.at] = total
		if stack = stack[:len(stack)-1]; len(stack) == 0 {
			return total, nil
		}
		stack[len(stack)-1].best = max(stack[len(stack)-1].best, total)
	}
}

// pays holds every way through a rewritten module to what placement promises:
// none comes back to itself or leads from a function's beginning to a call
// without a payment, and none is much longer without one than straight says.
func pays(t testing.TB, wasm []byte) {
	t.Helper()
	r, err := wasmcheck.Check(wasm, wasmcheck.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Stop: true}
	s, err := examine(r, o)
	if err != nil {
		t.Fatal(err)
	}
	e := newEncoder(r, o, s)
	out, err := e.module()
	if err != nil {
		t.Fatal(err)
	}
	changed, err := wasmcheck.Check(out, wasmcheck.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	const most = straight + 192 + 64 // a loop's copies, and what is put in itself
	for b, err := range changed.Bodies() {
		if err != nil {
			t.Fatal(err)
		}
		if int(b.Function) >= len(r.Functions) {
			break // an added one
		}
		nodes := e.graph(b)
		if _, err := longest(nodes, 0, map[int]int{}, true); err != nil {
			t.Fatalf("function %d: %v", b.Function, err)
		}
		memo := map[int]int{}
		for i, n := range nodes {
			starts := []int{0}
			if n.pays {
				starts = n.next
			} else if i > 0 {
				continue
			}
			for _, from := range starts {
				if d, err := longest(nodes, from, memo, false); err != nil || d > most {
					t.Fatalf("function %d, from instruction %d: %d bytes, %v", b.Function, from, d, err)
				}
			}
		}
	}
}

// TestPays looks at every way through programs, works and the zoo.
func TestPays(t *testing.T) {
	for seed := range uint64(100) {
		random := rand.New(rand.NewPCG(seed, 2))
		b := make([]byte, 300)
		for i := range b {
			b[i] = byte(random.Uint32())
		}
		t.Run(fmt.Sprint("program ", seed), func(t *testing.T) { pays(t, newProgram(b)) })
	}
	for name, x := range works() {
		t.Run(name, func(t *testing.T) { pays(t, x.guest()) })
	}
	line := w.Repeat(150, get, 0, w.Drop)
	fill := []byte{get, 0, get, 0, get, 0, misc, 11, 0}
	for _, past := range [][]byte{ // a way past a payment
		{get, 0, w.BrIf, 0}, {get, 0, w.BrTable, 1, 1, 0}, {get, 0, w.If, w.Empty, w.Br, 1, w.End}, {get, 0, w.If, w.Empty, w.Else, w.Br, 1, w.End},
	} {
		code := w.Cat([]byte{w.Block, w.Empty, w.Block, w.Empty}, line, past, fill, []byte{w.End, w.End}, line)
		pays(t, w.New().Types(w.Func([]byte{w.I32}, nil)).Functions(0).Memories(w.Limits(1, -1)).Code(w.Body(code...)).Bytes())
	}
	for name, a := range zoo() {
		t.Run(name, func(t *testing.T) { pays(t, a.wasm) })
	}
}

// TestPlaces holds functions to as few payments as they need.
func TestPlaces(t *testing.T) {
	f := w.Func([]byte{w.I32}, nil)
	line := w.Repeat(50, get, 0, w.Drop)
	for _, row := range []struct {
		what   string
		code   []byte
		checks int
	}{
		{"nothing", nil, 0},
		{"a short line", line, 0},
		{"a long line", w.Repeat(10, line...), 2},
		{"a call", []byte{get, 0, w.Call, 0}, 1},
		{"calls one after the other", []byte{get, 0, w.Call, 0, get, 0, w.Call, 0}, 1},
		{"a loop", []byte{w.Loop, w.Empty, get, 0, w.BrIf, 0, w.End}, 1},
		{"a loop that is none", []byte{w.Loop, w.Empty, w.End}, 0},
		{"calls in a loop", []byte{w.Loop, w.Empty, get, 0, w.Call, 0, get, 0, w.BrIf, 0, w.End}, 2},
		{"calls in a loop that is none", []byte{w.Loop, w.Empty, get, 0, w.Call, 0, w.End, get, 0, w.Call, 0}, 1},
		{"calls in both arms", []byte{get, 0, w.If, w.Empty, get, 0, w.Call, 0, w.Else, get, 0, w.Call, 0, w.End}, 1},
		{"memory", []byte{get, 0, get, 0, get, 0, misc, 11, 0}, 1},
	} {
		wasm := w.New().Types(f).Functions(0).Memories(w.Limits(1, -1)).Code(w.Body(row.code...)).Bytes()
		if got := rewritten(t, wasm, Options{Stop: true}).Checks; got != row.checks {
			t.Errorf("%s: %d payments, want %d", row.what, got, row.checks)
		}
	}
}

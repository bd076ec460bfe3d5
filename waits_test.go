package rules

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// maxWaits is how many places in tests may sleep, and how many may compare an elapsed time.
const maxWaits = 15

// moreSleeps and moreElapsed are how many places there are beside those that are listed.
// They only go down.
const moreSleeps, moreElapsed = 0, 0

// sleeping lists the functions of tests that sleep, each with the reason. A test that waits
// for something to happen calls testtime.Until, and one in a bubble of testing/synctest
// testtime.Sleep.
var sleeping = map[string]string{
	"internal/testtime/testtime.go Comes": "between two looks at a condition",
	"internal/testtime/testtime.go Sleep": "the clock of a bubble is not the machine's",

	"host/internal/hostile/run_test.go field.honest":  "a model thinks between two calls; the figures are about such callers",
	"host/internal/cluster/world_linux_test.go takes": "tools, models, networks and faults take time: daemons are killed in the middle of calls",
	"host/watch_test.go slowly":                       "the host must see unfinished files, and nothing tells that it has",
	"host/internal/postgres/slow_test.go slowly":      "a link takes a time for each byte",
	"host/script/crash_test.go fakeSession.Call":      "a call takes time, which the script's own clock counts",
	"host/script/script_test.go late.Peek":            "a search takes time, which the script's own clock counts",
	"host/script/engines_test.go TestRunTime":         "a person thinks for longer than a script may run",
}

// elapsing lists the functions of tests that compare how long something took, each with the
// reason. What a test says of time in a bubble of testing/synctest goes through testtime.Since.
var elapsing = map[string]string{
	"internal/testtime/testtime_test.go TestABubblesTimeIsExact": "the clock of a bubble is not the machine's",

	"host/internal/hostile/main_test.go within":                   "the long form's bounds, on a quiet machine",
	"host/internal/cluster/registers_linux_test.go TestRegisters": "a round that is too long shows nothing: requests that are not renewed end, by the store's clock",
	"host/internal/mcpclient/odd_test.go TestListChangesForEver":  "a lower bound: a slow machine takes longer",
}

// checkWaits holds the tests, and the packages that help them, to few sleeps and few
// comparisons of elapsed times: both depend on what else the machine does.
func checkWaits(t *testing.T, files []file) {
	sleeps, compares := map[string]int{}, map[string]int{}
	for _, group := range testFiles(files) {
		funcs := measuredFuncs(group)
		for _, f := range group {
			for _, d := range f.ast.Decls {
				name := f.path + " " + declName(d)
				if n := countSleeps(d); n > 0 {
					sleeps[name] += n
				}
				if n := countElapsed(d, funcs); n > 0 {
					compares[name] += n
				}
			}
		}
	}
	holdWaits(t, "sleeps", "sleeping", sleeps, sleeping, moreSleeps)
	holdWaits(t, "compares elapsed times", "elapsing", compares, elapsing, moreElapsed)
}

// holdWaits holds what was counted to the list and to the greatest number.
func holdWaits(t *testing.T, does, list string, counted map[string]int, listed map[string]string, more int) {
	t.Helper()
	all, other := 0, 0
	var places []string
	for name, n := range counted {
		all += n
		if _, ok := listed[name]; !ok {
			other += n
			places = append(places, name)
		}
	}
	for name := range listed {
		if counted[name] == 0 {
			t.Errorf("%s: %s does not do so; drop the row", list, name)
		}
	}
	slices.Sort(places)
	if other > more {
		t.Errorf("%d places %s that are not in the list %s, and %d were:\n%s", other, does, list, more, strings.Join(places, "\n"))
	}
	if all > maxWaits+more {
		t.Errorf("%d places %s; at most %d", all, does, maxWaits)
	}
}

// testFiles returns the files of tests and of the packages that are only for tests, by
// package.
func testFiles(files []file) map[string][]file {
	groups, helper := map[string][]file{}, map[string]bool{}
	for _, f := range files {
		for _, i := range f.ast.Imports {
			if !f.test && i.Path.Value == `"testing"` {
				helper[f.pkg] = true
			}
		}
	}
	for _, f := range files {
		if f.test || helper[f.pkg] {
			groups[f.pkg] = append(groups[f.pkg], f)
		}
	}
	return groups
}

func declName(d ast.Decl) string {
	fn, ok := d.(*ast.FuncDecl)
	if !ok {
		return "var"
	}
	if fn.Recv == nil {
		return fn.Name.Name
	}
	recv := fn.Recv.List[0].Type
	if star, ok := recv.(*ast.StarExpr); ok {
		recv = star.X
	}
	if generic, ok := recv.(*ast.IndexExpr); ok {
		recv = generic.X
	}
	if id, ok := recv.(*ast.Ident); ok {
		return id.Name + "." + fn.Name.Name
	}
	return fn.Name.Name
}

// countSleeps counts calls of time.Sleep, and receives from time.After and time.Tick outside
// of a select.
func countSleeps(d ast.Node) (n int) {
	cases := map[ast.Node]bool{}
	ast.Inspect(d, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.CommClause:
			if node.Comm != nil {
				ast.Inspect(node.Comm, func(in ast.Node) bool { cases[in] = true; return true })
			}
		case *ast.UnaryExpr:
			if call, ok := node.X.(*ast.CallExpr); ok && node.Op == token.ARROW && isTime(call.Fun, "After", "Tick") && !cases[node] {
				n++
			}
		case *ast.CallExpr:
			if isTime(node.Fun, "Sleep") {
				n++
			}
		}
		return true
	})
	return n
}

func isTime(fun ast.Expr, names ...string) bool {
	sel, ok := fun.(*ast.SelectorExpr)
	if !ok || !slices.Contains(names, sel.Sel.Name) {
		return false
	}
	x, ok := sel.X.(*ast.Ident)
	return ok && x.Name == "time"
}

// isElapsed reports whether a call measures: time.Since, time.Until or one time minus
// another.
func isElapsed(call *ast.CallExpr) bool {
	if isTime(call.Fun, "Since", "Until") {
		return true
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	return ok && sel.Sel.Name == "Sub" && len(call.Args) == 1 // of big numbers: two
}

// A measured function returns how long something took, or is given it. The numbers are those
// of results and parameters.
type measured struct{ results, params map[int]bool }

// measuredFuncs returns the functions among a package's tests that measure and return a
// duration, or are given one that was measured.
func measuredFuncs(files []file) map[string]*measured {
	funcs := map[string]*measured{}
	of := func(name string) *measured {
		if funcs[name] == nil {
			funcs[name] = &measured{map[int]bool{}, map[int]bool{}}
		}
		return funcs[name]
	}
	add := func(name string, typ *ast.FuncType, body *ast.BlockStmt) {
		if typ.Results == nil || body == nil || !measures(body) {
			return
		}
		n := 0
		for _, r := range typ.Results.List {
			if sel, ok := r.Type.(*ast.SelectorExpr); ok && isTime(sel, "Duration") {
				of(name).results[n] = true
			}
			n += max(1, len(r.Names))
		}
	}
	for _, f := range files {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				add(n.Name.Name, n.Type, n.Body)
			case *ast.AssignStmt:
				for i, right := range n.Rhs {
					lit, ok := right.(*ast.FuncLit)
					if id, named := n.Lhs[min(i, len(n.Lhs)-1)].(*ast.Ident); ok && named {
						add(id.Name, lit.Type, lit.Body)
					}
				}
			}
			return true
		})
	}
	for _, f := range files {
		for _, d := range f.ast.Decls {
			known := elapsedIn(d, funcs)
			ast.Inspect(d, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok {
					for i, arg := range call.Args {
						if name := called(call); name != "Errorf" && name != "Logf" && known(arg) {
							of(name).params[i] = true
						}
					}
				}
				return true
			})
		}
	}
	return funcs
}

// called is the name of what is called, without its package or receiver.
func called(call *ast.CallExpr) string {
	switch fun := call.Fun.(type) {
	case *ast.Ident:
		return fun.Name
	case *ast.SelectorExpr:
		return fun.Sel.Name
	}
	return ""
}

func measures(n ast.Node) (found bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && isElapsed(call) {
			found = true
		}
		return !found
	})
	return found
}

// elapsedIn returns a function that reports whether an expression of a declaration has an
// elapsed time in it: a measurement, or a variable that was given one.
func elapsedIn(d ast.Node, funcs map[string]*measured) func(ast.Node) bool {
	tainted := map[string]bool{}
	elapsed := func(e ast.Node) (found bool) {
		ast.Inspect(e, func(in ast.Node) bool {
			switch in := in.(type) {
			case *ast.FuncLit:
				return false
			case *ast.CallExpr:
				m := funcs[called(in)]
				found = found || isElapsed(in) || m != nil && m.results[0]
			case *ast.Ident:
				found = found || tainted[in.Name]
			}
			return !found
		})
		return found
	}
	mark := func(left ast.Expr, so bool) {
		if id, ok := left.(*ast.Ident); ok && id.Name != "_" && so {
			tainted[id.Name] = true
		}
	}
	if fn, ok := d.(*ast.FuncDecl); ok {
		n := 0
		for _, p := range fn.Type.Params.List {
			for _, name := range p.Names {
				mark(name, funcs[fn.Name.Name] != nil && funcs[fn.Name.Name].params[n])
				n++
			}
		}
	}
	for range 2 { // a variable may be given another's value
		ast.Inspect(d, func(node ast.Node) bool {
			switch node := node.(type) {
			case *ast.AssignStmt:
				if call, ok := node.Rhs[0].(*ast.CallExpr); ok && len(node.Lhs) > len(node.Rhs) {
					for i, l := range node.Lhs {
						m := funcs[called(call)]
						mark(l, m != nil && m.results[i])
					}
					return true
				}
				for i, r := range node.Rhs {
					mark(node.Lhs[min(i, len(node.Lhs)-1)], elapsed(r))
				}
			case *ast.RangeStmt:
				if node.Value != nil {
					mark(node.Value, elapsed(node.X))
				}
			}
			return true
		})
	}
	return elapsed
}

// countElapsed counts comparisons in which one side is an elapsed time.
func countElapsed(d ast.Node, funcs map[string]*measured) (n int) {
	elapsed := elapsedIn(d, funcs)
	ast.Inspect(d, func(node ast.Node) bool {
		b, ok := node.(*ast.BinaryExpr)
		if !ok || !slices.Contains([]token.Token{token.LSS, token.GTR, token.LEQ, token.GEQ, token.EQL, token.NEQ}, b.Op) {
			return true
		}
		if elapsed(b.X) || elapsed(b.Y) {
			n++
		}
		return true
	})
	return n
}

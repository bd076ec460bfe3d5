// Package exprcost bounds what a search with regular expressions of others costs.
package exprcost

import (
	"context"
	"regexp/syntax"
	"sync"
)

const (
	// Most bounds one search, in steps: the instructions of its expressions times the bytes
	// of the text. At worst, a step takes some 30 ns.
	Most = 500_000_000
	// Light is how many steps a search may take that waits for no other.
	Light = 10_000_000
)

// Steps returns the instructions of expressions; those that are invalid have none.
func Steps(exprs ...string) (n int) {
	for _, e := range exprs {
		re, err := syntax.Parse(e, syntax.Perl)
		if err != nil {
			continue
		}
		if prog, err := syntax.Compile(re.Simplify()); err == nil {
			n += len(prog.Inst)
		}
	}
	return n
}

// A Queue lets one search at a time take more than Light steps, so that searches of one
// client use one core. The zero value is ready to use. It is safe for concurrent use.
type Queue struct {
	once sync.Once
	slot chan struct{}
}

// Enter waits until a search of so many steps may run. The caller must call leave, unless
// there is an error, which is that of ctx.
func (q *Queue) Enter(ctx context.Context, steps int) (leave func(), err error) {
	if steps <= Light {
		return func() {}, nil
	}
	q.once.Do(func() { q.slot = make(chan struct{}, 1) })
	select {
	case q.slot <- struct{}{}:
		return func() { <-q.slot }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

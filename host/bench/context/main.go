// Command evalcontext measures what limits and placeholders save. It plays
// sessions that it makes itself, the same every time, through the real loop,
// host and archive with a scripted model, counts the tokens of every request,
// and asks for facts that were planted in the part that is not shown.
//
// It exits with 1 when a target is missed.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
)

// What is promised.
const (
	leastSaved = 80 // percent of the tokens that keeping everything costs
	mostCalls  = 2  // to reach any fact
)

func main() {
	ok, err := run(context.Background(), os.Stdout)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "evalcontext:", err)
		os.Exit(1)
	case !ok:
		os.Exit(1)
	}
}

// run measures both languages, prints the tables and says whether every target
// was met.
func run(ctx context.Context, out io.Writer) (bool, error) {
	fmt.Fprintf(out, "%d turns, each with one result of %d characters and %d facts in it, limited to %d characters\n",
		turns, resultChars, len(positions), shownChars)
	fmt.Fprintf(out, "tokens by weir's own estimate; cost of the prompts at $%.2f a million tokens, read from a cache %.2f×, written to it %.2f×\n",
		price, cacheRead, cacheWrite)
	ok := true
	for _, l := range languages {
		m, err := measure(ctx, l)
		if err != nil {
			return false, fmt.Errorf("%s: %w", l.name, err)
		}
		ok = m.print(out) && ok
	}
	return ok, nil
}

// A measured is what one language came to.
type measured struct {
	lang  language
	plays []played // in the order of variants
	shown int      // facts that stood in their own turn's prompt
	finds []found  // in the order of ways
	facts int
}

func measure(ctx context.Context, l language) (measured, error) {
	m := measured{lang: l}
	s := newSession(l)
	for _, v := range variants {
		p, err := s.play(ctx, v)
		if err != nil {
			return m, fmt.Errorf("%s: %w", v.name, err)
		}
		if v.asks {
			m.shown, m.finds, m.facts = p.shown, p.finds, len(s.facts)
		}
		m.plays = append(m.plays, p)
	}
	return m, nil
}

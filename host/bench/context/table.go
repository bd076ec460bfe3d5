package main

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// print writes one language's tables and says whether its targets were met.
func (m measured) print(out io.Writer) bool {
	fmt.Fprintf(out, "\n%s\n", m.lang.name)
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "requests\tturn 1\tturn 5\tturn 10\ttokens sent\tsaved\tfrom cache\tcost\tsaved\t")
	all := m.plays[0].bill
	for _, p := range m.plays {
		b := p.bill
		fmt.Fprintf(w, "%d\t%d\t%d\t%d\t%d\t%.1f %%\t%.1f %%\t$%.4f\t%.1f %%\t  %s\n", b.requests, b.turns[0], b.turns[4], b.turns[9], b.tokens,
			saved(float64(b.tokens), float64(all.tokens)), 100*float64(b.read)/float64(b.tokens), b.dollars(), saved(b.dollars(), all.dollars()), p.name)
	}
	_ = w.Flush() // out is a buffer or the terminal: an error has no receiver
	fmt.Fprintf(out, "facts shown in their own turn: %d of %d\n\n", m.shown, m.facts)
	return m.targets(out)
}

// saved is how much less a is than b, in percent.
func saved(a, b float64) float64 { return 100 * (b - a) / b }

// A target is a promise with what was measured.
type target struct {
	what, got string
	ok        bool
}

// targets prints every promise with ok or short.
func (m measured) targets(out io.Writer) bool {
	all := true
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	for _, t := range m.promises() {
		word := "ok"
		if !t.ok {
			word, all = "short", false
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", word, t.what, t.got)
	}
	_ = w.Flush()
	return all
}

func (m measured) promises() []target {
	var out []target
	for _, p := range m.plays {
		if p.target {
			percent := saved(float64(p.bill.tokens), float64(m.plays[0].bill.tokens))
			out = append(out, target{fmt.Sprintf("tokens saved: at least %d %%, %s", leastSaved, p.name), fmt.Sprintf("%.1f %%", percent), percent >= leastSaved})
		}
	}
	for _, f := range m.finds {
		got := fmt.Sprintf("%d of %d (calls needed: none %d, one %d, two %d)", f.total(), m.facts, f.byCalls[0], f.byCalls[1], f.byCalls[2])
		out = append(out, target{fmt.Sprintf("facts reached with at most %d calls: all, %s", mostCalls, f.way), got, f.total() == m.facts && m.facts > 0})
	}
	return out
}

package chat

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/host/internal/term"
)

// ShowStats prints what became of the tools' results, and of each model's ways
// to write a call.
func ShowStats(p *term.Printer, s store.Stats) {
	if len(s.Tools) == 0 {
		p.Outf("No tool was called yet.\n")
	} else {
		p.Table("TOOL\tCALLS\tFAILED\tCUT\tLOADED BACK\tPRODUCED\tSHOWN\tSAVED", func(w io.Writer) {
			for _, t := range s.Tools {
				fmt.Fprintf(w, "%s\t%d\t%d\t%s\t%s\t%d\t%d\t%d\n", strings.NewReplacer("\n", " ", "\t", " ").Replace(t.Tool), t.Calls, t.Failed, term.Percent(t.Cut, t.Calls), term.Percent(t.LoadedBack, t.Calls),
					t.Produced, t.Shown, t.Saved)
			}
		})
	}
	showModels(p, s.Models)
	showFolds(p, s.Folds)
}

// showModels prints the ways in which each model writes calls.
func showModels(p *term.Printer, models []store.ModelStats) {
	if len(models) == 0 {
		return
	}
	fmt.Fprintln(p.Out)
	p.Table("MODEL\tCALL WRITTEN AS\tOUTCOME\tTIMES", func(w io.Writer) {
		for _, m := range models {
			for _, code := range outcomes(m) {
				fmt.Fprintf(w, "%s\t%s\t%s\t%d\n", m.Model, m.Format, strings.Replace(code, ":", ": ", 1), m.Outcomes[code])
			}
		}
	})
	showMisuse(p, models)
}

// showFolds prints what was not sent for clients with a loop of their own.
func showFolds(p *term.Printer, folds []store.FoldStats) {
	if len(folds) == 0 {
		return
	}
	fmt.Fprintln(p.Out)
	p.Table("CLIENT\tREQUESTS\tFOLDED\tLOADED BACK\tCHARACTERS SENT\tSAVED\tSHARE", func(w io.Writer) {
		for _, f := range folds {
			share := 0
			if all := f.Sent + f.Saved; all > 0 {
				share = int(100 * f.Saved / all)
			}
			fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d%%\n", cmp.Or(f.Client, "-"), f.Requests, f.Folded, f.Loads, f.Sent, f.Saved, share)
		}
	})
}

// outcomes are the codes of m, the most frequent first.
func outcomes(m store.ModelStats) []string {
	return slices.SortedFunc(maps.Keys(m.Outcomes), func(a, b string) int {
		return cmp.Or(cmp.Compare(m.Outcomes[b], m.Outcomes[a]), cmp.Compare(a, b))
	})
}

// adviseFrom is the share of misused calls, in percent, from which on there is advice.
const adviseFrom = 10

// showMisuse prints for each model the share of its calls in a form that the prompt does
// not ask for, and what the operator can do about a large one.
func showMisuse(p *term.Printer, models []store.ModelStats) {
	calls, misused := map[string]int{}, map[string]int{}
	for _, m := range models {
		if m.Model != "" {
			calls[m.Model] += m.Calls + m.Malformed
			misused[m.Model] += m.Misused
		}
	}
	names := slices.Sorted(maps.Keys(calls))
	if len(names) == 0 {
		return
	}
	fmt.Fprintln(p.Out)
	p.Table("MODEL\tCALLS\tMISUSED", func(w io.Writer) {
		for _, name := range names {
			fmt.Fprintf(w, "%s\t%d\t%s\n", name, calls[name], term.Percent(misused[name], calls[name]))
		}
	})
	for _, name := range names {
		if misused[name] > 0 && misused[name]*100 >= adviseFrom*calls[name] {
			p.Outf("%s often writes calls in a code fence, as bare JSON or in another form. weir runs those that it can read. To lower the share: set native_tools = true in [models.%s] if its server calls tools, remove code fences from system in [agent], or use a larger model\n", name, name)
		}
	}
}

package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/host/internal/term"
)

// showStats prints what became of the tools' results, and of each model's ways
// to write a call.
func (c *cli) showStats(s store.Stats) {
	if len(s.Tools) == 0 {
		c.outf("No tool was called yet.\n")
	} else {
		c.Table("TOOL\tCALLS\tFAILED\tCUT\tLOADED BACK\tPRODUCED\tSHOWN\tSAVED", func(w io.Writer) {
			for _, t := range s.Tools {
				fmt.Fprintf(w, "%s\t%d\t%d\t%s\t%s\t%d\t%d\t%d\n", t.Tool, t.Calls, t.Failed, term.Percent(t.Cut, t.Calls), term.Percent(t.LoadedBack, t.Calls),
					t.Produced, t.Shown, t.Saved)
			}
		})
	}
	if len(s.Models) == 0 {
		return
	}
	fmt.Fprintln(c.Out)
	c.Table("MODEL\tCALL WRITTEN AS\tOUTCOME\tTIMES", func(w io.Writer) {
		for _, m := range s.Models {
			for _, code := range outcomes(m) {
				fmt.Fprintf(w, "%s\t%s\t%s\t%d\n", m.Model, m.Format, strings.Replace(code, ":", ": ", 1), m.Outcomes[code])
			}
		}
	})
}

// outcomes are the codes of m, the most frequent first.
func outcomes(m store.ModelStats) []string {
	return slices.SortedFunc(maps.Keys(m.Outcomes), func(a, b string) int {
		return cmp.Or(cmp.Compare(m.Outcomes[b], m.Outcomes[a]), cmp.Compare(a, b))
	})
}

func statsCmd(c *cli) *cobra.Command {
	return &cobra.Command{
		Use: "stats", Short: "Show per tool what was called, cut, saved and loaded back", Args: argCount(0, 0, "no arguments"),
		RunE: c.request(func(ctx context.Context, cl *session, _ []string) error {
			var s store.Stats
			if done, err := c.Show(ctx, cl, "/api/stats", &s); done || err != nil {
				return err
			}
			c.showStats(s)
			return nil
		}),
	}
}

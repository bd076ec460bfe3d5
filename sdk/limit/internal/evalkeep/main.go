// Command evalkeep measures which lines of real logs survive a cut: the lines
// that match a needle, with declared expressions and with those weir finds.
//
//	evalkeep [-each] [-needle EXPR] [-keep EXPR]… DIR
package main

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// A list is a flag that may be repeated.
type list []string

func (l *list) String() string     { return strings.Join(*l, " ") }
func (l *list) Set(s string) error { *l = append(*l, s); return nil }

func main() {
	flags := flag.NewFlagSet("evalkeep", flag.ExitOnError)
	var keep list
	needle := flags.String("needle", `^E\s{3}`, "count the lines that match this `EXPRESSION`")
	flags.Var(&keep, "keep", "declare this `EXPRESSION`; may be repeated")
	each := flags.Bool("each", false, "print every log")
	_ = flags.Parse(os.Args[1:])
	if keep == nil {
		keep = list{`^E\s{3}`, `(?i)^(FAILED|ERROR)\b`}
	}
	if err := run(os.Stdout, flags.Arg(0), *needle, keep, *each); err != nil {
		fmt.Fprintln(os.Stderr, "evalkeep:", err)
		os.Exit(1)
	}
}

// run prints one table of the logs below dir.
func run(out io.Writer, dir, needle string, keep []string, each bool) error {
	expr, err := regexp.Compile(needle)
	if err != nil {
		return fmt.Errorf("the needle is not an expression: %w", err)
	}
	if err := limit.CheckHighlights(keep); err != nil {
		return err
	}
	logs, err := read(dir)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "lines that match %s in %d logs below %s\nmean of the logs (of all lines)\n\n%-10s%-6s %16s %16s %16s %16s\n", needle, len(logs), dir,
		"characters", "  logs", "no keep", "declared", "auto", "greedy bound")
	for _, chars := range []int{2000, 4000, 10000} {
		var sums [4]share
		n := 0
		for _, l := range logs {
			wanted := needles(l.whole, expr)
			if total, _ := limit.Count(l.whole); total <= chars || len(wanted) == 0 {
				continue
			}
			n++
			row := [4]int{
				survivors(wanted, cut(l.whole, chars, []string{"none"})),
				survivors(wanted, cut(l.whole, chars, keep)),
				survivors(wanted, cut(l.whole, chars, []string{"auto"})),
				greedy(wanted, chars),
			}
			for i, shown := range row {
				sums[i].add(shown, len(wanted))
			}
			if each {
				fmt.Fprintf(out, "%9d  %s: %d lines, %v\n", chars, l.name, len(wanted), row)
			}
		}
		fmt.Fprintf(out, "%10d%6d", chars, n)
		for _, s := range sums {
			fmt.Fprintf(out, " %16s", s)
		}
		fmt.Fprintln(out)
	}
	return nil
}

// A share is what part of the wanted lines is shown: by log and by line.
type share struct {
	mean         float64
	logs         int
	shown, lines int
}

func (s *share) add(shown, lines int) {
	s.mean += float64(shown) / float64(lines)
	s.logs, s.shown, s.lines = s.logs+1, s.shown+shown, s.lines+lines
}

func (s share) String() string {
	if s.logs == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f %% (%.1f)", 100*s.mean/float64(s.logs), 100*float64(s.shown)/float64(s.lines))
}

type log struct{ name, whole string }

// read returns the normalised text of every file below dir.
func read(dir string) (logs []log, err error) {
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		logs = append(logs, log{filepath.Base(path), limit.Normalise(raw)})
		return err
	})
	if err == nil && len(logs) == 0 {
		err = fmt.Errorf("%s has no files", dir)
	}
	return logs, err
}

// needles returns the different lines that match expr.
func needles(whole string, expr *regexp.Regexp) (found []string) {
	seen := map[string]bool{}
	for line := range strings.Lines(whole) {
		line = strings.TrimSuffix(line, "\n")
		if !seen[line] && expr.MatchString(line) {
			seen[line] = true
			found = append(found, line)
		}
	}
	return found
}

// cut returns what a model reads of whole.
func cut(whole string, chars int, keep []string) string {
	r := tool.Result{Tool: "log", Ref: &tool.Ref{UUID: "00000000-0000-4000-8000-000000000000"}}.WithWhole(whole)
	by := limit.By{Chars: tool.LayerTool, Lines: tool.LayerTool}
	r.Shown = limit.Fit(r, tool.Limits{MaxChars: chars, Keep: keep}, by)
	return limit.Render(r, tool.En)
}

// survivors counts the wanted lines that text has, as a model reads them.
func survivors(wanted []string, text string) (n int) {
	lines := map[string]bool{}
	for line := range strings.Lines(text) {
		lines[strings.TrimSuffix(line, "\n")] = true
	}
	for _, line := range wanted {
		if lines[limit.Neutralise(line)] {
			n++
		}
	}
	return n
}

// greedy counts the wanted lines that fit if nothing else is shown, the shortest
// first.
func greedy(wanted []string, chars int) (n int) {
	sorted := slices.SortedFunc(slices.Values(wanted), func(a, b string) int { return cmp.Compare(len(a), len(b)) })
	for _, line := range sorted {
		size, _ := limit.Count(line)
		if chars -= size + 1; chars < 0 {
			break
		}
		n++
	}
	return n
}

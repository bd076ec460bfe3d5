// Command evalparse measures the recogniser of tool calls on a folder of
// .jsonl files with known calls, and holds every text in it to the laws of
// chunking. Usage: evalparse [-quick] DIR
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/weirhost/weir/agent/parse"
	"github.com/weirhost/weir/agent/parse/eval"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout)) }

// run prints the figures and returns 1 if a law is broken or a file cannot be
// read, 2 for wrong usage.
func run(args []string, out io.Writer) int {
	flags := flag.NewFlagSet("evalparse", flag.ContinueOnError)
	flags.SetOutput(out)
	quick := flags.Bool("quick", false, "skip every two-way split and every prefix")
	if flags.Parse(args) != nil {
		return 2
	}
	if flags.Arg(0) == "" {
		fmt.Fprintln(out, "eval-parse: no folder of corpora is given; nothing is measured. Say: make eval-parse CORPORA=DIR")
		return 0
	}
	files, err := filepath.Glob(filepath.Join(flags.Arg(0), "*.jsonl"))
	if err != nil || len(files) == 0 {
		fmt.Fprintf(out, "eval-parse: there is no .jsonl file in %s\n", flags.Arg(0))
		return 1
	}
	code := 0
	for _, f := range files {
		if err := measure(f, !*quick, out); err != nil {
			fmt.Fprintf(out, "eval-parse: %s: %v\n", f, err)
			code = 1
		}
	}
	return code
}

// measure prints the figures of one file.
func measure(path string, full bool, out io.Writer) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 64<<20)
	var tally eval.Tally
	broken, hasty, n := 0, 0, 0
	for lines.Scan() {
		n++
		var r eval.Row
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		tally.Add(r, eval.NewResult(r.ID, parse.All(r.Options(), r.Text)).Calls)
		if err := eval.Laws(r.Options(), r.Text, full); err != nil {
			broken++
			fmt.Fprintf(out, "  law broken: %s: %v\n", r.ID, err)
		}
		if !full {
			continue
		}
		if at, c, found := eval.Hasty(r.Options(), r.Text); found {
			hasty++
			fmt.Fprintf(out, "  hasty: %s: the first %d bytes call %s\n", r.ID, at, c.Name)
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s\n%s", filepath.Base(path), tally.String())
	for _, id := range tally.Missed {
		fmt.Fprintf(out, "  missed: %s\n", id)
	}
	fmt.Fprintf(out, "  laws: %d texts, %d break one; %d have a prefix that calls more than the whole\n", n, broken, hasty)
	if broken > 0 {
		return fmt.Errorf("%d texts break a law", broken)
	}
	return nil
}

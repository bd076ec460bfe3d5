// Command evalfind measures how often the search for tools finds the right one among
// its first five, beside plain BM25.
//
//	evalfind DIR
//
// DIR holds pairs of files: NAME.tools.jsonl with the tools, as weir tools find
// --tools reads them, and NAME.queries.jsonl with lines {"id","query","gold"}.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weirhost/weir/host/internal/toolindex"
)

// first is how many of the tools found count.
const first = 5

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: evalfind DIR")
		os.Exit(2)
	}
	if err := run(os.Stdout, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "evalfind:", err)
		os.Exit(1)
	}
}

// A question is a query with the names of the tools that answer it.
type question struct {
	ID    string   `json:"id"`
	Query string   `json:"query"`
	Gold  []string `json:"gold"`
}

// run prints a line for each set in dir.
func run(out io.Writer, dir string) error {
	sets, err := filepath.Glob(filepath.Join(dir, "*.tools.jsonl"))
	if err != nil {
		return err
	}
	if len(sets) == 0 {
		return fmt.Errorf("%s has no file NAME.tools.jsonl", dir)
	}
	fmt.Fprintf(out, "recall@%d: the share of questions whose tool is among the first %d\nodd and even: halves of the questions, by their place in the file; the settings were tuned on odd ones\n\n", first, first)
	fmt.Fprintf(out, "%-12s %6s %9s %11s %7s %7s %7s\n", "set", "tools", "questions", "plain BM25", "weir", "odd", "even")
	for _, path := range sets {
		if err := set(out, path); err != nil {
			return err
		}
	}
	return nil
}

func set(out io.Writer, path string) error {
	tools, err := lines[toolindex.Tool](path)
	if err != nil {
		return err
	}
	stem := strings.TrimSuffix(path, ".tools.jsonl")
	questions, err := lines[question](stem + ".queries.jsonl")
	if err != nil {
		return err
	}
	plain, index := newBM25(tools), toolindex.New(tools)
	var base, all, odd, even share
	for i, q := range questions {
		base.add(has(tools, q.Gold, plain.find(q.Query)))
		var found []int
		for _, h := range index.Find(q.Query, first) {
			found = append(found, h.Tool)
		}
		right := has(tools, q.Gold, found)
		all.add(right)
		if i%2 == 0 {
			odd.add(right)
		} else {
			even.add(right)
		}
	}
	fmt.Fprintf(out, "%-12s %6d %9d %11s %7s %7s %7s\n", filepath.Base(stem), len(tools), len(questions), base, all, odd, even)
	return nil
}

// has reports whether one of the found tools is a right one.
func has(tools []toolindex.Tool, gold []string, found []int) bool {
	return slices.ContainsFunc(found, func(i int) bool { return slices.Contains(gold, tools[i].Name) })
}

// A share counts how many of all are right.
type share struct{ right, of int }

func (s *share) add(right bool) {
	s.of++
	if right {
		s.right++
	}
}

func (s share) String() string { return fmt.Sprintf("%.3f", float64(s.right)/float64(max(s.of, 1))) }

// lines reads a file of JSON lines.
func lines[T any](path string) ([]T, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []T
	for d := json.NewDecoder(f); ; {
		var one T
		switch err := d.Decode(&one); err {
		case nil:
			out = append(out, one)
		case io.EOF:
			return out, nil
		default:
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
}

package plugincmd

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/host/internal/toolfind"
	"github.com/weirhost/weir/host/internal/toolindex"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// maxFindLine bounds a line of questions or tools, in bytes.
const maxFindLine = 4 << 20

// A Search is what to find tools by, and how to print them.
type Search struct {
	Query   string
	File    string // with the tools; empty: those of a daemon
	Count   int
	Lines   bool // questions come as JSON lines
	Explain bool // the reasons are printed too
}

// FindTools prints the tools that a question is about. from is the daemon with the
// tools; it is not used where the search names a file.
func (c *Commands) FindTools(ctx context.Context, from term.Getter, s Search) error {
	switch {
	case s.Count < 1:
		return msg.Usagef("give a number from 1 on", "--count is %d", s.Count)
	case s.Lines && (s.Query != "" || s.Explain || c.JSON):
		return msg.Usagef("leave QUERY, --explain and --json out", "with --jsonl every line brings its own question")
	case !s.Lines && strings.TrimSpace(s.Query) == "":
		return msg.Usagef("write it in quotes after the command, or use --jsonl", "the question is missing")
	}
	find, err := s.finder(from)
	if err != nil {
		return err
	}
	if s.Lines {
		return c.findLines(ctx, find, s.Count)
	}
	list, err := find(ctx, s.Query, s.Count)
	switch {
	case err != nil:
		return err
	case c.JSON:
		c.Print(map[string]any{"tools": append([]toolfind.Found{}, list.Found...)})
	case len(list.Found) == 0:
		c.Errf("weir: no tool fits; ask in other words, or by the name of a tool\n")
	case s.Explain:
		c.explainFound(list.Found)
	default:
		about := map[string]string{}
		for _, t := range list.Tools {
			about[t.Spec.Name] = t.Spec.Description
		}
		c.Table("TOOL\tPLUGIN\tDESCRIPTION", func(w io.Writer) {
			for _, f := range list.Found {
				fmt.Fprintf(w, "%s\t%s\t%s\n", f.Name, term.OrDash(f.Server), term.OneLine(about[f.Name], 60))
			}
		})
	}
	return nil
}

// A foundList is what a search for tools returns, as the API does.
type foundList struct {
	Tools []plugin.ToolInfo
	Found []toolfind.Found
}

// A findFunc searches for tools.
type findFunc func(ctx context.Context, query string, count int) (foundList, error)

// finder returns a search among the tools of the file, or of the daemon.
func (s Search) finder(from term.Getter) (findFunc, error) {
	if s.File == "" {
		return func(ctx context.Context, query string, count int) (out foundList, err error) {
			if strings.TrimSpace(query) == "" { // the route lists all tools
				return out, nil
			}
			err = from.Get(ctx, "/api/tools?query="+url.QueryEscape(query)+"&limit="+strconv.Itoa(count), &out)
			return out, err
		}, nil
	}
	tools, err := readTools(s.File)
	if err != nil {
		return nil, err
	}
	index := toolindex.New(tools)
	var list foundList
	for _, t := range tools {
		list.Tools = append(list.Tools, plugin.ToolInfo{Spec: tool.Spec{Name: t.Name, Description: t.Description}})
	}
	return func(_ context.Context, query string, count int) (foundList, error) {
		list.Found = toolfind.Search(index, toolfind.Query{Text: query, Count: count, Explain: !s.Lines})
		return list, nil
	}, nil
}

// explainFound prints why the tools are in their order.
func (c *Commands) explainFound(found []toolfind.Found) {
	for i, f := range found {
		fmt.Fprintf(c.Out, "%2d  %-40s %6.2f", i+1, f.Name, f.Score)
		if f.Named {
			fmt.Fprintf(c.Out, "  %s", c.Sprintf("named in the question"))
		}
		fmt.Fprintf(c.Out, "  %s\n", c.Sprintf("%d %% of the question", int(100*f.Share+0.5)))
		if f.Near > 0 {
			fmt.Fprintf(c.Out, "    %6.2f  %s\n", f.Near, c.Sprintf("similarity of the vectors"))
		}
		for _, r := range f.Reasons {
			fmt.Fprintf(c.Out, "    %6.2f  %s", r.Score, r.Word)
			if r.Matched != r.Word {
				fmt.Fprintf(c.Out, " → %s", r.Matched)
			}
			var fields []string
			for _, field := range r.Fields {
				fields = append(fields, c.text(field))
			}
			fmt.Fprintf(c.Out, "  (%s)\n", strings.Join(fields, ", "))
		}
	}
}

// scanLines reads lines, without the byte order mark that some editors begin a file with.
func scanLines(r io.Reader) *bufio.Scanner {
	const mark = "\ufeff"
	in := bufio.NewReader(r)
	if begin, _ := in.Peek(len(mark)); string(begin) == mark {
		in.Discard(len(mark))
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxFindLine)
	return lines
}

// readTools reads a file with a tool on each line.
func readTools(path string) ([]toolindex.Tool, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, msg.Errorf("the tools cannot be read: %w", err)
	}
	defer f.Close()
	var out []toolindex.Tool
	in := scanLines(f)
	for n := 1; in.Scan(); n++ {
		if len(bytes.TrimSpace(in.Bytes())) == 0 {
			continue
		}
		var t toolindex.Tool
		if err := json.Unmarshal(in.Bytes(), &t); err != nil {
			return nil, msg.Errorf("line %d of %s is no tool: %w", n, path, err)
		}
		if t.Name == "" {
			return nil, msg.Errorf("line %d of %s has no name", n, path)
		}
		out = append(out, t)
	}
	if err := in.Err(); err != nil {
		return nil, msg.Errorf("the tools cannot be read: %w", err)
	}
	return out, nil
}

// A findAnswer is the answer to one question of --jsonl. The id is the caller's own, of
// any JSON type.
type findAnswer struct {
	ID    json.RawMessage `json:"id"`
	Names []string        `json:"names"`
	Error string          `json:"error,omitempty"`
}

// findLines answers each line of standard input with one line, in order.
func (c *Commands) findLines(ctx context.Context, find findFunc, count int) error {
	in := scanLines(c.In)
	out := json.NewEncoder(c.Out)
	out.SetEscapeHTML(false)
	bad := 0
	for n := 1; in.Scan(); n++ {
		if len(bytes.TrimSpace(in.Bytes())) == 0 {
			continue
		}
		a, err := findLine(ctx, find, in.Bytes(), count)
		if err != nil {
			bad++
			c.Errf("weir: line %d: %s\n", n, err)
			a.Error = err.Error()
		}
		if err := out.Encode(a); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	if err := in.Err(); err != nil {
		return msg.Errorf("the questions cannot be read: %w", err)
	}
	if bad > 0 {
		return term.ExitError(term.ExitFailed)
	}
	return nil
}

// findLine answers one question. A name that several tools have is in the answer once.
func findLine(ctx context.Context, find findFunc, line []byte, count int) (findAnswer, error) {
	a := findAnswer{Names: []string{}}
	var q struct{ ID, Query json.RawMessage }
	if err := json.Unmarshal(line, &q); err != nil {
		return a, msg.Errorf("it is no JSON object {\"id\",\"query\"}: %w", err)
	}
	a.ID = q.ID
	var query *string
	if json.Unmarshal(q.Query, &query) != nil || query == nil {
		return a, msg.Errorf("it has no query")
	}
	list, err := find(ctx, *query, count)
	for _, f := range list.Found {
		a.Names = append(a.Names, f.Name)
	}
	return a, err
}

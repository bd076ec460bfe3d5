package plugincmd

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/host/internal/toolfind"
	"github.com/weirhost/weir/host/internal/toolindex"
	"github.com/weirhost/weir/host/plugin"
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
	tools, err := s.tools(ctx, from)
	if err != nil {
		return err
	}
	index := toolindex.New(tools)
	if s.Lines {
		return c.findLines(ctx, index, s.Count)
	}
	hits := index.Explain(s.Query, s.Count)
	switch {
	case c.JSON:
		c.Print(map[string]any{"tools": foundTools(index, hits)})
	case len(hits) == 0:
		c.Errf("weir: no tool fits; ask in other words, or by the name of a tool\n")
	case s.Explain:
		c.explainHits(index, hits)
	default:
		c.Table("TOOL\tPLUGIN\tDESCRIPTION", func(w io.Writer) {
			for _, h := range hits {
				t := index.Tool(h.Tool)
				fmt.Fprintf(w, "%s\t%s\t%s\n", t.Name, term.OrDash(t.Server), term.OneLine(t.Description, 60))
			}
		})
	}
	return nil
}

// A foundTool is a hit as --json prints it.
type foundTool struct {
	Name    string             `json:"name"`
	Server  string             `json:"server,omitempty"`
	Score   float64            `json:"score"`
	Share   float64            `json:"share"`
	Named   bool               `json:"named,omitempty"`
	Reasons []toolindex.Reason `json:"reasons"`
}

func foundTools(index *toolindex.Index, hits []toolindex.Hit) []foundTool {
	out := []foundTool{}
	for _, h := range hits {
		t := index.Tool(h.Tool)
		out = append(out, foundTool{t.Name, t.Server, h.Score, h.Share, h.Named, append([]toolindex.Reason{}, h.Reasons...)})
	}
	return out
}

// explainHits prints why the tools are in their order.
func (c *Commands) explainHits(index *toolindex.Index, hits []toolindex.Hit) {
	for i, h := range hits {
		t := index.Tool(h.Tool)
		fmt.Fprintf(c.Out, "%2d  %-40s %6.2f", i+1, t.Name, h.Score)
		if h.Named {
			fmt.Fprintf(c.Out, "  %s", c.Sprintf("named in the question"))
		}
		fmt.Fprintf(c.Out, "  %s\n", c.Sprintf("%d %% of the question", int(100*h.Share+0.5)))
		for _, r := range h.Reasons {
			fmt.Fprintf(c.Out, "    %6.2f  %s", r.Score, r.Word)
			if r.Matched != r.Word {
				fmt.Fprintf(c.Out, " → %s", r.Matched)
			}
			var fields []string
			for _, f := range r.Fields {
				fields = append(fields, c.text(f))
			}
			fmt.Fprintf(c.Out, "  (%s)\n", strings.Join(fields, ", "))
		}
	}
}

// tools returns the tools to find among.
func (s Search) tools(ctx context.Context, from term.Getter) ([]toolindex.Tool, error) {
	if s.File != "" {
		return readTools(s.File)
	}
	var all struct{ Tools []plugin.ToolInfo }
	if err := from.Get(ctx, "/api/tools", &all); err != nil {
		return nil, err
	}
	var out []toolindex.Tool
	for _, t := range all.Tools {
		out = append(out, toolfind.Indexed(t))
	}
	return out, nil
}

// readTools reads a file with a tool on each line.
func readTools(path string) ([]toolindex.Tool, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, msg.Errorf("the tools cannot be read: %w", err)
	}
	defer f.Close()
	var out []toolindex.Tool
	in := bufio.NewScanner(f)
	in.Buffer(nil, maxFindLine)
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
func (c *Commands) findLines(ctx context.Context, index *toolindex.Index, count int) error {
	in := bufio.NewScanner(c.In)
	in.Buffer(nil, maxFindLine)
	out := json.NewEncoder(c.Out)
	out.SetEscapeHTML(false)
	bad := 0
	for n := 1; in.Scan(); n++ {
		a, err := findLine(index, in.Bytes(), count)
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
func findLine(index *toolindex.Index, line []byte, count int) (findAnswer, error) {
	a := findAnswer{Names: []string{}}
	var q struct {
		ID    json.RawMessage `json:"id"`
		Query *string         `json:"query"`
	}
	if err := json.Unmarshal(line, &q); err != nil {
		return a, msg.Errorf("it is no JSON object {\"id\",\"query\"}: %w", err)
	}
	a.ID = q.ID
	if q.Query == nil {
		return a, msg.Errorf("it has no query")
	}
	seen := map[string]bool{}
	for _, h := range index.Find(*q.Query, index.Len()) {
		name := index.Tool(h.Tool).Name
		if !seen[name] && len(a.Names) < count {
			seen[name] = true
			a.Names = append(a.Names, name)
		}
	}
	return a, nil
}

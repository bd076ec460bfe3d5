package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/weirhost/weir/agent/parse"
	"github.com/weirhost/weir/agent/parse/eval"
	"github.com/weirhost/weir/host/internal/declared"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/sdk/tool"
)

// maxText bounds one text, and one line of --jsonl, in bytes.
const maxText = 64 << 20

func parseCmd(c *cli) *cobra.Command {
	var p parseRun
	cmd := &cobra.Command{
		Use: "parse", Short: "Show what is recognised in a model's reply",
		Long: "Read a model's reply from standard input and print the events it comes to: text,\n" +
			"reasoning, calls, and calls that cannot be read. No model is asked and no tool runs.\n\n" +
			"The declared tools come from --tools FILE (a JSON list, also in OpenAI's form) or from\n" +
			"the manifests in --plugins DIR; without either, any name is declared.\n\n" +
			"With --jsonl, each line is {\"id\",\"tools\",\"text\"} with tools of its own (null or empty:\n" +
			"any name), and is answered by {\"id\",\"calls\",\"text\",\"malformed\"} in the same order. A\n" +
			"line that cannot be read is answered too, with \"error\"; the exit code is then 1.",
		Example: "  weir parse --plugins plugins < reply.txt\n  weir parse --jsonl < cases.jsonl",
		Args:    argCount(0, 0, "no arguments; the text comes on standard input"),
		RunE:    func(cmd *cobra.Command, _ []string) error { return p.run(cmd.Context(), c) },
	}
	f := cmd.Flags()
	f.StringVar(&p.tools, "tools", "", "the `FILE` with the declared tools: [{\"name\",\"description\",\"parameters\"}]")
	f.BoolVar(&p.lines, "jsonl", false, "read cases, one JSON object a line, and answer each with one")
	f.BoolVar(&p.truncated, "truncated", false, "the reply was cut off by a length limit: an unfinished call never runs")
	return cmd
}

// A parseRun is one run of weir parse.
type parseRun struct {
	tools            string // --tools FILE
	lines, truncated bool
}

func (p parseRun) run(ctx context.Context, c *cli) error {
	switch {
	case p.lines && (p.tools != "" || c.plugins != ""):
		return usagef("leave --tools and --plugins out", "with --jsonl every line brings its own tools")
	case p.lines && c.JSON:
		return usagef("leave --json out: --jsonl prints JSON already", "--json and --jsonl exclude one another")
	case p.tools != "" && c.plugins != "":
		return usagef("give one of them", "--tools and --plugins both declare the tools")
	case p.lines:
		return p.jsonl(ctx, c)
	}
	o, err := p.options(ctx, c)
	if err != nil {
		return err
	}
	text, err := readAll(c.In, maxText)
	if err != nil {
		return err
	}
	events := p.events(o, text)
	if c.JSON {
		out := make([]shownEvent, len(events))
		for i, e := range events {
			out[i] = shownEventOf(e)
		}
		c.Print(map[string]any{"events": out})
		return nil
	}
	for _, e := range events {
		if _, err := fmt.Fprintln(c.Out, shownEventOf(e)); err != nil {
			return err
		}
	}
	return nil
}

// events reads a complete reply, or one that was cut off.
func (p parseRun) events(o parse.Options, text string) []parse.Event {
	parser := parse.New(o)
	return parse.Join(append(parser.Feed(text), parser.Close(p.truncated)...))
}

// options declares the tools of --tools or --plugins, or any name.
func (p parseRun) options(ctx context.Context, c *cli) (parse.Options, error) {
	switch {
	case c.plugins != "":
		specs, err := declaredTools(ctx, c)
		return parse.Options{Tools: specs}, err
	case p.tools == "":
		return parse.Options{AnyName: true}, nil
	}
	text, err := os.ReadFile(p.tools)
	if err != nil {
		return parse.Options{}, usagef("check the path", "the file %s cannot be read: %s", p.tools, msg.Reason(err))
	}
	specs, err := toolList(text)
	if err != nil {
		return parse.Options{}, usagef(`write [{"name":"…","description":"…","parameters":{…}}]`, "%s: %s", p.tools, err)
	}
	return parse.Options{Tools: specs, AnyName: len(specs) == 0}, nil
}

// toolList reads a JSON list of tools, in either form. null is an empty list.
func toolList(text []byte) ([]tool.Spec, error) {
	var raw []json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, msg.Errorf("the tools are not a list: %s", jsonFault(err))
	}
	tools := make([]eval.Tool, len(raw))
	for i, r := range raw {
		if err := json.Unmarshal(r, &tools[i]); err != nil {
			return nil, msg.Errorf("tool %d is not an object with name, description and parameters: %s", i+1, jsonFault(err))
		}
		if tools[i].Name == "" {
			return nil, msg.Errorf("tool %d has no name", i+1)
		}
	}
	return eval.Case{Tools: tools}.Options().Tools, nil
}

// readAll reads r whole; more than most bytes is an error, not a shorter text.
func readAll(r io.Reader, most int64) (string, error) {
	b, err := io.ReadAll(io.LimitReader(r, most+1))
	if err != nil {
		return "", usagef("check the path", "the text cannot be read: %s", msg.Reason(err))
	}
	if int64(len(b)) > most {
		return "", usagef("give a part of it", "the text is longer than %s", tool.Bytes(most))
	}
	return string(b), nil
}

// A shownEvent is an event as --json prints it. Which fields there are depends
// on Type: text, reasoning, call or malformed.
type shownEvent struct {
	Type      string          `json:"type"`
	Text      string          `json:"text,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Reason    parse.Reason    `json:"reason,omitempty"`
	Detail    string          `json:"detail,omitempty"`
	Format    parse.Format    `json:"format,omitempty"`
	Repaired  bool            `json:"repaired,omitempty"`
	Raw       string          `json:"raw,omitempty"`
}

func shownEventOf(e parse.Event) shownEvent {
	switch e := e.(type) {
	case parse.Text:
		return shownEvent{Type: "text", Text: e.Text}
	case parse.Reasoning:
		return shownEvent{Type: "reasoning", Text: e.Text}
	case parse.Call:
		return shownEvent{Type: "call", ID: e.ID, Name: e.Name, Arguments: e.Args, Format: e.Format, Repaired: e.Repaired, Raw: e.Raw}
	case parse.Malformed:
		return shownEvent{Type: "malformed", Reason: e.Reason, Name: e.Name, Format: e.Format, Raw: e.Raw, Detail: e.Detail}
	}
	return shownEvent{Type: fmt.Sprintf("%T", e)}
}

// String is the event on one line, for people: what a text holds is quoted.
func (e shownEvent) String() string {
	switch e.Type {
	case "call":
		how := string(e.Format)
		if e.Repaired {
			how += ", repaired"
		}
		if e.ID != "" {
			how += fmt.Sprintf(", id %q", e.ID)
		}
		return fmt.Sprintf("call       %s %s (%s)", e.Name, e.Arguments, how)
	case "malformed":
		s := fmt.Sprintf("malformed  %s", e.Reason)
		if e.Name != "" {
			s += fmt.Sprintf(" %q", e.Name)
		}
		s += fmt.Sprintf(" in %q", e.Raw)
		if e.Detail != "" {
			s += fmt.Sprintf(": %q", e.Detail)
		}
		return s + fmt.Sprintf(" (%s)", e.Format)
	}
	return fmt.Sprintf("%-10s %q", e.Type, e.Text)
}

// declaredTools returns the tools of the manifests in the plugin folder. It prints what
// is left out.
func declaredTools(ctx context.Context, c *cli) ([]tool.Spec, error) {
	return declared.Tools(ctx, c.plugins, version(), func(t tool.Text) {
		c.errf("weir: %v\n", t)
	})
}

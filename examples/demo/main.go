// Command demo tells the whole story of a long result on this repository's own
// files, without a daemon, a network or an AI: called, cut, kept, folded, loaded
// back. It is also the shortest program that embeds both halves of weir.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/demo"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

func main() {
	if err := run(context.Background(), os.Stdout, "."); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// run tells the story of the repository at root.
func run(ctx context.Context, out io.Writer, root string) error {
	h, err := open(ctx, root)
	if err != nil {
		return err
	}
	defer h.Close()
	for _, p := range h.Plugins() {
		if p.Name == "grep_search" && p.State != plugin.Ready {
			return fmt.Errorf("%s: %s; %s", p.Name, p.Why, p.Fix)
		}
	}
	s := &story{out: out, box: toolbox{h.Session("demo", "demo")}}
	for _, chapter := range []struct{ title, question string }{
		{"One: a search that finds far too much", `Search the files for "the"`},
		{"Two: 52,000 characters under a limit of 12,000", "Make a long text"},
		{"Three: a line that was not shown", "What does line 600 of that text say?"},
	} {
		if err := s.tell(ctx, chapter.title, chapter.question); err != nil {
			return err
		}
	}
	s.sum()
	return nil
}

// open makes a host over the shipped plugins that may read root, and keeps its
// archive in a temporary file.
func open(ctx context.Context, root string) (*host.Host, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	return host.Open(ctx, host.Config{
		Settings: host.Settings{
			Folders: []plugin.Folder{{Path: filepath.Join(root, "plugins"), Trust: plugin.TrustGranted}},
			Grants:  map[string]plugin.Grant{"grep_search": {Paths: []plugin.PathGrant{{Guest: "/workspace", Host: root}}}},
		},
		CacheDir: filepath.Join(cache, "weir", "wasm"),
	})
}

// toolbox makes a host's session a toolbox that speaks the question's language.
type toolbox struct{ *host.Session }

func (t toolbox) In(l tool.Locale) agent.Toolbox { return toolbox{t.Session.In(l)} }

// A story is a conversation with its narrator.
type story struct {
	out     io.Writer
	box     agent.Toolbox
	history []agent.Message

	produced, shown int // characters, over all turns
	saved           int // characters that folding took out of later prompts
}

func (s *story) say(format string, args ...any) { fmt.Fprintf(s.out, format+"\n", args...) }

// tell asks one question and prints what happens.
func (s *story) tell(ctx context.Context, title, question string) error {
	s.say("\n── %s ──\n\nyou      %s", title, question)
	loop, err := agent.New(agent.Defaults(), demo.New(), s.box, agent.ObserverFunc(s.observe))
	if err != nil {
		return err
	}
	turn, err := loop.Run(ctx, s.history, question)
	if err != nil {
		return err
	}
	s.history = turn.Messages
	s.say("answer   %s", indent(turn.Answer))
	for _, m := range turn.Messages[turn.From:] {
		for _, r := range m.Results {
			if r.Folded {
				s.say("\nfold     the turn is over; from now on the model reads this instead:\n         %s", indent(r.Text))
			}
		}
	}
	return nil
}

// observe tells each event as it comes.
func (s *story) observe(e agent.Event) {
	switch e := e.(type) {
	case agent.TurnStart:
		s.say("model    %s, window %d tokens, at most %d characters of a result (%s)", e.Model, e.Window, e.Limit, e.Why)
	case agent.CallStart:
		s.say("call     %s %s", e.Call.Tool, e.Call.Args)
	case agent.CallEnd:
		s.result(e.Result)
	case agent.Folded:
		s.saved += e.SavedChars
	}
}

func (s *story) result(r tool.Result) {
	shown, _ := limit.Count(r.Shown.Text)
	s.produced, s.shown = s.produced+r.Shown.TotalChars, s.shown+shown
	if r.Ref != nil {
		s.say("archive  the whole is committed first: %d characters, %d lines, as %s", r.Ref.Chars, r.Ref.Lines, r.Ref.UUID)
	}
	text := limit.Render(r, tool.En)
	if r.Shown.Cut() {
		missing, lines := r.Shown.Missing()
		s.say("cut      %d characters in %d lines left out, by %s", missing, lines, limit.Name(r.Shown.By, r.Shown.Limit, r.Shown.Unit, tool.En))
		for line := range strings.Lines(text) {
			if strings.Contains(line, "load_tool_history(") {
				s.say("notice   %s", strings.TrimSpace(line))
			}
		}
	}
	if r.Load != nil {
		s.say("reload   %s", indent(strings.TrimSpace(text)))
	}
	s.say("report   %s", limit.Line(r))
}

func (s *story) sum() {
	s.say("\n── What it came to ──\n\nproduced %d characters\nshown    %d once, in their own turns\nfolding  %d characters fewer in every later prompt\nlost     0", s.produced, s.shown, s.saved)
}

// indent puts a text's further lines under its first.
func indent(s string) string { return strings.ReplaceAll(s, "\n", "\n         ") }

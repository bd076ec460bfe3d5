package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"github.com/weirhost/weir/host/daemon"
	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/sdk/limit"
)

func (c *cli) chatCmd() *cobra.Command {
	t := &talk{}
	var noHistory bool
	cmd := &cobra.Command{
		Use: "chat", Short: "Talk, question by question", Args: argCount(0, 0, "no arguments"),
		Long: "Talk to the model. /help lists what can be typed beside questions. Ctrl-C stops an answer, twice it\n" +
			"leaves; Ctrl-D leaves. A line that ends in \\ goes on in the next one, \"\"\" begins and ends a text of\n" +
			"several lines, Alt-Enter and a paste keep theirs.\n\n" +
			"What was typed is kept in the data folder, for you alone, and comes back with the arrow keys and Ctrl-R;\n" +
			"not with --no-history or WEIR_NO_HISTORY=1, and not a line that begins with a space.",
		RunE: func(cmd *cobra.Command, _ []string) error { return c.talk(cmd.Context(), t, !noHistory) },
	}
	f := cmd.Flags()
	f.StringVarP(&t.ask.Model, "model", "m", "", "the `NAME` of a configured model")
	f.StringVar(&t.ask.Profile, "profile", "", "the `NAME` of an agent profile")
	f.StringVar(&t.ask.Conversation, "conversation", "", "continue the conversation with this `ID`")
	f.BoolVar(&t.think, "think", false, "show what the model thinks as it comes; /think switches it")
	f.BoolVar(&noHistory, "no-history", false, "keep nothing of what is typed")
	return cmd
}

// A talk is one `weir chat`.
type talk struct {
	*cli
	cl    *session
	ask   daemon.Ask
	keys  typist
	think bool

	question string   // the last one, for /retry
	thoughts string   // of the last answer
	stopped  bool     // the last answer was
	kept     []string // uuids of results in this talk, the newest last
}

// A typist is where questions come from, and what is typed beside them. One
// goroutine uses it at a time, but for the answers while a turn runs.
type typist interface {
	// line returns the next line. errStopped: Ctrl-C was pressed in place of one;
	// io.EOF: there are no more.
	line(ctx context.Context, prompt string) (string, error)
	// answers are a person's, while a turn runs; nil: nobody is there.
	answers() answerer
	// remember keeps a line for the arrow keys.
	remember(line string)
	close()
}

// errStopped says that Ctrl-C was pressed in place of a line.
var errStopped = errors.New("stopped")

// plainTypist reads whole lines as they come: of a pipe, or of a terminal on
// which no cursor can be moved.
type plainTypist struct {
	c    *cli
	keys *keyboard
}

func (p plainTypist) line(ctx context.Context, prompt string) (string, error) {
	if term.IsTerminal(p.c.In) {
		fmt.Fprint(p.c.Err, prompt)
	}
	line, ok := p.keys.take(ctx, 0)
	switch {
	case ok:
		return line, nil
	case ctx.Err() != nil:
		return "", errStopped
	case p.keys.failure() != nil:
		return "", p.keys.failure()
	}
	return "", io.EOF
}

func (p plainTypist) answers() answerer {
	if !p.c.Interactive() {
		return nil
	}
	return p.keys
}
func (p plainTypist) remember(string) {}
func (p plainTypist) close()          {}

// talk asks question after question. Ctrl-C ends the turn that runs, not the
// command, so that the context of the command cannot carry it.
func (c *cli) talk(ctx context.Context, t *talk, history bool) error {
	interrupts := make(chan os.Signal, 4)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	ends := make(chan os.Signal, 1)
	signal.Notify(ends, syscall.SIGTERM)
	defer signal.Stop(ends)
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	go func() {
		select {
		case <-ends:
			cancel()
		case <-ctx.Done():
		}
	}()
	return c.withClient(ctx, func(cl *session) error {
		t.cli, t.cl = c, cl
		t.ask.Explain = true
		if c.Getenv("WEIR_NO_HISTORY") != "" {
			history = false
		}
		t.keys = c.typist(ctx, t, history)
		defer t.keys.close()
		if c.Interactive() {
			fmt.Fprintln(c.Err, c.say("weir chat — /help for commands, Ctrl-D to end", "weir chat — /help 查看命令，Ctrl-D 退出"))
		}
		return t.run(ctx, interrupts)
	})
}

// run is the loop of a talk.
func (t *talk) run(ctx context.Context, interrupts <-chan os.Signal) error {
	stops := 0 // Ctrl-C, one behind the other
	for {
		line, err := t.paragraph(ctx, interrupts)
		switch {
		case ctx.Err() != nil:
			return exitError(exitInterrupted)
		case errors.Is(err, errStopped):
			if stops++; stops == 2 {
				return exitError(exitInterrupted)
			}
			fmt.Fprintln(t.Err, t.Faint(t.say("Ctrl-C again leaves, and Ctrl-D, too", "再按一次 Ctrl-C 或按 Ctrl-D 退出")))
			continue
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		stops = 0
		kept := line
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if !strings.HasPrefix(kept, " ") {
			t.keys.remember(line)
		}
		if line == "/quit" || line == "/exit" {
			return nil
		}
		if err := t.take(ctx, line, interrupts); err != nil {
			var code exitError
			if errors.As(err, &code) {
				return err
			}
			t.report(ctx, err)
		}
	}
}

// take runs a command of the chat, or asks.
func (t *talk) take(ctx context.Context, line string, interrupts <-chan os.Signal) error {
	if !strings.HasPrefix(line, "/") {
		return t.turn(ctx, line, interrupts)
	}
	question, err := t.command(ctx, line)
	if err == nil && question != "" {
		return t.turn(ctx, question, interrupts)
	}
	return err
}

// block begins and ends a text of several lines.
const block = `"""`

// paragraph reads a question: one line, or those that belong together.
func (t *talk) paragraph(ctx context.Context, interrupts <-chan os.Signal) (string, error) {
	line, err := t.read(ctx, t.say("you: ", "你: "), interrupts)
	if err != nil {
		return "", err
	}
	if text, ok := strings.CutPrefix(strings.TrimSpace(line), block); ok {
		if body, closed := strings.CutSuffix(text, block); closed {
			return body, nil
		}
		lines := []string{text}
		for {
			next, err := t.read(ctx, "... ", interrupts)
			if err != nil {
				return "", err
			}
			if body, closed := strings.CutSuffix(strings.TrimRight(next, " \t"), block); closed {
				return strings.Trim(strings.Join(append(lines, body), "\n"), "\n"), nil
			}
			lines = append(lines, next)
		}
	}
	for {
		body, more := strings.CutSuffix(line, `\`)
		if !more {
			return line, nil
		}
		next, err := t.read(ctx, "... ", interrupts)
		if errors.Is(err, io.EOF) {
			return body, nil
		}
		if err != nil {
			return "", err
		}
		line = body + "\n" + next
	}
}

// read is one line, or errStopped where a signal comes first.
func (t *talk) read(ctx context.Context, prompt string, interrupts <-chan os.Signal) (string, error) {
	ctx, done := stoppable(ctx, interrupts)
	defer done()
	return t.keys.line(ctx, prompt)
}

// stoppable is a context that a signal ends. done must be called.
func stoppable(ctx context.Context, interrupts <-chan os.Signal) (_ context.Context, done func()) {
	ctx, cancel := context.WithCancel(ctx)
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		select {
		case <-interrupts:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(); <-gone }
}

// turn asks a question and shows the answer. Ctrl-C stops it; a second one
// while it stops leaves.
func (t *talk) turn(ctx context.Context, question string, interrupts <-chan os.Signal) error {
	t.question, t.ask.Message = question, question
	turn, done := stoppable(ctx, interrupts)
	defer done()
	p := &printer{c: t.cli, think: t.think, talks: true}
	p.begin()
	err := p.chat(turn, t.cl, t.ask, t.keys.answers())
	// A turn that was stopped ends a moment after its client has gone.
	for wait := time.Now(); t.stopped && busy(err) && turn.Err() == nil && time.Since(wait) < stopTime; {
		time.Sleep(stopTime / 100)
		err = p.chat(turn, t.cl, t.ask, t.keys.answers())
	}
	p.finish()
	stopped := turn.Err() != nil && ctx.Err() == nil
	t.stopped = stopped
	t.thoughts = p.thoughts.String()
	t.kept = append(t.kept, p.kept...)
	if p.conversation != "" {
		t.ask.Conversation = p.conversation
	}
	if stopped {
		p.endLine()
		fmt.Fprintln(t.Err, t.say("stopped; what was said until then is kept", "已停止；此前的内容已保存"))
		return nil
	}
	err = p.outcome(err)
	if !later(err) {
		t.ask.LoadUUIDs = nil
	}
	return err
}

// stopTime is how long a question waits for the stopped one in front of it.
const stopTime = 5 * time.Second

// busy says that the conversation is still answering.
func busy(err error) bool {
	var p *daemon.Problem
	return errors.As(err, &p) && p.Status == http.StatusConflict
}

// later says that the daemon did not take the question now and may take it soon.
func later(err error) bool {
	var p *daemon.Problem
	return errors.As(err, &p) && (p.Status == http.StatusConflict || p.Status == http.StatusServiceUnavailable)
}

// bring shows an archived result, or a part of it. It also goes into the next
// question where the conversation may load it.
func (t *talk) bring(ctx context.Context, uuid string, selectors []string) error {
	if t.ask.Conversation != "" {
		id, err := t.showArchive(ctx, t.cl, uuid, selectors, t.ask.Conversation)
		var p *daemon.Problem
		switch {
		case err == nil:
			t.ask.LoadUUIDs = append(t.ask.LoadUUIDs, loadOf(id, selectors))
			fmt.Fprintln(t.Err, t.say("📎 the model reads it with the next question", "📎 模型会在下一个问题中读到它"))
			return nil
		case !errors.As(err, &p) || p.Status != http.StatusNotFound:
			return err
		}
	}
	if _, err := t.showArchive(ctx, t.cl, uuid, selectors, ""); err != nil {
		return err
	}
	fmt.Fprintln(t.Err, t.say("shown only: it is another conversation's, and this one cannot load it", "仅显示：它属于另一个会话，本会话不能载入"))
	return nil
}

// loadOf is the load of a part. Selectors are name=value and were checked.
func loadOf(uuid string, selectors []string) daemon.Load {
	l := daemon.Load{UUID: uuid}
	for _, s := range selectors {
		name, value, _ := strings.Cut(s, "=")
		if l.Selectors == nil {
			l.Selectors = map[string]json.RawMessage{}
		}
		text, err := json.Marshal(value)
		if err != nil { // a string always marshals
			continue
		}
		l.Selectors[name] = text
	}
	return l
}

// told writes what a command of the chat has to say.
func (t *talk) told(en, zh string) {
	s := limit.Visible(t.say(en, zh))
	if term.IsTerminal(t.Err) {
		s = ansi.Wrap(s, t.Width(), "")
	}
	fmt.Fprintln(t.Err, s)
}

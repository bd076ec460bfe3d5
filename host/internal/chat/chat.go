package chat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/client"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/sdk/limit"
)

// Options are the settings of a chat.
type Options struct {
	// Ask is the model, the profile and the conversation to begin with, which is
	// named as Client.Conversation takes it.
	Ask api.Ask
	// Think shows the reasoning of the model as it arrives.
	Think bool
	// History is the file of the lines that were typed. Empty: none is kept.
	History string
	// Complete is that of every Turn.
	Complete func(*api.Problem)
	// Report shows an error that does not end the chat, and returns its exit code.
	Report func(error) int
}

// A chat is one run of `weir chat`.
type chat struct {
	*term.Printer
	cl     *client.Client
	ask    api.Ask
	input  input
	think  bool
	report func(error) int
	adds   func(*api.Problem)

	asked     bool     // the line was a question
	demoNoted bool     // a person knows that the demo model answers
	question  string   // the last one, for /retry
	thoughts  string   // of the last answer
	stopped   bool     // the last answer was interrupted
	archived  []string // uuids of the results in this chat, the newest last
}

// An input is the source of questions and of answers to approvals. One goroutine
// uses it at a time; while a turn runs, the approver uses its answers.
type input interface {
	// readLine returns the next line. It returns errInterrupted if Ctrl-C was pressed
	// instead, and io.EOF at the end.
	readLine(ctx context.Context, prompt string) (string, error)
	// answers returns a person's answers while a turn runs; nil: there is no person.
	answers() Answers
	// addHistory adds a line to the history.
	addHistory(line string)
	close()
}

// errInterrupted says that Ctrl-C was pressed instead of a line.
var errInterrupted = errors.New("interrupted")

// A plainInput reads whole lines: of a pipe, or of a terminal without a cursor.
type plainInput struct {
	*term.Printer
	lines *Lines
}

func (p *plainInput) readLine(ctx context.Context, prompt string) (string, error) {
	if term.IsTerminal(p.In) {
		fmt.Fprint(p.Err, prompt)
	}
	line, ok := p.lines.Next(ctx, 0)
	switch {
	case ok:
		return line, nil
	case ctx.Err() != nil:
		return "", errInterrupted
	case p.lines.Err() != nil:
		return "", p.lines.Err()
	}
	return "", io.EOF
}

func (p *plainInput) answers() Answers {
	if !p.Interactive() {
		return nil
	}
	return p.lines
}
func (p *plainInput) addHistory(string) {}
func (p *plainInput) close()            {}

// greet says in one line what answers, with which tools and which folder.
func (c *chat) greet(ctx context.Context, workspace string) {
	model := c.ask.Model
	if model == "" {
		model = c.Sprintf("of the profile %s", c.ask.Profile)
	}
	if c.ask.Model == "" && c.ask.Profile == "" {
		var out api.ConfiguredModels
		_ = c.cl.Get(ctx, "/api/models", &out) // without an answer the line names none
		i := slices.IndexFunc(out.Models, func(m api.ConfiguredModel) bool { return m.Default })
		if model = c.Sprintf("none"); i >= 0 {
			model = out.Models[i].Name
		}
	}
	var out struct{ Tools []struct{} }
	_ = c.cl.Get(ctx, "/api/tools", &out) // as above
	c.Errf("weir chat: model %s, tools: %d, files of %s — /help for commands, Ctrl-D to end\n", limit.Visible(model), len(out.Tools), limit.Visible(workspace))
}

// Run asks question after question until the input ends. connect calls use with a
// client of the daemon and the folder that its tools see as /workspace. Ctrl-C ends the turn that runs, not the command; ctx is
// therefore not used to end the chat, but SIGTERM ends it. Run returns a
// term.ExitError if Ctrl-C was pressed twice or the process was asked to stop, and, where no
// person types, if the last question failed.
func Run(ctx context.Context, p *term.Printer, o Options, connect func(ctx context.Context, use func(cl *client.Client, workspace string) error) error) error {
	interrupts := make(chan os.Signal, 4)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	ctx, stop := signal.NotifyContext(context.WithoutCancel(ctx), syscall.SIGTERM)
	defer stop()
	return connect(ctx, func(cl *client.Client, workspace string) error {
		c := &chat{Printer: p, cl: cl, ask: o.Ask, think: o.Think, report: o.Report, adds: o.Complete}
		c.ask.Explain = true
		var err error
		if c.ask.Conversation, err = cl.Conversation(ctx, o.Ask.Conversation); err != nil {
			return err
		}
		if err = c.checkModel(ctx); err != nil {
			return err
		}
		c.input = c.newInput(ctx, o.History)
		defer c.input.close()
		if p.Interactive() {
			c.greet(ctx, workspace)
		}
		return c.loop(ctx, interrupts)
	})
}

// checkModel returns an error if there is no model of the name that was asked for.
func (c *chat) checkModel(ctx context.Context) error {
	if c.ask.Model == "" {
		return nil
	}
	names, err := ModelNames(ctx, c.cl)
	if err != nil || slices.Contains(names, c.ask.Model) {
		return err
	}
	return msg.Usagef("", "there is no model named %q", c.ask.Model).WithHint("use one of: %s; a new one in tools.toml needs `weir reload`", strings.Join(names, ", "))
}

func (c *chat) loop(ctx context.Context, interrupts <-chan os.Signal) error {
	stops := 0  // Ctrl-C without a line in between
	failed := 0 // the exit code of the last question
	for {
		line, err := c.readQuestion(ctx, interrupts)
		switch {
		case ctx.Err() != nil:
			return term.ExitError(term.ExitInterrupted)
		case errors.Is(err, errInterrupted):
			if stops++; stops == 2 {
				return term.ExitError(term.ExitInterrupted)
			}
			fmt.Fprintln(c.Err, c.Faint(c.Sprintf("press Ctrl-C again, or Ctrl-D, to leave")))
			continue
		case errors.Is(err, io.EOF):
			return c.exit(failed)
		case err != nil:
			return err
		}
		stops = 0
		typed := line
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if !strings.HasPrefix(typed, " ") {
			c.input.addHistory(line)
		}
		if line == "/quit" || line == "/exit" {
			return c.exit(failed)
		}
		c.asked = false
		code := 0
		if err := c.run(ctx, line, interrupts); err != nil {
			if _, ok := errors.AsType[term.ExitError](err); ok {
				return err
			}
			code = c.report(err)
		}
		if c.asked {
			failed = code
		}
	}
}

// exit returns what the chat ends with. A person has read what failed.
func (c *chat) exit(failed int) error {
	if failed == 0 || c.Interactive() {
		return nil
	}
	return term.ExitError(failed)
}

// run runs a command of the chat, or asks a question.
func (c *chat) run(ctx context.Context, line string, interrupts <-chan os.Signal) error {
	if !strings.HasPrefix(line, "/") {
		return c.turn(ctx, line, interrupts)
	}
	question, err := c.command(ctx, line)
	if err == nil && question != "" {
		return c.turn(ctx, question, interrupts)
	}
	return err
}

// block begins and ends a text of several lines.
const block = `"""`

// readQuestion reads a question: one line, or several that belong together.
func (c *chat) readQuestion(ctx context.Context, interrupts <-chan os.Signal) (string, error) {
	line, err := c.readLine(ctx, c.Sprintf("you: "), interrupts)
	if err != nil {
		return "", err
	}
	if text, ok := strings.CutPrefix(strings.TrimSpace(line), block); ok {
		if body, closed := strings.CutSuffix(text, block); closed {
			return body, nil
		}
		lines := []string{text}
		for {
			next, err := c.readLine(ctx, "... ", interrupts)
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
		next, err := c.readLine(ctx, "... ", interrupts)
		if errors.Is(err, io.EOF) {
			return body, nil
		}
		if err != nil {
			return "", err
		}
		line = body + "\n" + next
	}
}

// readLine returns one line, or errInterrupted if a signal arrives first.
func (c *chat) readLine(ctx context.Context, prompt string, interrupts <-chan os.Signal) (string, error) {
	ctx, done := interruptible(ctx, interrupts)
	defer done()
	return c.input.readLine(ctx, prompt)
}

// interruptible returns a context that a signal ends. The caller must call done.
func interruptible(ctx context.Context, interrupts <-chan os.Signal) (_ context.Context, done func()) {
	ctx, cancel := context.WithCancel(ctx)
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		select {
		case <-interrupts:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(); <-exited }
}

// turn asks a question and shows the answer. Ctrl-C stops it; a second one leaves
// the chat.
func (c *chat) turn(ctx context.Context, question string, interrupts <-chan os.Signal) error {
	c.question, c.asked = question, true
	if c.ask.Message, c.ask.Attached = question, nil; !term.IsTerminal(c.In) { // no person types
		c.ask.Message, c.ask.Attached = "", []api.Attachment{{Text: question}}
	}
	turnCtx, done := interruptible(ctx, interrupts)
	defer done()
	t := &Turn{Printer: c.Printer, Think: c.think, Complete: c.adds, DemoNoted: c.demoNoted, interactive: true}
	t.begin()
	err := t.ask(turnCtx, c.cl, c.ask, c.input.answers())
	// A turn that was stopped ends a moment after its client has disconnected.
	for wait := time.Now(); c.stopped && busy(err) && turnCtx.Err() == nil && time.Since(wait) < stopTime; {
		time.Sleep(stopTime / 100)
		err = t.ask(turnCtx, c.cl, c.ask, c.input.answers())
	}
	t.finish()
	stopped := turnCtx.Err() != nil && ctx.Err() == nil
	c.stopped, c.demoNoted = stopped, t.DemoNoted
	c.thoughts = t.thoughts.String()
	c.archived = append(c.archived, t.archived...)
	if t.conversation != "" {
		c.ask.Conversation = t.conversation
	}
	if stopped {
		t.endLine()
		c.Errf("stopped; the answer until then is saved\n")
		return nil
	}
	err = t.Outcome(err)
	if !retryable(err) {
		c.ask.LoadUUIDs = nil
	}
	return err
}

// stopTime bounds how long a question waits for the stopped one before it.
const stopTime = 5 * time.Second

// busy reports whether err says that the conversation is still answering.
func busy(err error) bool {
	var p *api.Problem
	return errors.As(err, &p) && p.Status == http.StatusConflict
}

// retryable reports whether err says that the daemon may accept the question later.
func retryable(err error) bool {
	var p *api.Problem
	return errors.As(err, &p) && (p.Status == http.StatusConflict || p.Status == http.StatusServiceUnavailable)
}

// load shows an archived result, or a part of it. It also becomes part of the next
// question if the conversation may load it.
func (c *chat) load(ctx context.Context, given string, selectors []string) error {
	if c.ask.Conversation != "" {
		id, err := ShowArchive(ctx, c.Printer, c.cl, given, selectors, c.ask.Conversation, true)
		var p *api.Problem
		switch {
		case err == nil:
			c.ask.LoadUUIDs = append(c.ask.LoadUUIDs, loadOf(id, selectors))
			c.Errf("📎 the model reads it with the next question\n")
			return nil
		case !errors.As(err, &p) || p.Status != http.StatusNotFound:
			return err
		}
	}
	if _, err := ShowArchive(ctx, c.Printer, c.cl, given, selectors, "", false); err != nil {
		return err
	}
	c.Errf("shown only: it is another conversation's, and this one cannot load it\n")
	return nil
}

// loadOf returns a load of a part. Each selector is a valid name=value.
func loadOf(uuid string, selectors []string) api.Load {
	l := api.Load{UUID: uuid}
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

// reply writes what a command of the chat answers.
func (c *chat) reply(format string, args ...any) {
	s := limit.Visible(c.Sprintf(format, args...))
	if term.IsTerminal(c.Err) {
		s = ansi.Wrap(s, c.Width(), "")
	}
	fmt.Fprintln(c.Err, s)
}

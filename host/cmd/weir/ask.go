package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/daemon"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// maxInput bounds what ask reads from files and standard input, in bytes.
const maxInput = 4 << 20

func (c *cli) askCmd() *cobra.Command {
	var ask daemon.Ask
	var files []string
	var quiet, wait bool
	cmd := &cobra.Command{
		Use: "ask [QUESTION]", Short: "Ask one question",
		Long: "Ask one question and print the answer. Tool calls are told on stderr, one line each.\nWithout QUESTION, or with -, the question is read from standard input.",
		Args: argCount(0, -1, "one question"),
		RunE: func(cmd *cobra.Command, args []string) error {
			question, err := c.question(args, files)
			if err != nil {
				return err
			}
			ask.Message = question
			var keys *keyboard
			if c.person() && !fromInput(args) {
				keys = newKeyboard(c.in)
			}
			return c.withClient(cmd.Context(), func(cl *client) error {
				if wait && cl.local {
					return usagef("start `weir serve` first", "--wait is for a running daemon: only there can `weir approvals` answer")
				}
				p := &printer{c: c, quiet: quiet || c.json, wait: wait && keys == nil}
				err := p.chat(cmd.Context(), cl, ask, keys)
				if c.json && p.end != nil {
					c.print(struct {
						*daemon.ChatEnd
						Error *daemon.Problem `json:"error,omitempty"`
					}{p.end, p.problem})
				}
				return p.outcome(err)
			})
		},
	}
	f := cmd.Flags()
	f.StringVarP(&ask.Model, "model", "m", "", "the `NAME` of a configured model (default: the profile's)")
	f.StringVar(&ask.Profile, "profile", "", "the `NAME` of an agent profile")
	f.StringVar(&ask.Conversation, "conversation", "", "continue the conversation with this `ID`")
	f.StringArrayVarP(&files, "file", "f", nil, "append a `FILE` to the question; may be repeated")
	f.BoolVarP(&quiet, "quiet", "q", false, "print the answer alone")
	f.BoolVar(&wait, "wait", false, "where nobody can be asked here: let calls that need leave wait for \"weir approvals\" in another terminal")
	return cmd
}

// fromInput reports whether the question itself is read from standard input.
func fromInput(args []string) bool { q := strings.Join(args, " "); return q == "" || q == "-" }

// question joins the arguments, standard input and files.
func (c *cli) question(args, files []string) (string, error) {
	q := strings.Join(args, " ")
	if fromInput(args) {
		b, err := io.ReadAll(io.LimitReader(c.in, maxInput))
		if err != nil {
			return "", err
		}
		q = strings.TrimSpace(string(b))
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			return "", usagef("check the path", "the file %s cannot be read", name)
		}
		if len(b) > maxInput {
			return "", usagef("give a part of it", "the file %s is longer than %d bytes", name, maxInput)
		}
		q += "\n\n" + name + ":\n" + string(b)
	}
	if strings.TrimSpace(q) == "" {
		return "", usagef(`weir ask "your question"`, "there is no question")
	}
	return q, nil
}

// A printer shows the events of a turn: the answer on stdout, tools on stderr.
type printer struct {
	c     *cli
	quiet bool
	wait  bool // for leave from another terminal

	mu   sync.Mutex // held while anything is written
	open bool       // the answer's last line is not ended yet
	// simulated says that a script answers, whose tokens nobody pays.
	simulated bool
	end       *daemon.ChatEnd
	problem   *daemon.Problem
}

// chat asks and prints, and lets a person answer what needs their leave; keys
// are theirs, nil: nobody is there.
func (p *printer) chat(ctx context.Context, cl *client, ask daemon.Ask, keys *keyboard) error {
	ask.Approvals = keys != nil || p.wait
	if keys == nil {
		return cl.chat(ctx, ask, p.event)
	}
	q := newConsenter(ctx, cl, keys, p.tell, p.hint)
	defer q.close()
	return cl.chat(ctx, ask, func(name string, data json.RawMessage) error {
		q.event(name, data)
		return p.event(name, data)
	})
}

// tell writes a line whatever the flags say.
func (p *printer) tell(s string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.endLine()
	fmt.Fprintln(p.c.err, s)
}

func (p *printer) hint(s string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprint(p.c.err, s)
}

func (p *printer) event(name string, data json.RawMessage) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch name {
	case "approval.asked":
		var a daemon.Approval
		if json.Unmarshal(data, &a) == nil && p.wait {
			fmt.Fprintf(p.c.err, "%s\n  waiting: weir approvals allow %s, or deny\n", requestCard(a), shown(a.ID, 40))
		}
	case "chat.start":
		var e daemon.ChatStart
		p.simulated = json.Unmarshal(data, &e) == nil && e.Simulated
		if p.simulated && !p.c.demoTold {
			p.c.demoTold = true
			p.note("the demo model answers: a script, not an AI")
		}
	case "message.delta":
		var e struct{ Text string }
		if json.Unmarshal(data, &e) == nil && !p.c.json && e.Text != "" {
			if isTerminal(p.c.out) {
				e.Text = calm(e.Text)
			}
			fmt.Fprint(p.c.out, e.Text)
			p.open = !strings.HasSuffix(e.Text, "\n")
		}
	case "tool_call.start":
		var e daemon.ToolCallStart
		if json.Unmarshal(data, &e) == nil {
			p.note("→ " + shown(e.Tool, 80) + " " + shown(string(e.Args), 100))
		}
	case "tool_call.result":
		var e daemon.ToolCallResult
		if json.Unmarshal(data, &e) == nil {
			p.note("← " + limit.Visible(e.Line))
			if a := e.Approval; a != nil && !a.Allowed && a.By == "nobody" && e.Error != nil {
				p.note("  " + limit.Visible(e.Error.Msg) + howToAllow(e.Tool))
			}
		}
	case "tool_call.malformed":
		var e struct{ Reason, Tool string }
		if json.Unmarshal(data, &e) == nil {
			p.note("✗ a call could not be read: " + e.Reason + " " + shown(e.Tool, 80))
		}
	case "mode.switched":
		var e struct{ To, Why string }
		if json.Unmarshal(data, &e) == nil {
			p.note("tools are now called by " + e.To + ": " + e.Why)
		}
	case "model.repeated":
		var e struct {
			Message string
			Wait    int64 `json:"wait_ms"`
		}
		if json.Unmarshal(data, &e) == nil {
			p.note(limit.Visible(e.Message) + "; asking again in " + (time.Duration(e.Wait) * time.Millisecond).Round(100*time.Millisecond).String())
		}
	case "context.folded":
		var e struct {
			UUIDs []string `json:"uuids"`
			Saved int      `json:"saved_chars"`
		}
		if json.Unmarshal(data, &e) == nil {
			p.note(fmt.Sprintf("📎 %d folded into placeholders, %d characters saved", len(e.UUIDs), e.Saved))
		}
	case "error":
		p.problem = new(daemon.Problem)
		return json.Unmarshal(data, p.problem)
	case "chat.end":
		p.end = new(daemon.ChatEnd)
		return json.Unmarshal(data, p.end)
	}
	return nil
}

// note writes a line on stderr, behind whatever of the answer stands there.
func (p *printer) note(s string) {
	if p.quiet {
		return
	}
	p.endLine()
	fmt.Fprintln(p.c.err, s)
}

func (p *printer) endLine() {
	if p.open {
		fmt.Fprintln(p.c.out)
		p.open = false
	}
}

// outcome is how the turn ended for the command: the error event's problem, or
// the stream's own error.
func (p *printer) outcome(err error) error {
	p.endLine()
	if err == nil && p.problem != nil {
		err = p.problem
	}
	if p.end != nil && p.end.Reason == agent.ReasonNoAnswer && err == nil {
		err = &daemon.Problem{Code: "model_" + string(agent.ReasonNoAnswer), Msg: "the model said nothing, however often it was asked",
			Hint: "`weir model test` tries it; another model may do better"}
	}
	if err != nil && p.c.json && p.end != nil {
		// The envelope was printed with what there is; the rest is for people.
		fmt.Fprintln(p.c.err, "weir: "+err.Error())
		var pr *daemon.Problem
		if errors.As(err, &pr) && strings.HasPrefix(pr.Code, "model_") {
			return exitError(exitModel)
		}
		return exitError(exitFailed)
	}
	if p.end != nil && p.end.Unsaved {
		fmt.Fprintln(p.c.err, "weir: this question and its answer could not be saved: the data folder cannot be written")
	}
	if p.end != nil && !p.quiet && p.end.Reason != "answer" && err == nil {
		fmt.Fprintln(p.c.err, "(ended: "+string(p.end.Reason)+")")
	}
	if p.end != nil && !p.quiet && !p.simulated && p.end.Usage.Prompt+p.end.Usage.Completion > 0 {
		fmt.Fprintln(p.c.err, "("+usageLine(p.end.Usage, p.end.Cost)+")")
	}
	return err
}

// usageLine tells tokens and, where it is known, what they cost.
func usageLine(u agent.Usage, cost *agent.Cost) string {
	s := grouped(u.Prompt) + " tokens in, "
	if u.CachedPrompt > 0 {
		s += grouped(u.CachedPrompt) + " of them cached, "
	}
	s += grouped(u.Completion) + " out"
	if u.Estimated {
		s = "about " + s
	}
	if cost != nil {
		s += "; " + money(cost.Amount) + " " + limit.Visible(cost.Currency)
	}
	return s
}

// money has two decimals, and of less than one two digits that count.
func money(v float64) string {
	if v >= 1 {
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	digits := 2
	for x := v; x > 0 && x < 0.1 && digits < 9; x *= 10 {
		digits++
	}
	return strconv.FormatFloat(v, 'f', digits, 64)
}

func oneLine(s string, most int) string {
	r := []rune(strings.Join(strings.Fields(s), " "))
	if len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return string(r)
}

func (c *cli) chatCmd() *cobra.Command {
	var ask daemon.Ask
	cmd := &cobra.Command{
		Use: "chat", Short: "Talk, question by question", Args: argCount(0, 0, "no arguments"),
		Long: "Talk to the model. /help lists what can be typed beside questions; Ctrl-D ends.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withClient(cmd.Context(), func(cl *client) error { return c.talk(cmd.Context(), cl, ask) })
		},
	}
	f := cmd.Flags()
	f.StringVarP(&ask.Model, "model", "m", "", "the `NAME` of a configured model")
	f.StringVar(&ask.Profile, "profile", "", "the `NAME` of an agent profile")
	f.StringVar(&ask.Conversation, "conversation", "", "continue the conversation with this `ID`")
	return cmd
}

const chatHelp = `/new         begin a new conversation
/load UUID   show an archived result and bring it into the next question
             (with lines=a-b or grep=expression: that part of it)
/tools       list the tools
/quit        end (or Ctrl-D)`

func (c *cli) talk(ctx context.Context, cl *client, ask daemon.Ask) error {
	prompt, keys := "", newKeyboard(c.in)
	if c.terminal(c.in) {
		prompt = "you: "
		fmt.Fprintln(c.err, "weir chat — /help for commands, Ctrl-D to end")
	}
	theirs := keys // nobody's, where nobody can be asked
	if !c.person() {
		theirs = nil
	}
	for {
		fmt.Fprint(c.err, prompt)
		line, ok := keys.take(ctx, 0)
		if !ok || ctx.Err() != nil {
			return keys.failure()
		}
		line = strings.TrimSpace(line)
		switch {
		case line == "":
		case line == "/quit" || line == "/exit":
			return nil
		case strings.HasPrefix(line, "/"):
			if err := c.command(ctx, cl, line, &ask); err != nil {
				c.report(ctx, err)
			}
		default:
			ask.Message = line
			p := &printer{c: c}
			err := p.outcome(p.chat(ctx, cl, ask, theirs))
			if p.end != nil && p.end.Conversation != "" {
				ask.Conversation = p.end.Conversation
			}
			if !later(err) {
				ask.LoadUUIDs = nil
			}
			if err != nil {
				c.report(ctx, err)
			}
		}
	}
}

// command runs a /command of the chat.
func (c *cli) command(ctx context.Context, cl *client, line string, ask *daemon.Ask) error {
	words := strings.Fields(line)
	switch words[0] {
	case "/help":
		fmt.Fprintln(c.err, chatHelp)
		return nil
	case "/new":
		ask.Conversation, ask.LoadUUIDs = "", nil
		fmt.Fprintln(c.err, "a new conversation begins")
		return nil
	case "/tools":
		return c.listTools(ctx, cl)
	case "/load":
		if len(words) < 2 {
			return usagef("/load UUID lines=10-40", "/load needs the uuid of an archived result")
		}
		return c.bring(ctx, cl, words[1], words[2:], ask)
	}
	return usagef("/help lists them", "there is no command %s", words[0])
}

// later says that the daemon did not take the question now and may take it soon.
func later(err error) bool {
	var p *daemon.Problem
	return errors.As(err, &p) && (p.Status == http.StatusConflict || p.Status == http.StatusServiceUnavailable)
}

// bring shows an archived result, or a part of it. It also goes into the next
// question where the conversation may load it.
func (c *cli) bring(ctx context.Context, cl *client, uuid string, selectors []string, ask *daemon.Ask) error {
	if ask.Conversation != "" {
		id, err := c.showArchive(ctx, cl, uuid, selectors, ask.Conversation)
		var p *daemon.Problem
		switch {
		case err == nil:
			ask.LoadUUIDs = append(ask.LoadUUIDs, loadOf(id, selectors))
			fmt.Fprintln(c.err, "📎 the model reads it with the next question")
			return nil
		case !errors.As(err, &p) || p.Status != http.StatusNotFound:
			return err
		}
	}
	if _, err := c.showArchive(ctx, cl, uuid, selectors, ""); err != nil {
		return err
	}
	fmt.Fprintln(c.err, "shown only: it is another conversation's, and this one cannot load it")
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

func (c *cli) callCmd() *cobra.Command {
	var conversation, locale string
	cmd := &cobra.Command{
		Use: "call TOOL [ARGUMENTS]", Short: "Run one tool without a model",
		Long:    "Run one tool and print what a model would see of its result. ARGUMENTS is a JSON object\nor a list of name=value; - reads the JSON from standard input.",
		Example: "  weir call calculator '{\"expression\":\"2^64\"}'\n  weir call grep_search pattern=ErrTimeout",
		Args:    argCount(1, -1, "a tool and its arguments"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if locale != string(tool.En) && locale != string(tool.Zh) {
				return usagef("use en or zh", "--locale is %q", locale)
			}
			return c.withClient(cmd.Context(), func(cl *client) error {
				raw, err := c.arguments(args[1:], func() []string { return textParams(cmd.Context(), cl, args[0]) })
				if err != nil {
					return err
				}
				body := map[string]any{"arguments": raw, "conversation_id": conversation, "locale": tool.Locale(locale)}
				var res daemon.ToolCallResult
				if err := cl.post(cmd.Context(), "/api/tools/"+pathEscape(args[0])+"/call", body, &res); err != nil {
					return err
				}
				return c.showResult(res)
			})
		},
	}
	cmd.Flags().StringVar(&conversation, "conversation", "", "keep the whole result in the conversation with this `ID` (default: one for calls alone)")
	cmd.Flags().StringVar(&locale, "locale", "en", "the language of notices and errors: en or zh")
	return cmd
}

func (c *cli) showResult(res daemon.ToolCallResult) error {
	if c.json {
		c.print(res)
	} else {
		fmt.Fprintln(c.out, strings.TrimRight(res.Text, "\n"))
		fmt.Fprintln(c.err, res.Line)
		if res.KeptUUID != "" && res.Layer != "" {
			fmt.Fprintln(c.err, "the whole: weir archive show "+res.KeptUUID)
		}
	}
	if !res.OK {
		return exitError(exitTool)
	}
	return nil
}

// textParams lists the arguments of a tool that are text and nothing else.
func textParams(ctx context.Context, cl *client, name string) []string {
	var t host.ToolInfo
	var schema struct {
		Properties map[string]struct{ Type any }
	}
	if cl.get(ctx, "/api/tools/"+pathEscape(name), &t) != nil || json.Unmarshal(t.Spec.Params, &schema) != nil {
		return nil // the call itself says what is wrong
	}
	var out []string
	for name, p := range schema.Properties {
		if p.Type == "string" {
			out = append(out, name)
		}
	}
	return out
}

// arguments makes the JSON object of a call from what stands on the command
// line. A value of name=value is text where the tool takes text, which texts
// lists; else JSON where it reads as JSON, else text.
func (c *cli) arguments(args []string, texts func() []string) (json.RawMessage, error) {
	if len(args) == 0 {
		return json.RawMessage("{}"), nil
	}
	text := args[0]
	if text == "-" {
		b, err := io.ReadAll(io.LimitReader(c.in, maxInput))
		if err != nil {
			return nil, err
		}
		text = string(b)
	}
	if len(args) == 1 && strings.HasPrefix(strings.TrimSpace(text), "{") {
		if !json.Valid([]byte(text)) {
			return nil, usagef(`quote the whole object for the shell: '{"name":"value"}'`, "the arguments are not valid JSON")
		}
		return json.RawMessage(text), nil
	}
	object, isText := map[string]json.RawMessage{}, texts()
	for _, a := range args {
		name, value, ok := strings.Cut(a, "=")
		if !ok || name == "" {
			return nil, usagef(`write a JSON object or name=value`, "%q is not an argument", a)
		}
		v := json.RawMessage(value)
		if !json.Valid(v) || slices.Contains(isText, name) {
			v, _ = json.Marshal(value) // a string always marshals
		}
		object[name] = v
	}
	return json.Marshal(object)
}

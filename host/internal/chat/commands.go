package chat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// A command can be typed in a chat instead of a question.
type command struct {
	name, args string // as /help writes them
	about      tool.Text
	// run runs it. The chat then asks the question that it returns, if there is one.
	// Nil: the loop of the chat handles the command.
	run func(c *chat, ctx context.Context, args []string) (question string, err error)
}

// Commands returns what can be typed in a chat, with its description, in the order
// of /help.
func Commands() (typed []string, about []tool.Text) {
	for _, cmd := range commands() {
		typed = append(typed, strings.TrimSpace(cmd.name+" "+cmd.args))
		about = append(about, cmd.about)
	}
	return typed, about
}

// commands returns all commands in the order of /help.
func commands() []command {
	return []command{
		{"/help", "", tool.Textf("this list"), (*chat).help},
		{"/new", "", tool.Textf("start a new conversation"), (*chat).begin},
		{"/list", "", tool.Textf("list the conversations"), (*chat).list},
		{"/open", "ID", tool.Textf("go on with a conversation; the beginning of its id is enough"), (*chat).reopen},
		{"/rename", "TITLE", tool.Textf("give this conversation another title"), (*chat).rename},
		{"/model", "[NAME]", tool.Textf("answer with another model, or list them"), (*chat).useModel},
		{"/profile", "[NAME]", tool.Textf("answer with another profile, or list them"), (*chat).useProfile},
		{"/tools", "", tool.Textf("list the tools with their limits"), (*chat).tools},
		{"/show", "ID [PART]", tool.Textf("show an archived result; the end of its id is enough. PART: lines=a-b, grep=expression, head=n, …"), (*chat).showResult},
		{"/load", "ID [PART]", tool.Textf("show it and bring it into the next question"), (*chat).loadResult},
		{"/trace", "", tool.Textf("how the last question was answered: requests, times, tokens, calls"), (*chat).showTrace},
		{"/explain", "", tool.Textf("what was sent for it, what was cut, what that saved"), (*chat).showExplanation},
		{"/think", "", tool.Textf("show what the model thought, and from now on as it comes; again: not any more"), (*chat).switchThink},
		{"/cost", "", tool.Textf("tokens and cost of this conversation"), (*chat).cost},
		{"/export", "FILE", tool.Textf("write this conversation to a file: .md, .json or .jsonl"), (*chat).export},
		{"/retry", "", tool.Textf("ask the last question again"), (*chat).retry},
		{"/quit", "", tool.Textf("end (or Ctrl-D)"), nil},
	}
}

// command runs a command of the chat.
func (c *chat) command(ctx context.Context, line string) (question string, err error) {
	words := strings.Fields(line)
	for _, cmd := range commands() {
		if cmd.name == words[0] && cmd.run != nil {
			return cmd.run(c, ctx, words[1:])
		}
	}
	return "", msg.Usagef("/help lists them", "there is no command %s", limit.Visible(words[0]))
}

func (c *chat) help(context.Context, []string) (string, error) {
	var rows [][]string
	for _, cmd := range commands() {
		rows = append(rows, []string{cmd.name + " " + cmd.args, c.Text(cmd.about)})
	}
	c.columns(rows)
	c.reply(`Several lines: end a line with \, or write """ before and after, or press Alt-Enter. Ctrl-C stops an answer.`)
	return "", nil
}

func (c *chat) begin(context.Context, []string) (string, error) {
	c.ask.Conversation, c.ask.LoadUUIDs = "", nil
	c.reply("a new conversation begins")
	return "", nil
}

func (c *chat) list(ctx context.Context, _ []string) (string, error) {
	all, err := Conversations(ctx, c.cl)
	if err != nil {
		return "", err
	}
	if len(all) == 0 {
		c.reply("there are no conversations yet")
		return "", nil
	}
	rows := [][]string{strings.Split(c.Sprintf("ID|USED|MESSAGES|TITLE"), "|")}
	n := prefixLength(all)
	for _, x := range all[:min(len(all), 20)] {
		id := limit.Visible(x.ID)
		if len(id) == idLength {
			id = id[:n]
		}
		if x.ID == c.ask.Conversation {
			id = "* " + id
		}
		rows = append(rows, []string{id, x.Updated.Local().Format("01-02 15:04"), fmt.Sprint(x.Messages), term.Visible(x.Title, 80)})
	}
	fmt.Fprint(c.Out, term.Grid(rows, c.TableWidth()))
	if n := len(all) - 20; n > 0 {
		c.reply("and %d older ones: weir conversation list", n)
	}
	return "", nil
}

// idLength is the length of the ids that weir makes, in characters.
const idLength = 36

// prefixLength returns how many characters of the ids distinguish them, eight or
// more. Ids that weir makes begin with the time, so those of one minute begin alike.
func prefixLength(all []api.ConversationRow) int {
	for n := 8; n < idLength; n++ {
		seen := map[string]bool{}
		for _, x := range all {
			if len(x.ID) == idLength {
				seen[x.ID[:n]] = true
			} else {
				seen[x.ID] = true
			}
		}
		if len(seen) == len(all) {
			return n
		}
	}
	return idLength
}

// recent is the number of messages that /open shows.
const recent = 4

func (c *chat) reopen(ctx context.Context, args []string) (string, error) {
	if len(args) != 1 {
		return "", msg.Usagef("/list", "/open needs the id of a conversation")
	}
	id, err := c.cl.Conversation(ctx, args[0])
	if err != nil {
		return "", err
	}
	var conversation api.ShownConversation
	if err := c.cl.Get(ctx, "/api/conversations/"+url.PathEscape(id), &conversation); err != nil {
		return "", err
	}
	c.ask.Conversation, c.ask.LoadUUIDs = id, nil
	var messages []api.ShownMessage
	for _, m := range conversation.Messages {
		if (m.Role == agent.RoleUser || m.Role == agent.RoleAssistant) && m.Text != "" {
			messages = append(messages, m)
		}
	}
	for _, m := range messages[max(0, len(messages)-recent):] {
		who := c.Sprintf("you: ")
		if m.Role == agent.RoleAssistant {
			who = ""
		}
		fmt.Fprintln(c.Out, who+term.Calm(m.Text))
	}
	c.reply("this conversation goes on: %s", id)
	return "", nil
}

func (c *chat) rename(ctx context.Context, args []string) (string, error) {
	title := strings.Join(args, " ")
	switch {
	case title == "":
		return "", msg.Usagef("/rename TITLE", "/rename needs a title")
	case c.ask.Conversation == "":
		return "", msg.Usagef("ask something first", "there is no conversation yet")
	}
	if err := c.cl.Do(ctx, http.MethodPatch, "/api/conversations/"+url.PathEscape(c.ask.Conversation), map[string]string{"title": title}, nil); err != nil {
		return "", err
	}
	c.reply("it is called: %s", title)
	return "", nil
}

func (c *chat) useModel(ctx context.Context, args []string) (string, error) {
	names, err := ModelNames(ctx, c.cl)
	if err != nil {
		return "", err
	}
	return "", c.choose(args, names, &c.ask.Model, "there is no model named %q", "the next answer is by model %s")
}

func (c *chat) useProfile(ctx context.Context, args []string) (string, error) {
	names, err := ProfileNames(ctx, c.cl)
	if err != nil {
		return "", err
	}
	return "", c.choose(args, names, &c.ask.Profile, "there is no profile named %q", "the next answer is by profile %s")
}

// choose sets one of names, or lists them. The texts are formats with the name:
// there is none with that name, and it answers from now on.
func (c *chat) choose(args, names []string, into *string, missing, chosen string) error {
	switch {
	case len(args) == 0:
		for _, name := range names {
			mark := "  "
			if name == *into {
				mark = "* "
			}
			fmt.Fprintln(c.Out, mark+limit.Visible(name))
		}
		return nil
	case !slices.Contains(names, args[0]):
		return msg.Usagef(strings.Join(names, " "), missing, args[0])
	}
	*into = args[0]
	c.reply(chosen, args[0])
	return nil
}

func (c *chat) tools(ctx context.Context, _ []string) (string, error) {
	var out struct{ Tools []plugin.ToolInfo }
	if err := c.cl.Get(ctx, "/api/tools", &out); err != nil {
		return "", err
	}
	var rows [][]string
	for _, x := range out.Tools {
		rows = append(rows, []string{limit.Visible(x.Spec.Name), c.Sprintf("%s. %s", c.boundsText(x.Effective), term.Visible(x.Spec.Describe(c.Locale()), 200))})
	}
	c.columns(rows)
	return "", nil
}

// boundsText returns the limits of a result.
func (c *chat) boundsText(l tool.Limits) string {
	switch {
	case l.MaxChars > 0 && l.MaxLines > 0:
		return c.Sprintf("%s characters, %s lines", term.Grouped(l.MaxChars), term.Grouped(l.MaxLines))
	case l.MaxChars > 0:
		return c.Sprintf("%s characters", term.Grouped(l.MaxChars))
	case l.MaxLines > 0:
		return c.Sprintf("%s lines", term.Grouped(l.MaxLines))
	}
	return c.Sprintf("no limit")
}

// columns writes names with their descriptions.
func (c *chat) columns(rows [][]string) {
	width := 1 << 20
	if term.IsTerminal(c.Err) {
		width = c.Width()
	}
	fmt.Fprint(c.Err, term.Definitions(rows, width))
}

func (c *chat) showResult(ctx context.Context, args []string) (string, error) {
	if len(args) == 0 {
		return "", msg.Usagef("/show ID lines=10-40", "/show needs the id of an archived result")
	}
	_, err := ShowArchive(ctx, c.Printer, c.cl, args[0], args[1:], c.ask.Conversation, false)
	return "", err
}

func (c *chat) loadResult(ctx context.Context, args []string) (string, error) {
	if len(args) == 0 {
		return "", msg.Usagef("/load UUID lines=10-40", "/load needs the uuid of an archived result")
	}
	return "", c.load(ctx, args[0], args[1:])
}

// trace returns how the last question of this conversation was answered.
func (c *chat) trace(ctx context.Context) (*api.Trace, error) {
	if c.ask.Conversation != "" {
		if tr := LastTrace(ctx, c.cl, c.ask.Conversation); tr != nil {
			return tr, nil
		}
	}
	return nil, msg.Usagef("ask something first", "no question was asked in this conversation")
}

func (c *chat) showTrace(ctx context.Context, _ []string) (string, error) {
	tr, err := c.trace(ctx)
	if err == nil {
		fmt.Fprint(c.Out, c.Wrap(c.Out, TraceText(c.Printer, *tr)))
	}
	return "", err
}

func (c *chat) showExplanation(ctx context.Context, _ []string) (string, error) {
	tr, err := c.trace(ctx)
	if err == nil {
		fmt.Fprint(c.Out, c.Wrap(c.Out, ExplainText(c.Printer, *tr)))
	}
	return "", err
}

func (c *chat) switchThink(context.Context, []string) (string, error) {
	if c.think = !c.think; !c.think {
		c.reply("the reasoning is shown as one line")
		return "", nil
	}
	if c.thoughts != "" {
		fmt.Fprintln(c.Err, c.Faint(strings.TrimRight(term.Calm(c.thoughts), "\n")))
	}
	c.reply("the reasoning is shown as it arrives")
	return "", nil
}

func (c *chat) cost(ctx context.Context, _ []string) (string, error) {
	if c.ask.Conversation == "" {
		c.reply("nothing was asked yet")
		return "", nil
	}
	var out api.TraceList
	if err := c.cl.Get(ctx, "/api/traces?limit=1000&conversation_id="+url.QueryEscape(c.ask.Conversation), &out); err != nil {
		return "", err
	}
	var sum agent.Usage
	costs, saved := map[string]float64{}, 0
	for _, tr := range out.Traces {
		sum = sum.Add(tr.Usage)
		saved += tr.ProducedChars - tr.ShownChars
		if tr.Cost != nil {
			costs[tr.Cost.Currency] += tr.Cost.Amount
		}
	}
	line := c.Sprintf("%d questions: %s", len(out.Traces), usageText(c.Printer, sum, nil))
	if len(out.Traces) == 1 {
		line = c.Sprintf("1 question: %s", usageText(c.Printer, sum, nil))
	}
	for _, currency := range slices.Sorted(maps.Keys(costs)) {
		line += "; " + term.Money(costs[currency]) + " " + limit.Visible(currency)
	}
	fmt.Fprintln(c.Out, line)
	if saved > 0 {
		fmt.Fprintln(c.Out, c.Sprintf("the limits kept %s characters of results out", term.Grouped(saved)))
	}
	return "", nil
}

func (c *chat) export(ctx context.Context, args []string) (string, error) {
	formats := map[string]string{".md": "markdown", ".json": "json", ".jsonl": "jsonl"}
	switch {
	case len(args) != 1:
		return "", msg.Usagef("/export talk.md", "/export needs the name of a file")
	case c.ask.Conversation == "":
		return "", msg.Usagef("ask something first", "there is no conversation yet")
	}
	format, ok := formats[filepath.Ext(args[0])]
	if !ok {
		return "", msg.Usagef("end its name in .md, .json or .jsonl", "%s does not name a format", limit.Visible(args[0]))
	}
	f, err := os.OpenFile(args[0], os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", msg.Usagef("choose another name", "%s cannot be written, or exists already", limit.Visible(args[0]))
	}
	resp, err := c.cl.Send(ctx, http.MethodGet, "/api/conversations/"+url.PathEscape(c.ask.Conversation)+"/export?format="+format, nil)
	if err == nil {
		_, err = io.Copy(f, resp.Body)
		_ = resp.Body.Close() // read to its end, or failed
	}
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(args[0]) // an incomplete export is of no use
		return "", err
	}
	c.reply("written to %s", args[0])
	return "", nil
}

func (c *chat) retry(context.Context, []string) (string, error) {
	if c.question == "" {
		return "", msg.Usagef("ask something first", "there is no question to repeat")
	}
	return c.question, nil
}

// Package scriptcmd does what the commands about scripts do: it lists and shows scripts
// under way, and asks the person at the terminal about calls that wait.
package scriptcmd

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/host/internal/text"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/host/script/named"
	"github.com/weirhost/weir/sdk/tool"
)

// A Daemon is asked over HTTP. *client.Client is one.
type Daemon interface {
	Get(ctx context.Context, path string, into any) error
	Post(ctx context.Context, path string, body, into any) error
}

// Commands print for a person, or as JSON.
type Commands struct{ *term.Printer }

// Last names the newest script.
const Last = "last"

// leastID is how much of an id has to be given, in characters.
const leastID = 4

// id returns the id of the script that given is the beginning or the end of.
func id(ctx context.Context, d Daemon, given string) (string, error) {
	var list api.ScriptList
	if err := d.Get(ctx, "/api/scripts", &list); err != nil {
		return "", err
	}
	part, found := strings.Trim(given, "…"), []string{}
	for _, s := range list.Scripts {
		if given == Last || s.ID == given {
			return s.ID, nil
		}
		if len(part) >= leastID && (strings.HasPrefix(s.ID, part) || strings.HasSuffix(s.ID, part)) {
			found = append(found, s.ID)
		}
	}
	switch len(found) {
	case 0:
		return "", api.Problemf(http.StatusNotFound, "not_found", "`weir scripts list` lists them", "there is no script with that id")
	case 1:
		return found[0], nil
	}
	return "", msg.Usagef("write more of it", "%q is a part of the ids of %d scripts", given, len(found))
}

func path(id, what string) string { return "/api/scripts/" + url.PathEscape(id) + what }

// List lists the scripts under way, and the last that have ended.
func (c Commands) List(ctx context.Context, d Daemon) error {
	var list api.ScriptList
	if err := d.Get(ctx, "/api/scripts", &list); err != nil {
		return err
	}
	if c.AsJSON(list) {
		return nil
	}
	if len(list.Scripts) == 0 {
		c.Errf("there are no scripts\n")
		return nil
	}
	c.Table("ID\tSTATE\tBEGAN\tCALLS\tWAIT\tSCRIPT", func(w io.Writer) {
		for _, s := range list.Scripts {
			fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%s\n", s.ID, c.state(s.State), s.Created.Local().Format(time.DateTime), s.Calls, s.Waiting, term.Visible(s.Line, 60))
		}
	})
	return nil
}

// Show shows a script with its calls, and those that wait for a person.
func (c Commands) Show(ctx context.Context, d Daemon, given string) error {
	id, err := id(ctx, d, given)
	if err != nil {
		return err
	}
	var s api.ScriptRun
	if err := d.Get(ctx, path(id, ""), &s); err != nil {
		return err
	}
	if c.AsJSON(s) {
		return nil
	}
	fmt.Fprintf(c.Out, "%s  %s  %s\n", s.ID, c.state(s.State), s.Created.Local().Format(time.DateTime))
	c.source(s.Source)
	c.calls(c.Out, s.Made)
	c.card(s.Card)
	switch {
	case len(s.Card) > 0:
		c.Outf("answer: weir scripts resume %s\n", s.ID)
	case s.Result != nil:
		fmt.Fprintln(c.Texts(), strings.TrimRight(s.Result.Text, "\n"))
	}
	return nil
}

// state names the state of a script for a person.
func (c Commands) state(s string) string {
	switch s {
	case "running":
		return c.Sprintf("runs")
	case "waiting":
		return c.Sprintf("waits")
	case "done":
		return c.Sprintf("done")
	case "failed":
		return c.Sprintf("failed")
	}
	return c.Sprintf("cancelled")
}

// source prints a script with the numbers of its lines.
func (c Commands) source(text string) {
	n := 0
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		n++
		fmt.Fprintf(c.Out, "%4d │ %s\n", n, term.Visible(line, 400))
	}
}

// calls prints the calls that a script has made, and what came of them.
func (c Commands) calls(w io.Writer, calls []api.ScriptCall) {
	for _, call := range calls {
		name, outcome := call.Brief, call.Code
		name = cmp.Or(name, call.Tool)
		if outcome == "" {
			outcome = c.Sprintf("%s characters", term.Grouped(call.Produced))
		}
		fmt.Fprintf(w, "  %s  %s · %s  %s\n", term.Visible(name, 100), outcome, term.Duration(time.Duration(call.ElapsedMS)*time.Millisecond), call.UUID)
	}
}

// card prints the calls that wait for a person: arguments as a table, and where they come
// from.
func (c Commands) card(card []api.ScriptQuestion) {
	for _, q := range card {
		head := c.Sprintf("? %d: %s asks for permission", q.Number, term.Visible(q.Tool, 80))
		if q.Plugin != "" && q.Plugin != q.Tool {
			head += c.Sprintf(" (plugin %s)", term.Visible(q.Plugin, 80))
		}
		fmt.Fprintf(c.Out, "%s\n  %s\n", head, term.Visible(q.Why, 600))
		for _, row := range rowsOf(q) {
			fmt.Fprintf(c.Out, "  │ %s: %s\n", term.Visible(row[0], 60), term.Visible(row[1], 2000))
		}
	}
}

// rowsOf returns the arguments of a call by their names. One that comes from a result says
// from which.
func rowsOf(q api.ScriptQuestion) (out [][2]string) {
	from := map[string]string{}
	for _, s := range q.Sources {
		from[s.Arg] = s.From
	}
	for name, value := range members(q.Args) {
		if source, ok := from[name]; ok {
			delete(from, name)
			if strings.HasPrefix(value, "@result:") {
				value = source
			} else {
				value = source + " = " + value
			}
		}
		out = append(out, [2]string{name, value})
	}
	for _, s := range q.Sources {
		if _, ok := from[s.Arg]; ok {
			out = append(out, [2]string{s.Arg, s.From})
		}
	}
	slices.SortFunc(out, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	return out
}

// An Answer is what a person says about calls that wait.
type Answer struct {
	Allow, Always, Deny bool
	// Only are the numbers of the calls that it is for; empty: all.
	Only []int
}

// word returns the answer as the daemon reads it; empty: the person has said nothing.
func (a Answer) word() (word string, err error) {
	for _, one := range []struct {
		given bool
		word  string
	}{{a.Allow, api.ScriptAllow}, {a.Always, api.ScriptAlways}, {a.Deny, api.ScriptDeny}} {
		if one.given && word != "" {
			return "", msg.Usagef("write one of --allow, --always and --deny", "two answers are given")
		}
		if one.given {
			word = one.word
		}
	}
	if len(a.Only) > 0 && word == "" {
		return "", msg.Usagef("write one of --allow, --always and --deny", "the answer is missing")
	}
	return word, nil
}

// Resume answers the calls of a script that wait, and returns what became of the script.
// Without an answer it asks the person at the terminal.
func (c Commands) Resume(ctx context.Context, d Daemon, given string, a Answer) (res api.ScriptResult, err error) {
	word, err := a.word()
	if err != nil {
		return res, err
	}
	id, err := id(ctx, d, given)
	if err != nil {
		return res, err
	}
	var s api.ScriptRun
	if err := d.Get(ctx, path(id, ""), &s); err != nil {
		return res, err
	}
	body := onCard(word, s.Card, a.Only)
	if word == "" && len(s.Card) > 0 {
		if body, err = c.ask(s.Card); err != nil {
			return res, err
		}
	}
	err = d.Post(ctx, path(id, "/resume"), body, &res)
	return res, err
}

// onCard returns one answer to calls of a card as it was read, and to no others that came
// since: to those with the numbers of only, or to all.
func onCard(answer string, card []api.ScriptQuestion, only []int) api.ScriptAnswer {
	out := api.ScriptAnswer{Answers: map[string]string{}}
	for _, q := range card {
		if len(only) == 0 && answer != "" {
			out.Answers[q.Key] = answer
		}
	}
	for _, n := range only {
		key := strconv.Itoa(n) // of a call that does not wait, as the daemon says
		if i := slices.IndexFunc(card, func(q api.ScriptQuestion) bool { return q.Number == n }); i >= 0 {
			key = card[i].Key
		}
		out.Answers[key] = answer
	}
	return out
}

// Finish asks the person about the calls of a script that wait, until it has ended, and
// prints what is not its answer. Where no person can be asked it says how to answer.
func (c Commands) Finish(ctx context.Context, d Daemon, res api.ScriptResult) (api.ScriptResult, error) {
	for res.State == "waiting" && c.Interactive() && !c.JSON {
		body, err := c.ask(res.Card)
		if err != nil {
			return res, err
		}
		id := res.Script
		res = api.ScriptResult{}
		if err := d.Post(ctx, path(id, "/resume"), body, &res); err != nil {
			return res, err
		}
	}
	if c.JSON {
		return res, nil
	}
	for _, line := range res.Logged {
		fmt.Fprintln(c.Err, term.Plain(line))
	}
	c.calls(c.Err, res.Calls)
	return res, nil
}

// ask shows a card and returns the person's answers.
func (c Commands) ask(card []api.ScriptQuestion) (out api.ScriptAnswer, err error) {
	const without = "answer with --allow, --always or --deny; --only N is for single calls"
	if c.JSON || !c.Interactive() {
		return out, msg.Usagef(without, "this asks a person, and there is no terminal to ask on")
	}
	c.card(card)
	words := map[string]string{"y": api.ScriptAllow, "a": api.ScriptAlways, "n": api.ScriptDeny}
	for {
		typed, ok := c.Ask(c.Sprintf("allow them? [y] all  [a] all, and later ones of these tools  [e] ask for each  [n] none: "))
		typed = strings.ToLower(typed)
		switch {
		case !ok:
			return out, msg.Usagef(without, "this asks a person, and no one answered")
		case words[typed] != "":
			return onCard(words[typed], card, nil), nil
		case typed == "e":
			return c.each(card)
		}
	}
}

// each asks about each call of a card.
func (c Commands) each(card []api.ScriptQuestion) (api.ScriptAnswer, error) {
	out := api.ScriptAnswer{Answers: map[string]string{}}
	for _, q := range card {
		typed, _ := c.Ask(c.Text(tool.Textf("%d: %s: allow it? [y/N] ", q.Number, q.Tool)))
		answer := api.ScriptDeny
		if strings.EqualFold(typed, "y") {
			answer = api.ScriptAllow
		}
		out.Answers[q.Key] = answer
	}
	return out, nil
}

// WarnOfTools warns of tools that the manifest of a script asks for and that are not
// installed. The file is in order all the same: they may come later.
func (c Commands) WarnOfTools(ctx context.Context, d Daemon, file string, asked []named.Asked) error {
	var list struct{ Tools []plugin.ToolInfo }
	if err := d.Get(ctx, "/api/tools", &list); err != nil {
		return err
	}
	var names []string
	for _, t := range list.Tools {
		names = append(names, t.Spec.Name)
	}
	for _, a := range asked {
		if slices.Contains(names, a.Tool) || tool.IsBuiltIn(a.Tool) {
			continue
		}
		name, fix := term.Visible(a.Tool, 80), tool.Textf("install it, or take it out of the manifest")
		if near := text.Nearest(a.Tool, names); len(near) > 0 {
			fix = tool.Textf("did you mean %s?", near[0])
		}
		c.Errf("weir: %v\n", tool.Textf("warning: %v", tool.Textf("%s:%d: no tool is named %q: its calls will fail; %v", file, a.Line, name, fix)))
	}
	return nil
}

// Cancel ends a script.
func (c Commands) Cancel(ctx context.Context, d Daemon, given string) error {
	id, err := id(ctx, d, given)
	if err != nil {
		return err
	}
	var s api.ScriptRun
	if err := d.Post(ctx, path(id, "/cancel"), struct{}{}, &s); err != nil {
		return err
	}
	if !c.AsJSON(s) {
		fmt.Fprintf(c.Out, "%s: %s\n", s.ID, c.state(s.State))
	}
	return nil
}

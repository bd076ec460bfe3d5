package main

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/daemon"
	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/sdk/limit"
)

func (c *cli) traceCmd() *cobra.Command {
	cmd := &cobra.Command{Use: "trace", Short: "Look into how a question was answered: requests, times, tokens, calls, cuts",
		Long: "Every question leaves a trace: each request to the model with its time and tokens, and each call with what\nwas cut by which limit. The last 1,000 are kept, and go with their conversation."}
	var conversation string
	var most int
	show := func(id func(args []string) string) func(*cobra.Command, []string) error {
		return func(cmd *cobra.Command, args []string) error {
			return c.withClient(cmd.Context(), func(cl *session) error { return c.showTrace(cmd.Context(), cl, id(args), conversation) })
		}
	}
	last := &cobra.Command{Use: "last", Short: "Show how the last question was answered", Args: argCount(0, 0, "no arguments"),
		RunE: show(func([]string) string { return "last" })}
	list := &cobra.Command{Use: "list", Short: "List the traces, the newest first", Args: argCount(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withClient(cmd.Context(), func(cl *session) error { return c.listTraces(cmd.Context(), cl, conversation, most) })
		}}
	one := &cobra.Command{Use: "show ID", Short: "Show one of them", Args: argCount(1, 1, "the id that `weir trace list` tells"),
		RunE: show(func(args []string) string { return args[0] })}
	for _, sub := range []*cobra.Command{last, list} {
		sub.Flags().StringVar(&conversation, "conversation", "", "only of the conversation with this `ID`")
	}
	list.Flags().IntVar(&most, "limit", 20, "at most `N` rows")
	cmd.AddCommand(last, list, one)
	return cmd
}

func (c *cli) showTrace(ctx context.Context, cl *session, id, conversation string) error {
	path := "/api/traces/" + url.PathEscape(id)
	if conversation != "" {
		path += "?conversation_id=" + url.QueryEscape(conversation)
	}
	var tr daemon.Trace
	if done, err := c.Show(ctx, cl, path, &tr); done || err != nil {
		return err
	}
	fmt.Fprint(c.Out, c.Wrap(c.Out, c.traced(tr)))
	return nil
}

// lastTrace is how a conversation's last question was answered; nil: nobody
// wrote it down.
func (c *cli) lastTrace(ctx context.Context, cl *session, conversation string) *daemon.Trace {
	var tr daemon.Trace
	if err := cl.Get(ctx, "/api/traces/last?conversation_id="+url.QueryEscape(conversation), &tr); err != nil {
		return nil
	}
	return &tr
}

func (c *cli) listTraces(ctx context.Context, cl *session, conversation string, most int) error {
	q := url.Values{"limit": {strconv.Itoa(most)}}
	if conversation != "" {
		q.Set("conversation_id", conversation)
	}
	var out daemon.TraceList
	if done, err := c.Show(ctx, cl, "/api/traces?"+q.Encode(), &out); done || err != nil {
		return err
	}
	if len(out.Traces) == 0 {
		fmt.Fprintln(c.Err, c.say("no question was asked yet", "还没有提过问题"))
		return nil
	}
	rows := [][]string{strings.Split(c.say("ID|WHEN|MODEL|TIME|REQUESTS|CALLS|TOKENS|ENDED|QUESTION", "编号|时间|模型|用时|请求|调用|词元|结束|问题"), "|")}
	for _, t := range out.Traces {
		rows = append(rows, []string{fmt.Sprint(t.ID), t.Started.Local().Format("01-02 15:04"), limit.Visible(t.Model), term.Milliseconds(t.ElapsedMS),
			fmt.Sprint(t.Requests), fmt.Sprint(t.Calls), tokensOf(t.Usage), string(t.Reason), term.Visible(t.Question, 60)})
	}
	fmt.Fprint(c.Out, term.Grid(rows, c.TableWidth()))
	return nil
}

// tokensOf are the tokens that a provider counted, in and out.
func tokensOf(u agent.Usage) string {
	if u.Prompt+u.Completion == 0 {
		return "–"
	}
	s := term.Grouped(u.Prompt) + "+" + term.Grouped(u.Completion)
	if u.Estimated {
		s = "~" + s
	}
	return s
}

// traced is a trace as a person reads it.
func (c *cli) traced(t daemon.Trace) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", term.Visible(t.Question, 200))
	fmt.Fprintf(&b, c.say("trace %d · %s · %s · %s · turn %d of conversation %s\n", "记录 %d · %s · %s · %s · 会话 %[6]s 的第 %[5]d 轮\n"),
		t.ID, t.Started.Local().Format("2006-01-02 15:04:05"), limit.Visible(t.Model), term.Milliseconds(t.ElapsedMS), t.Turn, limit.Visible(t.Conversation))
	fmt.Fprintf(&b, c.say("tools by %s · ended: %s", "工具调用方式 %s · 结束: %s"), t.Mode, t.Reason)
	if t.Usage.Prompt+t.Usage.Completion > 0 {
		b.WriteString(" · " + c.usageLine(t.Usage, t.Cost))
	}
	b.WriteString("\n\n")
	rows := [][]string{strings.Split(c.say("ROUND|TIME|FIRST|SENT|COUNTED|CALLS", "轮|用时|首字|发送|计费|调用"), "|")}
	for _, r := range t.Rounds {
		if r.Round == 0 {
			rows = append(rows, []string{"0", "–", "–", "–", "–", fmt.Sprint(len(r.Calls))})
			continue
		}
		row := []string{fmt.Sprint(r.Round), term.Milliseconds(r.ElapsedMS), term.Milliseconds(r.FirstMS), "~" + term.Grouped(r.Sent.Total()), tokensOf(r.Usage), fmt.Sprint(len(r.Calls))}
		if r.Error != "" {
			row[5] += " ✗ " + r.Error
		}
		rows = append(rows, row)
	}
	b.WriteString(term.Grid(rows, c.TableWidth()))
	for _, r := range t.Rounds {
		for _, call := range r.Calls {
			fmt.Fprintf(&b, "\n%d  %s", r.Round, c.tracedCall(call))
		}
	}
	if t.Calls > 0 {
		b.WriteString("\n")
	}
	return b.String()
}

func (c *cli) tracedCall(call daemon.TraceCall) string {
	s := term.Visible(call.Tool, 80)
	if args := string(call.Args); args != "" && args != "{}" {
		s += " " + term.Visible(args, 80)
	}
	s += "\n   "
	switch {
	case call.Error != "":
		s += "✗ " + string(call.Error)
	case call.Layer != "" || call.Summarized:
		s += c.cutOf(call.Produced, call.Shown, call.Layer, call.Limit, call.Unit, call.Summarized)
	default:
		s += c.say(term.Grouped(call.Produced)+" characters", term.Grouped(call.Produced)+" 字符")
	}
	s += " · " + term.Milliseconds(call.ElapsedMS)
	if call.Format != "" {
		s += " · " + call.Format
	}
	if call.LoadedUUID != "" {
		s += c.say(" · loaded ", " · 载入 ") + call.LoadedUUID
	}
	if call.KeptUUID != "" {
		s += "\n   📎 weir archive show " + call.KeptUUID
	}
	return s
}

package main

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/internal/chat"
	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/sdk/limit"
)

func traceCmd(c *cli) *cobra.Command {
	cmd := &cobra.Command{Use: "trace", Short: "Look into how a question was answered: requests, times, tokens, calls, cuts",
		Long: "Every question leaves a trace: each request to the model with its time and tokens, and each call with what\nwas cut by which limit. The last 1,000 are kept, and go with their conversation."}
	var conversation string
	var most int
	show := func(id func(args []string) string) func(*cobra.Command, []string) error {
		return func(cmd *cobra.Command, args []string) error {
			q := url.Values{}
			return c.within(cmd.Context(), conversation, q, func(cl *session) error { return c.showTrace(cmd.Context(), cl, id(args), q) })
		}
	}
	last := &cobra.Command{Use: "last", Short: "Show how the last question was answered", Args: argCount(0, 0, "no arguments"),
		RunE: show(func([]string) string { return "last" })}
	list := &cobra.Command{Use: "list", Short: "List the traces, the newest first", Args: argCount(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			q := url.Values{"limit": {strconv.Itoa(most)}}
			return c.within(cmd.Context(), conversation, q, func(cl *session) error { return c.listTraces(cmd.Context(), cl, q) })
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

func (c *cli) showTrace(ctx context.Context, cl *session, id string, q url.Values) error {
	var tr api.Trace
	if done, err := c.Show(ctx, cl, "/api/traces/"+url.PathEscape(id)+"?"+q.Encode(), &tr); done || err != nil {
		return err
	}
	fmt.Fprint(c.Out, c.Wrap(c.Out, chat.TraceText(c.Printer, tr)))
	return nil
}

func (c *cli) listTraces(ctx context.Context, cl *session, q url.Values) error {
	var out api.TraceList
	if done, err := c.Show(ctx, cl, "/api/traces?"+q.Encode(), &out); done || err != nil {
		return err
	}
	if len(out.Traces) == 0 {
		fmt.Fprintln(c.Err, c.Sprintf("no question was asked yet"))
		return nil
	}
	rows := [][]string{strings.Split(c.Sprintf("ID|WHEN|MODEL|TIME|REQUESTS|CALLS|TOKENS|ENDED|QUESTION"), "|")}
	for _, t := range out.Traces {
		rows = append(rows, []string{fmt.Sprint(t.ID), t.Started.Local().Format("01-02 15:04"), limit.Visible(t.Model), term.Milliseconds(t.ElapsedMS),
			fmt.Sprint(t.Requests), fmt.Sprint(t.Calls), chat.TokensText(t.Usage), string(t.Reason), term.Visible(t.Question, 60)})
	}
	fmt.Fprint(c.Out, term.Grid(rows, c.TableWidth()))
	return nil
}

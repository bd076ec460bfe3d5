package main

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/internal/chat"
	"github.com/weirhost/weir/host/internal/term"
)

func approvalsCmd(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use: "approvals", Short: "List and answer the calls that wait for a person's permission",
		Long: "List and answer the calls that wait for a person's permission, from a second terminal. [approvals] of\ntools.toml says which calls ask; `weir chat` and the page ask on their own.",
	}
	var always bool
	var only []int
	allow := answerCmd(c, "allow ID", "Let a call run", func() api.Answer {
		if always {
			return api.Answer{Answer: api.AnswerAlways, Only: only}
		}
		return api.Answer{Answer: api.AnswerOnce, Only: only}
	})
	allow.Flags().BoolVar(&always, "always", false, "and all like it in its conversation, as weir approvals show tells")
	allow.Flags().IntSliceVar(&only, "only", nil, "of the calls of a script, allow those with these `NUMBERS` and deny the others")
	cmd.AddCommand(
		&cobra.Command{
			Use: "list", Short: "List what waits", Args: argCount(0, 0, "no arguments"),
			RunE: func(cmd *cobra.Command, _ []string) error {
				return c.withDaemon(cmd.Context(), func(cl *session) error { return c.listApprovals(cmd.Context(), cl) })
			},
		},
		&cobra.Command{
			Use: "show ID", Short: "Show a call with all of its arguments", Args: argCount(1, 1, "an id"),
			RunE: func(cmd *cobra.Command, args []string) error {
				return c.withDaemon(cmd.Context(), func(cl *session) error { return c.showApproval(cmd.Context(), cl, args[0]) })
			},
		},
		allow,
		answerCmd(c, "deny ID", "Keep a call from running", func() api.Answer { return api.Answer{Answer: api.AnswerDeny} }),
	)
	return cmd
}

func answerCmd(c *cli, use, short string, answer func() api.Answer) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: argCount(1, 1, "an id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withDaemon(cmd.Context(), func(cl *session) error {
				id, err := cl.Approval(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				var out api.Answered
				if err := cl.Post(cmd.Context(), "/api/approvals/"+url.PathEscape(id), answer(), &out); err != nil {
					return err
				}
				if !c.AsJSON(out) {
					fmt.Fprintln(c.Out, strings.TrimSpace(out.ID+": "+out.Answer+" "+strings.Trim(fmt.Sprint(out.Only), "[]")))
				}
				return nil
			})
		},
	}
}

// withDaemon runs f against the running daemon: only there can anything wait.
func (c *cli) withDaemon(ctx context.Context, f func(*session) error) error {
	cl, p, err := c.find(ctx)
	if err != nil {
		return err
	}
	if cl == nil {
		return usagef("`weir serve` runs one", "no daemon runs with the data folder %s, so that nothing waits", p.Data)
	}
	return f(cl)
}

func (c *cli) listApprovals(ctx context.Context, cl *session) error {
	var out api.ApprovalList
	if err := cl.Get(ctx, "/api/approvals", &out); err != nil {
		return err
	}
	list := out.Approvals
	if c.AsJSON(map[string]any{"approvals": list}) {
		return nil
	}
	if len(list) == 0 {
		c.errf("nothing waits\n")
		return nil
	}
	c.Table("ID\tTOOL\tLEFT\tARGUMENTS", func(w io.Writer) {
		for _, a := range list {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", a.ID, term.Visible(a.Tool, 64), max(0, time.Until(a.Expires)).Round(time.Second), term.Visible(a.Args, 80))
		}
	})
	return nil
}

func (c *cli) showApproval(ctx context.Context, cl *session, given string) error {
	id, err := cl.Approval(ctx, given)
	if err != nil {
		return err
	}
	var a api.Approval
	if err := cl.Get(ctx, "/api/approvals/"+url.PathEscape(id), &a); err != nil {
		return err
	}
	if !c.AsJSON(a) {
		fmt.Fprintln(c.Out, chat.ApprovalCard(c.Printer, a))
	}
	return nil
}

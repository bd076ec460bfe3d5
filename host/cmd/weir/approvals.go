package main

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"slices"
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
	allow := answerCmd(c, "allow ID", "Let a call run", func() string {
		if always {
			return "always"
		}
		return "once"
	})
	allow.Flags().BoolVar(&always, "always", false, "and all like it in its conversation, as `weir approvals show` tells")
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
		answerCmd(c, "deny ID", "Keep a call from running", func() string { return "deny" }),
	)
	return cmd
}

func answerCmd(c *cli, use, short string, answer func() string) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: argCount(1, 1, "an id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withDaemon(cmd.Context(), func(cl *session) error {
				id, err := wholeID(cmd.Context(), cl, args[0])
				if err != nil {
					return err
				}
				var out map[string]string
				if err := cl.Post(cmd.Context(), "/api/approvals/"+url.PathEscape(id), map[string]string{"answer": answer()}, &out); err != nil {
					return err
				}
				if c.JSON {
					c.Print(out)
				} else {
					fmt.Fprintf(c.Out, "%s: %s\n", out["id"], out["answer"])
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

func waiting(ctx context.Context, cl *session) ([]api.Approval, error) {
	var out struct {
		Approvals []api.Approval `json:"approvals"`
	}
	err := cl.Get(ctx, "/api/approvals", &out)
	return out.Approvals, err
}

func (c *cli) listApprovals(ctx context.Context, cl *session) error {
	list, err := waiting(ctx, cl)
	if err != nil {
		return err
	}
	if c.JSON {
		c.Print(map[string]any{"approvals": list})
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
	id, err := wholeID(ctx, cl, given)
	if err != nil {
		return err
	}
	var a api.Approval
	if err := cl.Get(ctx, "/api/approvals/"+url.PathEscape(id), &a); err != nil {
		return err
	}
	if c.JSON {
		c.Print(a)
	} else {
		fmt.Fprintln(c.Out, chat.ApprovalCard(c.Printer, a))
	}
	return nil
}

// leastID is how much of an id must be typed.
const leastID = 4

// wholeID finds what waits by the beginning of its id. An id that is not among
// them is returned as it is: the daemon knows what became of it.
func wholeID(ctx context.Context, cl *session, given string) (string, error) {
	list, err := waiting(ctx, cl)
	if err != nil || len(given) < leastID {
		return given, err
	}
	fits := slices.DeleteFunc(list, func(a api.Approval) bool { return !strings.HasPrefix(a.ID, given) })
	switch len(fits) {
	case 0:
		return given, nil
	case 1:
		return fits[0].ID, nil
	}
	return "", usagef("type more of it", "%d of the calls that wait have an id that begins with %q", len(fits), given)
}

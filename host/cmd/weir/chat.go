package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/client"
	"github.com/weirhost/weir/host/internal/chat"
)

func chatCmd(c *cli) *cobra.Command {
	var o chat.Options
	var noHistory, last bool
	cmd := &cobra.Command{
		Use: "chat", Short: "Talk, question by question", Args: argCount(0, 0, "no arguments"),
		Long: "Talk to the model. /help lists what can be typed beside questions. Ctrl-C stops an answer, twice it\n" +
			"leaves; Ctrl-D leaves. A line that ends in \\ goes on in the next one, \"\"\" begins and ends a text of\n" +
			"several lines, Alt-Enter and a paste keep theirs.\n\n" +
			"What was typed is kept in the data folder, for you alone, and comes back with the arrow keys and Ctrl-R;\n" +
			"not with --no-history or WEIR_NO_HISTORY=1, and not a line that begins with a space.",
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.Ask.Conversation, err = continued(o.Ask.Conversation, last); err != nil {
				return err
			}
			if p, err := c.findPaths(); err == nil && !noHistory && c.Getenv("WEIR_NO_HISTORY") == "" {
				o.History = p.ChatHistory()
			}
			var s *session
			o.Complete = func(p *api.Problem) { c.completeKey(s, p) }
			o.Report = func(err error) int { return c.report(cmd.Context(), err) }
			return chat.Run(cmd.Context(), c.Printer, o, func(ctx context.Context, use func(*client.Client, string) error) error {
				return c.withClient(ctx, func(cl *session) error {
					s = cl
					if err := c.checkPlace(ctx, cl, "", false); err != nil {
						return err
					}
					return use(cl.Client, cl.at.Workspace)
				})
			})
		},
	}
	f := cmd.Flags()
	f.StringVarP(&o.Ask.Model, "model", "m", "", "the `NAME` of a configured model")
	f.StringVar(&o.Ask.Profile, "profile", "", "the `NAME` of an agent profile")
	continueFlags(f, &o.Ask.Conversation, &last)
	f.BoolVar(&o.Think, "think", false, "show what the model thinks as it comes; /think switches it")
	f.BoolVar(&noHistory, "no-history", false, "keep nothing of what is typed")
	return cmd
}

package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirhost/weir/host/daemon/api"
)

func clientCmd(c *cli) *cobra.Command {
	cmd := &cobra.Command{Use: "client", Short: "List and revoke the tokens that were made for client programs"}
	cmd.AddCommand(clientListCmd(c), clientRevokeCmd(c))
	return cmd
}

func clientListCmd(c *cli) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the tokens of client programs", Args: argCount(0, 0, "no arguments"),
		RunE: c.request(func(ctx context.Context, cl *session, _ []string) error {
			var out api.ClientTokens
			if done, err := c.Show(ctx, cl, "/api/client-tokens", &out); done || err != nil {
				return err
			}
			if len(out.Tokens) == 0 {
				c.errf("there are no tokens for clients; `weir mcp install` makes one\n")
				return nil
			}
			c.Table("CLIENT\tTOKEN\tMADE", func(w io.Writer) {
				for _, t := range out.Tokens {
					fmt.Fprintf(w, "%s\t%s\t%s\n", t.Client, t.ID, t.Created.Local().Format(time.DateTime))
				}
			})
			return nil
		}),
	}
}

func clientRevokeCmd(c *cli) *cobra.Command {
	var id string
	cmd := &cobra.Command{
		Use: "revoke NAME", Short: "Revoke the tokens of a client program, at once", Args: argCount(1, 1, "the name of a client"),
		Long:    "Revoke all tokens that were made for a client, or one of them. Its file stays as it is: `weir mcp uninstall`\nalso takes weir out of it.",
		Example: "  weir client revoke opencode",
		RunE: c.request(func(ctx context.Context, cl *session, args []string) error {
			path := "/api/client-tokens/" + url.PathEscape(args[0])
			if id != "" {
				path += "?id=" + url.QueryEscape(id)
			}
			var out api.ClientTokens
			if err := cl.Do(ctx, http.MethodDelete, path, nil, &out); err != nil {
				return err
			}
			if !c.AsJSON(out) {
				c.errf("revoked tokens of %s: %d\n", args[0], len(out.Tokens))
			}
			return nil
		}),
	}
	cmd.Flags().StringVar(&id, "id", "", "only the token with this `ID` of weir client list")
	return cmd
}

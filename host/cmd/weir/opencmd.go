package main

import (
	"os/exec"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/internal/msg"
)

// openCmd opens the page of the running daemon.
func openCmd(c *cli) *cobra.Command {
	return &cobra.Command{
		Use: "open", SuggestFor: []string{"page", "browser", "ui", "web", "login"}, Short: "Open the page in a browser, logged in", Args: argCount(0, 0, "no arguments"),
		Long: "Open the page of the running daemon in the browser, and log the browser in. The address has a code that is good for\n" +
			"one log-in within a minute; the browser then stays logged in for 90 days, or until the token changes. With --json,\n" +
			"the command prints the address and opens nothing.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			cl, p, err := c.find(cmd.Context())
			if err != nil {
				return err
			}
			if cl == nil {
				return usagef("start it with `weir serve`", "no daemon answers with the data folder %s", p.Data)
			}
			var code api.LoginCode
			if err := cl.Post(cmd.Context(), "/api/session/code", struct{}{}, &code); err != nil {
				return err
			}
			address := cl.URL() + "/#code=" + code.Code
			if c.AsJSON(map[string]any{"url": address, "expires_at": code.Expires}) {
				return nil
			}
			name, args := opener(runtime.GOOS)
			if err := exec.CommandContext(cmd.Context(), name, append(args, address)...).Run(); err != nil {
				c.outf("%s\n", address)
				return msg.Usagef("open the address above yourself within a minute", "no browser could be opened")
			}
			c.outf("the page is open in the browser\n")
			return nil
		},
	}
}

// opener returns the program that opens an address in a browser.
func opener(system string) (name string, args []string) {
	switch system {
	case "darwin":
		return "open", nil
	case "windows":
		return "rundll32", []string{"url.dll,FileProtocolHandler"}
	}
	return "xdg-open", nil
}

package main

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/BurntSushi/toml"
	"github.com/spf13/cobra"
)

func (c *cli) configCmd() *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Show and check the configuration"}
	cmd.AddCommand(c.trustCmd(), &cobra.Command{
		Use: "show", Short: "Print the configuration in force, without secrets", Args: argCount(0, 0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			p, err := c.findPaths()
			if err != nil {
				return err
			}
			s, _, err := c.settings(p)
			if err != nil {
				return err
			}
			s = s.withDefaults().withoutSecrets()
			if c.JSON {
				c.Print(map[string]any{"file": p.Config, "settings": s})
				return nil
			}
			var b bytes.Buffer
			enc := toml.NewEncoder(&b)
			enc.Indent = ""
			if err := enc.Encode(s); err != nil {
				return err
			}
			source := p.Config
			if source == "" {
				source = "the defaults; there is no tools.toml"
			}
			c.outf("# from %s\n%s", phrase(source), b.String())
			return nil
		},
	}, &cobra.Command{
		Use: "validate", Short: "Check the configuration and name every fault", Args: argCount(0, 0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			p, err := c.findPaths()
			if err != nil {
				return err
			}
			s, _, faults, err := c.load(p)
			if err != nil {
				return err
			}
			doubts := doubts(s)
			if c.JSON {
				if faults == nil {
					faults = []fault{}
				}
				c.Print(map[string]any{"file": p.Config, "ok": len(faults) == 0, "faults": faults, "warnings": slices.Concat([]fault{}, doubts)})
			}
			for _, f := range doubts {
				c.errf("weir: warning: %s\n", c.faultText(f))
			}
			for _, f := range faults {
				fmt.Fprintln(c.Err, c.faultText(f))
			}
			if len(faults) > 0 {
				return exitError(exitUsage)
			}
			if !c.JSON {
				c.outf("%s is in order\n", p.Config)
			}
			return nil
		},
	})
	return cmd
}

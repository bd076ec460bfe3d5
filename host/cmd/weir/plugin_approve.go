package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/host/plugin"
)

// An approval holds the flags of `weir plugin approve`.
type approval struct {
	all, yes              bool
	paths, hosts, secrets []string
}

func (c *cli) pluginApproveCmd() *cobra.Command {
	var a approval
	cmd := &cobra.Command{
		Use: "approve NAME | --all", Short: "Look at what waits, and let exactly that run", Args: argCount(0, 1, "one plugin, or --all"),
		Long: "Show a plugin that waits, or what a new version changes of the one that serves, and let exactly the bytes that were shown\n" +
			"run once a person says yes. Powers are granted in tools.toml: with --path, --host and --secret they are written there.",
		Example: "  weir plugin approve notes\n  weir plugin approve notes --yes --path /workspace=./docs --host api.example.com --secret API_KEY",
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case a.all == (len(args) == 1):
				return usagef("`weir plugin list` lists the plugins that wait", "name one plugin, or say --all")
			case a.all && len(a.paths)+len(a.hosts)+len(a.secrets) > 0:
				return usagef("approve the plugin alone to grant it something", "--path, --host and --secret are for one plugin")
			}
			return c.withClient(cmd.Context(), func(cl *session) error {
				if a.all {
					return c.approveAll(cmd.Context(), cl, a)
				}
				return c.approve(cmd.Context(), cl, args[0], a)
			})
		},
	}
	f := cmd.Flags()
	f.BoolVar(&a.all, "all", false, "everything that waits for an approval")
	f.BoolVarP(&a.yes, "yes", "y", false, "do not ask: for scripts")
	f.StringArrayVar(&a.paths, "path", nil, "grant a folder: `GUEST=DIR`, read only unless DIR ends with :rw")
	f.StringArrayVar(&a.hosts, "host", nil, "grant a `HOST` that it asks for")
	f.StringArrayVar(&a.secrets, "secret", nil, "grant a secret that it asks for, by `NAME`")
	return cmd
}

// approve shows one plugin, asks, and approves what was shown.
func (c *cli) approve(ctx context.Context, cl *session, name string, a approval) error {
	var r plugin.Review
	if err := cl.Get(ctx, pluginPath(name, ""), &r); err != nil {
		return err
	}
	if r.Pending == nil && (r.Serving == nil || len(a.paths)+len(a.hosts)+len(a.secrets) == 0) {
		return c.nothingToApprove(r)
	}
	digest, v := r.Plugin.Digest, r.Serving
	if r.Pending != nil {
		digest, v = r.Pending.Digest, r.Pending
	}
	wish, err := c.wishes(v, a)
	if err != nil {
		return err
	}
	if !c.JSON {
		c.tellWaiting(r)
	}
	if !a.yes {
		ok, err := c.confirm(fmt.Sprintf("Let %s %s run as shown?", name, v.Version), "look at it with: weir plugin info "+name+"; then add --yes, which approves what lies there at that moment")
		if err != nil || !ok {
			return err
		}
		c.askWishes(name, v, &wish)
	}
	after, err := say(ctx, cl, name, "approve", map[string]string{"digest": digest})
	if err != nil {
		return err
	}
	if !wish.empty() {
		if err := c.writeGrant(cl, name, wish); err != nil {
			return err
		}
		// Said again, so that what was granted is in force and in the lock.
		if after, err = say(ctx, cl, name, "approve", map[string]string{"digest": digest}); err != nil {
			return err
		}
	}
	if c.JSON {
		c.Print(after)
	} else {
		c.tellApproved(after)
	}
	return c.compile(ctx, cl, name)
}

// compile compiles what was approved, so that no call has to wait for it. A
// daemon compiles automatically. A plugin that cannot be compiled stays approved.
func (c *cli) compile(ctx context.Context, cl *session, names ...string) error {
	if cl.warm == nil {
		return nil
	}
	cl.warm(ctx, c.tellCompiled, names...)
	return ctx.Err()
}

func (c *cli) tellCompiled(name string, took time.Duration, err error) {
	if err != nil {
		c.errf("      %-24s could not be compiled: %v\n", name, err)
		return
	}
	c.errf("      %-24s compiled in %.1f s\n", name, took.Seconds())
}

func (c *cli) nothingToApprove(r plugin.Review) error {
	if c.JSON {
		c.Print(r)
		return nil
	}
	p := r.Plugin
	switch {
	case p.State == plugin.Invalid:
		return usagef(p.Fix.String(), "%s cannot be approved: %s", p.Name, term.Plain(p.Why.String()))
	case p.Pending != nil:
		return usagef(p.Pending.Fix.String(), "what lies in the folder of %s cannot be approved: %s", p.Name, term.Plain(p.Pending.Why.String()))
	}
	c.outf("nothing of %s waits for an approval\n", p.Name)
	c.tellState(r)
	return nil
}

// tellApproved says what came of an approval.
func (c *cli) tellApproved(r plugin.Review) {
	c.outf("approved %s %s (%s)\n", r.Plugin.Name, r.Plugin.Version, short(r.Plugin.Digest))
	c.tellState(r)
	if r.Serving == nil || r.Plugin.State != plugin.Pending || len(r.Serving.SuggestedEdits) == 0 {
		return
	}
	c.outf("\nIt asks for more than it is granted. In tools.toml it would read:\n\n[grants.%s]\n", r.Plugin.Name)
	for _, key := range []string{"paths", "hosts", "secrets"} {
		if list := r.Serving.SuggestedEdits[key]; len(list) > 0 {
			fmt.Fprintf(c.Out, "%s = [%s]\n", key, strings.Join(list, ", "))
		}
	}
}

// approveAll shows a summary of everything that waits, asks once, and approves
// each as it was shown.
func (c *cli) approveAll(ctx context.Context, cl *session, a approval) error {
	var list struct{ Plugins []plugin.Info }
	if err := cl.Get(ctx, "/api/plugins", &list); err != nil {
		return err
	}
	var waiting []plugin.Review
	for _, p := range list.Plugins {
		if p.Pending == nil || p.Pending.Digest == "" {
			continue
		}
		var r plugin.Review
		if err := cl.Get(ctx, pluginPath(p.Name, ""), &r); err != nil {
			return err
		}
		if r.Pending != nil {
			waiting = append(waiting, r)
		}
	}
	if len(waiting) == 0 {
		if c.JSON {
			c.Print(map[string]any{"approved": []plugin.Info{}})
			return nil
		}
		c.outf("nothing waits for an approval\n")
		return nil
	}
	if !c.JSON {
		for _, r := range waiting {
			c.tellBrief(r)
		}
	}
	if !a.yes {
		ok, err := c.confirm(fmt.Sprintf("Let all %d run as shown?", len(waiting)), "look at each with: weir plugin info NAME; then add --yes")
		if err != nil || !ok {
			return err
		}
	}
	approved := []plugin.Info{}
	for _, r := range waiting {
		after, err := say(ctx, cl, r.Plugin.Name, "approve", map[string]string{"digest": r.Pending.Digest})
		if err != nil {
			return err
		}
		approved = append(approved, after.Plugin)
		if !c.JSON {
			c.tellApproved(after)
		}
	}
	if c.JSON {
		c.Print(map[string]any{"approved": approved})
	}
	if len(approved) == 0 {
		return nil
	}
	var names []string
	for _, p := range approved {
		names = append(names, p.Name)
	}
	return c.compile(ctx, cl, names...)
}

// asksFor reports whether a version asks for something of that kind and name.
func asksFor(v *plugin.Version, kind string, fits func(what string) bool) bool {
	return slices.ContainsFunc(v.Asks, func(a plugin.Ask) bool { return a.Kind == kind && fits(a.What) })
}

func asked(v *plugin.Version, kind string) string {
	var out []string
	for _, a := range v.Asks {
		if a.Kind == kind {
			out = append(out, a.What)
		}
	}
	if len(out) == 0 {
		return "it asks for none"
	}
	return "it asks for " + strings.Join(out, ", ")
}

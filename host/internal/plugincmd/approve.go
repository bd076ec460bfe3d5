package plugincmd

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// An Approval says what is approved and granted.
type Approval struct {
	All, Yes              bool // everything that is pending; without a question
	Paths, Hosts, Secrets []string
}

// Grants reports whether the approval grants a power too.
func (a Approval) Grants() bool { return len(a.Paths)+len(a.Hosts)+len(a.Secrets) > 0 }

// Approve shows one plugin, asks, and approves what was shown.
func (c *Commands) Approve(ctx context.Context, d Daemon, name string, a Approval) error {
	var r plugin.Review
	if err := d.Get(ctx, Path(name, ""), &r); err != nil {
		return err
	}
	if r.Pending == nil && (r.Serving == nil || !a.Grants()) {
		return c.nothingToApprove(r)
	}
	digest, v := r.Plugin.Digest, r.Serving
	if r.Pending != nil {
		digest, v = r.Pending.Digest, r.Pending
	}
	request, err := c.requestedGrants(v, r.Plugin.ABI != "", a)
	if err != nil {
		return err
	}
	fresh := func(ask plugin.Ask) bool { return !ask.Granted && request.gives(ask) }
	if r.Pending == nil && len(a.Paths) == 0 && !slices.ContainsFunc(r.Serving.Asks, fresh) && r.Plugin.ABI == "" {
		return c.nothingToApprove(r)
	}
	if !c.JSON {
		c.showPending(r, request)
	}
	if !a.Yes {
		ok, err := c.Confirm(tool.Textf("Let %s %s run as shown?", name, v.Version), "look at it with: weir plugin info "+name+"; then add --yes, which approves what lies there at that moment")
		if err != nil || !ok {
			return err
		}
		c.askGrants(v, &request)
	}
	after, err := Decide(ctx, d, name, "approve", map[string]string{"digest": digest})
	if err != nil {
		return err
	}
	if !request.empty() {
		if err := c.writeGrant(d, name, request); err != nil {
			return err
		}
		// Said again, so that what was granted is in force and in the lock.
		if after, err = Decide(ctx, d, name, "approve", map[string]string{"digest": digest}); err != nil {
			return err
		}
	}
	if !c.AsJSON(after) {
		c.showApproved(after)
	}
	return c.compile(ctx, d, name)
}

// compile compiles the approved plugins before their first call. A running daemon
// does it automatically. A plugin that fails to compile stays approved.
func (c *Commands) compile(ctx context.Context, d Daemon, names ...string) error {
	if d.Warm == nil {
		return nil
	}
	d.Warm(ctx, c.ShowCompiled, names...)
	return ctx.Err()
}

// ShowCompiled prints how long compiling a plugin took, or why it failed.
func (c *Commands) ShowCompiled(name string, took time.Duration, err error) {
	if err != nil {
		c.Errf("      %-24s could not be compiled: %v\n", name, err)
		return
	}
	c.Errf("      %-24s compiled in %.1f s\n", name, took.Seconds())
}

func (c *Commands) nothingToApprove(r plugin.Review) error {
	if c.AsJSON(r) {
		return nil
	}
	p := r.Plugin
	switch {
	case p.State == plugin.Invalid:
		return msg.Usagef(p.Fix.String(), "%s cannot be approved: %s", p.Name, term.Plain(p.Why.String()))
	case p.Pending != nil:
		return msg.Usagef(p.Pending.Fix.String(), "what lies in the folder of %s cannot be approved: %s", p.Name, term.Plain(p.Pending.Why.String()))
	}
	c.Outf("nothing of %s waits for an approval\n", p.Name)
	c.ShowState(r)
	return nil
}

// showApproved prints the plugin after its approval, and the grants that are missing.
func (c *Commands) showApproved(r plugin.Review) {
	c.Outf("approved %s %s (%s)\n", r.Plugin.Name, r.Plugin.Version, Short(r.Plugin.Digest))
	c.ShowState(r)
	if r.Serving == nil || r.Plugin.State != plugin.Pending || len(r.Serving.SuggestedEdits) == 0 {
		return
	}
	flags := ""
	for _, of := range [][2]string{{"paths", " --path GUEST=DIR"}, {"hosts", " --host HOST"}, {"secrets", " --secret NAME"}} {
		if len(r.Serving.SuggestedEdits[of[0]]) > 0 {
			flags += of[1]
		}
	}
	c.Outf("  → or let this command write it: weir plugin approve %s%s\n", r.Plugin.Name, flags)
}

// ApproveAll shows a summary of everything that waits, asks once, and approves
// each as it was shown.
func (c *Commands) ApproveAll(ctx context.Context, d Daemon, a Approval) error {
	var list struct{ Plugins []plugin.Info }
	if err := d.Get(ctx, "/api/plugins", &list); err != nil {
		return err
	}
	var waiting []plugin.Review
	for _, p := range list.Plugins {
		if p.Pending == nil || p.Pending.Digest == "" {
			continue
		}
		var r plugin.Review
		if err := d.Get(ctx, Path(p.Name, ""), &r); err != nil {
			return err
		}
		if r.Pending != nil {
			waiting = append(waiting, r)
		}
	}
	if len(waiting) == 0 {
		if c.AsJSON(map[string]any{"approved": []plugin.Info{}}) {
			return nil
		}
		c.Outf("nothing waits for an approval\n")
		return nil
	}
	if !c.JSON {
		for _, r := range waiting {
			c.showBrief(r)
		}
	}
	if !a.Yes {
		ok, err := c.Confirm(tool.Textf("Let all %d run as shown?", len(waiting)), "look at each with: weir plugin info NAME; then add --yes")
		if err != nil || !ok {
			return err
		}
	}
	approved := []plugin.Info{}
	for _, r := range waiting {
		after, err := Decide(ctx, d, r.Plugin.Name, "approve", map[string]string{"digest": r.Pending.Digest})
		if err != nil {
			return err
		}
		approved = append(approved, after.Plugin)
		if !c.JSON {
			c.showApproved(after)
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
	return c.compile(ctx, d, names...)
}

// asksFor reports whether a version asks for something of that kind and name.
func asksFor(v *plugin.Version, kind string, fits func(what string) bool) bool {
	return slices.ContainsFunc(v.Asks, func(a plugin.Ask) bool { return a.Kind == kind && fits(a.What) })
}

func askHint(v *plugin.Version, kind string) string {
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

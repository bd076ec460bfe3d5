package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/weirhost/weir/host/daemon"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/internal/config"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/term"
)

func userRemoveCmd(c *cli) *cobra.Command {
	var purge bool
	cmd := &cobra.Command{
		Use: "remove NAME", Short: "Take a user out", Args: argCount(1, 1, "the name of a user"),
		Long: "Take a user out of tools.toml: their token opens nothing any more, at once where a daemon runs. Answers that\n" +
			"are being given end. Their conversations and archives stay on the disk, where no user can read them, until\n" +
			"retention prunes them or a user of that name is added and deletes them. With --purge they are deleted at once,\n" +
			"with what was counted for their quotas, also of a user who was taken out before; a backup keeps what it holds.",
		RunE: func(cmd *cobra.Command, args []string) error { return c.removeUser(cmd.Context(), args[0], purge) },
	}
	cmd.Flags().BoolVar(&purge, "purge", false, "delete their conversations, archives and counts too, for good")
	return cmd
}

// errNoUser says that the configuration has no such user.
var errNoUser = msg.Errorf("no such user")

// A removedUser is what the command prints as JSON. It always contains what the user
// has left.
type removedUser struct {
	Removed string        `json:"removed"`
	Config  string        `json:"config,omitempty"`
	InForce bool          `json:"in_force"`
	Left    *api.UserData `json:"left,omitempty"`
	Deleted *api.UserData `json:"deleted,omitempty"`
}

func (c *cli) removeUser(ctx context.Context, name string, purge bool) error {
	if err := daemon.CheckUserName(name); err != nil && purge {
		return usagef("`weir conversation delete` deletes your own", "%s", err)
	}
	out := removedUser{Removed: name}
	file, err := c.editUsers(ctx, func(before config.Settings, text string) (string, error) {
		if _, ok := before.Users[name]; !ok {
			return "", errNoUser
		}
		return config.WithoutTables(text, "users."+name), nil
	}, func(after config.Settings) bool { _, ok := after.Users[name]; return !ok })
	gone := errors.Is(err, errNoUser)
	switch {
	case gone && !purge:
		return noUser(name)
	case gone:
	case err != nil:
		return err
	default:
		out.Config = file
		if out.InForce, err = c.reloadAfter(ctx); err != nil {
			return err
		}
		if !c.JSON {
			c.errf("%s is no user any more\n", name)
		}
	}
	err = c.withClient(ctx, func(cl *session) error { return c.leftBy(ctx, cl, &out, purge, gone) })
	if c.JSON && !gone {
		c.Print(out)
	}
	return err
}

// leftBy deletes or counts what somebody leaves. Of a name that was gone already
// something must be there.
func (c *cli) leftBy(ctx context.Context, cl *session, out *removedUser, purge, gone bool) error {
	path := "/api/users/" + url.PathEscape(out.Removed) + "/data"
	var left api.UserData
	if err := cl.Get(ctx, path, &left); err != nil {
		return err
	}
	nothing := left.Conversations+left.Calls+left.Archives+left.Days == 0
	switch {
	case gone && nothing:
		return noUser(out.Removed)
	case !purge:
		out.Left = &left
		if !nothing && !c.JSON {
			c.errf("%s stay on the disk; `weir user remove %s --purge` deletes them\n", textOf(belongings(left)), term.Plain(out.Removed))
		}
		return nil
	}
	if err := cl.Do(ctx, http.MethodDelete, path, nil, &left); err != nil {
		return err
	}
	out.Deleted = &left
	if !c.JSON {
		c.errf("deleted %s\n", textOf(belongings(left)))
	} else if gone {
		c.Print(out)
	}
	return nil
}

func noUser(name string) error {
	return usagef("`weir user list` lists them", "there is no user %q", name)
}

func belongings(d api.UserData) string {
	return fmt.Sprintf("%d conversations, %d calls, %d archived results of %d bytes and the counts of %d days", d.Conversations, d.Calls, d.Archives, d.ArchiveBytes, d.Days)
}

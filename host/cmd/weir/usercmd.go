package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirhost/weir/host/daemon"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/usage"
	"github.com/weirhost/weir/host/internal/config"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/term"
)

func userCmd(c *cli) *cobra.Command {
	cmd := &cobra.Command{Use: "user", Short: "Let others in by tokens of their own, and see what they take"}
	cmd.AddCommand(userAddCmd(c), userListCmd(c), userRemoveCmd(c), userUsageCmd(c))
	return cmd
}

func userAddCmd(c *cli) *cobra.Command {
	var u config.UserSettings
	var bytes string
	cmd := &cobra.Command{
		Use: "add NAME", Short: "Make a user and print their token, once", Args: argCount(1, 1, "the name of the user"),
		Long: "Make a user and print their token, once: tools.toml gets its digest alone. A running daemon lets them in at\n" +
			"once. Without flags they may use every profile, model and tool, with no quota. Of each quota 0 means no bound\n" +
			"and negative that nothing is allowed.",
		Example: "  weir user add ann --requests-per-minute 30 --tokens-per-day 200000 --tools grep_search,read_file",
		RunE: func(cmd *cobra.Command, args []string) error {
			if bytes != "" {
				if err := u.Quota.ArchiveBytes.UnmarshalText([]byte(bytes)); err != nil {
					return usagef(`write for example 200MiB`, "--archive-bytes %s: %s", bytes, err)
				}
			}
			return c.addUser(cmd.Context(), args[0], u)
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&u.Profiles, "profiles", nil, "only these agent profiles, `A,B`; the first is theirs by default")
	f.StringSliceVar(&u.Models, "models", nil, "only these models, `A,B`")
	f.StringSliceVar(&u.Tools, "tools", nil, "only these tools, `A,B`")
	f.StringSliceVar(&u.DenyTools, "deny-tools", nil, "never these tools, `A,B`")
	f.StringVar(&u.Locale, "locale", "", "auto, en or zh")
	f.IntVar(&u.Quota.PerMinute, "requests-per-minute", 0, "at most `N` requests in any minute")
	f.IntVar(&u.Quota.Concurrent, "concurrent-turns", 0, "at most `N` at once")
	f.Int64Var(&u.Quota.TokensPerDay, "tokens-per-day", 0, "at most `N` tokens from midnight to midnight")
	f.Float64Var(&u.Quota.CostPerDay, "cost-per-day", 0, "at most so much `MONEY`, by the models' prices")
	f.StringVar(&u.Quota.Currency, "currency", "", c.helpf("of --cost-per-day (default: %s)", config.DefaultCurrency))
	f.StringVar(&bytes, "archive-bytes", "", "at most so much `SIZE` of archived results, for example 200MiB")
	return cmd
}

// madeToken returns a random token. Its prefix identifies it for people and for
// programs that look for secrets.
func madeToken() string {
	var raw [32]byte
	_, _ = rand.Read(raw[:]) // never fails: it ends the process instead
	return "weir_" + base64.RawURLEncoding.EncodeToString(raw[:])
}

func (c *cli) addUser(ctx context.Context, name string, u config.UserSettings) error {
	if err := daemon.CheckUserName(name); err != nil {
		return usagef("give another name", "%s", err)
	}
	token := madeToken()
	sum := sha256.Sum256([]byte(token))
	u.TokenSHA256 = hex.EncodeToString(sum[:])
	file, err := c.editUsers(ctx, func(before config.Settings, text string) (string, error) {
		if _, ok := before.Users[name]; ok {
			return "", usagef("`weir user remove "+name+"` takes them out first", "there is a user %s already", name)
		}
		return strings.TrimRight(text, "\n") + "\n\n" + config.UserTable(name, u), nil
	}, func(after config.Settings) bool { return after.Users[name].TokenSHA256 == u.TokenSHA256 })
	if err != nil {
		return err
	}
	inForce, err := c.reloadAfter(ctx)
	if c.AsJSON(map[string]any{"user": name, "token": token, "config": file, "in_force": inForce}) {
		return err
	}
	fmt.Fprintln(c.Out, token)
	c.errf("%s comes in with this token; it is shown this once and stored nowhere (%s has its digest)\n", name, file)
	return err
}

// editUsers changes the configuration's text and writes it when it means what it
// should. It returns the file.
func (c *cli) editUsers(ctx context.Context, change func(before config.Settings, text string) (string, error), meant func(after config.Settings) bool) (string, error) {
	_, p, err := c.find(ctx)
	if err != nil {
		return "", err
	}
	file, text, err := c.source().ReadForEdit(p.Config)
	if err != nil {
		return "", err
	}
	before, faults := config.Parse(file, text)
	if len(faults) > 0 {
		return "", usagef("correct it first: `weir config validate`", "%v", faults[0].Text())
	}
	after, err := change(before, text)
	if err != nil {
		return "", err
	}
	got, faults := config.Parse(file, after)
	switch {
	case len(faults) > 0:
		return "", usagef("check the flags", "%v", config.Fault{Msg: faults[0].Msg, Hint: faults[0].Hint}.Text())
	case !meant(got):
		return "", usagef("change [users] in it yourself", "%s is written in a way that this command cannot edit", file)
	}
	if err := config.WriteFile(file, after); err != nil {
		return "", msg.Errorf("the configuration could not be written: %w", err)
	}
	return file, nil
}

func orEmpty(before, s, after string) string {
	if s == "" {
		return ""
	}
	return before + s + after
}

// reloadAfter lets a running daemon read the configuration again, and says
// whether one did.
func (c *cli) reloadAfter(ctx context.Context) (bool, error) {
	cl, p, err := c.find(ctx)
	if cl == nil || err != nil || cl.at.Config != "" && cl.at.Config != p.Config {
		return false, err
	}
	var out daemon.ReloadReport
	if err := cl.Post(ctx, "/api/reload", struct{}{}, &out); err != nil {
		return false, msg.Errorf("it is written, and the running daemon could not read it again: %w", err)
	}
	return true, nil
}

func userListCmd(c *cli) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the users with what they may and what they took today", Args: argCount(0, 0, "no arguments"),
		RunE: c.request(func(ctx context.Context, cl *session, _ []string) error {
			var out api.UserList
			if done, err := c.Show(ctx, cl, "/api/users", &out); done || err != nil {
				return err
			}
			if len(out.Users) == 0 {
				c.errf("there are no users beside you; `weir user add NAME` makes one\n")
				return nil
			}
			c.Table("USER\tTOKEN\tPROFILES\tMODELS\tTOOLS\tREQUESTS TODAY\tTOKENS TODAY\tQUOTAS", func(w io.Writer) {
				for _, u := range out.Users {
					var today api.UsedDay
					if len(u.Usage.Days) > 0 {
						today = u.Usage.Days[0]
					}
					has := c.Sprintf("set")
					if !u.Token {
						has = c.Sprintf("none")
					}
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d\t%d\t%s\n", u.Name, has, c.orAll(u.Profiles), c.orAll(u.Models), c.orAll(u.Tools),
						today.Requests, today.Prompt+today.Completion, quotasText(u.Usage.Quotas))
				}
			})
			return nil
		}),
	}
}

func (c *cli) orAll(names []string) string {
	if names == nil {
		return c.Sprintf("all")
	}
	return term.OrDash(strings.Join(names, ","))
}

func quotasText(list []api.QuotaState) string {
	var out []string
	for _, q := range list {
		out = append(out, q.Name+" "+usage.Amount(q.Used)+"/"+usage.Amount(q.Limit))
	}
	return term.OrDash(strings.Join(out, ", "))
}

func userUsageCmd(c *cli) *cobra.Command {
	var days int
	cmd := &cobra.Command{
		Use: "usage [NAME]", Short: "Show what a user took, day by day, and how much of their quotas is used", Args: argCount(0, 1, "the name of a user, or nothing for yourself"),
		RunE: func(cmd *cobra.Command, args []string) error {
			path := "/api/usage?days=" + strconv.Itoa(days)
			if len(args) > 0 {
				path += "&user=" + url.PathEscape(args[0])
			}
			return c.withClient(cmd.Context(), func(cl *session) error {
				var u api.Usage
				if done, err := c.Show(cmd.Context(), cl, path, &u); done || err != nil {
					return err
				}
				c.tellUsage(u)
				return nil
			})
		},
	}
	cmd.Flags().IntVar(&days, "days", 7, "of the last `N` days")
	return cmd
}

func (c *cli) tellUsage(u api.Usage) {
	c.outf("%s: %d running\n", term.Plain(u.User), u.Running)
	if len(u.Quotas) > 0 {
		c.Table("QUOTA\tUSED\tLIMIT\tFREE AGAIN", func(w io.Writer) {
			for _, q := range u.Quotas {
				free := c.Sprintf("now")
				switch {
				case q.Limit < 0:
					free = c.Sprintf("never")
				case q.Used >= q.Limit && q.Free != nil:
					free = q.Free.Local().Format(time.DateTime)
				case q.Used >= q.Limit:
					free = "-"
				}
				unit := orEmpty(" ", q.Unit, "")
				fmt.Fprintf(w, "%s\t%s%s\t%s%s\t%s\n", q.Name, usage.Amount(q.Used), unit, usage.Amount(q.Limit), unit, free)
			}
		})
	}
	if len(u.Days) == 0 {
		c.outf("nothing was used in these days\n")
		return
	}
	c.Table("DAY\tREQUESTS\tREFUSED\tPROMPT\tCOMPLETION\tCOST", func(w io.Writer) {
		for _, d := range u.Days {
			fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%s\n", d.Day, d.Requests, d.Refused, d.Prompt, d.Completion, costText(d.Cost))
		}
	})
}

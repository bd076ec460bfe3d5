package daemon

import (
	"maps"
	"net/http"
	"slices"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/daemon/access"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/httpjson"
	"github.com/weirhost/weir/host/daemon/openapi"
	"github.com/weirhost/weir/host/daemon/params"
	"github.com/weirhost/weir/host/daemon/setup"
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/host/daemon/usage"
)

// users has the routes of users and of what they take.
type users struct {
	host    *host.Host
	store   *store.Store
	current *setup.Current
	meter   *usage.Meter
	calls   *usage.CallLog
	log     hclog.Logger
}

func (u *users) routes() []openapi.Route {
	return []openapi.Route{
		{
			Method: "GET", Path: "/api/usage",
			Auth: openapi.Token, Handle: u.showUsage,
			About: "What you took, day by day, and how much of your quotas is used",
			Query: []openapi.Param{params.Query("days", "integer", "so many days; left out: 7"), params.Query("user", "string", "somebody else, for the operator")},
			Gives: api.Usage{},
			Fails: []int{400, 404},
		},
		{
			Method: "GET", Path: "/api/users",
			Auth: openapi.Operator, Handle: u.listUsers,
			About: "List the users with what they may and what they took today",
			Gives: api.UserList{},
		},
		{
			Method: "GET", Path: "/api/users/{name}/data",
			Auth: openapi.Operator, Handle: u.showUserData,
			About: "Sum up what is stored of somebody, also of who is no user any more",
			Gives: api.UserData{},
		},
		{
			Method: "DELETE", Path: "/api/users/{name}/data",
			Auth: openapi.Operator, Handle: u.purgeUser,
			About: "Delete everything of somebody who is no user any more",
			Gives: api.UserData{},
			Fails: []int{409},
		},
	}
}

// The days of a Usage: by default, and at most.
const (
	usualDays = 7
	mostDays  = 400
)

// showUsage tells users what they took, and the operator what anybody did.
func (u *users) showUsage(w http.ResponseWriter, r *http.Request) error {
	days, err := params.Int(r, "days", usualDays)
	if err != nil {
		return err
	}
	who := access.Principal(r)
	if other := r.URL.Query().Get("user"); other != "" && other != who {
		_, there := u.current.State().Users[other]
		if who != u.current.Operator() || !there {
			return api.Problemf(http.StatusNotFound, "not_found", "leave it out to see what you took yourself", "there is no user %q here", api.Clip(other, 80))
		}
		who = other
	}
	out, err := u.usageOf(r, who, min(max(days, 1), mostDays))
	return httpjson.AnswerOr(w, out, err)
}

func (u *users) usageOf(r *http.Request, who string, days int) (api.Usage, error) {
	used, err := u.meter.Report(r.Context(), u.current.Account(who, ""), days)
	out := api.Usage{User: who, Quotas: append([]api.QuotaState{}, used.Quotas...), Running: used.Running, Days: []api.UsedDay{}}
	for _, u := range used.Days {
		out.Days = append(out.Days, api.UsedDay{Day: u.Day, Requests: u.Requests, Refused: u.Refused, Prompt: u.Prompt, Completion: u.Completion, Cost: u.Costs})
	}
	return out, err
}

func (u *users) listUsers(w http.ResponseWriter, r *http.Request) error {
	out := api.UserList{Users: []api.UserRow{}}
	set := u.current.State()
	for _, name := range slices.Sorted(maps.Keys(set.Users)) {
		user := set.Users[name]
		used, err := u.usageOf(r, name, 1)
		if err != nil {
			return err
		}
		out.Users = append(out.Users, api.UserRow{Name: name, Token: user.TokenSHA256 != [32]byte{}, Profiles: user.Profiles, Models: user.Models, Tools: user.Tools, Deny: user.Deny, Locale: user.Locale, Usage: used})
	}
	return httpjson.Answer(w, out)
}

func (u *users) showUserData(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("name")
	u.calls.Flush()
	u.meter.Flush() // whose counts are among it
	b, err := u.store.Inventory(r.Context(), name)
	return httpjson.AnswerOr(w, api.UserDataOf(name, b), err)
}

// purgeUser deletes everything of somebody whom no token lets in any more:
// nothing new of theirs can begin, and what runs must have ended.
func (u *users) purgeUser(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("name")
	_, there := u.current.State().Users[name]
	switch {
	case name == u.current.Operator():
		return api.Problemf(http.StatusConflict, "operators_own", "delete conversations one by one: `weir conversation delete`", "what belongs to %s is the operator's own", api.Clip(name, 80))
	case there:
		return api.Problemf(http.StatusConflict, "still_user", "take them out first: `weir user remove "+api.Clip(name, 80)+"`", "%s is still a user", api.Clip(name, 80))
	case u.meter.Running(name) > 0:
		return api.Problemf(http.StatusConflict, api.CodeBusy, "try again when it has ended", "something of %s still runs", api.Clip(name, 80))
	}
	u.calls.Flush()
	u.meter.Forget(name)
	b, err := u.store.Purge(r.Context(), name)
	if err != nil {
		return err
	}
	u.host.ForgetAll(host.Principal(name))
	u.log.Info("everything of a user was deleted", "user", name, "conversations", b.Conversations, "archives", b.Archives)
	return httpjson.Answer(w, api.UserDataOf(name, b))
}

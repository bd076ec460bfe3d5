// Package plugins has the routes on which a person decides about plugins.
package plugins

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/httpjson"
	"github.com/weirhost/weir/host/daemon/openapi"
	"github.com/weirhost/weir/host/daemon/params"
	"github.com/weirhost/weir/host/daemon/turns"
	"github.com/weirhost/weir/host/internal/grant"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/plugin"
)

// Plugins has the routes. What is said here about plugins is a person's word. It takes the token, which
// no tool and no model has, and no tool of weir's own speaks to these routes.
type Plugins struct {
	Host      *host.Host
	Admission *turns.Admission
	Log       hclog.Logger
	Book      *Logbook // what the log has of plugins; nil: nothing
	// Read reads the grants again; nil: they cannot change. Add adds to those of a
	// plugin, as Config.Grant does; nil: no approval grants anything.
	Read func() (map[string]plugin.Grant, error)
	Add  func(name string, add plugin.Grant) (undo func() error, err error)
}

// Routes returns the routes.
func (p *Plugins) Routes() []openapi.Route {
	return []openapi.Route{
		{
			Method: "GET", Path: "/api/plugins",
			Auth: openapi.Operator, Handle: p.listPlugins,
			About: "List the plugins with their states",
			Gives: api.PluginList{},
		},
		{
			Method: "POST", Path: "/api/plugins/reload",
			Auth: openapi.Operator, Handle: p.Admission.Whole(p.reloadPlugins),
			About: "Read the plugin folders and the grants again",
			Gives: api.Reloaded{},
			Fails: []int{409, 503},
		},
		{
			Method: "GET", Path: "/api/plugins/{name}",
			Auth: openapi.Operator, Handle: p.reviewPlugin,
			About: "Everything about a plugin, and what waits",
			Gives: plugin.Review{},
			Fails: []int{404},
		},
		{
			Method: "GET", Path: "/api/plugins/{name}/log",
			Auth: openapi.Operator, Handle: p.showLog,
			About: "The last lines of the log that are of a plugin",
			Gives: api.PluginLog{},
			Fails: []int{404},
		},
		{
			Method: "POST", Path: "/api/plugins/{name}/approve",
			Auth: openapi.Operator, Handle: p.Admission.Whole(p.approvePlugin),
			About: "Let in exactly the version that was looked at",
			Takes: api.Verdict{},
			Bare:  true,
			Gives: plugin.Review{},
			Fails: []int{404, 409, 422, 503},
		},
		{
			Method: "POST", Path: "/api/plugins/{name}/rollback",
			Auth: openapi.Operator, Handle: p.Admission.Whole(p.rollbackPlugin),
			About: "Go back to an earlier version",
			Takes: api.Verdict{},
			Bare:  true,
			Gives: plugin.Review{},
			Fails: []int{404, 409, 422, 503},
		},
		{
			Method: "POST", Path: "/api/plugins/{name}/disable",
			Auth: openapi.Operator, Handle: p.Admission.Whole(p.disablePlugin),
			About: "Take a plugin out",
			Takes: api.Verdict{},
			Bare:  true,
			Gives: plugin.Review{},
			Fails: []int{404, 409, 503},
		},
		{
			Method: "POST", Path: "/api/plugins/{name}/enable",
			Auth: openapi.Operator, Handle: p.Admission.Whole(p.enablePlugin),
			About: "Take a plugin in again",
			Takes: api.Verdict{},
			Bare:  true,
			Gives: plugin.Review{},
			Fails: []int{404, 409, 503},
		},
		{
			Method: "DELETE", Path: "/api/plugins/{name}",
			Auth: openapi.Operator, Handle: p.Admission.Whole(p.removePlugin),
			About: "Forget a plugin",
			Query: []openapi.Param{params.Query("files", "string", "remove: its files too; keep or left out: not")},
			Gives: plugin.Removal{},
			Fails: []int{400, 404, 409, 503},
		},
		{
			Method: "POST", Path: "/api/plugins/{name}/retry",
			Auth: openapi.Operator, Handle: p.retryPlugin,
			About: "Take a plugin out of quarantine",
			Gives: api.Retried{},
			Fails: []int{404},
		},
		{
			Method: "POST", Path: "/api/plugins/{name}/restart",
			Auth: openapi.Operator, Handle: p.restartServer,
			About: "Start an MCP server again, and wait until it has answered or failed",
			Gives: plugin.Info{},
			Fails: []int{404},
		},
	}
}

func (p *Plugins) listPlugins(w http.ResponseWriter, r *http.Request) error {
	plugins := p.Host.Plugins()
	if plugins == nil {
		plugins = []plugin.Info{}
	}
	return httpjson.Answer(w, msg.Localize(params.Language(r), api.PluginList{Plugins: plugins}))
}

func (p *Plugins) reviewPlugin(w http.ResponseWriter, r *http.Request) error {
	return p.answerReview(w, r, nil)
}

func (p *Plugins) approvePlugin(w http.ResponseWriter, r *http.Request) error {
	body, err := readVerdict(w, r)
	if err != nil {
		return err
	}
	if body.Digest == "" {
		return api.Problemf(http.StatusBadRequest, api.CodeBadBody, "send the digest of the version that was looked at: GET /api/plugins/NAME shows it", "the digest is missing")
	}
	return p.answerReview(w, r, p.approve(r.Context(), r.PathValue("name"), body))
}

// approve grants and approves, or does neither.
func (p *Plugins) approve(ctx context.Context, name string, body api.Verdict) error {
	undo, err := p.grantPowers(ctx, name, body)
	if err != nil {
		return err
	}
	if err = p.readGrants(ctx); err == nil {
		err = p.keepsServing(ctx, name, body)
	}
	if err == nil {
		err = p.Host.Approve(ctx, name, body.Digest, body.By)
	}
	if err != nil && undo != nil {
		return errors.Join(err, undo(), p.readGrants(ctx))
	}
	return err
}

// readGrants puts the grants of the configuration in force.
func (p *Plugins) readGrants(ctx context.Context) error {
	grants := p.grants("correct the file and approve again")
	if grants == nil {
		return nil
	}
	_, err := p.Host.Reload(ctx, host.ReloadOptions{Grants: grants})
	return err
}

// grantPowers writes what an approval grants into the configuration. undo takes it back;
// nil: nothing was written.
func (p *Plugins) grantPowers(ctx context.Context, name string, body api.Verdict) (undo func() error, err error) {
	if len(body.Grants) == 0 || p.Add == nil {
		return nil, nil
	}
	review, err := p.Host.Review(ctx, name)
	if err != nil {
		return nil, err
	}
	v := cmp.Or(review.Pending, review.Serving)
	if v == nil || v.Digest != body.Digest {
		return nil, nil // Approve refuses it
	}
	var g plugin.Grant
	for _, power := range body.Grants {
		if !slices.ContainsFunc(v.Asks, func(a plugin.Ask) bool { return a.Kind == power.Kind && a.What == power.What }) {
			return nil, api.Problemf(http.StatusBadRequest, api.CodeBadBody, "GET /api/plugins/NAME lists what it asks for", "it does not ask for %q", api.Clip(power.Kind+" "+power.What, 80))
		}
		what, mode, _ := strings.Cut(power.What, " ")
		switch power.Kind {
		case "path":
			g.Paths = append(g.Paths, plugin.PathGrant{Guest: what, Host: power.Folder, Mode: strings.Trim(mode, "()")})
		case "host":
			if power.Only != "" {
				if part, err := grant.IsPart(power.Only, what); err != nil {
					return nil, api.Problemf(http.StatusBadRequest, api.CodeBadBody, "write a host, such as api.example.com", "%s", err)
				} else if !part {
					return nil, api.Problemf(http.StatusBadRequest, api.CodeBadBody, "write a host that the plugin asks for, or leave it as it is", "%q is not a part of %q", api.Clip(power.Only, 80), what)
				}
				what = power.Only
			}
			g.Hosts = append(g.Hosts, plugin.HostGrant{Host: what})
		case "secret":
			g.Secrets = append(g.Secrets, what)
		}
	}
	if undo, err = p.Add(name, g); err != nil {
		return nil, api.Problemf(http.StatusConflict, "config", "grant it with `weir plugin approve`, or in tools.toml", "it cannot be granted here: %s", err)
	}
	return undo, nil
}

// keepsServing refuses an approval that would stop the tools of the version that serves.
func (p *Plugins) keepsServing(ctx context.Context, name string, body api.Verdict) error {
	review, err := p.Host.Review(ctx, name)
	if err != nil {
		return err
	}
	next := review.Pending
	if body.Stop || next == nil || next.Digest != body.Digest || len(next.Missing) == 0 || review.Plugin.State != plugin.Ready {
		return nil
	}
	return api.Problemf(http.StatusConflict, "stops_serving", "grant what is missing with the approval, or send \"stop\": true",
		"version %s serves now, and its tools would stop: %v", cmp.Or(review.Serving.Version, "(unnamed)"), next.Missing[0])
}

func (p *Plugins) rollbackPlugin(w http.ResponseWriter, r *http.Request) error {
	body, err := readVerdict(w, r)
	if err != nil {
		return err
	}
	return p.answerReview(w, r, p.Host.Rollback(r.Context(), r.PathValue("name"), body.Digest))
}

func (p *Plugins) disablePlugin(w http.ResponseWriter, r *http.Request) error {
	body, err := readVerdict(w, r)
	if err != nil {
		return err
	}
	return p.answerReview(w, r, p.Host.Disable(r.Context(), r.PathValue("name"), body.By))
}

func (p *Plugins) enablePlugin(w http.ResponseWriter, r *http.Request) error {
	if _, err := readVerdict(w, r); err != nil {
		return err
	}
	return p.answerReview(w, r, p.Host.Enable(r.Context(), r.PathValue("name")))
}

func (p *Plugins) removePlugin(w http.ResponseWriter, r *http.Request) error {
	files := r.URL.Query().Get("files")
	if !slices.Contains([]string{"", "keep", "remove"}, files) {
		return api.Problemf(http.StatusBadRequest, "bad_query", "write files=keep or files=remove", "files=%q", api.Clip(files, 40))
	}
	removed, err := p.Host.Remove(r.Context(), r.PathValue("name"), files == "remove")
	if err != nil {
		return err
	}
	if removed.Files == nil {
		removed.Files = []string{}
	}
	p.Log.Info("a person's word about a plugin", "plugin", api.Clip(r.PathValue("name"), 80), "said", "remove", "files", len(removed.Files))
	return httpjson.Answer(w, removed)
}

func readVerdict(w http.ResponseWriter, r *http.Request) (body api.Verdict, err error) {
	if r.ContentLength != 0 {
		if err := httpjson.Read(w, r, &body); err != nil {
			return body, err
		}
	}
	switch body.By {
	case "":
		body.By = "api"
	case "cli", "page", "api":
	default:
		return body, api.Problemf(http.StatusBadRequest, api.CodeBadBody, "write cli, page or api", "by is %q", api.Clip(body.By, 40))
	}
	return body, nil
}

// answerReview shows the plugin as it is now, unless err says otherwise.
func (p *Plugins) answerReview(w http.ResponseWriter, r *http.Request, err error) error {
	if err != nil {
		return err
	}
	review, err := p.Host.Review(r.Context(), r.PathValue("name"))
	if err != nil {
		return err
	}
	if r.Method != http.MethodGet {
		p.Log.Info("a person's word about a plugin", "plugin", review.Plugin.Name, "said", r.Pattern, "state", string(review.Plugin.State), "digest", review.Plugin.Digest)
	}
	return httpjson.Answer(w, msg.Localize(params.Language(r), review))
}

// Reload reads the plugin folders and the grants again, for a person, and
// returns what changed. Grants that cannot be read change nothing.
func (p *Plugins) Reload(ctx context.Context) (host.Change, error) {
	grants := p.grants("correct the file and reload again; until then what was granted before holds")
	return p.Host.Reload(ctx, host.ReloadOptions{Force: true, Grants: grants})
}

// grants returns a function that reads the grants, for host.ReloadOptions; nil: they
// cannot change. hint is that of its error.
func (p *Plugins) grants(hint string) func() (map[string]plugin.Grant, error) {
	if p.Read == nil {
		return nil
	}
	return func() (map[string]plugin.Grant, error) {
		grants, err := p.Read()
		if err != nil {
			return nil, api.Problemf(http.StatusConflict, "config", hint, "the grants cannot be read: %s", err)
		}
		return grants, nil
	}
}

// reloadPlugins reloads and says what became different.
func (p *Plugins) reloadPlugins(w http.ResponseWriter, r *http.Request) error {
	change, err := p.Reload(r.Context())
	if err != nil {
		return err
	}
	return httpjson.Answer(w, msg.Localize(params.Language(r), api.Reloaded{Change: change, Plugins: p.Host.Plugins()}))
}

// retryPlugin takes a plugin out of quarantine.
func (p *Plugins) retryPlugin(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("name")
	err := p.Host.Retry(name)
	switch {
	case errors.Is(err, host.ErrNotQuarantined):
		return api.Problemf(http.StatusNotFound, "not_quarantined", "`weir plugin list` shows the state of each plugin", "there is no plugin %q in quarantine", api.Clip(name, 80))
	case err != nil:
		return api.Problemf(http.StatusInternalServerError, "storage", "check the permissions of the data folder", "the plugin %q cannot be taken out of quarantine", api.Clip(name, 80))
	}
	state, list := plugin.Ready, p.Host.Plugins()
	if i := slices.IndexFunc(list, func(p plugin.Info) bool { return p.Name == name }); i >= 0 {
		state = list[i].State
	}
	return httpjson.Answer(w, api.Retried{Plugin: name, State: state})
}

// restartServer starts an MCP server again.
func (p *Plugins) restartServer(w http.ResponseWriter, r *http.Request) error {
	info, err := p.Host.RestartServer(r.Context(), r.PathValue("name"))
	if err != nil {
		return err
	}
	return httpjson.Answer(w, msg.Localize(params.Language(r), info))
}

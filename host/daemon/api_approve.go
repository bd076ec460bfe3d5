package daemon

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/httpjson"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/plugin"
)

// What is said here about plugins is a person's word. It takes the token, which
// no tool and no model has, and no tool of weir's own speaks to these routes.

// A Verdict is the body of the routes that say something about a plugin.
type Verdict struct {
	// Digest is what was looked at; for rollback a part is enough, and empty
	// means the version before.
	Digest string `json:"digest"`
	// By is the way it is said: cli, page or api; empty: api.
	By string `json:"by"`
	// Grants are powers that the version asks for and is granted with its approval, both
	// or neither. They are added to tools.toml. Only an approval has them.
	Grants []PowerGrant `json:"grants,omitempty"`
	// Stop approves the version even if it lacks something and the tools that serve now
	// stop with that. Only an approval has it.
	Stop bool `json:"stop,omitempty"`
}

// A PowerGrant grants one ask of a plugin.
type PowerGrant struct {
	// Kind and What are those of the ask.
	Kind string `json:"kind"`
	What string `json:"what"`
	// Folder is the folder that a path shows: one in the workspace, relative to it or
	// absolute. Other kinds ignore it.
	Folder string `json:"folder,omitempty"`
}

func (d *Daemon) reviewPlugin(w http.ResponseWriter, r *http.Request) error {
	return d.answerReview(w, r, nil)
}

func (d *Daemon) approvePlugin(w http.ResponseWriter, r *http.Request) error {
	body, err := readVerdict(w, r)
	if err != nil {
		return err
	}
	if body.Digest == "" {
		return api.Problemf(http.StatusBadRequest, api.CodeBadBody, "send the digest of the version that was looked at: GET /api/plugins/NAME shows it", "the digest is missing")
	}
	return d.answerReview(w, r, d.approve(r.Context(), r.PathValue("name"), body))
}

// approve grants and approves, or does neither.
func (d *Daemon) approve(ctx context.Context, name string, body Verdict) error {
	undo, err := d.grantPowers(ctx, name, body)
	if err != nil {
		return err
	}
	if err = d.readGrants(ctx); err == nil {
		err = d.keepsServing(ctx, name, body)
	}
	if err == nil {
		err = d.cfg.Host.Approve(ctx, name, body.Digest, body.By)
	}
	if err != nil && undo != nil {
		return errors.Join(err, undo(), d.readGrants(ctx))
	}
	return err
}

// readGrants puts the grants of the configuration in force.
func (d *Daemon) readGrants(ctx context.Context) error {
	grants := d.grants("correct the file and approve again")
	if grants == nil {
		return nil
	}
	_, err := d.cfg.Host.Reload(ctx, host.ReloadOptions{Grants: grants})
	return err
}

// grantPowers writes what an approval grants into the configuration. undo takes it back;
// nil: nothing was written.
func (d *Daemon) grantPowers(ctx context.Context, name string, body Verdict) (undo func() error, err error) {
	if len(body.Grants) == 0 || d.cfg.Grant == nil {
		return nil, nil
	}
	review, err := d.cfg.Host.Review(ctx, name)
	if err != nil {
		return nil, err
	}
	v := cmp.Or(review.Pending, review.Serving)
	if v == nil || v.Digest != body.Digest {
		return nil, nil // Approve refuses it
	}
	var g plugin.Grant
	for _, p := range body.Grants {
		if !slices.ContainsFunc(v.Asks, func(a plugin.Ask) bool { return a.Kind == p.Kind && a.What == p.What }) {
			return nil, api.Problemf(http.StatusBadRequest, api.CodeBadBody, "GET /api/plugins/NAME lists what it asks for", "it does not ask for %q", api.Clip(p.Kind+" "+p.What, 80))
		}
		what, mode, _ := strings.Cut(p.What, " ")
		switch p.Kind {
		case "path":
			g.Paths = append(g.Paths, plugin.PathGrant{Guest: what, Host: p.Folder, Mode: strings.Trim(mode, "()")})
		case "host":
			g.Hosts = append(g.Hosts, plugin.HostGrant{Host: what})
		case "secret":
			g.Secrets = append(g.Secrets, what)
		}
	}
	if undo, err = d.cfg.Grant(name, g); err != nil {
		return nil, api.Problemf(http.StatusConflict, "config", "grant it with `weir plugin approve`, or in tools.toml", "it cannot be granted here: %s", err)
	}
	return undo, nil
}

// keepsServing refuses an approval that would stop the tools of the version that serves.
func (d *Daemon) keepsServing(ctx context.Context, name string, body Verdict) error {
	review, err := d.cfg.Host.Review(ctx, name)
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

func (d *Daemon) rollbackPlugin(w http.ResponseWriter, r *http.Request) error {
	body, err := readVerdict(w, r)
	if err != nil {
		return err
	}
	return d.answerReview(w, r, d.cfg.Host.Rollback(r.Context(), r.PathValue("name"), body.Digest))
}

func (d *Daemon) disablePlugin(w http.ResponseWriter, r *http.Request) error {
	body, err := readVerdict(w, r)
	if err != nil {
		return err
	}
	return d.answerReview(w, r, d.cfg.Host.Disable(r.Context(), r.PathValue("name"), body.By))
}

func (d *Daemon) enablePlugin(w http.ResponseWriter, r *http.Request) error {
	if _, err := readVerdict(w, r); err != nil {
		return err
	}
	return d.answerReview(w, r, d.cfg.Host.Enable(r.Context(), r.PathValue("name")))
}

func (d *Daemon) removePlugin(w http.ResponseWriter, r *http.Request) error {
	files := r.URL.Query().Get("files")
	if !slices.Contains([]string{"", "keep", "remove"}, files) {
		return api.Problemf(http.StatusBadRequest, "bad_query", "write files=keep or files=remove", "files=%q", api.Clip(files, 40))
	}
	removed, err := d.cfg.Host.Remove(r.Context(), r.PathValue("name"), files == "remove")
	if err != nil {
		return err
	}
	if removed.Files == nil {
		removed.Files = []string{}
	}
	d.log.Info("a person's word about a plugin", "plugin", api.Clip(r.PathValue("name"), 80), "said", "remove", "files", len(removed.Files))
	httpjson.Write(w, http.StatusOK, removed)
	return nil
}

func readVerdict(w http.ResponseWriter, r *http.Request) (body Verdict, err error) {
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
func (d *Daemon) answerReview(w http.ResponseWriter, r *http.Request, err error) error {
	if err != nil {
		return err
	}
	review, err := d.cfg.Host.Review(r.Context(), r.PathValue("name"))
	if err != nil {
		return err
	}
	if r.Method != http.MethodGet {
		d.log.Info("a person's word about a plugin", "plugin", review.Plugin.Name, "said", r.Pattern, "state", string(review.Plugin.State), "digest", review.Plugin.Digest)
	}
	httpjson.Write(w, http.StatusOK, msg.Localize(localeOf(r), review))
	return nil
}

// pluginProblem gives a PluginError a status; nil: err is none.
func pluginProblem(err error) *api.Problem {
	e, ok := errors.AsType[*plugin.Error](err)
	if !ok {
		return nil
	}
	status := http.StatusConflict
	switch e.Code {
	case plugin.CodeUnknown, plugin.CodeNoVersion:
		status = http.StatusNotFound
	case plugin.CodeInvalid:
		status = http.StatusUnprocessableEntity
	}
	return &api.Problem{Status: status, Code: string(e.Code), Msg: e.Msg, Hint: e.Hint}
}

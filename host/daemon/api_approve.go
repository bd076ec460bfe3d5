package daemon

import (
	"errors"
	"net/http"
	"slices"

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
	if grants := d.grants("correct the file and approve again"); grants != nil {
		if _, err := d.cfg.Host.Reload(r.Context(), host.ReloadOptions{Grants: grants}); err != nil {
			return err
		}
	}
	return d.answerReview(w, r, d.cfg.Host.Approve(r.Context(), r.PathValue("name"), body.Digest, body.By))
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

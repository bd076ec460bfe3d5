package daemon

import (
	"net/http"
	"strings"
)

// A route is one row of the daemon's surface. Every route but the public ones
// needs the token; a test walks this table.
type route struct {
	method, path string
	public       bool
	handle       func(http.ResponseWriter, *http.Request) error
}

func (r route) pattern() string { return strings.TrimSpace(r.method + " " + r.path) }

func (d *Daemon) routes() []route {
	rs := []route{
		{"GET", "/healthz", true, d.healthz},
		{"GET", "/readyz", true, d.readyz},
		{"POST", "/api/chat", false, d.postChat},
		{"GET", "/api/conversations", false, d.listConversations},
		{"GET", "/api/conversations/{id}", false, d.showConversation},
		{"DELETE", "/api/conversations/{id}", false, d.deleteConversation},
		{"GET", "/api/conversations/{id}/export", false, d.exportConversation},
		{"GET", "/api/tools", false, d.listTools},
		{"GET", "/api/tools/{name}", false, d.showTool},
		{"POST", "/api/tools/{name}/call", false, d.callTool},
		{"GET", "/api/plugins", false, d.listPlugins},
		{"POST", "/api/plugins/reload", false, d.reloadPlugins},
		{"GET", "/api/plugins/{name}", false, d.reviewPlugin},
		{"POST", "/api/plugins/{name}/approve", false, d.approvePlugin},
		{"POST", "/api/plugins/{name}/rollback", false, d.rollbackPlugin},
		{"POST", "/api/plugins/{name}/disable", false, d.disablePlugin},
		{"POST", "/api/plugins/{name}/enable", false, d.enablePlugin},
		{"DELETE", "/api/plugins/{name}", false, d.removePlugin},
		{"POST", "/api/plugins/{name}/retry", false, d.retryPlugin},
		{"GET", "/api/archives", false, d.listArchives},
		{"GET", "/api/archives/search", false, d.searchArchives},
		{"POST", "/api/archives/prune", false, d.pruneArchives},
		{"GET", "/api/archives/{uuid}", false, d.showArchive},
		{"DELETE", "/api/archives/{uuid}", false, d.deleteArchive},
		{"POST", "/api/results", false, d.postResult},
		{"GET", "/api/approvals", false, d.listApprovals},
		{"GET", "/api/approvals/{id}", false, d.showApproval},
		{"POST", "/api/approvals/{id}", false, d.answerApproval},
		{"GET", "/api/models", false, d.listModels},
		{"GET", "/api/stats", false, d.stats},
		{"GET", "/api/settings", false, d.settings},
		{"GET", "/metrics", false, d.scrape},
		{"POST", "/v1/chat/completions", false, d.completions},
		{"GET", "/v1/models", false, d.completionModels},
		{"GET", "/v1/models/{id...}", false, d.completionModel},
	}
	// Everything else, wrong methods of the routes above included.
	return append(rs, route{"", "/", true, d.rest})
}

// guard turns a handler's error into an answer and keeps a panic of one
// request from ending the daemon.
func (d *Daemon) guard(h func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if p := recover(); p != nil {
				if p == http.ErrAbortHandler {
					panic(p)
				}
				d.log.Error("a request panicked", "path", r.URL.Path, "panic", p)
				writeProblem(w, r, asProblem(nil))
			}
		}()
		if err := h(w, r); err != nil {
			p := asProblem(err)
			if p.Status >= 500 && p.Code != draining { // which is how a stop begins, not a failure
				d.log.Error("request failed", "path", r.URL.Path, "status", p.Status, "error", err)
			}
			writeProblem(w, r, p)
		}
	}
}

func (d *Daemon) healthz(w http.ResponseWriter, _ *http.Request) error {
	writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
	return nil
}

// readyz says whether a question can be asked: the daemon is not draining and
// at least one model is there.
func (d *Daemon) readyz(w http.ResponseWriter, _ *http.Request) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.drain {
		return problem(http.StatusServiceUnavailable, draining, "", "the daemon is shutting down")
	}
	writeJSON(w, http.StatusOK, map[string]any{"status": "ready", "tools": len(d.cfg.Host.Tools())})
	return nil
}

// rest answers what no route answers: the page's files, and for all else a
// problem that a program can read.
func (d *Daemon) rest(w http.ResponseWriter, r *http.Request) error {
	api := strings.HasPrefix(r.URL.Path, "/api/") || strings.HasPrefix(r.URL.Path, "/v1/")
	if d.cfg.Pages == nil || api || r.Method != http.MethodGet && r.Method != http.MethodHead {
		return problem(http.StatusNotFound, "no_route", "the README lists the routes, each with its method", "nothing answers %s %s", clip(r.Method, 20), clip(r.URL.Path, 80))
	}
	return d.page(w, r)
}

// page serves the static files. The policy forbids everything that the page
// does not need, so that text in a result cannot load or run anything.
func (d *Daemon) page(w http.ResponseWriter, r *http.Request) error {
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("Cache-Control", "no-cache")
	http.FileServerFS(d.cfg.Pages).ServeHTTP(w, r)
	return nil
}

func (d *Daemon) settings(w http.ResponseWriter, _ *http.Request) error {
	writeJSON(w, http.StatusOK, map[string]any{"version": d.cfg.Version, "settings": d.cfg.Settings})
	return nil
}

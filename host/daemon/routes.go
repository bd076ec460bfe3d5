package daemon

import (
	"net/http"
	"strings"

	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/httpjson"
	"github.com/weirhost/weir/host/daemon/openai"
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/host/plugin"
)

// A route is one row of the daemon's surface. Every route but the public ones
// needs the token; a test walks this table, and openapi.json is made from it.
type route struct {
	method, path string
	public       bool
	handle       func(http.ResponseWriter, *http.Request) error
	doc
}

// A doc says what a route takes and gives. Every route can also answer with the
// problems of access, and those with a body with the problems of bodies.
type doc struct {
	about string
	query []queryParam
	// headers are those that change what is done, with what they mean.
	headers map[string]string
	takes   any      // a value of the body's type; nil: there is none
	needs   []string // members that the body must have
	bare    bool     // the body may be left out
	loose   bool     // members of the body that are not known are ignored
	gives   any      // a value of what success answers with, as JSON; nil: kind says
	// kind is the type of an answer that is not JSON; with gives: what it is when
	// the caller wants a stream. Several are separated by commas. Both empty: the
	// answer is empty.
	kind  string
	fails []int // the statuses of further problems
	// operators says that users with a token of their own are refused.
	operators bool
	other     bool // another protocol says what is sent and answered, and this document does not
}

// A queryParam is one parameter behind the question mark.
type queryParam struct{ name, kind, about string }

const (
	kindStream = "text/event-stream"
	kindText   = "text/plain"
	kindLines  = "application/x-ndjson"

	kindJSON     = "application/json"
	kindMarkdown = "text/markdown"
)

func (r route) pattern() string { return strings.TrimSpace(r.method + " " + r.path) }

func (d *Daemon) routes() []route {
	limited := func(unset string) queryParam {
		return queryParam{"limit", "integer", "at most so many; left out: " + unset}
	}
	conversation := queryParam{"conversation_id", "string", "only of this conversation; left out: of all"}
	rs := []route{
		{"GET", "/healthz", true, d.healthz, doc{about: "Whether the daemon lives", gives: Health{}}},
		{"GET", "/readyz", true, d.readyz, doc{about: "Whether a question can be asked", gives: Readiness{}, fails: []int{503}}},
		{"GET", "/openapi.json", true, d.openAPI, doc{about: "This document", gives: map[string]any{}}},
		{"POST", "/api/chat", false, d.postChat, doc{about: "Ask a question; the answer is a stream of events. With the header Last-Event-ID nothing is asked: the stream of that event goes on",
			headers: map[string]string{"Last-Event-ID": "the id of the last event that was read"},
			takes:   Ask{}, needs: []string{"message"}, kind: kindStream, fails: []int{429, 404, 409, 410, 422, 503, 507}}},
		{"GET", "/api/chat", false, d.resumeChat, doc{about: "Go on with the stream behind the event that the header Last-Event-ID names",
			headers: map[string]string{"Last-Event-ID": "the id of the last event that was read"}, kind: kindStream, fails: []int{400, 404}}},
		{"DELETE", "/api/chat", false, d.endChat, doc{about: "End the turn of the event that the header Last-Event-ID names; the answer comes when what it came to is stored. Only for questions that said they would come back: others end with their connection",
			headers: map[string]string{"Last-Event-ID": "the id of an event that was read"}, fails: []int{400, 404}}},
		{"GET", "/api/conversations", false, d.listConversations, doc{about: "List the conversations with their sums, the one used last first",
			query: []queryParam{limited("100, and never more than 1000"), {"cursor", "string", "what the page before named as next"}}, gives: ConversationList{}, fails: []int{400}}},
		{"GET", "/api/conversations/search", false, d.searchConversations, doc{about: "Find words in the messages and titles",
			query: []queryParam{{"q", "string", "words, all of which stand in one message or title"}, limited("20")}, gives: ConversationsFound{}, fails: []int{400}}},
		{"GET", "/api/conversations/{id}", false, d.showConversation, doc{about: "Show a conversation's messages", gives: ShownConversation{}, fails: []int{404}}},
		{"PATCH", "/api/conversations/{id}", false, d.renameConversation, doc{about: "Give a conversation another title", takes: Renaming{}, needs: []string{"title"}, gives: ConversationRow{}, fails: []int{404}}},
		{"DELETE", "/api/conversations/{id}", false, d.deleteConversation, doc{about: "Delete a conversation with its archives", gives: DeletedConversation{}, fails: []int{404, 409, 503}}},
		{"GET", "/api/conversations/{id}/export", false, d.exportConversation, doc{about: "Everything of a conversation, as JSON lines, as one JSON document, or as Markdown for people",
			query: []queryParam{{"format", "string", "jsonl, json or markdown; left out: jsonl"}, {"archives", "boolean", "whether the archived texts are in it; left out: in jsonl alone, which always has them"},
				{"locale", "string", "the language of Markdown's headings, en or zh; left out: en"}},
			kind: kindLines + ", " + kindJSON + ", " + kindMarkdown, fails: []int{400, 404}}},
		{"GET", "/api/tools", false, d.listTools, doc{about: "List the tools with their limits", gives: ToolList{}}},
		{"GET", "/api/tools/{name}", false, d.showTool, doc{about: "Show a tool", gives: plugin.ToolInfo{}, fails: []int{404}}},
		{"POST", "/api/tools/{name}/call", false, d.awaited(d.callTool), doc{about: "Call a tool without a model. A tool that fails is a success of the call: its answer says so",
			takes: CallBody{}, gives: api.ToolCallResult{}, fails: []int{429, 404, 422, 503}}},
		{"GET", "/api/plugins", false, d.listPlugins, doc{operators: true, about: "List the plugins with their states", gives: PluginList{}}},
		{"POST", "/api/reload", false, d.whole(d.postReload), doc{operators: true, about: "Read the configuration and the plugin folders again", gives: ReloadReport{}, fails: []int{409, 503}}},
		{"POST", "/api/plugins/reload", false, d.whole(d.reloadPlugins), doc{operators: true, about: "Read the plugin folders and the grants again", gives: Reloaded{}, fails: []int{409, 503}}},
		{"GET", "/api/plugins/{name}", false, d.reviewPlugin, doc{operators: true, about: "Everything about a plugin, and what waits", gives: plugin.Review{}, fails: []int{404}}},
		{"POST", "/api/plugins/{name}/approve", false, d.whole(d.approvePlugin), doc{operators: true, about: "Let in exactly the version that was looked at",
			takes: Verdict{}, bare: true, gives: plugin.Review{}, fails: []int{404, 409, 422, 503}}},
		{"POST", "/api/plugins/{name}/rollback", false, d.whole(d.rollbackPlugin), doc{operators: true, about: "Go back to an earlier version",
			takes: Verdict{}, bare: true, gives: plugin.Review{}, fails: []int{404, 409, 422, 503}}},
		{"POST", "/api/plugins/{name}/disable", false, d.whole(d.disablePlugin), doc{operators: true, about: "Take a plugin out", takes: Verdict{}, bare: true, gives: plugin.Review{}, fails: []int{404, 409, 503}}},
		{"POST", "/api/plugins/{name}/enable", false, d.whole(d.enablePlugin), doc{operators: true, about: "Take a plugin in again", takes: Verdict{}, bare: true, gives: plugin.Review{}, fails: []int{404, 409, 503}}},
		{"DELETE", "/api/plugins/{name}", false, d.whole(d.removePlugin), doc{operators: true, about: "Forget a plugin",
			query: []queryParam{{"files", "string", "remove: its files too; keep or left out: not"}}, gives: plugin.Removal{}, fails: []int{400, 404, 409, 503}}},
		{"POST", "/api/plugins/{name}/retry", false, d.retryPlugin, doc{operators: true, about: "Take a plugin out of quarantine", gives: Retried{}, fails: []int{404}}},
		{"GET", "/api/archives", false, d.listArchives, doc{about: "List the archived results, the newest first",
			query: []queryParam{conversation, {"tool", "string", "only of this tool"}, {"q", "string", "stands in the call or in the summary"}, limited("50"), {"offset", "integer", "leave out the newest"}},
			gives: ArchiveList{}, fails: []int{400}}},
		{"GET", "/api/archives/search", false, d.searchArchives, doc{about: "Find words in the whole texts",
			query: []queryParam{{"q", "string", "words, all of which stand in a result"}, conversation, limited("20")}, gives: Found{}, fails: []int{400}}},
		{"POST", "/api/archives/prune", false, d.pruneArchives, doc{operators: true, about: "Remove the texts that the configuration does not keep", takes: PruneBody{}, gives: Pruned{}}},
		{"GET", "/api/archives/{uuid}", false, d.showArchive, doc{about: "Read an archived result, or a part of it", query: []queryParam{
			conversation, {"lines", "string", "a-b, counted from 1"}, {"grep", "string", "lines that match an RE2 expression"}, {"context", "integer", "lines around each match"},
			{"pointer", "string", "a value of JSON, by RFC 6901"}, {"head", "integer", "the first lines"}, {"tail", "integer", "the last lines"}, {"offset", "integer", "leave out so many characters"},
		}, gives: ArchivePage{}, fails: []int{400, 404, 410, 422}}},
		{"DELETE", "/api/archives/{uuid}", false, d.deleteArchive, doc{about: "Delete an archived result for good", fails: []int{404}}},
		{"POST", "/api/results", false, d.postResult, doc{about: "Keep and cut the result of another loop's tool", takes: ResultBody{}, needs: []string{"tool_name", "result"}, gives: KeptResult{}, fails: []int{429, 403, 404, 422}}},
		{"GET", "/api/traces", false, d.listTraces, doc{about: "List how the last turns went, the newest first", query: []queryParam{conversation, limited("20")}, gives: api.TraceList{}, fails: []int{400}}},
		{"GET", "/api/traces/{id}", false, d.showTrace, doc{about: "How one turn went, round by round; the id last is that of the newest", query: []queryParam{conversation}, gives: api.Trace{}, fails: []int{404}}},
		{"GET", "/api/approvals", false, d.listApprovals, doc{about: "List the calls that wait for a person", gives: api.ApprovalList{}}},
		{"GET", "/api/approvals/{id}", false, d.showApproval, doc{about: "Show such a call with all of its arguments", gives: api.Approval{}, fails: []int{404}}},
		{"POST", "/api/approvals/{id}", false, d.answerApproval, doc{about: "Answer it", takes: api.Answer{}, needs: []string{"answer"}, gives: api.Answered{}, fails: []int{404, 409}}},
		{"GET", "/api/models", false, d.listModels, doc{about: "List the configured models", gives: ConfiguredModels{}}},
		{"GET", "/api/stats", false, d.stats, doc{operators: true, about: "Sums of the call log and the archive", gives: store.Stats{}}},
		{"GET", "/api/settings", false, d.settings, doc{operators: true, about: "The configuration in force, without secrets", gives: Configuration{}}},
		{"GET", "/api/usage", false, d.showUsage, doc{about: "What you took, day by day, and how much of your quotas is used",
			query: []queryParam{{"days", "integer", "so many days; left out: 7"}, {"user", "string", "somebody else, for the operator"}}, gives: Usage{}, fails: []int{400, 404}}},
		{"GET", "/api/users", false, d.listUsers, doc{operators: true, about: "List the users with what they may and what they took today", gives: UserList{}}},
		{"GET", "/api/users/{name}/data", false, d.showUserData, doc{operators: true, about: "Sum up what is stored of somebody, also of who is no user any more", gives: UserData{}}},
		{"DELETE", "/api/users/{name}/data", false, d.purgeUser, doc{operators: true, about: "Delete everything of somebody who is no user any more", gives: UserData{}, fails: []int{409}}},
		{"GET", "/metrics", false, d.serveMetrics, doc{operators: true, about: "Counters and times for Prometheus", kind: kindText}},
		{"POST", "/v1/chat/completions", false, d.completions, doc{about: "OpenAI's protocol: answer the last messages",
			headers: map[string]string{"X-Weir-Conversation": "the conversation that goes on; the answer's header names it"},
			takes:   openai.CompletionBody{}, needs: []string{"messages"}, loose: true, gives: openai.Completion{}, kind: kindStream, fails: []int{404, 409, 429, 502, 503, 507}}},
		{"GET", "/v1/models", false, d.completionModels, doc{about: "OpenAI's protocol: what a request can name as its model", gives: openai.ModelList{}}},
		{"GET", "/v1/models/{id...}", false, d.completionModel, doc{about: "OpenAI's protocol: one of them", gives: openai.ModelRow{}, fails: []int{404}}},
		{"POST", "/mcp", false, d.serveMCP, doc{about: "The Model Context Protocol over HTTP: take a message", other: true}},
		{"GET", "/mcp", false, d.serveMCP, doc{about: "The Model Context Protocol over HTTP: what the server says by itself", other: true}},
		{"DELETE", "/mcp", false, d.serveMCP, doc{about: "The Model Context Protocol over HTTP: end a session", other: true}},
		{"GET", "/api/mcp", false, d.streamMCP, doc{about: "For `weir mcp`: turn the connection into a stream of that protocol's messages", other: true}},
	}
	// Everything else, wrong methods of the routes above included.
	return append(rs, route{"", "/", true, d.rest, doc{about: "The page", kind: "text/html", fails: []int{404}}})
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
				d.panicked("a request panicked", p, "path", r.URL.Path)
				d.writeProblem(w, r, asProblem(nil))
			}
		}()
		if err := h(w, d.set().Tracing.Extract(r)); err != nil {
			p := asProblem(err)
			if p.Status >= 500 && p.Code != api.CodeDraining { // which is how a stop begins, not a failure
				d.log.Error("request failed", "path", r.URL.Path, "status", p.Status, "error", err)
			}
			d.writeProblem(w, r, p)
		}
	}
}

func (d *Daemon) healthz(w http.ResponseWriter, _ *http.Request) error {
	httpjson.Write(w, http.StatusOK, Health{"ok"})
	return nil
}

// Health says that the daemon answers at all.
type Health struct {
	Status string `json:"status"`
}

// Readiness says that a question can be asked, and how many tools there are.
type Readiness struct {
	Status string `json:"status"`
	Tools  int    `json:"tools"`
}

// Configuration is what the daemon runs with.
type Configuration struct {
	Version  string `json:"version"`
	Settings any    `json:"settings"`
}

// readyz says whether a question can be asked: the daemon is not draining and
// at least one model is there.
func (d *Daemon) readyz(w http.ResponseWriter, _ *http.Request) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.drain {
		return api.Problemf(http.StatusServiceUnavailable, api.CodeDraining, "", "the daemon is shutting down")
	}
	httpjson.Write(w, http.StatusOK, Readiness{"ready", len(d.cfg.Host.Tools())})
	return nil
}

// rest answers what no route answers: the page's files, and for all else a
// problem that a program can read.
func (d *Daemon) rest(w http.ResponseWriter, r *http.Request) error {
	forPrograms := strings.HasPrefix(r.URL.Path, "/api/") || strings.HasPrefix(r.URL.Path, "/chat/") || r.URL.Path == "/models" || r.URL.Path == "/v1" || strings.HasPrefix(r.URL.Path, "/v1/") || r.URL.Path == "/mcp"
	if d.cfg.Pages == nil || forPrograms || r.Method != http.MethodGet && r.Method != http.MethodHead {
		return api.Problemf(http.StatusNotFound, "no_route", routeHint(r.URL.Path), "nothing answers %s %s", api.Clip(r.Method, 20), api.Clip(r.URL.Path, 80))
	}
	return d.page(w, r)
}

// routeHint says where to go instead. Packages for OpenAI's API ask for its other
// routes where they are not told otherwise.
func routeHint(path string) string {
	switch strings.TrimSuffix(path, "/") {
	case "/v1/responses", "/v1/completions":
		return "weir speaks chat completions: in the npm packages client.chat.completions of openai, openai.chat(…) of @ai-sdk/openai, or @ai-sdk/openai-compatible"
	case "/v1/embeddings":
		return "ask the model's own server: weir has no embeddings for others"
	case "/v1", "/chat/completions", "/models":
		return "the base URL of OpenAI's protocol ends with /v1, and what is asked is /v1/chat/completions"
	}
	return "/openapi.json lists the routes, each with its method"
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
	httpjson.Write(w, http.StatusOK, Configuration{d.cfg.Version, d.set().Settings})
	return nil
}

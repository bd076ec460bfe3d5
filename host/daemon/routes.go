package daemon

import (
	"net/http"
	"strings"

	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/httpjson"
	"github.com/weirhost/weir/host/daemon/openai"
	"github.com/weirhost/weir/host/daemon/openapi"
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/host/plugin"
)

// A route is one row of the daemon's HTTP interface. Tests check the access rules of
// every row, and package openapi makes /openapi.json from the rows. The fields that Auth
// and Handle do not cover mean what they mean in openapi.Route.
type route struct {
	Method, Path string
	Auth         auth
	Handle       func(http.ResponseWriter, *http.Request) error

	About   string
	Query   []queryParam
	Headers map[string]string
	Takes   any
	Needs   []string
	Bare    bool
	Loose   bool
	Gives   any
	Kind    string
	Fails   []int
	Other   bool
}

// described returns the route as the document describes it.
func (r route) described() openapi.Route {
	var query []openapi.Param
	for _, q := range r.Query {
		query = append(query, openapi.Param{Name: q.name, Type: q.kind, About: q.about})
	}
	return openapi.Route{
		Method: r.Method, Path: r.Path, Public: r.Auth == Public, Operator: r.Auth == Operator, About: r.About, Query: query, Headers: r.Headers,
		Takes: r.Takes, Needs: r.Needs, Bare: r.Bare, Loose: r.Loose, Gives: r.Gives, Kind: r.Kind, Fails: r.Fails, Other: r.Other,
	}
}

// openAPI answers with the description of all routes.
func (d *Daemon) openAPI(w http.ResponseWriter, _ *http.Request) error {
	httpjson.Write(w, http.StatusOK, openapi.NewWriter(false).Document(described(d.routes())))
	return nil
}

func described(routes []route) []openapi.Route {
	out := make([]openapi.Route, len(routes))
	for i, r := range routes {
		out[i] = r.described()
	}
	return out
}

// auth says which clients may use a route.
type auth int

const (
	// Token admits the operator and every user. It is the zero value: a row without
	// Auth is not public.
	Token auth = iota
	// Operator admits only the operator.
	Operator
	// Public admits every client, without a token.
	Public
)

// A queryParam is one parameter of a URL's query.
type queryParam struct{ name, kind, about string }

const (
	kindStream = "text/event-stream"
	kindText   = "text/plain"
	kindLines  = "application/x-ndjson"

	kindJSON     = "application/json"
	kindMarkdown = "text/markdown"
)

func (r route) pattern() string { return strings.TrimSpace(r.Method + " " + r.Path) }

func (d *Daemon) routes() []route {
	limited := func(unset string) queryParam {
		return queryParam{"limit", "integer", "at most so many; left out: " + unset}
	}
	conversation := queryParam{"conversation_id", "string", "only of this conversation; left out: of all"}
	ofID := queryParam{"id", "string", "the beginning or the end of the id"}
	rs := []route{
		{
			Method: "GET", Path: "/healthz",
			Auth: Public, Handle: d.healthz,
			About: "Whether the daemon lives",
			Gives: Health{},
		},
		{
			Method: "GET", Path: "/readyz",
			Auth: Public, Handle: d.readyz,
			About: "Whether a question can be asked",
			Gives: Readiness{},
			Fails: []int{503},
		},
		{
			Method: "GET", Path: "/openapi.json",
			Auth: Public, Handle: d.openAPI,
			About: "This document",
			Gives: map[string]any{},
		},
		{
			Method: "POST", Path: "/api/chat",
			Auth: Token, Handle: d.postChat,
			About:   "Ask a question; the answer is a stream of events. With the header Last-Event-ID, the stream of that event resumes and no question is asked",
			Headers: map[string]string{"Last-Event-ID": "the id of the last event that was read"},
			Takes:   api.Ask{},
			Needs:   []string{"message"},
			Kind:    kindStream,
			Fails:   []int{429, 404, 409, 410, 422, 503, 507},
		},
		{
			Method: "GET", Path: "/api/chat",
			Auth: Token, Handle: d.resumeChat,
			About:   "Resume the stream after the event that the header Last-Event-ID names",
			Headers: map[string]string{"Last-Event-ID": "the id of the last event that was read"},
			Kind:    kindStream,
			Fails:   []int{400, 404},
		},
		{
			Method: "DELETE", Path: "/api/chat",
			Auth: Token, Handle: d.endChat,
			About: "End the turn of the event that the header Last-Event-ID names, and answer when the turn is stored. " +
				"Only for questions with resume: other turns end with their connection",
			Headers: map[string]string{"Last-Event-ID": "the id of an event that was read"},
			Fails:   []int{400, 404},
		},
		{
			Method: "GET", Path: "/api/conversations",
			Auth: Token, Handle: d.listConversations,
			About: "List the conversations with their sums, the one used last first",
			Query: []queryParam{limited("100, and never more than 1000"), {"cursor", "string", "what the page before named as next"}, ofID},
			Gives: ConversationList{},
			Fails: []int{400},
		},
		{
			Method: "GET", Path: "/api/conversations/search",
			Auth: Token, Handle: d.searchConversations,
			About: "Find words in the messages and titles",
			Query: []queryParam{{"q", "string", "words that one message or title contains, all of them"}, limited("20")},
			Gives: ConversationsFound{},
			Fails: []int{400},
		},
		{
			Method: "GET", Path: "/api/conversations/{id}",
			Auth: Token, Handle: d.showConversation,
			About: "Show a conversation's messages",
			Gives: ShownConversation{},
			Fails: []int{404},
		},
		{
			Method: "PATCH", Path: "/api/conversations/{id}",
			Auth: Token, Handle: d.renameConversation,
			About: "Give a conversation another title",
			Takes: Renaming{},
			Needs: []string{"title"},
			Gives: ConversationRow{},
			Fails: []int{404},
		},
		{
			Method: "DELETE", Path: "/api/conversations/{id}",
			Auth: Token, Handle: d.deleteConversation,
			About: "Delete a conversation with its archives",
			Gives: DeletedConversation{},
			Fails: []int{404, 409, 503},
		},
		{
			Method: "GET", Path: "/api/conversations/{id}/export",
			Auth: Token, Handle: d.exportConversation,
			About: "Everything of a conversation, as JSON lines, as one JSON document, or as Markdown for people",
			Query: []queryParam{
				{"format", "string", "jsonl, json or markdown; left out: jsonl"},
				{"archives", "boolean", "whether to include the archived texts; left out: only in jsonl, which always has them"},

				{"locale", "string", "the language of Markdown's headings, en or zh; left out: en"}},
			Kind:  kindLines + ", " + kindJSON + ", " + kindMarkdown,
			Fails: []int{400, 404},
		},
		{
			Method: "GET", Path: "/api/tools",
			Auth: Token, Handle: d.listTools,
			About: "List the tools with their limits",
			Gives: ToolList{},
		},
		{
			Method: "GET", Path: "/api/tools/{name}",
			Auth: Token, Handle: d.showTool,
			About: "Show a tool",
			Gives: plugin.ToolInfo{},
			Fails: []int{404},
		},
		{
			Method: "POST", Path: "/api/tools/{name}/call",
			Auth: Token, Handle: d.awaited(d.callTool),
			About: "Call a tool without a model. A tool that fails is a success of the call: its answer says so",
			Takes: CallBody{},
			Gives: api.ToolCallResult{},
			Fails: []int{429, 404, 422, 503},
		},
		{
			Method: "GET", Path: "/api/plugins",
			Auth: Operator, Handle: d.listPlugins,
			About: "List the plugins with their states",
			Gives: PluginList{},
		},
		{
			Method: "POST", Path: "/api/reload",
			Auth: Operator, Handle: d.whole(d.postReload),
			About: "Read the configuration and the plugin folders again",
			Gives: ReloadReport{},
			Fails: []int{409, 503},
		},
		{
			Method: "POST", Path: "/api/plugins/reload",
			Auth: Operator, Handle: d.whole(d.reloadPlugins),
			About: "Read the plugin folders and the grants again",
			Gives: Reloaded{},
			Fails: []int{409, 503},
		},
		{
			Method: "GET", Path: "/api/plugins/{name}",
			Auth: Operator, Handle: d.reviewPlugin,
			About: "Everything about a plugin, and what waits",
			Gives: plugin.Review{},
			Fails: []int{404},
		},
		{
			Method: "POST", Path: "/api/plugins/{name}/approve",
			Auth: Operator, Handle: d.whole(d.approvePlugin),
			About: "Let in exactly the version that was looked at",
			Takes: Verdict{},
			Bare:  true,
			Gives: plugin.Review{},
			Fails: []int{404, 409, 422, 503},
		},
		{
			Method: "POST", Path: "/api/plugins/{name}/rollback",
			Auth: Operator, Handle: d.whole(d.rollbackPlugin),
			About: "Go back to an earlier version",
			Takes: Verdict{},
			Bare:  true,
			Gives: plugin.Review{},
			Fails: []int{404, 409, 422, 503},
		},
		{
			Method: "POST", Path: "/api/plugins/{name}/disable",
			Auth: Operator, Handle: d.whole(d.disablePlugin),
			About: "Take a plugin out",
			Takes: Verdict{},
			Bare:  true,
			Gives: plugin.Review{},
			Fails: []int{404, 409, 503},
		},
		{
			Method: "POST", Path: "/api/plugins/{name}/enable",
			Auth: Operator, Handle: d.whole(d.enablePlugin),
			About: "Take a plugin in again",
			Takes: Verdict{},
			Bare:  true,
			Gives: plugin.Review{},
			Fails: []int{404, 409, 503},
		},
		{
			Method: "DELETE", Path: "/api/plugins/{name}",
			Auth: Operator, Handle: d.whole(d.removePlugin),
			About: "Forget a plugin",
			Query: []queryParam{{"files", "string", "remove: its files too; keep or left out: not"}},
			Gives: plugin.Removal{},
			Fails: []int{400, 404, 409, 503},
		},
		{
			Method: "POST", Path: "/api/plugins/{name}/retry",
			Auth: Operator, Handle: d.retryPlugin,
			About: "Take a plugin out of quarantine",
			Gives: Retried{},
			Fails: []int{404},
		},
		{
			Method: "GET", Path: "/api/archives",
			Auth: Token, Handle: d.listArchives,
			About: "List the archived results, the newest first",
			Query: []queryParam{
				conversation,
				{"tool", "string", "only of this tool"},
				{"q", "string", "a text that the call or the summary contains"},
				ofID,
				limited("50"),
				{"offset", "integer", "leave out the newest"},
			},
			Gives: ArchiveList{},
			Fails: []int{400},
		},
		{
			Method: "GET", Path: "/api/archives/search",
			Auth: Token, Handle: d.searchArchives,
			About: "Find words in the whole texts",
			Query: []queryParam{{"q", "string", "words that one result contains, all of them"}, conversation, limited("20")},
			Gives: Found{},
			Fails: []int{400},
		},
		{
			Method: "POST", Path: "/api/archives/prune",
			Auth: Operator, Handle: d.pruneArchives,
			About: "Remove the texts that the configuration does not keep",
			Takes: PruneBody{},
			Gives: Pruned{},
		},
		{
			Method: "GET", Path: "/api/archives/{uuid}",
			Auth: Token, Handle: d.showArchive,
			About: "Read an archived result, or a part of it",
			Query: []queryParam{
				conversation, {"lines", "string", "a-b, counted from 1"}, {"grep", "string", "lines that match an RE2 expression"}, {"context", "integer", "lines around each match"},
				{"pointer", "string", "a value of JSON, by RFC 6901"},
				{"head", "integer", "the first lines"}, {"tail", "integer", "the last lines"}, {"offset", "integer", "leave out so many characters"},
			},
			Gives: ArchivePage{},
			Fails: []int{400, 404, 410, 422},
		},
		{
			Method: "DELETE", Path: "/api/archives/{uuid}",
			Auth: Token, Handle: d.deleteArchive,
			About: "Delete an archived result for good",
			Fails: []int{404},
		},
		{
			Method: "POST", Path: "/api/results",
			Auth: Token, Handle: d.postResult,
			About: "Keep and cut the result of another loop's tool",
			Takes: ResultBody{},
			Needs: []string{"tool_name", "result"},
			Gives: KeptResult{},
			Fails: []int{429, 403, 404, 422},
		},
		{
			Method: "GET", Path: "/api/traces",
			Auth: Token, Handle: d.listTraces,
			About: "List how the last turns went, the newest first",
			Query: []queryParam{conversation, limited("20")},
			Gives: api.TraceList{},
			Fails: []int{400},
		},
		{
			Method: "GET", Path: "/api/traces/{id}",
			Auth: Token, Handle: d.showTrace,
			About: "How one turn went, round by round; the id last is that of the newest",
			Query: []queryParam{conversation},
			Gives: api.Trace{},
			Fails: []int{404},
		},
		{
			Method: "GET", Path: "/api/approvals",
			Auth: Token, Handle: d.listApprovals,
			About: "List the calls that wait for a person",
			Gives: api.ApprovalList{},
		},
		{
			Method: "GET", Path: "/api/approvals/{id}",
			Auth: Token, Handle: d.showApproval,
			About: "Show such a call with all of its arguments",
			Gives: api.Approval{},
			Fails: []int{404},
		},
		{
			Method: "POST", Path: "/api/approvals/{id}",
			Auth: Token, Handle: d.answerApproval,
			About: "Answer it",
			Takes: api.Answer{},
			Needs: []string{"answer"},
			Gives: api.Answered{},
			Fails: []int{404, 409},
		},
		{
			Method: "GET", Path: "/api/models",
			Auth: Token, Handle: d.listModels,
			About: "List the configured models",
			Gives: ConfiguredModels{},
		},
		{
			Method: "GET", Path: "/api/stats",
			Auth: Operator, Handle: d.stats,
			About: "Sums of the call log and the archive",
			Gives: store.Stats{},
		},
		{
			Method: "GET", Path: "/api/settings",
			Auth: Operator, Handle: d.settings,
			About: "The configuration in force, without secrets",
			Gives: Configuration{},
		},
		{
			Method: "GET", Path: "/api/usage",
			Auth: Token, Handle: d.showUsage,
			About: "What you took, day by day, and how much of your quotas is used",
			Query: []queryParam{{"days", "integer", "so many days; left out: 7"}, {"user", "string", "somebody else, for the operator"}},
			Gives: Usage{},
			Fails: []int{400, 404},
		},
		{
			Method: "GET", Path: "/api/users",
			Auth: Operator, Handle: d.listUsers,
			About: "List the users with what they may and what they took today",
			Gives: UserList{},
		},
		{
			Method: "GET", Path: "/api/users/{name}/data",
			Auth: Operator, Handle: d.showUserData,
			About: "Sum up what is stored of somebody, also of who is no user any more",
			Gives: UserData{},
		},
		{
			Method: "DELETE", Path: "/api/users/{name}/data",
			Auth: Operator, Handle: d.purgeUser,
			About: "Delete everything of somebody who is no user any more",
			Gives: UserData{},
			Fails: []int{409},
		},
		{
			Method: "GET", Path: "/metrics",
			Auth: Operator, Handle: d.serveMetrics,
			About: "Counters and times for Prometheus",
			Kind:  kindText,
		},
		{
			Method: "POST", Path: "/v1/chat/completions",
			Auth: Token, Handle: d.completions,
			About:   "OpenAI's protocol: answer the last messages",
			Headers: map[string]string{"X-Weir-Conversation": "the conversation that goes on; the answer's header names it"},
			Takes:   openai.CompletionBody{},
			Needs:   []string{"messages"},
			Loose:   true,
			Gives:   openai.Completion{},
			Kind:    kindStream,
			Fails:   []int{404, 409, 429, 502, 503, 507},
		},
		{
			Method: "GET", Path: "/v1/models",
			Auth: Token, Handle: d.completionModels,
			About: "OpenAI's protocol: what a request can name as its model",
			Gives: openai.ModelList{},
		},
		{
			Method: "GET", Path: "/v1/models/{id...}",
			Auth: Token, Handle: d.completionModel,
			About: "OpenAI's protocol: one of them",
			Gives: openai.ModelRow{},
			Fails: []int{404},
		},
		{
			Method: "POST", Path: "/mcp",
			Auth: Token, Handle: d.serveMCP,
			About: "The Model Context Protocol over HTTP: take a message",
			Other: true,
		},
		{
			Method: "GET", Path: "/mcp",
			Auth: Token, Handle: d.serveMCP,
			About: "The Model Context Protocol over HTTP: messages from the server",
			Other: true,
		},
		{
			Method: "DELETE", Path: "/mcp",
			Auth: Token, Handle: d.serveMCP,
			About: "The Model Context Protocol over HTTP: end a session",
			Other: true,
		},
		{
			Method: "GET", Path: "/api/mcp",
			Auth: Token, Handle: d.streamMCP,
			About: "For `weir mcp`: turn the connection into a stream of that protocol's messages",
			Other: true,
		},
	}
	// Everything else, wrong methods of the routes above included.
	return append(rs, route{
		Path: "/",
		Auth: Public, Handle: d.rest,
		About: "The page",
		Kind:  "text/html",
		Fails: []int{404},
	})
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
		if err := h(w, d.current.State().Tracing.Extract(r)); err != nil {
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
	if d.gate.Closed() {
		return api.Problemf(http.StatusServiceUnavailable, api.CodeDraining, "", "the daemon is shutting down")
	}
	httpjson.Write(w, http.StatusOK, Readiness{"ready", len(d.cfg.Host.Tools())})
	return nil
}

// rest answers what no route answers: the page's files, and for all else a
// problem that a program can read.
func (d *Daemon) rest(w http.ResponseWriter, r *http.Request) error {
	forPrograms := strings.HasPrefix(r.URL.Path, "/api/") || strings.HasPrefix(r.URL.Path, "/chat/") || r.URL.Path == "/models" || r.URL.Path == "/v1" ||
		strings.HasPrefix(r.URL.Path, "/v1/") || r.URL.Path == "/mcp"
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
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "+
		"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("Cache-Control", "no-cache")
	http.FileServerFS(d.cfg.Pages).ServeHTTP(w, r)
	return nil
}

func (d *Daemon) settings(w http.ResponseWriter, _ *http.Request) error {
	httpjson.Write(w, http.StatusOK, Configuration{d.cfg.Version, d.current.State().Settings})
	return nil
}

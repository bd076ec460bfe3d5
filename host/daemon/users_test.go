package daemon

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/openapi"
	"github.com/weirhost/weir/host/daemon/usage"
	"github.com/weirhost/weir/sdk/tool"
)

const (
	annToken = "token-of-ann-0123456789"
	bobToken = "token-of-bob-0123456789"
)

// withUsers puts users in force.
func (s *server) withUsers(users map[string]User) {
	s.Helper()
	set := s.daemon.current.State().Config
	set.Users = users
	if err := s.daemon.Configure(set); err != nil {
		s.Fatal(err)
	}
}

// ann is a user with that token and quota.
func ann(q usage.Quota) User { return User{TokenSHA256: sha256.Sum256([]byte(annToken)), Quota: q} }

func bearing(token string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }
}

// as asks with another token than the operator's.
func (s *server) as(token, method, path, body string) answer {
	s.Helper()
	return s.do(method, path, body, bearing(token))
}

// TestUsersReachTheirOwnRoutes asks every route as a user: those for the operator
// are refused, and no other is.
func TestUsersReachTheirOwnRoutes(t *testing.T) {
	s := newServer(t, replay.Func(func(int, agent.Request) replay.Reply { return replay.Text("ok") }))
	s.withUsers(map[string]User{"ann": ann(usage.Quota{})})
	for _, r := range s.daemon.routes() {
		if r.Auth == openapi.Public || r.Method == "" {
			continue
		}
		path := strings.NewReplacer("{id...}", "x", "{id}", "x", "{uuid}", "x", "{name}", "calculator").Replace(r.Path)
		a := s.as(annToken, r.Method, path, `{}`)
		if refused := a.status == 403 && strings.Contains(a.body, "operators_only"); refused != (r.Auth == openapi.Operator) {
			t.Errorf("%s: %d %.200s", r.Pattern(), a.status, a.body)
		}
		if a := s.as(annToken+"x", r.Method, path, `{}`); a.status != 401 {
			t.Errorf("%s with a wrong token: %d", r.Pattern(), a.status)
		}
	}
}

func TestUsersSeeTheirOwn(t *testing.T) {
	s := newServer(t, replay.Func(func(int, agent.Request) replay.Reply { return replay.Text("answered " + canary) }))
	bob := ann(usage.Quota{})
	bob.TokenSHA256 = sha256.Sum256([]byte(bobToken))
	s.withUsers(map[string]User{"ann": ann(usage.Quota{}), "bob": bob})
	id := last[api.ChatEnd](t, events(s.as(annToken, "POST", "/api/chat", `{"message":"`+canary+`"}`).body), api.EventEnd).Conversation
	kept := decoded[KeptResult](t, s.as(annToken, "POST", "/api/results", `{"tool_name":"t","result":`+quoted(strings.Repeat(canary+"\n", 200))+`}`))
	for _, token := range []string{bobToken, testToken} {
		for _, row := range [][3]string{
			{"GET", "/api/conversations", ""}, {"GET", "/api/conversations/" + id, ""}, {"GET", "/api/conversations/" + id + "/export?format=json", ""},
			{"DELETE", "/api/conversations/" + id, ""}, {"PATCH", "/api/conversations/" + id, `{"title":"x"}`}, {"GET", "/api/conversations/search?q=" + canary, ""},
			{"GET", "/api/archives", ""}, {"GET", "/api/archives/" + kept.UUID, ""}, {"GET", "/api/archives/search?q=" + canary, ""}, {"DELETE", "/api/archives/" + kept.UUID, ""},
			{"POST", "/api/chat", `{"message":"go on","conversation_id":"` + id + `"}`}, {"GET", "/api/traces", ""}, {"GET", "/api/usage?user=nobody", ""},
		} {
			a := s.as(token, row[0], row[1], row[2])
			if strings.Contains(a.body, canary) || a.status == 200 && strings.Contains(a.body, id) {
				t.Errorf("%v: %d %.300s", row, a.status, a.body)
			}
		}
	}
	if a := s.as(annToken, "GET", "/api/conversations/"+id, ""); a.status != 200 || !strings.Contains(a.body, canary) {
		t.Errorf("her own: %d %s", a.status, a.body)
	}
	// Calls without a conversation have ids that no user can choose.
	for _, id := range []string{"mcp-ann", "call-ann", "mcp-local", "call-"} {
		if a := s.as(bobToken, "POST", "/api/chat", `{"message":"hi","conversation_id":"`+id+`"}`); a.status != 400 || a.code(t) != "bad_conversation" {
			t.Errorf("%s: %d %s", id, a.status, a.body)
		}
		if a := s.as(bobToken, "POST", "/api/results", `{"tool_name":"t","result":"x","conversation_id":"`+id+`"}`); a.status != 400 {
			t.Errorf("%s: %d %s", id, a.status, a.body)
		}
	}
}

func TestUsersAreAllowedSomeThings(t *testing.T) {
	var asked atomic.Pointer[agent.Request]
	s := newServer(t, replay.Func(func(_ int, r agent.Request) replay.Reply {
		asked.Store(&r)
		return replay.Text("ok")
	}))
	u := ann(usage.Quota{})
	u.Profiles, u.Models, u.Tools, u.Deny, u.Locale = []string{"narrow"}, []string{"other"}, []string{"calculator", "long_text"}, []string{"long_text"}, tool.Zh
	set := s.daemon.current.State().Config
	set.Models = map[string]Model{"scripted": set.Models["scripted"], "other": {Model: s.model}}
	set.Profiles = map[string]Profile{"default": set.Profiles["default"], "narrow": {Model: "scripted", Agent: agent.Defaults()}}
	set.Users = map[string]User{"ann": u}
	if err := s.daemon.Configure(set); err != nil {
		t.Fatal(err)
	}
	if a := s.as(annToken, "GET", "/v1/models", ""); strings.Contains(a.body, "scripted") || strings.Contains(a.body, `"default"`) || !strings.Contains(a.body, `"other"`) || !strings.Contains(a.body, `"narrow"`) {
		t.Errorf("%s", a.body)
	}
	if a := s.as(annToken, "GET", "/api/tools", ""); strings.Contains(a.body, `"long_text"`) || !strings.Contains(a.body, "calculator") || !strings.Contains(a.body, "load_tool_history") {
		t.Errorf("%s", a.body)
	}
	for _, row := range []struct {
		path, body string
		status     int
		code       string
	}{
		{"/api/chat", `{"message":"hi"}`, 200, ""},
		{"/api/chat", `{"message":"hi","profile":"default"}`, 400, "unknown_profile"},
		{"/api/chat", `{"message":"hi","model":"scripted"}`, 400, "unknown_model"},
		{"/v1/chat/completions", `{"model":"weir","messages":[{"role":"user","content":"hi"}]}`, 200, ""},
		{"/v1/chat/completions", `{"model":"scripted","messages":[{"role":"user","content":"hi"}]}`, 404, ""},
		{"/api/tools/calculator/call", `{"arguments":{"expression":"6*7"}}`, 200, ""},
		{"/api/tools/long_text/call", `{}`, 404, "unknown_tool"},
	} {
		a := s.as(annToken, "POST", row.path, row.body)
		if a.status != row.status || row.code != "" && a.code(t) != row.code {
			t.Errorf("%s %s: %d %s", row.path, row.body, a.status, a.body)
		}
	}
	r := asked.Load()
	if !strings.Contains(r.System, "你可以使用工具") || strings.Contains(r.System, "long_text") || !strings.Contains(r.System, "calculator") {
		t.Errorf("the model was asked %+v", r)
	}
	if a := s.do("POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, func(r *http.Request) {
		bearing(annToken)(r)
		r.Header.Set("Mcp-Protocol-Version", "2026-07-28")
		r.Header.Set("Mcp-Method", "tools/list")
		r.Header.Set("Accept", "application/json, text/event-stream")
	}); strings.Contains(a.body, `"long_text"`) || !strings.Contains(a.body, `"calculator"`) {
		t.Errorf("over MCP: %d %s", a.status, a.body)
	}
	// A reload takes effect at once, and whoever is no user any more has nothing.
	s.withUsers(nil)
	if a := s.as(annToken, "GET", "/api/tools", ""); a.status != 401 {
		t.Errorf("%d %s", a.status, a.body)
	}
}

func TestUsersThatCannotBeMeant(t *testing.T) {
	s := newServer(t, replay.New())
	operators := User{TokenSHA256: sha256.Sum256([]byte(testToken))}
	paid := ann(usage.Quota{CostPerDay: 1, Currency: "USD"})
	for what, users := range map[string]map[string]User{
		"the operator's name":       {"local": ann(usage.Quota{})},
		"a name with a slash":       {"../x": ann(usage.Quota{})},
		"upper case":                {"Ann": ann(usage.Quota{})},
		"no name":                   {"": ann(usage.Quota{})},
		"one token for two":         {"ann": ann(usage.Quota{}), "bob": ann(usage.Quota{})},
		"the operator's token":      {"ann": operators},
		"a profile that is not":     {"ann": {Profiles: []string{"gone"}}},
		"a model that is not":       {"ann": {Models: []string{"gone"}}},
		"a quota of other currency": {"ann": paid},
	} {
		set := s.daemon.current.State().Config
		set.Users = users
		set.Models = map[string]Model{"scripted": {Model: s.model, Price: agent.Price{Prompt: 1, Currency: "CNY"}}}
		if err := s.daemon.Configure(set); err == nil {
			t.Errorf("%s was taken", what)
		}
	}
	// Without a token no request is admitted.
	s.withUsers(map[string]User{"ann": {}, "bob": {}})
	for _, token := range []string{"", " ", "\x00"} {
		if _, ok := s.daemon.current.Whose(token); ok {
			t.Errorf("%q came in", token)
		}
	}
}

// quotaServer serves ann with a quota, at a time that the test moves.
func quotaServer(t *testing.T, m agent.Model, q usage.Quota) (*server, *atomic.Int64) {
	t.Helper()
	s := newServer(t, m)
	now := new(atomic.Int64)
	now.Store(time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC).UnixMilli())
	s.daemon.now = func() time.Time { return time.UnixMilli(now.Load()).UTC() }
	set := s.daemon.current.State().Config
	set.Models = map[string]Model{"scripted": {Model: m, Price: agent.Price{Prompt: 1e6, Completion: 1e6, Currency: "USD"}}}
	set.Users = map[string]User{"ann": ann(q)}
	if err := s.daemon.Configure(set); err != nil {
		t.Fatal(err)
	}
	return s, now
}

// says answers with that text, and has taken 60 and 40 tokens.
func says(text string) replay.Reply {
	return replay.Reply{Text: text, Usage: &agent.Usage{Prompt: 60, Completion: 40}}
}

func refusedFor(t *testing.T, a answer, name string, wait int) {
	t.Helper()
	var p struct {
		Error struct {
			api.Problem
			Message string
		}
	}
	if err := json.Unmarshal([]byte(a.body), &p); err != nil || a.status != 429 || p.Error.Code != api.CodeQuota {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if p.Error.Quota != nil && p.Error.Quota.Name != name || fmt.Sprint(wait) != a.header.Get("Retry-After") && wait > 0 || wait == 0 && a.header.Get("Retry-After") != "" {
		t.Errorf("%s, Retry-After %q, want %s and %d", a.body, a.header.Get("Retry-After"), name, wait)
	}
}

const hi = `{"message":"hi"}`

func TestRequestsPerMinute(t *testing.T) {
	s, now := quotaServer(t, replay.Func(func(int, agent.Request) replay.Reply { return says("ok") }), usage.Quota{PerMinute: 3})
	for _, row := range [][2]string{
		{"/api/chat", hi}, {"/v1/chat/completions", `{"model":"weir","messages":[{"role":"user","content":"hi"}]}`}, {"/api/tools/calculator/call", `{"arguments":{"expression":"1"}}`},
	} {
		if a := s.as(annToken, "POST", row[0], row[1]); a.status != 200 {
			t.Fatalf("%v: %d %s", row, a.status, a.body)
		}
		now.Add(10_000)
	}
	// The fourth waits for the first of the three, 30 seconds old, to be a minute old.
	refusedFor(t, s.as(annToken, "POST", "/api/chat", hi), usage.RequestsPerMinute, 30)
	a := s.as(annToken, "POST", "/v1/chat/completions", `{"model":"weir","messages":[{"role":"user","content":"hi"}]}`)
	refusedFor(t, a, usage.RequestsPerMinute, 30)
	if !strings.Contains(a.body, "rate_limit_error") || a.header.Get("X-Should-Retry") != "" || !strings.Contains(a.body, "12:01:00") {
		t.Errorf("%v %s", a.header, a.body)
	}
	if a := s.as(annToken, "POST", "/api/chat", `{"message":"为什么"}`); !strings.Contains(a.body, "每分钟请求数的配额已用完：上限 3 次，已用 3 次") {
		t.Errorf("%s", a.body)
	}
	if a := callOverMCP(s, annToken); a.status != 200 || !strings.Contains(a.body, "rate_limited") || !strings.Contains(a.body, "requests per minute") {
		t.Errorf("over MCP: %d %s", a.status, a.body)
	}
	if a := s.post("/api/chat", hi); a.status != 200 {
		t.Errorf("the operator: %d %s", a.status, a.body)
	}
	now.Add(30_000)
	if a := s.as(annToken, "POST", "/api/chat", hi); a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
	now.Add(-3_600_000) // the clock is set back: no user waits for more than a minute
	refusedFor(t, s.as(annToken, "POST", "/api/chat", hi), usage.RequestsPerMinute, 60)
	now.Add(60_000)
	if a := s.as(annToken, "POST", "/api/chat", hi); a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
}

func callOverMCP(s *server, token string) answer {
	s.Helper()
	v := asMCP("tools/call", "calculator", `{"name":"calculator","arguments":{"expression":"6*7"}`)
	return s.do("POST", v.path, v.body, func(r *http.Request) {
		for k, values := range v.header {
			r.Header.Set(k, values[0])
		}
		bearing(token)(r)
	})
}

func TestConcurrentTurns(t *testing.T) {
	goOn := make(chan struct{})
	begun := make(chan struct{}, 2)
	s, _ := quotaServer(t, replay.Func(func(int, agent.Request) replay.Reply {
		begun <- struct{}{}
		<-goOn
		return says("ok")
	}), usage.Quota{Concurrent: 2})
	done := make(chan answer, 2)
	for range 2 {
		go func() { done <- s.as(annToken, "POST", "/api/chat", hi) }()
	}
	<-begun
	<-begun
	refusedFor(t, s.as(annToken, "POST", "/api/chat", `{"message":"hi","resume":true}`), usage.ConcurrentTurns, 1)
	if a := callOverMCP(s, annToken); !strings.Contains(a.body, "concurrent requests") {
		t.Errorf("over MCP: %d %s", a.status, a.body)
	}
	close(goOn)
	for range 2 {
		if a := <-done; a.status != 200 {
			t.Errorf("%d %s", a.status, a.body)
		}
	}
	if a := callOverMCP(s, annToken); !strings.Contains(a.body, "42") {
		t.Errorf("afterwards: %d %s", a.status, a.body)
	}
}

// Of many requests at once exactly as many begin as the quota has left.
func TestQuotaAtTheEdge(t *testing.T) {
	s, _ := quotaServer(t, replay.New(), usage.Quota{})
	var begun, refused atomic.Int64
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			_, err := s.daemon.meter.Begin(t.Context(), usage.Account{Principal: "ann", Quota: usage.Quota{PerMinute: 7}})
			if p, ok := errors.AsType[*api.Problem](err); ok && p.Code == api.CodeQuota {
				refused.Add(1)
			} else if err == nil {
				begun.Add(1)
			}
		})
	}
	all.Wait()
	if begun.Load() != 7 || refused.Load() != 57 {
		t.Errorf("%d began, %d were refused", begun.Load(), refused.Load())
	}
	if a := s.get("/api/usage"); !strings.Contains(a.body, `"quotas":[],`) {
		t.Errorf("without quotas there is an empty list of them: %s", a.body)
	}
	u := decoded[api.Usage](t, s.as(annToken, "GET", "/api/usage", ""))
	if len(u.Days) != 1 || u.Days[0].Requests != 7 || u.Days[0].Refused != 57 || u.Running != 7 {
		t.Errorf("%+v", u)
	}
}

func TestTokensPerDay(t *testing.T) {
	for _, row := range []struct {
		q    usage.Quota
		name string
	}{{usage.Quota{TokensPerDay: 150}, usage.TokensPerDay}, {usage.Quota{CostPerDay: 150, Currency: "USD"}, usage.CostPerDay}} {
		s, now := quotaServer(t, replay.Func(func(int, agent.Request) replay.Reply { return says("ok") }), row.q)
		for range 2 { // the second begins below the bound
			if a := s.as(annToken, "POST", "/api/chat", hi); a.status != 200 {
				t.Fatalf("%d %s", a.status, a.body)
			}
		}
		refusedFor(t, s.as(annToken, "POST", "/api/chat", hi), row.name, 12*3600)
		a := s.as(annToken, "POST", "/v1/chat/completions", `{"model":"weir","messages":[{"role":"user","content":"hi"}]}`)
		refusedFor(t, a, row.name, 12*3600)
		if a.header.Get("X-Should-Retry") != "false" || !strings.Contains(a.body, "2026-03-05 00:00:00") || !strings.Contains(a.body, "200") {
			t.Errorf("%v %s", a.header, a.body)
		}
		if a := callOverMCP(s, annToken); !strings.Contains(a.body, "rate_limited") {
			t.Errorf("over MCP: %s", a.body)
		}
		// To delete the conversation gives nothing back.
		for _, c := range decoded[api.ConversationList](t, s.as(annToken, "GET", "/api/conversations", "")).Conversations {
			s.as(annToken, "DELETE", "/api/conversations/"+c.ID, "")
		}
		refusedFor(t, s.as(annToken, "POST", "/api/chat", hi), row.name, 12*3600)
		// A meter that reads the file again has counted the same.
		s.daemon.meter.Forget("ann")
		refusedFor(t, s.as(annToken, "POST", "/api/chat", hi), row.name, 12*3600)
		now.Add(24 * 3600_000)
		if a := s.as(annToken, "POST", "/api/chat", hi); a.status != 200 {
			t.Errorf("the next day: %d %s", a.status, a.body)
		}
		now.Add(-24 * 3600_000) // and back: that day is used up
		refusedFor(t, s.as(annToken, "POST", "/api/chat", hi), row.name, 12*3600)
		u := decoded[api.Usage](t, s.get("/api/usage?user=ann&days=3"))
		if u.User != "ann" || len(u.Quotas) != 1 || u.Quotas[0].Used != 200 || u.Quotas[0].Free == nil || len(u.Days) != 2 {
			t.Errorf("%+v", u)
		}
	}
}

// A turn stops in its middle when the tokens are used up, and is stored as far as
// it came.
func TestTokensRunOutInATurn(t *testing.T) {
	n := 0
	s, _ := quotaServer(t, replay.Func(func(int, agent.Request) replay.Reply {
		n++
		return says(`<tool_call>{"id":"1","tool_name":"calculator","arguments":{"expression":"` + fmt.Sprint(n) + `+1"}}</tool_call>`)
	}), usage.Quota{TokensPerDay: 250})
	a := s.as(annToken, "POST", "/api/chat", hi)
	p := last[api.Problem](t, events(a.body), api.EventError)
	if p.Code != api.CodeQuota || n != 3 {
		t.Errorf("%d replies, %s", n, a.body)
	}
	row := decoded[api.ConversationList](t, s.as(annToken, "GET", "/api/conversations", "")).Conversations[0]
	if row.Calls != 3 || row.Messages < 6 {
		t.Errorf("%+v", row)
	}
}

// A provider that counts nothing does not open a way around the quota.
func TestTokensThatNobodyCounts(t *testing.T) {
	s, _ := quotaServer(t, replay.Func(func(int, agent.Request) replay.Reply { return replay.Text(strings.Repeat("word ", 500)) }), usage.Quota{TokensPerDay: 100})
	if a := s.as(annToken, "POST", "/api/chat", hi); a.status != 200 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	refusedFor(t, s.as(annToken, "POST", "/api/chat", hi), usage.TokensPerDay, 12*3600)
}

func TestArchiveBytes(t *testing.T) {
	var path string
	s := serverWith(t, replay.New(), func(c *host.Config) {
		c.Archive.MaxAge = time.Hour
		path = c.Archive.Path
	})
	if filepath.Base(path) != "archive.db" {
		t.Fatal(path)
	}
	s.withUsers(map[string]User{"ann": ann(usage.Quota{ArchiveBytes: 2000})})
	keep := func() answer {
		return s.as(annToken, "POST", "/api/results", `{"tool_name":"t","result":`+quoted(strings.Repeat("0123456789", 250))+`}`)
	}
	uuid := decoded[KeptResult](t, keep()).UUID
	a := keep()
	if a.status != 429 || !strings.Contains(a.body, usage.ArchiveBytes) || a.header.Get("Retry-After") == "" || !strings.Contains(a.body, "delete conversations") {
		t.Errorf("%d %v %s", a.status, a.header, a.body)
	}
	if a := s.as(annToken, "DELETE", "/api/archives/"+uuid, ""); a.status != 204 {
		t.Fatal(a.body)
	}
	if a := keep(); a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
}

func TestNegativeQuotas(t *testing.T) {
	for _, q := range []usage.Quota{{PerMinute: -1}, {Concurrent: -1}, {TokensPerDay: -1}, {CostPerDay: -1}, {ArchiveBytes: -1}} {
		s, _ := quotaServer(t, replay.New(), q)
		u := decoded[api.Usage](t, s.as(annToken, "GET", "/api/usage", ""))
		refusedFor(t, s.as(annToken, "POST", "/api/chat", hi), u.Quotas[0].Name, 0)
	}
}

// What somebody leaves stays until it is purged; then nothing of it is left, and
// others keep what is theirs.
func TestPurge(t *testing.T) {
	s := newServer(t, replay.Func(func(n int, _ agent.Request) replay.Reply {
		if n%2 == 0 {
			return replay.Reply{Text: longCall, Usage: &agent.Usage{Prompt: 60, Completion: 40}}
		}
		return says("Done.")
	}))
	bob := ann(usage.Quota{})
	bob.TokenSHA256 = sha256.Sum256([]byte(bobToken))
	s.withUsers(map[string]User{"ann": ann(usage.Quota{TokensPerDay: 100_000}), "bob": bob})
	for _, token := range []string{annToken, bobToken} {
		s.as(token, "POST", "/api/chat", `{"message":"Make a long text"}`)
		if a := callOverMCP(s, token); !strings.Contains(a.body, "42") {
			t.Fatal(a.body)
		}
	}
	of := func(name string) api.UserData { return decoded[api.UserData](t, s.get("/api/users/"+name+"/data")) }
	hers := of("ann")
	if hers.Conversations == 0 || hers.Messages == 0 || hers.Calls < 2 || hers.Archives != 1 || hers.ArchiveBytes == 0 || hers.Days != 1 {
		t.Errorf("%+v", hers)
	}
	for name, code := range map[string]string{"ann": "still_user", "local": "operators_own"} {
		if a := s.do("DELETE", "/api/users/"+name+"/data", "", nil); a.status != 409 || a.code(t) != code {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	s.withUsers(map[string]User{"bob": bob})
	if of("ann") != hers {
		t.Errorf("taking her out changed what is there: %+v", of("ann"))
	}
	end, err := s.daemon.turns.Begin(t.Context(), "ann", "") // as what began before she was taken out
	if err == nil {
		t.Error("something of hers began")
		end()
	}
	if gone := decoded[api.UserData](t, s.do("DELETE", "/api/users/ann/data", "", nil)); gone.Conversations != hers.Conversations || gone.Archives != 1 {
		t.Errorf("%+v", gone)
	}
	s.daemon.meter.Flush()
	if left := of("ann"); left != (api.UserData{User: "ann"}) {
		t.Errorf("left: %+v", left)
	}
	his := of("bob")
	his.User = "ann"
	if his.Archives != hers.Archives || his.Messages != hers.Messages || his.Days != 1 {
		t.Errorf("of another: %+v, where there was %+v", his, hers)
	}
	if again := decoded[api.UserData](t, s.do("DELETE", "/api/users/ann/data", "", nil)); again != (api.UserData{User: "ann"}) {
		t.Errorf("a second time: %+v", again)
	}
}

// What still runs is not purged: it would write on.
func TestPurgeWaitsForWhatRuns(t *testing.T) {
	begun, goOn := make(chan struct{}), make(chan struct{})
	s := newServer(t, replay.Func(func(int, agent.Request) replay.Reply {
		close(begun)
		<-goOn
		return says("ok")
	}))
	s.withUsers(map[string]User{"ann": ann(usage.Quota{})})
	done := make(chan answer, 1)
	go func() { done <- s.as(annToken, "POST", "/api/chat", hi) }()
	<-begun
	s.withUsers(nil)
	if a := s.do("DELETE", "/api/users/ann/data", "", nil); a.status != 409 || a.code(t) != api.CodeBusy {
		t.Errorf("%d %s", a.status, a.body)
	}
	close(goOn)
	<-done
	until := func() answer { return s.do("DELETE", "/api/users/ann/data", "", nil) }
	a := until()
	for a.status == 409 { // the count goes down after the answer
		a = until()
	}
	if gone := decoded[api.UserData](t, a); gone.Conversations != 1 || gone.Messages != 2 {
		t.Errorf("%+v", gone)
	}
}

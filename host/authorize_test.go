package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirhost/weir/host/approval"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/sdk/tool"
)

// an approver that a test plays.
type played func(context.Context, approval.Request) (approval.Answer, error)

func (f played) Approve(ctx context.Context, r approval.Request) (approval.Answer, error) {
	return f(ctx, r)
}

// desk is a host with the plugin pen, which may write to a folder.
func desk(t *testing.T, change func(*Config)) (*Host, string) {
	t.Helper()
	work := t.TempDir()
	write(t, filepath.Join(work, "secret.txt"), []byte("the tide turns at nine"))
	h := open(t, drop(t, "pen"), func(c *Config) {
		c.Grants = map[string]plugin.Grant{"pen": {Paths: []plugin.PathGrant{{Guest: "/workspace", Host: work, Mode: "rw"}}}}
		if change != nil {
			change(c)
		}
	})
	return h, work
}

func written(t *testing.T, work, name string) bool {
	t.Helper()
	_, err := os.Stat(filepath.Join(work, name))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return err == nil
}

const noteA = `{"path":"a.txt","text":"A"}`

// Without an Approver a tool that can change something does not run, and the
// model reads who could let it, in its language.
func TestNobodyIsThere(t *testing.T) {
	h, work := desk(t, nil)
	for _, l := range []tool.Locale{tool.En, tool.Zh} {
		r := try(t, h.Session("me", "c1").In(l), "write_note", noteA)
		if r.Err == nil || r.Err.Code != tool.Denied || !strings.Contains(r.Err.Msg, "/workspace") ||
			!strings.Contains(r.Err.Hint, `tool = "write_note"`) || !strings.Contains(r.Err.Hint, "weir chat") || hasChinese(r.Err.Msg) != (l == tool.Zh) {
			t.Errorf("%s: %+v", l, r.Err)
		}
		if r.Approval == nil || r.Approval.Allowed || r.Approval.By != "nobody" {
			t.Errorf("%s: %+v", l, r.Approval)
		}
	}
	if written(t, work, "a.txt") {
		t.Error("the note was written")
	}
	if r := call(t, h.Session("me", "c1"), "read_note", `{"path":"secret.txt"}`); r.Whole() != "the tide turns at nine" || r.Approval != nil {
		t.Errorf("a tool that only reads was asked about: %+v", r)
	}
}

// A tool that says it only reads gets nothing to write to: its claim costs it
// the power, in place of sparing it the question.
func TestClaimOfReadingCostsTheRightToWrite(t *testing.T) {
	h, work := desk(t, func(c *Config) { c.Approvals.Default = approval.Allow })
	s := h.Session("me", "c1")
	if r := try(t, s, "claims", noteA); r.Err == nil || written(t, work, "a.txt") {
		t.Errorf("it wrote: %+v", r)
	}
	if call(t, s, "write_note", noteA); !written(t, work, "a.txt") {
		t.Error("its sister, which claims nothing, did not write")
	}
	effects := map[string]plugin.Effect{}
	for _, info := range h.Tools() {
		effects[info.Spec.Name] = info.Effect
	}
	if effects["write_note"] != plugin.EffectChanges || effects["claims"] != plugin.EffectNone || effects["read_note"] != plugin.EffectNone {
		t.Errorf("%v", effects)
	}
}

func TestEffects(t *testing.T) {
	tests := []struct {
		claims, rw, net bool
		want            plugin.Effect
	}{
		{false, false, false, plugin.EffectNone}, // whatever it says, it can do nothing
		{true, false, false, plugin.EffectNone},
		{false, true, false, plugin.EffectChanges},
		{true, true, false, plugin.EffectNone},     // the folder is read-only for it
		{false, false, true, plugin.EffectChanges}, // it may post
		{true, false, true, plugin.EffectNetwork},
		{false, true, true, plugin.EffectChanges},
		{true, true, true, plugin.EffectNetwork},
	}
	for _, tt := range tests {
		dir := t.TempDir()
		asks, grant := "", plugin.Grant{}
		if tt.rw {
			asks += "paths = [{ guest = \"/workspace\", mode = \"rw\", reason = \"r\" }]\n"
			grant.Paths = []plugin.PathGrant{{Guest: "/workspace", Host: t.TempDir(), Mode: "rw"}}
		}
		if tt.net {
			asks += "hosts = [{ host = \"*\", reason = \"r\" }]\n"
			grant.Hosts = []plugin.HostGrant{{Host: "*"}}
		}
		place(t, dir, "pen", fmt.Appendf(nil, "schema = 1\nname = \"pen\"\n[permissions]\n%s[[tool]]\nname = \"job\"\ndescription = \"d\"\nexport = \"fetch\"\nhints = { read_only = %v }\n", asks, tt.claims))
		h := open(t, dir, func(c *Config) { c.Grants = map[string]plugin.Grant{"pen": grant} })
		if got := h.current.Load().Tools["job"].Info.Effect; got != tt.want {
			t.Errorf("%+v: %s", tt, got)
		}
	}
}

// The person sees the arguments that the guest reads, and only their yes lets
// the call run.
func TestAnswers(t *testing.T) {
	tests := []struct {
		name   string
		answer approval.Answer
		err    error
		runs   bool
		by     string
	}{
		{"once", approval.Answer{Verdict: approval.Once, By: "ann"}, nil, true, "person ann"},
		{"always", approval.Answer{Verdict: approval.Always, By: ""}, nil, true, "person"},
		{"the zero answer", approval.Answer{}, nil, false, "person"},
		{"no", approval.Answer{Verdict: approval.Refuse, By: "default"}, nil, false, "person default"}, // a name of ours
		{"a verdict of no kind", approval.Answer{Verdict: approval.Verdict(9), By: ""}, nil, false, "person"},
		{"numbers of other calls", approval.Answer{Verdict: approval.Once, Only: []int{1}, By: "ann"}, nil, false, "person ann"},
		{"nobody", approval.Answer{Verdict: approval.Once, By: "ann"}, approval.ErrNoPerson, false, "nobody"}, // an error wins over the answer
		{"an error", approval.Answer{}, errors.New("broken"), false, "nobody"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h, work := desk(t, nil)
			var got approval.Request
			s := h.Session("me", "c1").Asking(played(func(_ context.Context, r approval.Request) (approval.Answer, error) {
				got = r
				return tt.answer, tt.err
			}))
			r := try(t, s, "write_note", ` { "text" : "A", "path":"a.txt"} `)
			if (r.Err == nil) != tt.runs || written(t, work, "a.txt") != tt.runs {
				t.Errorf("ran %v: %v", !tt.runs, r.Err)
			}
			if r.Err != nil && r.Err.Code != tool.Denied {
				t.Errorf("%+v", r.Err)
			}
			if r.Approval == nil || r.Approval.Allowed != tt.runs || r.Approval.By != tt.by {
				t.Errorf("%+v", r.Approval)
			}
			if string(got.Args) != `{"path":"a.txt","text":"A"}` || got.Tool != "write_note" || got.Plugin != "pen" || got.Principal != "me" ||
				got.Conversation != "c1" || got.CallID != "c1" || !strings.Contains(got.Why, "/workspace") || !strings.Contains(got.Always, "exactly") || got.Expires.IsZero() {
				t.Errorf("asked %+v", got)
			}
		})
	}
}

// Always is for the same tool, the same arguments and the same conversation.
func TestAlwaysGoesNoFurther(t *testing.T) {
	h, _ := desk(t, nil)
	var asked atomic.Int32
	yes := played(func(context.Context, approval.Request) (approval.Answer, error) {
		asked.Add(1)
		return approval.Answer{Verdict: approval.Always, By: ""}, nil
	})
	steps := []struct {
		principal, conversation, tool, args string
		asked                               bool
	}{
		{"me", "c1", "write_note", noteA, true},
		{"me", "c1", "write_note", noteA, false},
		{"me", "c1", "write_note", `{"text":"A","path":"a.txt"}`, false}, // the same in another order
		{"me", "c1", "write_note", `{"path":"a.txt","text":"B"}`, true},
		{"me", "c2", "write_note", noteA, true},
		{"you", "c1", "write_note", noteA, true},
		{"me", "c1", "write_note", noteA, false},
	}
	for i, st := range steps {
		before := asked.Load()
		r := call(t, h.Session(Principal(st.principal), st.conversation).Asking(yes), st.tool, st.args)
		if (asked.Load() > before) != st.asked || !r.Approval.Allowed {
			t.Errorf("step %d: asked %v, %+v", i, asked.Load() > before, r.Approval)
		}
	}
	// Without an Approver, what was allowed for good still runs.
	if r := call(t, h.Session("me", "c1"), "write_note", noteA); r.Approval.By != "always" {
		t.Errorf("%+v", r.Approval)
	}
	h.Forget("me", "c1")
	if r := try(t, h.Session("me", "c1"), "write_note", noteA); r.Err == nil {
		t.Error("a conversation that is gone left its consents behind")
	}
}

// The rule that asks says how far Always reaches.
func TestAlwaysUnderARule(t *testing.T) {
	h, _ := desk(t, func(c *Config) {
		c.Approvals.Rules = []approval.Rule{{Tool: "write_note", Args: map[string]string{"path": `^a\.`}, Action: approval.Ask}}
	})
	asked := 0
	var always string
	s := h.Session("me", "c1").Asking(played(func(_ context.Context, r approval.Request) (approval.Answer, error) {
		asked++
		always = r.Always
		return approval.Answer{Verdict: approval.Always, By: ""}, nil
	}))
	for i, path := range []string{"a.txt", "a.md", "b.txt", "a.c"} {
		call(t, s, "write_note", fmt.Sprintf(`{"path":%q}`, path))
		if i == 0 && always != `write_note with arguments where path =~ ^a\.` {
			t.Errorf("told %q", always)
		}
	}
	if asked != 2 { // a.txt for all of a.*, and b.txt by the default
		t.Errorf("asked %d times", asked)
	}
}

// A plugin whose bytes, manifest or powers change is asked about again.
func TestAlwaysEndsWithTheTool(t *testing.T) {
	h, _ := desk(t, nil)
	s := h.Session("me", "c1").Asking(played(func(context.Context, approval.Request) (approval.Answer, error) {
		return approval.Answer{Verdict: approval.Always, By: ""}, nil
	}))
	call(t, s, "write_note", noteA)
	file := filepath.Join(h.cfg.Folders[0].Path, "pen", "plugin.toml")
	write(t, file, append(slurp(t, file), "# changed\n"...))
	if _, err := h.Reload(t.Context(), ReloadOptions{}); err != nil {
		t.Fatal(err)
	}
	if r := try(t, h.Session("me", "c1"), "write_note", noteA); r.Err == nil {
		t.Error("the changed plugin ran on the old consent")
	}
}

// The operator's word comes before everybody's, the person's own act last.
func TestWhoDecides(t *testing.T) {
	tests := []struct {
		name   string
		a      approval.Policy
		person bool
		tool   string
		runs   bool
		by     string // "": nothing was decided
	}{
		{"allowed by default", approval.Policy{Default: approval.Allow}, false, "write_note", true, "default"},
		{"denied by default", approval.Policy{Default: approval.Deny}, false, "write_note", false, "default"},
		{"by rule", approval.Policy{Rules: []approval.Rule{{Tool: "write_*", Action: approval.Allow}}}, false, "write_note", true, "rule 1"},
		{"a rule denies what could do no harm", approval.Policy{Rules: []approval.Rule{{Tool: "x", Action: approval.Allow}, {Tool: "read_*", Action: approval.Deny}}}, false, "read_note", false, "rule 2"},
		{"the first rule", approval.Policy{Rules: []approval.Rule{{Tool: "*", Action: approval.Deny}, {Tool: "write_note", Action: approval.Allow}}}, false, "write_note", false, "rule 1"},
		{"a person's own call", approval.Policy{}, true, "write_note", true, ""},
		{"a person, the default denies models", approval.Policy{Default: approval.Deny}, true, "write_note", true, ""},
		{"a person, a rule asks", approval.Policy{Rules: []approval.Rule{{Tool: "*", Action: approval.Ask}}}, true, "write_note", true, ""},
		{"a person, a rule denies", approval.Policy{Rules: []approval.Rule{{Tool: "*", Action: approval.Deny}}}, true, "write_note", false, "rule 1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h, _ := desk(t, func(c *Config) { c.Approvals = tt.a })
			s := h.Session("me", "c1")
			if tt.person {
				s = s.ByPerson()
			}
			args := noteA
			if tt.tool == "read_note" {
				args = `{"path":"secret.txt"}`
			}
			r := try(t, s, tt.tool, args)
			if (r.Err == nil) != tt.runs || r.Err != nil && r.Err.Code != tool.Denied {
				t.Errorf("%v", r.Err)
			}
			if by := ""; r.Approval != nil && r.Approval.By != tt.by || r.Approval == nil && by != tt.by {
				t.Errorf("by %+v, want %q", r.Approval, tt.by)
			}
		})
	}
}

// web is a host whose fetch may reach a server on this machine, and whose
// read_note may read a folder.
func web(t *testing.T, granted func(server string) plugin.HostGrant, change func(*Config)) (h *Host, server string, hits *atomic.Int32) {
	t.Helper()
	hits = new(atomic.Int32)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		hits.Add(1)
		fmt.Fprint(w, "a page")
	}))
	t.Cleanup(srv.Close)
	work, dir := t.TempDir(), drop(t, "pen")
	write(t, filepath.Join(work, "secret.txt"), []byte("the tide turns at nine"))
	place(t, dir, "browser", []byte(`schema = 1
name = "browser"
[permissions]
hosts = [{ host = "http://*:*", reason = "reads pages" }]
[[tool]]
name = "fetch"
description = "d"
format = "mcp"
hints = { read_only = true, network = true, idempotent = true }
`))
	write(t, filepath.Join(dir, "browser", "browser.wasm"), slurp(t, filepath.Join(guests, "pen.wasm")))
	return open(t, dir, func(c *Config) {
		c.Grants = map[string]plugin.Grant{
			"pen":     {Paths: []plugin.PathGrant{{Guest: "/workspace", Host: work}}},
			"browser": {Hosts: []plugin.HostGrant{granted(srv.URL)}},
		}
		if change != nil {
			change(c)
		}
	}), srv.URL, hits
}

func everywhere(string) plugin.HostGrant    { return plugin.HostGrant{Host: "http://*:*", Private: true} }
func byName(server string) plugin.HostGrant { return plugin.HostGrant{Host: server} }

// What a tool read in a granted folder must not be carried to a host of the
// model's choice unasked; to one that the operator named it may.
func TestPrivateTextStaysUnasked(t *testing.T) {
	h, server, hits := web(t, everywhere, nil)
	page := fmt.Sprintf(`{"url":%q}`, server)
	s := h.Session("me", "c1")
	if r := call(t, s, "fetch", page); r.Whole() != "a page" || r.Approval != nil {
		t.Fatalf("a conversation that holds nothing: %+v", r)
	}
	call(t, s, "read_note", `{"path":"secret.txt"}`)
	r := try(t, s, "fetch", page)
	if r.Err == nil || r.Err.Code != tool.Denied || !strings.Contains(r.Err.Msg, "granted folder") || hits.Load() != 1 {
		t.Errorf("%v after %d hits", r.Err, hits.Load())
	}
	if r = call(t, h.Session("me", "c2"), "fetch", page); r.Approval != nil {
		t.Errorf("another conversation: %+v", r.Approval)
	}
	var why string
	s = s.Asking(played(func(_ context.Context, r approval.Request) (approval.Answer, error) {
		why = r.Why
		return approval.Answer{Verdict: approval.Once, By: ""}, nil
	}))
	if call(t, s, "fetch", page); !strings.Contains(why, "http://*:*") {
		t.Errorf("why: %q", why)
	}

	h, server, _ = web(t, byName, nil)
	s = h.Session("me", "c1")
	call(t, s, "read_note", `{"path":"secret.txt"}`)
	if r := call(t, s, "fetch", fmt.Sprintf(`{"url":%q}`, server)); r.Approval != nil {
		t.Errorf("a host by name: %+v", r.Approval)
	}
}

func TestNetworkActions(t *testing.T) {
	for _, tt := range []struct {
		action approval.Action
		runs   bool
		by     string
	}{{approval.Ask, false, "nobody"}, {approval.Deny, false, "network"}, {approval.Allow, true, "network"}} {
		h, server, hits := web(t, byName, func(c *Config) { c.Approvals.Network = tt.action })
		r := try(t, h.Session("me", "c1"), "fetch", fmt.Sprintf(`{"url":%q}`, server))
		if (r.Err == nil) != tt.runs || (hits.Load() > 0) != tt.runs || r.Approval == nil || r.Approval.By != tt.by {
			t.Errorf("%s: %v, %+v", tt.action, r.Err, r.Approval)
		}
	}
}

// A conversation that an earlier process filled is known by its call log, and
// an application's own results count as private.
func TestPrivateTextOfBefore(t *testing.T) {
	h, server, _ := web(t, everywhere, nil)
	page := fmt.Sprintf(`{"url":%q}`, server)
	log, err := store.Open(t.Context(), h.Archive())
	if err != nil {
		t.Fatal(err)
	}
	h.SetCallLog(log)
	format := "json"
	use := func(conversation, name, code string) {
		t.Helper()
		err := log.LogCalls(t.Context(), []store.Call{{Scope: archive.Scope{Principal: "me", Conversation: conversation}, Turn: 1, Tool: name, Format: format, Code: code}})
		if err != nil {
			t.Fatal(err)
		}
	}
	use("read", "read_note", "ok")
	use("gone", "was_here_once", "ok")
	use("tried", "read_note", "bad_args")
	use("harmless", "load_tool_history", "ok")
	use("fetched", "fetch", "ok")
	format = "" // of what an application kept: its tool is another's, whatever it is called
	use("kept before", "fetch", "ok")
	if _, err := h.Session("me", "kept").Ingest(t.Context(), tool.Call{Tool: "theirs"}, []byte("text")); err != nil {
		t.Fatal(err)
	}
	for conversation, asked := range map[string]bool{"read": true, "gone": true, "tried": false, "harmless": false, "kept": true, "kept before": true, "fetched": false, "new": false} {
		if r := try(t, h.Session("me", conversation), "fetch", page); (r.Approval != nil) != asked {
			t.Errorf("%s: %+v", conversation, r.Approval)
		}
	}
}

// A repetition of a call that was allowed is the same call.
func TestRetryIsNotAskedAgain(t *testing.T) {
	h, server, _ := web(t, byName, func(c *Config) { c.Approvals.Network = approval.Ask })
	asked := 0
	s := h.Session("me", "c1").Asking(played(func(context.Context, approval.Request) (approval.Answer, error) {
		asked++
		return approval.Answer{Verdict: approval.Once, By: ""}, nil
	}))
	page := json.RawMessage(fmt.Sprintf(`{"url":%q}`, server))
	for _, c := range []tool.Call{{ID: "a", Turn: 1}, {ID: "a", Turn: 1}, {ID: "b", Turn: 1}, {ID: "a", Turn: 2}} {
		c.Tool, c.Args = "fetch", page
		if _, err := s.Call(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	if asked != 3 {
		t.Errorf("asked %d times", asked)
	}
}

// Waiting takes no place of the host's, does not count as the tool's time, and
// ends with whoever waits.
func TestWaitingForAPerson(t *testing.T) {
	h, _ := desk(t, func(c *Config) {
		c.Parallel = 1
		c.Tools = map[string]ToolConfig{"write_note": {Limits: tool.Limits{Timeout: 20 * time.Second}}}
	})
	asked, answer := make(chan struct{}), make(chan struct{})
	s := h.Session("me", "c1").Asking(played(func(ctx context.Context, _ approval.Request) (approval.Answer, error) {
		asked <- struct{}{}
		select {
		case <-answer:
			return approval.Answer{Verdict: approval.Once, By: ""}, nil
		case <-ctx.Done():
			return approval.Answer{Verdict: approval.Once, By: "too late"}, nil // which must not count
		}
	}))
	var wg sync.WaitGroup
	wg.Go(func() {
		if r := call(t, s, "write_note", noteA); r.Stats.Duration > r.Approval.Waited+time.Minute || r.Approval.Waited <= 0 {
			t.Errorf("%+v %+v", r.Stats, r.Approval)
		}
	})
	<-asked
	call(t, h.Session("me", "c2"), "read_note", `{"path":"secret.txt"}`) // the only place is free
	close(answer)
	wg.Wait()

	answer = make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	wg.Go(func() {
		if _, err := s.Call(ctx, tool.Call{ID: "c2", Tool: "write_note", Args: json.RawMessage(`{"path":"b.txt"}`)}); !errors.Is(err, context.Canceled) {
			t.Errorf("the caller has gone: %v", err)
		}
	})
	<-asked
	cancel()
	wg.Wait()
}

package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/internal/guesttest"
	"github.com/weirhost/weir/host/plugin"
	"github.com/weirhost/weir/internal/testtime"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

func TestCallIsCutAndArchivedWhole(t *testing.T) {
	h := open(t, drop(t, "probe"), nil)
	s := h.Session("me", "c1")
	r := call(t, s, "long", `{"Lines":1000,"Width":50}`)
	if r.Shown.TotalChars != 50000 || r.Shown.By != tool.LayerTool || r.Shown.Limit != 2000 {
		t.Errorf("shown %+v", r.Shown)
	}
	if chars, _ := limit.Count(limit.Render(r, tool.En)); chars > 2000 || chars < 1800 {
		t.Errorf("rendered in %d characters", chars)
	}
	if r.Ref == nil || r.Ref.Chars != 50000 || r.Ref.Lines != 1000 || r.Ref.Summary == "" || r.Ref.Query == "" {
		t.Fatalf("ref %+v", r.Ref)
	}
	e, err := h.Archive().Get(t.Context(), s.scope(), r.Ref.UUID)
	if err != nil || e.Full != r.Whole() || e.Turn != 1 || e.CallID != "c1" || string(e.Input) != `{"Lines":1000,"Width":50}` {
		t.Errorf("archived %d characters of %s, turn %d, call %q, input %s: %v", e.Chars, e.Tool, e.Turn, e.CallID, e.Input, err)
	}
	if r.CallID != "c1" || r.Tool != "long" || r.Stats.Duration <= 0 || r.Stats.RawBytes != 50000 || r.Stats.Memory == 0 {
		t.Errorf("result %q %q %+v", r.CallID, r.Tool, r.Stats)
	}
}

func TestWhatIsKept(t *testing.T) {
	h := open(t, drop(t, "probe"), nil)
	s := h.Session("me", "c1")
	tests := []struct {
		tool, args string
		kept, cut  bool
	}{
		{"long", `{"Lines":20,"Width":50}`, false, false},  // 1,000 characters: not over
		{"long", `{"Lines":21,"Width":50}`, true, false},   // over, and shown whole
		{"kept", `{}`, true, false},                        // always
		{"unkept", `{"Lines":99,"Width":50}`, false, true}, // never, although it is cut
		{"small", `{"Lines":16,"Width":50}`, true, true},   // 800 characters are not over 1,000, but 300 are shown
	}
	for _, tt := range tests {
		r := call(t, s, tt.tool, tt.args)
		if (r.Ref != nil) != tt.kept || r.Shown.Cut() != tt.cut || r.Unkept {
			t.Errorf("%s(%s): ref %v, cut %v, unkept %v", tt.tool, tt.args, r.Ref, r.Shown.Cut(), r.Unkept)
		}
	}
}

func TestLadder(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Config)
		tool   string
		most   int
		by     tool.Layer
	}{
		{"declared", nil, "long", 2000, tool.LayerTool},
		{"default", nil, "bare", 8000, tool.LayerDefault},
		{"the operator's default", func(c *Config) { c.Defaults.MaxChars = 3000 }, "bare", 3000, tool.LayerDefault},
		{"the operator lowers", func(c *Config) { c.Tools = map[string]ToolConfig{"long": {Limits: tool.Limits{MaxChars: 500}}} }, "long", 500, tool.LayerOperator},
		{"the operator raises", func(c *Config) { c.Tools = map[string]ToolConfig{"long": {Limits: tool.Limits{MaxChars: 9000}}} }, "long", 9000, tool.LayerOperator},
		{"the ceiling", func(c *Config) {
			c.CeilingChars = 4000
			c.Tools = map[string]ToolConfig{"long": {Limits: tool.Limits{MaxChars: 9000}}}
		}, "long", 4000, tool.LayerCeiling},
	}
	dir := drop(t, "probe")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := open(t, dir, tt.change)
			r := call(t, h.Session("me", "c1"), tt.tool, `{"Lines":300,"Width":200}`)
			chars, _ := limit.Count(limit.Render(r, tool.Zh))
			if r.Shown.By != tt.by || chars > tt.most || chars < tt.most*3/4 {
				t.Errorf("%d characters by %q, want up to %d by %q", chars, r.Shown.By, tt.most, tt.by)
			}
		})
	}
}

// The number of the agent that calls replaces that of a tool which declares none or an
// open-ended one, up to the ceiling; elsewhere it only lowers. The lowest limit decides.
func TestAgentsLimitOfACall(t *testing.T) {
	operator := func(c *Config) { c.Tools = map[string]ToolConfig{"bare": {Limits: tool.Limits{MaxChars: 5000}}} }
	tests := []struct {
		name   string
		change func(*Config)
		tool   string
		agent  int
		most   int
		by     tool.Layer
		next   int
		nextBy tool.Layer
	}{
		{"no agent", nil, "bare", 0, 8000, tool.LayerDefault, 0, ""},
		{"raised", nil, "bare", 16000, 16000, tool.LayerAgent, 32768, tool.LayerCeiling},
		{"lowered", nil, "bare", 2000, 2000, tool.LayerAgent, 32768, tool.LayerCeiling},
		{"the ceiling", nil, "bare", 99000, 32768, tool.LayerCeiling, 99000, tool.LayerAgent},
		{"the operator's number is kept", operator, "bare", 16000, 5000, tool.LayerOperator, 16000, tool.LayerAgent},
		{"a declared limit is kept", nil, "long", 16000, 2000, tool.LayerTool, 16000, tool.LayerAgent},
		{"and lowered", nil, "long", 1000, 1000, tool.LayerAgent, 2000, tool.LayerTool},
	}
	dir := drop(t, "probe")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := open(t, dir, tt.change).Session("me", "c1")
			r, err := s.Call(t.Context(), tool.Call{ID: "1", Tool: tt.tool, Args: json.RawMessage(`{"Lines":900,"Width":100}`), MaxChars: tt.agent})
			if err != nil || r.Err != nil {
				t.Fatal(err, r.Err)
			}
			chars, _ := limit.Count(limit.Render(r, tool.Zh))
			if r.Shown.By != tt.by || r.Shown.Limit != tt.most || chars > tt.most || chars < tt.most*3/4 {
				t.Errorf("%d characters by %q at %d, want up to %d by %q", chars, r.Shown.By, r.Shown.Limit, tt.most, tt.by)
			}
			if tt.agent == 0 {
				return
			}
			for _, g := range s.Limits(tt.agent) {
				if slices.Contains(g.Tools, tt.tool) && (g.Chars != tt.most || g.By != tt.by || g.Next != tt.next || g.NextBy != tt.nextBy) {
					t.Errorf("told as %+v", g)
				}
			}
		})
	}
}

// Where the agent's characters replace those of a tool, its usual lines do not count either:
// a number that is written nowhere would decide.
func TestAgentsLimitHasNoLines(t *testing.T) {
	s := open(t, drop(t, "probe"), nil).Session("me", "c1")
	for agent, by := range map[int]tool.Unit{0: tool.Lines, 16000: tool.Chars} {
		r, err := s.Call(t.Context(), tool.Call{ID: "1", Tool: "bare", Args: json.RawMessage(`{"Lines":3000,"Width":9}`), MaxChars: agent})
		if err != nil || r.Err != nil || r.Shown.Unit != by {
			t.Errorf("agent %d: cut by %q at %d %s; %v %v", agent, r.Shown.By, r.Shown.Limit, r.Shown.Unit, err, r.Err)
		}
	}
}

// A guest sees the limit of the agent that calls it.
func TestGuestSeesTheAgentsLimit(t *testing.T) {
	s := open(t, drop(t, "probe"), nil).Session("me", "c1")
	r, err := s.Call(t.Context(), tool.Call{Tool: "settings", MaxChars: 1000})
	if err != nil || !strings.HasPrefix(r.Whole(), "weir.max_chars=1000\n") {
		t.Errorf("%v: %q", err, r.Whole())
	}
}

func TestGuestSeesLimitsSettingsAndLocale(t *testing.T) {
	h := open(t, drop(t, "probe"), func(c *Config) {
		c.Tools = map[string]ToolConfig{"settings": {Config: map[string]any{"depth": int64(7)}}}
	})
	r := call(t, h.Session("me", "c1").In(tool.Zh), "settings", "")
	want := "weir.max_chars=1234\nweir.max_lines=56\nweir.locale=zh\ndepth=7\nlabel=plain"
	if r.Whole() != want {
		t.Errorf("got %q, want %q", r.Whole(), want)
	}
}

func TestSettingsThatDoNotFit(t *testing.T) {
	tests := []struct {
		config map[string]any
		why    string
	}{
		{map[string]any{"depth": "deep"}, `the setting depth of [tools.settings] is "deep", and must be of type integer`},
		{map[string]any{"depht": 2}, "[tools.settings] sets depht, which the plugin does not have"},
	}
	for _, tt := range tests {
		h := open(t, drop(t, "probe"), func(c *Config) { c.Tools = map[string]ToolConfig{"settings": {Config: tt.config}} })
		p := h.Plugins()[0]
		if p.State != plugin.Pending || p.Why.String() != tt.why || !strings.Contains(p.Fix.String(), "[tools.settings]") {
			t.Errorf("%+v", p)
		}
	}
}

func TestFailures(t *testing.T) {
	h := open(t, drop(t, "probe"), func(c *Config) {
		c.Tools = map[string]ToolConfig{"wait": {Limits: tool.Limits{Timeout: 200e6}}}
	})
	tests := []struct {
		tool, args string
		code       tool.Code
		msg, hint  string // parts of the English ones
	}{
		{"lnog", `{}`, tool.UnknownTool, `there is no tool named "lnog"`, "long"},
		{"something_else", `{}`, tool.UnknownTool, "something_else", "listed"},
		{"long", `{`, tool.BadArgs, "not valid JSON", "one JSON object"},
		{"long", `[1]`, tool.BadArgs, "not a JSON object", ""},
		{"long", `"x"`, tool.BadArgs, "not a JSON object", ""},
		{"long", `{"Lines":1} {"Lines":2}`, tool.BadArgs, "after the JSON object", ""},
		{"long", `{"Lines":1,"Lines":2}`, tool.BadArgs, `"Lines" is given twice`, ""},
		{"long", `{"Lines":1e999999999}`, tool.BadArgs, "1e999999999", ""},                                           // no float, and costly as a fraction
		{"long", strings.Repeat(`{"a":`, 90) + "1" + strings.Repeat("}", 90), tool.BadArgs, "nested too deeply", ""}, // deeper than any tool needs
		{"long", `{}`, tool.BadArgs, `"Lines" is missing`, `{"Lines":10,"Width":20}`},                                // the example that fits
		{"long", `{"Lines":"5"}`, tool.BadArgs, `"Lines" must be a whole number, not "5"`, ""},
		{"long", `{"Lines":-1}`, tool.BadArgs, `"Lines" must be at least 0`, ""},
		{"write", `{"Text":"x","Mod":"new"}`, tool.BadArgs, `"Mod" is not an argument of this tool (perhaps "Mode" is meant)`, "its arguments: Text, Mode"},
		{"write", `{"Text":"x","Mode":"old"}`, tool.BadArgs, `"Mode" must be one of "new", "append"`, ""},
		{"blank", `{}`, tool.Failed, "blank returned an empty answer", "other arguments"},
		{"fail", `{}`, tool.Failed, "the tide is out", ""},
		{"crash", `{}`, tool.Trapped, "crash", ""},
		{"wait", `{"Millis":5000}`, tool.TimedOut, "200ms", ""},
	}
	for _, tt := range tests {
		for _, l := range []tool.Locale{tool.En, tool.Zh} {
			r := try(t, h.Session("me", "c1").In(l), tt.tool, tt.args)
			if r.Err == nil || r.Err.Code != tt.code {
				t.Errorf("%s(%.60s): %v, want code %s", tt.tool, tt.args, r.Err, tt.code)
				continue
			}
			if l == tool.En && (!strings.Contains(r.Err.Msg, tt.msg) || !strings.Contains(r.Err.Hint, tt.hint)) {
				t.Errorf("%s(%.60s): %q (%q)", tt.tool, tt.args, r.Err.Msg, r.Err.Hint)
			}
			if l == tool.Zh && tt.tool != "fail" && !hasChinese(r.Err.Msg) {
				t.Errorf("%s(%.60s): %q is not Chinese", tt.tool, tt.args, r.Err.Msg)
			}
			for _, leak := range []string{"wasm", "goroutine", "0x", ".go:", "*"} {
				if strings.Contains(r.Err.Msg, leak) {
					t.Errorf("%s(%.60s): %q shows %q", tt.tool, tt.args, r.Err.Msg, leak)
				}
			}
		}
	}
	if r := call(t, h.Session("me", "c1"), "blank_ok", ""); r.Shown.Text != "" {
		t.Errorf("blank_ok: %+v", r)
	}
}

func hasChinese(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r >= 0x4e00 && r < 0xa000 })
}

// A text of more than 8 MiB is kept up to there, and says so before it, at its end in the
// archive, and in its line: in English from a process, in Chinese inline.
func TestMoreThanTheWholeIsCutAndSays(t *testing.T) {
	for l, want := range map[tool.Locale][2]string{
		tool.En: {"[The result is longer than 8MiB. weir kept its first 8MiB and the rest is gone: ask for a smaller part.]\n0123", "\n[weir: the text goes on here; only its first 8MiB were kept]"},
		tool.Zh: {"[结果超过 8MiB", "\n[weir："},
	} {
		h := open(t, drop(t, "probe"), func(c *Config) {
			if l == tool.Zh {
				c.Sandbox.Workers.Isolation = Inline
			}
		})
		r := call(t, h.Session("me", "c1").In(l), "huge", `{}`)
		if r.Err != nil || !r.Incomplete || r.Ref == nil || !strings.HasPrefix(limit.Render(r, l), want[0]) || !strings.Contains(limit.Line(r), "✗ only the first 8MiB") {
			t.Fatalf("%v, ref %v: %.200s", r.Err, r.Ref, limit.Render(r, l))
		}
		e, err := h.Archive().Get(t.Context(), archive.Scope{Principal: "me", Conversation: "c1"}, r.Ref.UUID)
		if err != nil {
			t.Fatal(err)
		}
		first, rest := e.Full[:tool.MaxWhole], e.Full[tool.MaxWhole:]
		if first != strings.Repeat("0123456789abcdef", tool.MaxWhole/16) || !strings.HasPrefix(rest, want[1]) || strings.Count(rest, "\n") != 1 {
			t.Errorf("%d bytes are archived, which end with %.200q", len(e.Full), rest)
		}
	}
}

func TestFreshStateAndNormalising(t *testing.T) {
	s := open(t, drop(t, "probe"), func(c *Config) { c.Sandbox.Spares = 1 }).Session("me", "c1")
	for range 3 {
		if r := call(t, s, "count", "{}"); r.Whole() != "call 1" {
			t.Fatalf("an instance was used twice: %q", r.Whole())
		}
	}
	if r := call(t, s, "coloured", "{}"); r.Whole() != "red\nplain\uFFFD" {
		t.Errorf("not normalised: %q", r.Whole())
	}
}

func TestCache(t *testing.T) {
	h := open(t, drop(t, "probe"), nil)
	s := h.Session("me", "c1")
	first := call(t, s, "stamp", `{"a":1, "b":2}`)
	again := call(t, s, "stamp", `{"b":2,"a":1}`) // the same arguments
	if again.Whole() != first.Whole() || !again.Stats.Cached || first.Stats.Cached {
		t.Errorf("%q and %q, %+v", first.Whole(), again.Whole(), again.Stats)
	}
	for _, other := range []tool.Result{call(t, s, "stamp", `{"a":2}`), call(t, h.Session("you", "c1"), "stamp", `{"a":1,"b":2}`)} {
		if other.Stats.Cached {
			t.Error("other arguments and other principals must not be answered from the cache")
		}
	}
}

func TestRate(t *testing.T) {
	h := open(t, drop(t, "probe"), nil)
	s := h.Session("me", "c1")
	for range 2 {
		call(t, s, "rationed", "")
	}
	if _, err := h.Reload(t.Context(), ReloadOptions{}); err != nil { // gives no new calls away
		t.Fatal(err)
	}
	r := try(t, s, "rationed", "")
	if r.Err == nil || r.Err.Code != tool.RateLimited || !strings.Contains(r.Err.Msg, "2 calls per minute") || !strings.Contains(r.Err.Hint, "seconds") {
		t.Errorf("%+v", r.Err)
	}
}

// The operator's rate and cache replace those that a tool declares.
func TestOperatorsRateAndCache(t *testing.T) {
	one, none, never, long := 1, 0, time.Duration(0), time.Hour
	h := open(t, drop(t, "probe"), func(c *Config) {
		c.Tools = map[string]ToolConfig{"rationed": {PerMinute: &none}, "bare": {PerMinute: &one}, "stamp": {CacheTTL: &never}, "long": {CacheTTL: &long}}
	})
	s := h.Session("me", "c1")
	for range 5 {
		call(t, s, "rationed", "")
	}
	call(t, s, "bare", `{"Lines":1,"Width":5}`)
	if r := try(t, s, "bare", `{"Lines":1,"Width":5}`); r.Err == nil || r.Err.Code != tool.RateLimited || !strings.Contains(r.Err.Msg, "1 calls per minute") {
		t.Errorf("%+v", r.Err)
	}
	call(t, s, "stamp", "")
	if r := call(t, s, "stamp", ""); r.Stats.Cached {
		t.Error("an answer of stamp is reused")
	}
	call(t, s, "long", `{"Lines":1,"Width":5}`)
	if r := call(t, s, "long", `{"Lines":1,"Width":5}`); !r.Stats.Cached {
		t.Error("an answer of long is not reused")
	}
	for _, i := range h.Tools() {
		if i.Spec.Name == "bare" && i.PerMinute != 1 || i.Spec.Name == "long" && i.CacheTTL != time.Hour {
			t.Errorf("%s: %d calls per minute, cached for %s", i.Spec.Name, i.PerMinute, i.CacheTTL)
		}
	}
}

func TestMCPAnswers(t *testing.T) {
	work := t.TempDir()
	write(t, filepath.Join(work, "a.txt"), []byte("a note"))
	h := open(t, drop(t, "notes"), func(c *Config) {
		c.Grants = map[string]plugin.Grant{"notes": {Paths: []plugin.PathGrant{{Guest: "/workspace", Host: work, Mode: "rw"}}}}
	})
	s := h.Session("me", "c1")
	if r := call(t, s, "note", `{"file":"a.txt"}`); r.Whole() != "a note" {
		t.Errorf("the granted folder: %q", r.Whole())
	}
	if r := try(t, s, "note", `{"file":"../b.txt"}`); r.Err == nil {
		t.Errorf("outside of the granted folder: %q", r.Whole())
	}
	r := call(t, s, "note", `{"what":"sources"}`)
	if len(r.Sources) != 1 || r.Sources[0] != (tool.Source{Title: "There", URL: "https://example.com/there"}) {
		t.Errorf("sources %+v", r.Sources)
	}
	r = call(t, s, "note", `{"what":"more"}`)
	if r.More == nil || r.More.Total != 9 || string(r.More.Args) != `{"offset":2}` {
		t.Errorf("more %+v", r.More)
	}
	r = call(t, s, "note", `{"what":"parts"}`)
	if len(r.Parts) != 1 || string(r.Parts[0].Data) != "\x01\x02\x03" || r.Whole() != "a picture\n[part dot.png: image/png, 3 bytes]" || r.Ref == nil {
		t.Errorf("parts %+v in %q, ref %v", r.Parts, r.Whole(), r.Ref)
	}
	r = try(t, s, "note", `{"what":"denied"}`)
	if r.Err == nil || r.Err.Error() != "denied: that is not for you (ask somebody else)" || r.Whole() != "" {
		t.Errorf("the tool's own error: %+v, whole %q", r.Err, r.Whole())
	}
	if r = try(t, s, "note", `{"what":"unknown_code"}`); r.Err == nil || r.Err.Code != tool.Failed {
		t.Errorf("a made-up code: %+v", r.Err)
	}
}

func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "archive.db")
	h := open(t, drop(t, "probe"), func(c *Config) { c.Archive.Path = path })
	s := h.Session("me", "c1")
	if r := call(t, s, "long", `{"Lines":100,"Width":50}`); r.Ref == nil {
		t.Fatal("the archive does not work to begin with")
	}
	h.archive.Close() // from here on every write fails, as on a full disk
	r := call(t, s, "long", `{"Lines":200,"Width":50}`)
	if !r.Unkept || r.Ref != nil || !r.Shown.Cut() || r.Shown.TotalChars != 10000 {
		t.Errorf("the cut text must still go, and say so: unkept %v, ref %v, %+v", r.Unkept, r.Ref, r.Shown)
	}
	for l, want := range map[tool.Locale]string{tool.En: "could not be kept", tool.Zh: "未能保存"} {
		if text := limit.Render(r, l); !strings.Contains(text, want) {
			t.Errorf("the model is not told: %q", text)
		}
	}
}

func TestConcurrentCalls(t *testing.T) {
	h := open(t, drop(t, "probe"), func(c *Config) { c.Parallel = 2; c.Sandbox.Spares = 1 })
	s := h.Session("me", "c1")
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			args := fmt.Sprintf(`{"n":%d}`, i)
			r, err := s.Call(t.Context(), tool.Call{Tool: "kept", Args: json.RawMessage(args)})
			if err != nil || r.Err != nil || r.Whole() != args || r.Ref == nil {
				t.Errorf("call %d: %q, %v, %v", i, r.Whole(), r.Err, err)
			}
		})
	}
	wg.Wait()
	if n := h.running.Busy(); n != 0 {
		t.Errorf("%d places were not given back", n)
	}
}

func TestEndingContexts(t *testing.T) {
	h := open(t, drop(t, "probe"), nil)
	s := h.Session("me", "c1")
	call(t, s, "count", "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Call(ctx, tool.Call{Tool: "count"}); !errors.Is(err, context.Canceled) {
		t.Errorf("a call with an ended context: %v", err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 50e6)
	defer cancel()
	if _, err := s.Call(ctx, tool.Call{Tool: "wait", Args: json.RawMessage(`{"Millis":10000}`)}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a call whose context ends: %v", err)
	}
}

func TestCloseEndsCalls(t *testing.T) {
	h := open(t, drop(t, "probe"), nil)
	s := h.Session("me", "c1")
	call(t, s, "count", "")
	done := make(chan error, 1)
	go func() {
		_, err := s.Call(context.Background(), tool.Call{Tool: "wait", Args: json.RawMessage(`{"Millis":15000}`)})
		done <- err
	}()
	testtime.Until(t, "the call runs", func() bool { return h.running.Busy() > 0 || len(done) > 0 })
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	if err := <-done; !errors.Is(err, ErrClosed) {
		t.Errorf("the call ended with %v", err)
	}
}

func TestLogLine(t *testing.T) {
	book := &guesttest.LogBook{}
	h := open(t, drop(t, "probe"), func(c *Config) { c.Logger = book.Logger() })
	call(t, h.Session("me", "c1"), "long", `{"Lines":100,"Width":50}`)
	for _, want := range []string{"call: tool=long id=c1 code=ok layer=tool from=5000 to=", "archived="} {
		if !strings.Contains(book.String(), want) {
			t.Errorf("the log lacks %q:\n%s", want, book)
		}
	}
	m := regexp.MustCompile(`to=(\d+) percent=(\d+)`).FindStringSubmatch(book.String())
	if m == nil {
		t.Fatalf("the log does not say how much was left out:\n%s", book)
	}
	to, _ := strconv.Atoi(m[1])
	if percent, _ := strconv.Atoi(m[2]); percent != 100*(5000-to)/5000 || percent == 0 {
		t.Errorf("%d of 5000 characters shown, %d %% left out", to, percent)
	}
}

// Arguments that no tool takes are not read first.
func TestTooLongArguments(t *testing.T) {
	h := open(t, drop(t, "probe"), nil)
	name := h.Session("p", "c").Tools()[0].Name
	for locale, want := range map[tool.Locale]string{tool.En: "the arguments have 16777217 bytes", tool.Zh: "参数有 16777217 字节"} {
		r := try(t, h.Session("p", "c").In(locale), name, strings.Repeat("[", maxArgs+1))
		if r.Err == nil || r.Err.Code != tool.TooLarge || !strings.Contains(r.Err.Error(), want) {
			t.Errorf("in %s: %v", locale, r.Err)
		}
	}
}

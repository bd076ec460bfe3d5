package textcalls_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/weirhost/weir/agent/passthrough"
	"github.com/weirhost/weir/agent/passthrough/textcalls"
	"github.com/weirhost/weir/sdk/limit"
)

// Requests of real clients, as they were recorded: all that they say arrives, once and in
// order, and every other member as it was sent.
func TestRecordedRequests(t *testing.T) {
	files, err := filepath.Glob("../../../host/daemon/testdata/ownloop/*.json")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		body := gjson.ParseBytes(raw)
		f := &fake{replies: []reply{says("Four.")}}
		for _, err := range textcalls.New(f, textcalls.Options{}).Pass(context.Background(), passthrough.Request{Body: raw}) {
			if err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
		if len(body.Get("tools").Array()) == 0 && !strings.Contains(body.Get("messages").Raw, `"tool_call`) {
			if f.bodies[0] != string(raw) {
				t.Errorf("%s has no tools, and was changed", file)
			}
			continue
		}
		got := gjson.Parse(f.bodies[0])
		body.ForEach(func(key, v gjson.Result) bool {
			now := got.Get(gjson.Escape(key.String()))
			switch key.String() {
			case "messages":
			case "tools", "tool_choice", "parallel_tool_calls":
				if now.Exists() {
					t.Errorf("%s: %s is left", file, key)
				}
			default:
				if now.Raw != v.Raw {
					t.Errorf("%s: %s became %s", file, key, now.Raw)
				}
			}
			return true
		})
		rest := said(got.Get("messages"))
		for _, m := range body.Get("messages").Array() {
			for _, s := range texts(m) {
				at := strings.Index(rest, s)
				if at < 0 {
					t.Errorf("%s: %.200q is not sent, or not in order", file, s)
					continue
				}
				rest = rest[at+len(s):]
			}
		}
		for _, tool := range body.Get("tools").Array() {
			if tool.Get("type").String() != "function" {
				continue
			}
			about := limit.Neutralise(tool.Get("function.description").String())
			if all := said(got.Get("messages")); !strings.Contains(all, "## "+tool.Get("function.name").String()+"\n"+about) {
				t.Errorf("%s: the description of %s is not whole", file, tool.Get("function.name"))
			}
		}
	}
}

// texts returns what a message of a client says, as it is sent.
func texts(m gjson.Result) []string {
	var out []string
	add := func(s string) {
		if m.Get("role").String() == "tool" {
			s = strings.TrimSuffix(limit.NeutraliseCalls(s), "\n")
		}
		out = append(out, s)
	}
	if c := m.Get("content"); c.Type == gjson.String {
		add(c.String())
	}
	for _, p := range m.Get("content").Array() {
		if p.IsObject() {
			add(p.Get("text").String())
		}
	}
	for _, c := range m.Get("tool_calls").Array() {
		add(c.Get("function.arguments").String())
	}
	return out
}

// said returns the texts of messages that were sent.
func said(messages gjson.Result) string {
	var b strings.Builder
	for _, m := range messages.Array() {
		b.WriteString(strings.Join(texts(m), "\n") + "\n")
	}
	return b.String()
}

// BenchmarkPass is what a request and its answer take beside the server.
func BenchmarkPass(b *testing.B) {
	for _, size := range []int{70 << 10, 1 << 20} {
		var messages []string
		for n := 0; n < size; n += 4000 {
			line := strings.Repeat("func f() { return a[i] } // line\\n", 115)
			messages = append(messages, fmt.Sprintf(`{"role":"assistant","content":null,"tool_calls":[{"id":"c%d","type":"function","function":{"name":"get_time","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c%d","content":"%s"}`, n, n, line))
		}
		body := json.RawMessage(`{"messages":[{"role":"user","content":"q"},` + strings.Join(messages, ",") + `],"tools":[` + weather + `,` + clock + `]}`)
		m := textcalls.New(answering{}, textcalls.Options{})
		b.Run(fmt.Sprintf("%d KiB", size>>10), func(b *testing.B) {
			for b.Loop() {
				for range m.Pass(b.Context(), passthrough.Request{Body: body}) {
				}
			}
		})
	}
}

// answering always answers the same.
type answering struct{}

func (answering) Pass(ctx context.Context, r passthrough.Request) iter.Seq2[passthrough.Chunk, error] {
	return (&fake{replies: []reply{says("I look.\n", paris)}}).Pass(ctx, r)
}

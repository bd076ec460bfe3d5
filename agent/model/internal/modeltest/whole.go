package modeltest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A client writes a request as one with a loop of its own sends it, with what has to arrive.
type client struct {
	t               *rapid.T
	messages        []map[string]any
	texts, pictures []string
	calls           int
}

// ArrivesWhole holds a protocol to the law that each text, picture and argument that a client
// sends arrives, in their order. answer is an answer of the server.
func ArrivesWhole(t *testing.T, connect func(http.HandlerFunc) Passer, answer http.HandlerFunc) {
	t.Helper()
	var sent []byte
	m := connect(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet || strings.HasSuffix(r.URL.Path, "/show") {
			http.NotFound(w, r)
			return
		}
		sent, _ = io.ReadAll(r.Body) // what is missing does not arrive
		answer(w, r)
	})
	rapid.Check(t, func(rt *rapid.T) {
		c := &client{t: rt}
		for range rapid.IntRange(1, 6).Draw(rt, "steps") {
			c.step()
		}
		body, err := json.Marshal(map[string]any{"messages": c.messages, "stream": rapid.Bool().Draw(rt, "stream")})
		if err != nil {
			rt.Fatal(err)
		}
		if _, err = Pass(t.Context(), m, string(body)); err != nil {
			rt.Fatalf("%v for %s", err, body)
		}
		all := said(sent)
		for _, wanted := range [][]string{c.texts, c.pictures} {
			rest := all
			for _, text := range wanted {
				_, after, ok := strings.Cut(rest, text)
				if !ok {
					rt.Fatalf("%q is not there, or not in its place:\n%s\nof\n%s", text, sent, body)
				}
				rest = after
			}
		}
	})
}

// said returns all texts in a JSON text, in their order.
func said(raw []byte) string {
	var b strings.Builder
	d := json.NewDecoder(strings.NewReader(string(raw)))
	for {
		v, err := d.Token()
		if err != nil {
			return b.String()
		}
		if s, ok := v.(string); ok {
			b.WriteString(s + "\n")
		}
	}
}

func (c *client) step() {
	switch rapid.IntRange(0, 4).Draw(c.t, "step") {
	case 0:
		c.say(rapid.SampledFrom([]string{"system", "developer"}).Draw(c.t, "role"), false)
	case 1:
		c.say("assistant", false)
	case 2:
		c.call()
	default:
		c.say("user", true)
	}
}

func (c *client) text() string {
	s := fmt.Sprintf("%s t%d.", rapid.SampledFrom([]string{"plain", "<b> & \"q\"", "中文 é\u2028", "a\\nb {\"x\":1}", "  indented\tby"}).Draw(c.t, "text"), len(c.texts))
	c.texts = append(c.texts, s)
	return s
}

func (c *client) content(pictures bool) any {
	if rapid.Bool().Draw(c.t, "plain") {
		return c.text()
	}
	var parts []map[string]any
	for i := range rapid.IntRange(1, 4).Draw(c.t, "parts") {
		if pictures && rapid.Bool().Draw(c.t, "picture") {
			p := base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "picture %d", len(c.pictures)))
			c.pictures = append(c.pictures, p)
			parts = append(parts, map[string]any{"type": "image_url", "image_url": map[string]any{"url": "data:image/png;base64," + p}})
		} else if i == 0 || rapid.Bool().Draw(c.t, "more") {
			parts = append(parts, map[string]any{"type": "text", "text": c.text()})
		}
	}
	return parts
}

func (c *client) say(role string, pictures bool) {
	c.messages = append(c.messages, map[string]any{"role": role, "content": c.content(pictures)})
}

// call adds calls, some of whose arguments are no JSON, and their results.
func (c *client) call() {
	m := map[string]any{"role": "assistant"}
	if rapid.Bool().Draw(c.t, "says") {
		m["content"] = c.text()
	}
	c.messages = append(c.messages, m)
	var calls []map[string]any
	for range rapid.IntRange(1, 3).Draw(c.t, "calls") {
		args, _ := json.Marshal(map[string]string{"command": c.text()}) // strings always marshal
		if rapid.Bool().Draw(c.t, "malformed") {
			c.texts[len(c.texts)-1] = fmt.Sprintf("broken %d.", len(c.texts))
			args = fmt.Appendf(nil, `{"command": "broken %d.`, len(c.texts))
		}
		c.calls++
		calls = append(calls, map[string]any{"id": fmt.Sprintf("call_%d", c.calls), "type": "function", "function": map[string]any{"name": "run", "arguments": string(args)}})
	}
	m["tool_calls"] = calls
	for _, call := range calls {
		c.messages = append(c.messages, map[string]any{"role": "tool", "tool_call_id": call["id"], "content": c.content(true)})
	}
}

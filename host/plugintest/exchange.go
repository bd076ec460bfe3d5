package plugintest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/weirhost/weir/sdk/tool"
)

// An exchange is one expected request of a tool, and its response.
type exchange struct {
	at     Problem
	method string // empty: any
	url    string // a pattern; * matches anything
	match  *regexp.Regexp
	times  amount

	headers map[string]string // the request must have them
	body    *texts
	json    json.RawMessage

	status  int
	replied map[string]string
	data    []byte
	fail    string // instead of a response
}

// Failures instead of a response.
const (
	failTimeout = "timed_out"
	failNone    = "no_answer"
)

// exchange reads one [[http]].
func (n node) exchange(times string) *exchange {
	x := &exchange{at: n.src.at(n.Position.At), method: strings.ToUpper(n.text("method")), url: n.text("url"), status: http.StatusOK}
	if x.url == "" {
		n.Bad("url", tool.Textf(`write the address, with * for what may be anything: url = "https://api.example.com/*"`), "the request has no url")
	}
	x.match = wild(x.url)
	x.times.low, x.times.high, _ = parseRange(times)
	if a, ok := n.amount("times"); ok {
		x.times = a
	}
	if t := n.node("request"); t.Table != nil {
		x.headers = t.named("headers")
		x.json = t.json("json")
		x.body = t.node("body").texts()
		t.done()
	}
	if status, ok := n.whole("status", 100); ok {
		x.status = status
	}
	x.replied = n.named("headers")
	x.data = n.answer()
	x.fail = n.text("fail")
	if x.fail != "" && x.fail != failTimeout && x.fail != failNone {
		n.Bad("fail", tool.Textf("write %q or %q", failTimeout, failNone), "%s is %q", n.Name("fail"), x.fail)
	}
	n.done()
	return x
}

// answer decodes the body of the response: body, json or from.
func (n node) answer() []byte {
	text, isText := "", false
	if _, isTable := n.Values["body"].(map[string]any); isTable {
		return n.node("body").content()
	}
	if _, isText = n.Values["body"]; isText {
		text = n.text("body")
	}
	data := n.json("json")
	file := n.beside("from")
	if isText && data != nil || isText && file != nil || data != nil && file != nil {
		n.Bad("body", tool.Textf("keep one of body, json and from"), "the answer's body is given twice")
	}
	switch {
	case data != nil:
		return data
	case file != nil:
		return file
	}
	return []byte(text)
}

// wild returns the expression for a pattern in which * matches anything.
func wild(pattern string) *regexp.Regexp {
	parts := strings.Split(pattern, "*")
	for i, p := range parts {
		parts[i] = regexp.QuoteMeta(p)
	}
	return regexp.MustCompile("(?s)^" + strings.Join(parts, ".*") + "$")
}

// A network answers requests only from the exchanges of one case.
// It is safe for concurrent use.
type network struct {
	mu        sync.Mutex
	exchanges []*exchange
	used      []int
	count     int
	problems  []Problem
	at        Problem          // the position of the case, for unexpected requests
	other     func() *exchange // answers unexpected requests; if nil, they are Problems
}

func newNetwork(at Problem, exchanges []*exchange) *network {
	return &network{at: at, exchanges: exchanges, used: make([]int, len(exchanges))}
}

// RoundTrip answers one request that the policy allows.
func (n *network) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		defer r.Body.Close()
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	x := n.find(r, body)
	switch {
	case x == nil || x.fail == failNone:
		return nil, errors.New("nobody is there")
	case x.fail == failTimeout:
		return nil, timeoutError{}
	}
	resp := &http.Response{
		StatusCode: x.status, Status: fmt.Sprintf("%d %s", x.status, http.StatusText(x.status)),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Request: r, ContentLength: int64(len(x.data)), Body: io.NopCloser(bytes.NewReader(x.data)),
	}
	if len(x.json) > 0 || json.Valid(x.data) && len(x.data) > 0 {
		resp.Header.Set("Content-Type", "application/json")
	}
	for k, v := range x.replied {
		resp.Header.Set(k, v)
	}
	return resp, nil
}

// find returns the first exchange that matches and has requests left.
func (n *network) find(r *http.Request, body []byte) *exchange {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.count++
	url := r.URL.String()
	for i, x := range n.exchanges {
		if x.method != "" && x.method != r.Method || !x.match.MatchString(url) || n.used[i] >= x.times.high {
			continue
		}
		n.used[i]++
		n.problems = append(n.problems, x.check(r, body)...)
		return x
	}
	if n.other != nil {
		return n.other()
	}
	p := n.at
	p.Msg = tool.Textf("the tool requested %s %s, and the case has no answer for it", r.Method, clip(url, 300))
	p.Fix = tool.Textf("add [[case.http]] with url = %q and a body, or fix the tool", clip(url, 300))
	n.problems = append(n.problems, p)
	return nil
}

// check compares a request with its exchange.
func (x *exchange) check(r *http.Request, body []byte) []Problem {
	var out []Problem
	wrong := func(detail, format string, args ...any) {
		p := x.at
		p.Msg, p.Detail = tool.Textf(format, args...), detail
		out = append(out, p)
	}
	for name, want := range x.headers {
		if got := r.Header.Get(name); got != want && !wild(want).MatchString(got) {
			wrong("", "the request's header %s is %q, and not %q", name, clip(got, 200), want)
		}
	}
	if x.json != nil && !sameJSON(x.json, body) {
		wrong(differing(string(x.json), string(body)), "the request's body is not the JSON that is expected")
	}
	if x.body != nil {
		out = append(out, x.body.check(tool.Textf("the request's body"), string(body))...)
	}
	return out
}

// sameJSON reports whether two texts are the same JSON value.
func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// finish returns the problems of the requests after the call.
func (n *network) finish() []Problem {
	n.mu.Lock()
	defer n.mu.Unlock()
	out := slices.Clone(n.problems)
	for i, x := range n.exchanges {
		if !x.times.holds(n.used[i]) {
			p := x.at
			p.Msg = tool.Textf("%s was requested %d times, expected: %s", x.url, n.used[i], x.times.text())
			out = append(out, p)
		}
	}
	return out
}

// timeoutError is the error of a server that does not respond.
type timeoutError struct{}

func (timeoutError) Error() string   { return "it took too long" }
func (timeoutError) Timeout() bool   { return true }
func (timeoutError) Temporary() bool { return true }

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/weirhost/weir/sdk/guest"
	"github.com/weirhost/weir/sdk/guest/files"
	"github.com/weirhost/weir/sdk/tool"
)

const maxURL = 4000 // characters

type args struct {
	URL     string            `json:"url"`
	Method  string            `json:"method"` // empty: GET, or POST with a body
	Headers map[string]string `json:"headers"`
	JSON    json.RawMessage   `json:"json"`
	Body    string            `json:"body"`
}

// request sends what was asked for. An answer with an error's status is an
// answer: what the API says about it is what the model needs.
func request(c *guest.Call, in args) (guest.Result, error) {
	r, err := in.request()
	if err != nil {
		return guest.Result{}, err
	}
	resp, err := c.HTTP(r)
	if err != nil {
		return guest.Result{}, err
	}
	at := resp.URL
	if at == "" {
		at = r.URL
	}
	return guest.Result{Text: show(resp, r, c.Say), Sources: []tool.Source{{Title: host(at), URL: at}}}, nil
}

// methods are those that the host sends.
const methods = "GET HEAD POST PUT PATCH DELETE OPTIONS"

func (in args) request() (guest.Request, error) {
	u, err := address(in.URL)
	if err != nil {
		return guest.Request{}, err
	}
	hasJSON := len(in.JSON) > 0 && string(in.JSON) != "null"
	if hasJSON && in.Body != "" {
		return guest.Request{}, guest.Errorf(tool.BadArgs, "Leave one of them out.", "Both \"json\" and \"body\" are given.").
			Zh("请去掉其中一个。", "同时给出了 \"json\" 和 \"body\"。")
	}
	r := guest.Request{Method: strings.ToUpper(strings.TrimSpace(in.Method)), URL: u, Headers: map[string]string{"Accept": "application/json, text/*;q=0.9, */*;q=0.5"}}
	for name, value := range in.Headers {
		r.Headers[http.CanonicalHeaderKey(name)] = value
	}
	switch {
	case hasJSON:
		r.Body = in.JSON
		setDefault(r.Headers, "Content-Type", "application/json")
	case in.Body != "":
		r.Body = []byte(in.Body)
		setDefault(r.Headers, "Content-Type", "text/plain; charset=utf-8")
	}
	if r.Method == "" {
		r.Method = "GET"
		if len(r.Body) > 0 {
			r.Method = "POST"
		}
	}
	if !slices.Contains(strings.Fields(methods), r.Method) {
		return r, guest.Errorf(tool.BadArgs, "Use one of "+methods+".", "The method %q is not sent.", in.Method).
			Zh("请使用以下之一："+methods+"。", "不发送方法 %q。")
	}
	if len(r.Body) > 0 && (r.Method == "GET" || r.Method == "HEAD") {
		return r, guest.Errorf(tool.BadArgs, "Put it into the address, or use POST.", "A %s request has no body.", r.Method).
			Zh("请写入网址，或使用 POST。", "%s 请求没有正文。")
	}
	return r, nil
}

func setDefault(headers map[string]string, name, value string) {
	if _, ok := headers[name]; !ok {
		headers[name] = value
	}
}

// address reads what a model wrote as a web address; https may be left out.
func address(written string) (string, error) {
	s := strings.TrimSpace(written)
	if !strings.Contains(s, "://") {
		s = "https://" + s
	}
	u, err := url.Parse(s)
	if err != nil || utf8.RuneCountInString(s) > maxURL || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http" {
		return "", guest.Errorf(tool.BadArgs, "Write for example \"https://api.example.com/v1/items?page=2\".", "Argument \"url\" must be a web address of at most %d characters.", maxURL).
			Zh("请写成例如 \"https://api.example.com/v1/items?page=2\"。", "参数 \"url\" 须为不超过 %d 个字符的网址。")
	}
	if u.User != nil {
		return "", guest.Errorf(tool.BadArgs, "Leave the name and password out; the operator can grant a secret.", "Argument \"url\" must not hold a password.").
			Zh("请去掉用户名和密码；管理员可以授予密钥。", "参数 \"url\" 不能含有密码。")
	}
	u.Fragment = ""
	return u.String(), nil
}

func host(address string) string {
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		return u.Host + u.Path
	}
	return address
}

// telling are headers that say how to go on.
const telling = "Location Retry-After Link X-Ratelimit-Remaining X-Total-Count Etag Www-Authenticate"

// show writes the status, the headers that matter for the next request, and the
// body.
func show(resp guest.Response, r guest.Request, say func(en, zh string) string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %s\n", resp.Status, http.StatusText(resp.Status))
	if t := resp.Header("Content-Type"); t != "" {
		fmt.Fprintf(&b, "Content-Type: %s\n", t)
	}
	for name := range strings.FieldsSeq(telling) {
		if v := resp.Header(name); v != "" {
			fmt.Fprintf(&b, "%s: %s\n", name, v)
		}
	}
	b.WriteByte('\n')
	switch {
	case r.Method == "HEAD":
		for _, name := range sorted(resp.Headers) {
			fmt.Fprintf(&b, "%s: %s\n", name, resp.Headers[name])
		}
	case len(resp.Body) == 0:
		b.WriteString(say("(no body)\n", "（没有正文）\n"))
	default:
		b.WriteString(body(resp, say))
	}
	return b.String()
}

func sorted(headers map[string]string) []string {
	var names []string
	for name := range headers {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// body writes JSON readably, text as it is, and says what anything else is.
func body(resp guest.Response, say func(en, zh string) string) string {
	media, _, err := mime.ParseMediaType(resp.Header("Content-Type"))
	var pretty bytes.Buffer
	if (err != nil || media == "application/json" || strings.HasSuffix(media, "+json") || strings.HasPrefix(media, "text/")) && json.Indent(&pretty, resp.Body, "", "  ") == nil {
		return pretty.String() + "\n"
	}
	if kind := files.Kind(resp.Body[:min(len(resp.Body), files.SniffBytes)]); !kind.IsZero() {
		return fmt.Sprintf(say("(%s of %s bytes)\n", "（%s，%s 字节）\n"), say(kind.Format, kind.Zh), guest.Grouped(len(resp.Body)))
	}
	return string(files.Text(resp.Body))
}

package egress

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/sdk/tool"
)

// A Request is what a guest wants sent.
type Request struct {
	Method  string // GET when empty; GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS
	URL     string // absolute
	Headers map[string]string
	Body    []byte
	// TimeoutSeconds is for the request with its redirects, in place of the policy's;
	// 0 or less: the policy's. A call's own deadline ends it in any case.
	TimeoutSeconds int
}

// maxTimeout bounds TimeoutSeconds: a call takes no longer.
const maxTimeout = time.Hour

// timeout returns how long a request may take.
func (c *Client) timeout(r Request) time.Duration {
	if r.TimeoutSeconds <= 0 {
		return c.policy.Timeout
	}
	return time.Duration(min(r.TimeoutSeconds, int(maxTimeout/time.Second))) * time.Second
}

// A Response is what came back, free of secrets.
type Response struct {
	Status  int
	URL     string            // where the last redirect led
	Headers map[string]string // canonical names; several values of one joined by ", "
	Body    []byte
}

// dropped headers belong to the connection or would change how a body is
// read; a guest's values for them are left out.
var dropped = map[string]bool{
	"Accept-Encoding": true, "Connection": true, "Content-Length": true, "Expect": true, "Host": true,
	"Keep-Alive": true, "Proxy-Authorization": true, "Proxy-Connection": true, "Te": true, "Trailer": true,
	"Transfer-Encoding": true, "Upgrade": true,
}

// kept headers follow a redirect to another host; all others could be keys.
var kept = map[string]bool{
	"Accept": true, "Accept-Language": true, "Content-Type": true, "Range": true, "User-Agent": true,
}

// What a guest may send, the body aside.
const (
	maxURL         = 16 << 10 // bytes
	maxHeaders     = 100
	maxHeaderBytes = 64 << 10 // names and values together
)

var methods = map[string]bool{
	"GET": true, "HEAD": true, "POST": true, "PUT": true, "PATCH": true, "DELETE": true, "OPTIONS": true,
}

// hop is one request on the way.
type hop struct {
	method  string
	url     *url.URL
	target  target
	headers http.Header
	body    []byte
	// refused receives the targets that the policy does not let out.
	refused func(t target, private bool)
}

// Do sends a request and follows its redirects, each under the policy. Any
// status is a Response; an Error is denied, bad_args, timed_out, cancelled,
// too_large or failed, and names a URL without its query.
func (c *Client) Do(ctx context.Context, r Request) (Response, *tool.Error) {
	resp, fail := c.do(ctx, r, func(target, bool) {})
	return resp, c.clean(tool.En, fail)
}

// do is Do; its error may hold secrets.
func (c *Client) do(ctx context.Context, r Request, refused func(target, bool)) (Response, *tool.Error) {
	h, fail := c.first(r, refused)
	if fail != nil {
		return Response{}, fail
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout(r))
	defer cancel()
	for redirects := 0; ; redirects++ {
		resp, next, fail := c.send(ctx, h)
		if fail != nil {
			return Response{}, fail
		}
		if next == "" {
			return resp, nil
		}
		if redirects >= max(c.policy.MaxRedirects, 0) {
			return Response{}, tool.Errorf(tool.Failed, "request the final address",
				"%s redirected more than %d times", h.target, max(c.policy.MaxRedirects, 0))
		}
		if h, fail = c.follow(h, resp.Status, next); fail != nil {
			return Response{}, fail
		}
	}
}

// clean returns an error in one language, without secrets; nil stays nil.
func (c *Client) clean(l tool.Locale, e *tool.Error) *tool.Error {
	if e == nil {
		return nil
	}
	return &tool.Error{Code: e.Code, Msg: c.scrub(msg.In(l, e.MsgText)), Hint: c.scrub(msg.In(l, e.HintText))}
}

// first turns the guest's request into the first hop.
func (c *Client) first(r Request, refused func(target, bool)) (hop, *tool.Error) {
	h := hop{method: strings.ToUpper(r.Method), headers: make(http.Header), body: r.Body, refused: refused}
	h.method = cmp.Or(h.method, http.MethodGet)
	if !methods[h.method] {
		return h, tool.Errorf(tool.BadArgs, "use GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS", "the method is not supported")
	}
	if int64(len(r.Body)) > c.policy.MaxBytes {
		return h, tool.Errorf(tool.TooLarge, "send less", "the request's body is larger than %s", tool.Bytes(c.policy.MaxBytes))
	}
	if len(r.URL) > maxURL || len(r.Headers) > maxHeaders {
		return h, tool.Errorf(tool.TooLarge, "send less", "the request's address is longer than %s, or it has more than %d headers", tool.Bytes(maxURL), maxHeaders)
	}
	room := maxHeaderBytes
	for k, v := range r.Headers {
		if room -= len(k) + len(v); room < 0 {
			return h, tool.Errorf(tool.TooLarge, "send less", "the request's headers are larger than %s", tool.Bytes(maxHeaderBytes))
		}
		if !validHeader(k) || strings.ContainsAny(v, "\r\n\x00") {
			return h, tool.Errorf(tool.BadArgs, "remove line breaks and odd characters", "a header of the request is not valid")
		}
		if k = http.CanonicalHeaderKey(k); !dropped[k] {
			h.headers.Set(k, v)
		}
	}
	u, err := url.Parse(strings.TrimSpace(r.URL))
	if err != nil {
		return h, tool.Errorf(tool.BadArgs, "give an absolute https address", "the address is not a valid URL")
	}
	return c.admit(h, u)
}

// admit checks a hop's URL against the policy and makes it the hop's.
func (c *Client) admit(h hop, u *url.URL) (hop, *tool.Error) {
	t, err := parseTarget(u)
	if err != nil {
		return h, tool.Errorf(tool.BadArgs, "give an absolute https address", "%s", err)
	}
	if fail := c.check(t); fail != nil {
		h.refused(t, false)
		return h, fail
	}
	clean := *u // what was checked is what is sent
	clean.Scheme, clean.Host = t.scheme, t.hostport()
	clean.Fragment, clean.RawFragment = "", ""
	h.url, h.target = &clean, t
	return h, nil
}

// follow makes the hop that a redirect asks for. What the guest sent for one
// host stays there, and a changed method loses its body, as in browsers.
func (c *Client) follow(h hop, status int, location string) (hop, *tool.Error) {
	u, err := h.url.Parse(location)
	if err != nil {
		return h, tool.Errorf(tool.Failed, "", "%s redirected to something that is no address", h.target)
	}
	next, fail := c.admit(h, u)
	if fail != nil {
		return h, tool.NewError(fail.Code, tool.Textf("%s redirected elsewhere: %s", h.target, fail.MsgText), fail.HintText)
	}
	if h.target.scheme == "https" && next.target.scheme == "http" {
		return h, tool.Errorf(tool.Denied, "request the address there yourself if it may be read by others on the way",
			"%s redirected from https to http, which is not followed", h.target)
	}
	next.headers = h.headers.Clone()
	if next.target != h.target {
		for k := range next.headers {
			if !kept[k] {
				next.headers.Del(k)
			}
		}
	}
	post := h.method != http.MethodGet && h.method != http.MethodHead
	if post && (status == http.StatusSeeOther || h.method == http.MethodPost && (status == http.StatusMovedPermanently || status == http.StatusFound)) {
		next.method, next.body = http.MethodGet, nil
		next.headers.Del("Content-Type")
	}
	return next, nil
}

// send makes one hop. A redirect comes back as its location.
func (c *Client) send(ctx context.Context, h hop) (Response, string, *tool.Error) {
	req, err := http.NewRequestWithContext(ctx, h.method, h.url.String(), bytes.NewReader(h.body))
	if err != nil {
		return Response{}, "", tool.Errorf(tool.BadArgs, "", "the request to %s is not valid", h.target)
	}
	req.Header = h.headers.Clone()
	if req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", "weir")
	}
	keyed := c.inject(req.Header, h.target)
	resp, err := c.transport.RoundTrip(req)
	if err != nil {
		return Response{}, "", c.explain(ctx, h, err)
	}
	defer resp.Body.Close()
	out := Response{Status: resp.StatusCode, URL: c.scrub(h.url.String()), Headers: c.headers(resp.Header)}
	if to := resp.Header.Get("Location"); to != "" && isRedirect(resp.StatusCode) {
		return out, to, nil
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, c.policy.MaxBytes+1))
	if err != nil {
		return Response{}, "", c.explain(ctx, h, err)
	}
	if int64(len(body)) > c.policy.MaxBytes {
		return Response{}, "", tool.Errorf(tool.TooLarge, "ask the server for less, or for a part",
			"the answer of %s is larger than %s", h.target, tool.Bytes(c.policy.MaxBytes))
	}
	if e := resp.Header.Get("Content-Encoding"); keyed && len(body) > 0 && e != "" && !strings.EqualFold(e, "identity") {
		return Response{}, "", tool.Errorf(tool.Failed, "", "%s answered in an encoding that was not asked for", h.target)
	}
	if out.Body = body; len(c.secrets) > 0 {
		out.Body = []byte(c.scrub(string(body)))
	}
	return out, "", nil
}

func (c *Client) headers(h http.Header) map[string]string {
	out := make(map[string]string, len(h))
	for k, v := range h {
		out[k] = c.scrub(strings.Join(v, ", "))
	}
	return out
}

func isRedirect(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// explain turns a transport's error into one a model can act on. The error's
// own text is not used: it repeats the URL.
func (c *Client) explain(ctx context.Context, h hop, err error) *tool.Error {
	t := h.target
	if _, ok := errors.AsType[*privateError](err); ok {
		h.refused(t, true)
		return tool.Errorf(tool.Denied, "only the operator can allow a private address",
			"%s leads to this machine or a private network, which is not allowed", t)
	}
	if errors.Is(context.Cause(ctx), context.Canceled) {
		return tool.Errorf(tool.Cancelled, "", "the request to %s was cancelled", t)
	}
	if ne, ok := errors.AsType[net.Error](err); errors.Is(err, context.DeadlineExceeded) || ok && ne.Timeout() {
		return tool.Errorf(tool.TimedOut, "try again, or another address", "%s did not answer in time", t)
	}
	if de, ok := errors.AsType[*net.DNSError](err); ok && de.IsNotFound {
		return tool.Errorf(tool.Failed, "check the host's spelling", "the host %s does not exist", t.host)
	}
	if isTLS(err) {
		return tool.Errorf(tool.Failed, "", "no secure connection to %s: its certificate or protocol was refused", t)
	}
	return tool.Errorf(tool.Failed, "try again later, or another address", "no answer from %s: %s", t, reason(err))
}

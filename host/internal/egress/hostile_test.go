package egress

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"html/template"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirhost/weir/sdk/tool"
)

// trusting makes a client that takes the certificate of a test's own server.
func trusting(t *testing.T, s *httptest.Server, p Policy, allow ...string) *Client {
	t.Helper()
	c := newClient(t, p, allow...)
	c.transport.(*http.Transport).TLSClientConfig = s.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	return c
}

// TestNoDowngrade: a redirect never leaves https, even to a host that is
// allowed by both.
func TestNoDowngrade(t *testing.T) {
	plain := serve(t, echo)
	var to string
	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusTemporaryRedirect)
	}))
	defer secure.Close()
	c := trusting(t, secure, Policy{}, plain.URL, secure.URL)
	to = plain.URL
	_, fail := c.Do(t.Context(), Request{URL: secure.URL, Headers: map[string]string{"Cookie": "c"}})
	if fail == nil || fail.Code != tool.Denied || !strings.Contains(fail.Msg, "redirected from https to http") {
		t.Errorf("got %v", fail)
	}
	up := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) })
	ok := httptest.NewTLSServer(http.HandlerFunc(echo))
	defer ok.Close()
	to = ok.URL
	if resp, fail := trusting(t, ok, Policy{}, up.URL, ok.URL).Do(t.Context(), Request{URL: up.URL}); fail != nil || !strings.HasPrefix(string(resp.Body), "GET / ") {
		t.Errorf("from http to https: %s %v", resp.Body, fail)
	}
}

// TestEveryRedirectStatus sends each of them to a host that is not allowed.
func TestEveryRedirectStatus(t *testing.T) {
	var hits atomic.Int32
	inner := serve(t, func(http.ResponseWriter, *http.Request) { hits.Add(1) })
	outer := serve(t, func(w http.ResponseWriter, r *http.Request) {
		status, _ := strconv.Atoi(r.URL.Path[1:])
		w.Header().Set("Location", inner.URL)
		w.Header().Set("Refresh", "0; url="+inner.URL)
		w.Header().Set("Content-Location", inner.URL)
		w.Header().Set("Alt-Svc", `h2="`+strings.TrimPrefix(inner.URL, "http://")+`"`)
		w.WriteHeader(status)
	})
	c := newClient(t, Policy{}, outer.URL)
	for status := 200; status < 600; status++ {
		for _, method := range []string{"GET", "POST", "HEAD"} {
			resp, fail := c.Do(t.Context(), Request{Method: method, URL: fmt.Sprint(outer.URL, "/", status)})
			switch followed := isRedirect(status); {
			case followed && (fail == nil || fail.Code != tool.Denied):
				t.Errorf("%s %d: %v", method, status, fail)
			case !followed && (fail != nil || resp.Status != status || resp.URL != fmt.Sprint(outer.URL, "/", status)):
				t.Errorf("%s %d: %+v %v", method, status, resp, fail)
			}
		}
	}
	if hits.Load() != 0 {
		t.Errorf("%d requests arrived", hits.Load())
	}
}

// TestRequestBounds holds what a guest may send.
func TestRequestBounds(t *testing.T) {
	s := serve(t, echo)
	c := newClient(t, Policy{}, s.URL)
	many := map[string]string{}
	for i := range maxHeaders + 1 {
		many[fmt.Sprint("X-", i)] = ""
	}
	for name, r := range map[string]Request{
		"a long address":     {URL: s.URL + "/" + strings.Repeat("a", maxURL)},
		"a long header":      {URL: s.URL, Headers: map[string]string{"X": strings.Repeat("a", maxHeaderBytes)}},
		"many headers":       {URL: s.URL, Headers: many},
		"a long header name": {URL: s.URL, Headers: map[string]string{strings.Repeat("a", 300): ""}},
	} {
		if _, fail := c.Do(t.Context(), r); fail == nil || fail.Code != tool.BadArgs && fail.Code != tool.TooLarge {
			t.Errorf("%s: %v", name, fail)
		} else if len(fail.Error()) > 300 {
			t.Errorf("%s: an error of %d bytes", name, len(fail.Error()))
		}
	}
	delete(many, "X-0")
	if _, fail := c.Do(t.Context(), Request{URL: s.URL + "/" + strings.Repeat("a", maxURL-len(s.URL)-1), Headers: many}); fail != nil {
		t.Errorf("just fitting: %v", fail)
	}
}

// TestBombs sends answers that are small on the wire and large in memory: the same
// limit holds, and encodings that were not requested are not decoded.
func TestBombs(t *testing.T) {
	var plain bytes.Buffer
	z := gzip.NewWriter(&plain)
	zeros := make([]byte, 1<<20)
	for range 64 {
		z.Write(zeros)
	}
	z.Close()
	packed := plain.Bytes()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		encoding := strings.TrimPrefix(r.URL.Path, "/")
		w.Header().Set("Content-Encoding", encoding)
		switch encoding {
		case "gzip":
			w.Write(packed)
		case "deflate":
			f, _ := flate.NewWriter(w, 9)
			f.Write(zeros)
			f.Close()
		case "br", "zstd", "gzip, gzip":
			w.Write(packed)
		case "members": // no end of empty members
			w.Header().Set("Content-Encoding", "gzip")
			var empty bytes.Buffer
			z := gzip.NewWriter(&empty)
			z.Close()
			for {
				if _, err := w.Write(bytes.Repeat(empty.Bytes(), 1000)); err != nil {
					return
				}
			}
		case "headers":
			for i := range 4000 {
				w.Header().Set(fmt.Sprint("X-", i), strings.Repeat("v", 100))
			}
		}
	})
	c := newClient(t, Policy{MaxBytes: 2 << 20}, s.URL)
	for path, most := range map[string]int{"deflate": 2000, "br": len(packed), "zstd": len(packed), "gzip, gzip": len(packed)} {
		if resp, fail := c.Do(t.Context(), Request{URL: s.URL + "/" + url.PathEscape(path)}); fail != nil || len(resp.Body) == 0 || len(resp.Body) > most {
			t.Errorf("%s: %d bytes, %v", path, len(resp.Body), fail)
		}
	}
	if _, fail := c.Do(t.Context(), Request{URL: s.URL + "/gzip"}); fail == nil || fail.Code != tool.TooLarge {
		t.Errorf("gzip: %v", fail)
	}
	if _, fail := c.Do(t.Context(), Request{URL: s.URL + "/headers"}); fail == nil || fail.Code != tool.Failed {
		t.Errorf("headers: %v", fail)
	}
	hasty := newClient(t, Policy{Timeout: 300 * time.Millisecond}, s.URL)
	if _, fail := hasty.Do(t.Context(), Request{URL: s.URL + "/members"}); fail == nil {
		t.Error("endless members came to an end")
	}
	// With a secret in play the answer has to be readable for its search.
	secret := Secret{Name: "KEY", Header: "X-Api-Key", Host: s.URL, Value: "sk-canary-0123456789"}
	keyed := newClient(t, Policy{MaxBytes: 2 << 20, Secrets: []Secret{secret}}, s.URL)
	for _, path := range []string{"deflate", "br", "zstd", "gzip%2C%20gzip"} {
		if _, fail := keyed.Do(t.Context(), Request{URL: s.URL + "/" + path}); fail == nil || fail.Code != tool.Failed || !strings.Contains(fail.Msg, "encoding") {
			t.Errorf("%s with a secret: %v", path, fail)
		}
		if resp, fail := keyed.Do(t.Context(), Request{Method: "HEAD", URL: s.URL + "/" + path}); fail != nil || resp.Status != 200 {
			t.Errorf("HEAD of %s with a secret: %v", path, fail)
		}
	}
}

// spellings are the forms in which a secret that a server repeats is found.
func spellings(v string) map[string]string {
	quoted, _ := json.Marshal(v)
	var loose bytes.Buffer
	enc := json.NewEncoder(&loose)
	enc.SetEscapeHTML(false)
	enc.Encode(v)
	all, back, lower := "", "", ""
	for _, b := range []byte(v) {
		all += fmt.Sprintf("%%%02x", b)
		back = string([]byte{b}) + back
		if e := url.QueryEscape(string([]byte{b})); len(e) == 3 {
			lower += strings.ToLower(e)
		} else {
			lower += e
		}
	}
	out := map[string]string{
		"plain": v, "query": url.QueryEscape(v), "path": url.PathEscape(v), "query in small letters": lower,
		"every byte escaped": all, "every byte escaped in capitals": strings.ToUpper(all), "JSON": string(quoted), "JSON without HTML": loose.String(), "Go": strconv.Quote(v),
		"HTML": html.EscapeString(v), "hex": hex.EncodeToString([]byte(v)), "HEX": strings.ToUpper(hex.EncodeToString([]byte(v))), "reversed": back,
	}
	var page strings.Builder
	if err := template.Must(template.New("").Parse("{{.}}")).Execute(&page, v); err != nil {
		panic(err)
	}
	out["html/template"] = page.String()
	out["PHP's JSON"] = strings.ReplaceAll(strconv.QuoteToASCII(v), "/", `\/`)
	out["Python's JSON"] = strconv.QuoteToASCII(v)
	out[".NET's JSON"] = strings.NewReplacer("+", `\u002B`, "&", `\u0026`, "<", `\u003C`, ">", `\u003E`, "'", `\u0027`, `"`, `\u0022`).Replace(v)
	out["mustache"] = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#39;", "/", "&#x2F;", "=", "&#x3D;").Replace(v)
	for language, apostrophe := range map[string]string{"Python": "&#x27;", "PHP": "&#039;", ".NET": "&#39;", "PHP without the apostrophe": "'"} {
		out[language+"'s HTML"] = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", apostrophe).Replace(v)
	}
	for n := range 4 {
		for m := range 3 {
			text := []byte(strings.Repeat("<", n) + v + strings.Repeat(">", m))
			for name, e := range map[string]*base64.Encoding{"base64": base64.StdEncoding, "raw base64": base64.RawStdEncoding, "base64url": base64.URLEncoding, "raw base64url": base64.RawURLEncoding} {
				out[fmt.Sprint(name, " between ", n, " and ", m, " bytes")] = e.EncodeToString(text)
			}
		}
	}
	return out
}

// TestSecretsComeBackInNoPromisedSpelling has a server repeat its key in every
// form that is promised, in body, headers and the address of a redirect, in
// one piece and in chunks cut at every place.
func TestSecretsComeBackInNoPromisedSpelling(t *testing.T) {
	for _, value := range []string{"sk-live-0123456789abcdef", `p&ss/wo+rd"=<中文>~'`, "dXNlcjpwYXNzd29yZA=="} {
		forms := spellings("Bearer " + value)
		for k, v := range spellings(value) {
			forms[k+" of the value"] = v
		}
		var form string
		var cut int
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/moved" {
				http.Redirect(w, r, "/?"+form, http.StatusFound)
				return
			}
			if !strings.ContainsAny(form, "\r\n") {
				w.Header().Set("X-Echo", form)
			}
			io.WriteString(w, "before "+form[:cut])
			w.(http.Flusher).Flush()
			io.WriteString(w, form[cut:]+" after")
		})
		c := newClient(t, Policy{Secrets: []Secret{{Name: "KEY", Header: "Authorization", Format: "Bearer {}", Host: s.URL, Value: value}}}, s.URL)
		for name, f := range forms {
			form = f
			for cut = 0; cut < len(form); cut += 1 + len(form)/5 {
				resp, fail := c.Do(t.Context(), Request{URL: s.URL})
				if fail != nil {
					t.Fatal(fail)
				}
				got := string(resp.Body)
				if !strings.HasPrefix(got, "before ") || !strings.HasSuffix(got, " after") || !strings.Contains(got, "[KEY]") {
					t.Errorf("%s: got %s", name, got)
				}
				// What is left beside the mark is not a piece of the value worth having.
				rest := strings.ReplaceAll(got, "[KEY]", "")
				if len(rest) > len("before  after")+24 {
					t.Errorf("%s of %q leaves %q", name, value, rest)
				}
				if strings.Contains(resp.Headers["X-Echo"], form) {
					t.Errorf("%s: the header holds %s", name, resp.Headers["X-Echo"])
				}
			}
		}
		cut, form = 0, url.QueryEscape(value)
		if resp, fail := c.Do(t.Context(), Request{URL: s.URL + "/moved"}); fail != nil || !strings.HasSuffix(resp.URL, "/?[KEY]") {
			t.Errorf("a redirect: %s %v", resp.URL, fail)
		}
	}
}

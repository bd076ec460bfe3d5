package egress

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/weirhost/weir/sdk/tool"
)

// answerer is a network of one answer that keeps what it was asked.
type answerer struct {
	asked  []string
	answer http.Response
}

func (a *answerer) RoundTrip(r *http.Request) (*http.Response, error) {
	a.asked = append(a.asked, r.Method+" "+r.URL.String()+" "+r.Header.Get("Authorization"))
	out := a.answer
	out.Body = io.NopCloser(strings.NewReader("you said sesame-sesame"))
	return &out, nil
}

// TestTransport checks that a Transport receives only requests that the policy
// allows, and that its answers are handled like those of the network.
func TestTransport(t *testing.T) {
	a := &answerer{answer: http.Response{StatusCode: 200, Header: http.Header{}}}
	c, err := New(Policy{
		Allow: []Rule{rule(t, "api.example.com")}, Transport: a,
		Secrets: []Secret{{Name: "KEY", Header: "Authorization", Format: "Bearer {}", Host: "api.example.com", Value: "sesame-sesame"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r, fail := c.Do(t.Context(), Request{URL: "https://api.example.com/a"})
	if fail != nil || string(r.Body) != "you said [KEY]" {
		t.Errorf("%v %q", fail, r.Body)
	}
	if _, fail = c.Do(t.Context(), Request{URL: "https://example.com/"}); fail == nil || fail.Code != tool.Denied {
		t.Errorf("a host that is not allowed: %v", fail)
	}
	a.answer = http.Response{StatusCode: 302, Header: http.Header{"Location": {"https://example.com/"}}}
	if _, fail = c.Do(t.Context(), Request{URL: "https://api.example.com/b"}); fail == nil || fail.Code != tool.Denied {
		t.Errorf("a redirect to it: %v", fail)
	}
	if got := strings.Join(a.asked, "; "); got != "GET https://api.example.com/a Bearer sesame-sesame; GET https://api.example.com/b Bearer sesame-sesame" {
		t.Errorf("it was asked for %s", got)
	}
}

// TestTimeoutOfARequest: a guest may wait longer than the policy's default for an
// answer that takes long, never longer than an hour.
func TestTimeoutOfARequest(t *testing.T) {
	var now, end time.Time // of a request
	sends := roundTrips(func(r *http.Request) (*http.Response, error) {
		var ok bool
		if end, ok = r.Context().Deadline(); !ok {
			t.Error("there is no deadline")
		}
		now = time.Now()
		return &http.Response{StatusCode: 200, Body: http.NoBody, Header: http.Header{}, Request: r}, nil
	})
	c, err := New(Policy{Allow: []Rule{rule(t, "api.example.com")}, Transport: sends})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		seconds     int
		least, most time.Duration
	}{{0, 0, DefaultTimeout}, {-5, 0, DefaultTimeout}, {600, 5 * time.Minute, 10 * time.Minute}, {1 << 40, 50 * time.Minute, time.Hour}} {
		began := time.Now()
		if _, fail := c.Do(t.Context(), Request{URL: "https://api.example.com/", TimeoutSeconds: tt.seconds}); fail != nil {
			t.Fatal(fail)
		}
		if end.Before(began.Add(tt.least)) || end.After(now.Add(tt.most)) {
			t.Errorf("%d seconds: at %s it ends at %s", tt.seconds, now, end)
		}
	}
}

type roundTrips func(*http.Request) (*http.Response, error)

func (f roundTrips) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

package daemon

import (
	"bufio"
	"context"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host/approval"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/pulse"
	"github.com/weirhost/weir/host/daemon/usage"
)

func TestPulse(t *testing.T) {
	m := newStepper()
	s := newServer(t, m)
	s.withUsers(map[string]User{"ann": ann(usage.Quota{})})
	asAnn := func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+annToken) }
	before := s.get("/api/pulse")
	same := func(tag string) answer {
		return s.do("GET", "/api/pulse", "", func(r *http.Request) { r.Header.Set("If-None-Match", tag) })
	}
	if first := decoded[api.Pulse](t, before); first.Plugins == nil || len(first.Approvals)+len(first.Answering) > 0 || first.Tools == "" || first.Draining {
		t.Errorf("%+v", first)
	}
	if a := same(before.header.Get("ETag")); a.status != 304 {
		t.Errorf("unchanged: %d %s", a.status, a.body)
	}
	hers := decoded[api.Pulse](t, s.do("GET", "/api/pulse", "", asAnn))
	if hers.Plugins != nil {
		t.Errorf("a user reads of plugins: %+v", hers)
	}

	asked, _ := s.daemon.approvals.Add(t.Context(), approval.Request{Principal: "local", Tool: "x", Args: []byte(`{}`), Expires: time.Now().Add(time.Minute)}, 1, time.Now())
	c := s.connect(`{"message":"Hi"}`, "")
	id := last[api.ChatStart](t, []event{c.until(api.EventStart)}, api.EventStart).Conversation
	now := decoded[api.Pulse](t, same(before.header.Get("ETag")))
	if !slices.Equal(now.Approvals, []string{asked.ID}) || !slices.Equal(now.Answering, []string{id}) {
		t.Errorf("%+v", now)
	}
	if p := decoded[api.Pulse](t, s.do("GET", "/api/pulse", "", asAnn)); len(p.Approvals)+len(p.Answering) > 0 {
		t.Errorf("ann reads of the operator's: %+v", p)
	}
	close(m.step)
	c.until(api.EventEnd)

	if err := s.daemon.Configure(s.daemon.current.State().Config); err != nil {
		t.Fatal(err)
	}
	if p := decoded[api.Pulse](t, s.get("/api/pulse")); p.Configuration == now.Configuration || p.Tools != now.Tools {
		t.Errorf("after a change of the configuration: %+v, before %+v", p, now)
	}
}

// follow opens the stream of pulses.
func (s *server) follow(token string) *connection {
	s.Helper()
	c, status := s.tryFollow(token)
	if status != 200 {
		s.Fatalf("status %d", status)
	}
	return c
}

// tryFollow is follow that reports the status.
func (s *server) tryFollow(token string) (*connection, int) {
	s.Helper()
	ctx, cancel := context.WithCancel(s.Context())
	req, err := http.NewRequestWithContext(ctx, "GET", s.url+"/api/pulse", nil)
	if err != nil {
		s.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Accept", "text/event-stream")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.Fatal(err)
	}
	return &connection{server: s, body: resp.Body, in: bufio.NewReader(resp.Body), stop: cancel}, resp.StatusCode
}

func (c *connection) pulse() api.Pulse {
	c.Helper()
	return last[api.Pulse](c.T, []event{c.until(api.EventPulse)}, api.EventPulse)
}

// A stream has an event at each change, and ends with the daemon or with its token.
func TestPulseStream(t *testing.T) {
	s := newServer(t, replay.New(replay.Text("Yes.")))
	s.withUsers(map[string]User{"ann": ann(usage.Quota{})})
	c, hers := s.follow(testToken), s.follow(annToken)
	if p := c.pulse(); len(p.Approvals) != 0 {
		t.Errorf("%+v", p)
	}
	hers.pulse()
	asked, _ := s.daemon.approvals.Add(t.Context(), approval.Request{Principal: "local", Tool: "x", Args: []byte(`{}`), Expires: time.Now().Add(time.Minute)}, 1, time.Now())
	if p := c.pulse(); !slices.Equal(p.Approvals, []string{asked.ID}) {
		t.Errorf("%+v", p)
	}
	if a := s.post("/api/approvals/"+asked.ID, `{"answer":"deny"}`); a.status != 200 {
		t.Fatal(a.body)
	}
	if p := c.pulse(); len(p.Approvals) != 0 {
		t.Errorf("%+v", p)
	}
	s.withUsers(map[string]User{}) // which ends ann's token
	for {
		e, ok := hers.next()
		if !ok {
			break
		}
		if p := last[api.Pulse](t, []event{e}, api.EventPulse); len(p.Approvals)+len(p.Answering) > 0 {
			t.Errorf("ann reads %+v", p)
		}
	}
	if err := s.daemon.Drain(t.Context()); err != nil {
		t.Error(err)
	}
	for p := c.pulse(); !p.Draining; p = c.pulse() {
	}
	if e, ok := c.next(); ok {
		t.Errorf("after the end: %+v", e)
	}
}

// One user's streams are bounded, and leave those of others alone.
func TestPulseStreamsAreBounded(t *testing.T) {
	s := newServer(t, replay.New())
	s.withUsers(map[string]User{"ann": ann(usage.Quota{})})
	var open []*connection
	for range pulse.MaxStreams {
		open = append(open, s.follow(annToken))
	}
	if _, status := s.tryFollow(annToken); status != 429 {
		t.Errorf("one more: %d", status)
	}
	s.follow(testToken).close()
	open[0].close()
	for end := time.Now().Add(2 * time.Minute); ; {
		if _, status := s.tryFollow(annToken); status == 200 {
			return
		}
		if time.Now().After(end) {
			t.Fatal("a stream that ended is still counted")
		}
	}
}

package daemon

import (
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/model/replay"
	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/internal/postgres/pgtest"
	"github.com/weirhost/weir/host/plugin"
)

// twoDaemons returns two daemons with one database, as on two machines: each has its own
// folder, host and model. Both may write notes into the returned folder.
func twoDaemons(t *testing.T, model func() agent.Model, edit func(*host.Config)) (a, b *server, work string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "archive.db")
	url := pgtest.URL(t)
	if url == "" {
		t.Skip("PostgreSQL only")
	}
	work = t.TempDir()
	dir := pen(t)
	open := func() *server {
		return serverWith(t, model(), func(c *host.Config) {
			c.Folders = []plugin.Folder{{Path: dir, Trust: plugin.TrustGranted}}
			c.Grants = map[string]plugin.Grant{"pen": {Paths: []plugin.PathGrant{{Guest: "/workspace", Host: work, Mode: "rw"}}}}
			c.Archive.Path, c.Archive.URL, c.Archive.Shared = path, url, true
			if edit != nil {
				edit(c)
			}
		})
	}
	return open(), open(), work
}

// A request that waits on one daemon is listed and shown by the other. Of two answers at
// the same moment, one on each, one counts, and the other is refused. What "always" covers
// holds on both.
func TestTwoDaemonsApprove(t *testing.T) {
	a, b, work := twoDaemons(t, func() agent.Model {
		return replay.Func(func(n int, _ agent.Request) replay.Reply {
			if n%2 == 0 {
				return replay.Call("write_note", writeA)
			}
			return replay.Text("done")
		})
	}, nil)
	for range 5 {
		l := a.chat(`{"message":"write A","approvals":true}`)
		asked := l.asked()
		if r := b.get("/api/approvals"); !strings.Contains(r.body, asked.ID) {
			t.Fatalf("the other daemon lists %s", r.body)
		}
		if r := b.get("/api/approvals/" + asked.ID); r.status != 200 || !strings.Contains(r.body, "write_note") {
			t.Errorf("%d %s", r.status, r.body)
		}
		var answers [2]answer
		var both sync.WaitGroup
		for i, s := range []*server{a, b} {
			both.Go(func() { answers[i] = s.answer(asked.ID, "once") })
		}
		both.Wait()
		if answers[0].status+answers[1].status != 200+409 {
			t.Errorf("%d %s, %d %s", answers[0].status, answers[0].body, answers[1].status, answers[1].body)
		}
		if r := l.result(); !r.OK {
			t.Errorf("%+v", r)
		}
		l.until(api.EventEnd)
	}
	if !there(t, filepath.Join(work, "a.txt")) {
		t.Error("nothing was written")
	}
	l := a.chat(`{"message":"write A","approvals":true}`)
	asked := l.asked()
	if r := b.answer(asked.ID, "always"); r.status != 200 {
		t.Errorf("%d %s", r.status, r.body)
	}
	l.until(api.EventEnd)
	l = b.chat(`{"message":"again","approvals":true,"conversation_id":"` + asked.Conversation + `"}`)
	if r := l.result(); !r.OK || r.Approval == nil || r.Approval.By != "always" {
		t.Errorf("on the other daemon: %+v", r)
	}
	l.until(api.EventEnd)
	if r := a.do("DELETE", "/api/conversations/"+asked.Conversation, "", nil); r.status != 200 {
		t.Errorf("%d %s", r.status, r.body)
	}
	if n, err := b.daemon.store.Answers().Remembers(t.Context(), "local\x00"+asked.Conversation, "private"); n || err != nil {
		t.Errorf("something is remembered of a deleted conversation: %v", err)
	}
}

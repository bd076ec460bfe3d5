package cluster

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/internal/testtime"
)

// A turn is a question and what its client saw.
type turn struct {
	id           string
	conversation string
	last         string // the id of the last event; empty: the turn did not begin
	events       int
	again        int // how often the question was refused, so that it was asked again
	results      []api.ToolCallResult
	problem      *api.Problem // of an error event
	end          *api.ChatEnd
	said         string // what the last connection failed with

	daemon *daemon   // which daemon began the turn
	lostAt time.Time // when that was killed or frozen
	away   time.Duration
}

// ask sends the question, again where it is refused, and reads its stream to the end, on
// any daemon. Where there was no answer it is not known whether the turn began.
func (w *world) ask(ctx context.Context, conversation, id string) *turn {
	t := &turn{id: id, conversation: conversation}
	body, err := json.Marshal(api.Ask{Message: "This is question " + id + ".", Conversation: conversation, Resume: true})
	if err != nil {
		w.Error(err)
		return t
	}
	testtime.Comes(func() bool {
		t.daemon = w.any()
		status := t.read(ctx, t.daemon, "POST", string(body))
		return status != http.StatusServiceUnavailable && status != http.StatusConflict || ctx.Err() != nil
	})
	for heard := true; heard && t.last != "" && t.end == nil && ctx.Err() == nil; {
		before := t.events
		heard = testtime.Comes(func() bool {
			t.read(ctx, w.any(), "GET", "")
			return t.events > before || ctx.Err() != nil
		})
	}
	return t
}

// any returns a daemon that is not known to be away.
func (w *world) any() (d *daemon) {
	testtime.Comes(func() bool {
		d = w.daemons[rand.IntN(len(w.daemons))]
		_, _, ok := d.state()
		return ok && !d.leaving.Load()
	})
	return d
}

// read reads one connection to its end, or until the daemon is gone. The status is 0
// where it is not known whether the question came.
func (t *turn) read(ctx context.Context, d *daemon, method, body string) (status int) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	down, _, _ := d.state()
	go func() {
		select {
		case <-down:
			cancel()
		case <-ctx.Done():
		}
	}()
	req := d.request(ctx, method, "/api/chat", body)
	if t.last != "" {
		req.Header.Set("Last-Event-ID", t.last)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		if t.said = err.Error(); errors.Is(err, syscall.ECONNREFUSED) {
			return http.StatusServiceUnavailable // as a load balancer says, or it asks another one
		}
		return 0
	}
	defer resp.Body.Close()
	in := bufio.NewScanner(resp.Body)
	in.Buffer(nil, 8<<20)
	if resp.StatusCode != http.StatusOK {
		in.Scan()
		t.said, t.again = fmt.Sprint(resp.StatusCode, " ", in.Text()), t.again+1
		return resp.StatusCode
	}
	var id, name, data string
	for in.Scan() {
		key, value, _ := strings.Cut(in.Text(), ": ")
		switch key {
		case "id":
			id = value
		case "event":
			name = value
		case "data":
			data = value
		case "":
			if name != "" {
				t.event(d.world, id, name, []byte(data))
			}
			id, name, data = "", "", ""
		}
	}
	t.said = "the stream broke"
	if t.daemon == d && t.lostAt.IsZero() {
		if _, at, ok := d.state(); !ok {
			t.lostAt = at
		}
	}
	return resp.StatusCode
}

func (t *turn) event(w *world, id, name string, data []byte) {
	if at := strings.LastIndexByte(id, '-'); id != "" {
		n, err := strconv.Atoi(id[at+1:])
		begun := t.last != "" // and is of the same turn
		if err != nil || name != api.EventMissed && (n != t.events+1 || begun && id[:at] != t.last[:strings.LastIndexByte(t.last, '-')]) {
			w.Errorf("%s: event %s %s after %q (%d)", t.id, id, name, t.last, t.events)
		}
		t.last, t.events = id, n
		if !t.lostAt.IsZero() && t.away == 0 {
			t.away = time.Since(t.lostAt)
		}
	}
	into := func(v any) {
		if err := json.Unmarshal(data, v); err != nil {
			w.Errorf("%s: %s: %v", t.id, name, err)
		}
	}
	switch name {
	case api.EventStart:
		var start api.ChatStart
		into(&start)
		t.conversation = start.Conversation
	case api.EventResult:
		var r api.ToolCallResult
		into(&r)
		t.results = append(t.results, r)
	case api.EventError:
		t.problem = new(api.Problem)
		into(t.problem)
	case api.EventEnd:
		t.end = new(api.ChatEnd)
		into(t.end)
	}
}

// askAll asks questions until enough says so of a number. Each client asks five in a
// conversation, then begins one.
func (w *world) askAll(ctx context.Context, clients int, enough func(n int) bool) (turns []*turn) {
	var (
		mu   sync.Mutex
		wg   sync.WaitGroup
		next atomic.Int64
	)
	for range clients {
		wg.Go(func() {
			conversation := ""
			for in := 0; ctx.Err() == nil; in++ {
				n := next.Add(1)
				if enough(int(n)) {
					return
				}
				t := w.ask(ctx, conversation, fmt.Sprintf("q%d", n))
				mu.Lock()
				turns = append(turns, t)
				mu.Unlock()
				if conversation = t.conversation; in%5 == 4 || t.end == nil {
					conversation = ""
				}
			}
		})
	}
	wg.Wait()
	return turns
}

package resume

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/sse"
)

// A client that disconnects before the first event knows no event to resume from: the turn
// ends.
func TestATurnWithoutAnEventEndsWithItsClient(t *testing.T) {
	ctx, leave := context.WithCancel(t.Context())
	ended := make(chan struct{})
	var once sync.Once
	l := &Turn{id: "early", log: newLog(1000), grace: time.Hour, cancel: func() { once.Do(func() { close(ended) }) }}
	over := make(chan error)
	go func() {
		over <- l.Serve(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, "POST", "/api/chat", nil), 0)
	}()
	leave()
	if err := <-over; err != nil {
		t.Error(err)
	}
	<-ended
	l.finish(api.ChatEnd{}, context.Canceled)
}

// A turn some of whose events could not be committed does not commit its last ones: there would
// be a gap between. Another daemon ends it.
func TestALostTurnHasNoEnd(t *testing.T) {
	b := &batcher{log: newLog(1000), due: time.NewTimer(time.Hour)}
	b.log.lose()
	if row, done := b.closing(func() {}, func() { b.add(func(int) []byte { return []byte("end") }, "", true) }); done != nil {
		t.Errorf("it commits %+v", row)
		return
	}
	b.commit.Lock() // it is free
	b.commit.Unlock()
}

// A client that disconnects anywhere reads every event once, or learns what it missed and
// still has the whole answer.
func TestLogLosesNoEvent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := newLog(rapid.IntRange(1, 400).Draw(t, "limit"))
		added, whole := 0, ""
		add := func() {
			added++
			text := fmt.Sprintf("<%d>", added)
			whole += text
			f.add(func(n int) []byte { return []byte(strconv.Itoa(n) + "\n") }, text, false)
		}
		n, read := 0, ""
		for range rapid.IntRange(1, 8).Draw(t, "connections") {
			for range rapid.IntRange(0, 40).Draw(t, "events") {
				add()
			}
			if n == added {
				continue // it would wait
			}
			raw, last, gap, over, err := f.next(t.Context(), n)
			if err != nil || over || last != added {
				t.Fatalf("up to %d of %d, over %v, error %v", last, added, over, err)
			}
			if gap != nil {
				if gap.events != gap.before-1-n || gap.events < 1 {
					t.Fatalf("gap %+v after %d", gap, n)
				}
				n, read = gap.before-1, gap.text
			}
			lines := strings.Fields(string(raw))
			if len(lines) == 0 {
				t.Fatal("nothing is there")
			}
			for i, line := range lines { // the connection breaks in the middle, perhaps
				if line != strconv.Itoa(n+1) {
					t.Fatalf("%s after %d", line, n)
				}
				n, read = n+1, read+fmt.Sprintf("<%s>", line)
				if i > 0 && rapid.Bool().Draw(t, "breaks") {
					break
				}
			}
		}
		f.close()
		raw, last, gap, over, _ := f.next(t.Context(), n)
		if gap != nil {
			read, n = gap.text, gap.before-1
		}
		for range strings.Fields(string(raw)) {
			n++
			read += fmt.Sprintf("<%d>", n)
		}
		if !over || last != added || n != added || read != whole {
			t.Fatalf("read %q of %q, over %v", read, whole, over)
		}
	})
}

// What matters to who joins late outlasts the pieces of a text: a log that has dropped
// many still has it, once, in order and within its bound.
func TestLogKeepsWhatLasts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(20, 400).Draw(t, "limit")
		f := newLog(limit)
		var lasting []int
		whole := ""
		total := rapid.IntRange(1, 200).Draw(t, "events")
		for i := range total {
			lasts := rapid.IntRange(0, 5).Draw(t, "lasts") == 0
			text := ""
			if lasts {
				lasting = append(lasting, i+1)
			} else {
				text = fmt.Sprintf("<%d>", i+1)
			}
			whole += text
			f.add(func(n int) []byte { return []byte(strconv.Itoa(n) + "\n") }, text, lasts)
		}
		n := rapid.IntRange(0, total-1).Draw(t, "read")
		raw, _, gap, _, err := f.next(t.Context(), n)
		if err != nil || f.size() > (1+keptShare)*limit+len(whole) {
			t.Fatalf("%d bytes under a limit of %d, error %v", f.size(), limit, err)
		}
		got, read, missed := strings.Fields(string(raw)), "", 0
		if gap != nil {
			got, read, missed = append(strings.Fields(string(gap.raw)), got...), gap.text, gap.events
		}
		if len(got)+missed != total-n {
			t.Fatalf("%d events and %d missed, of %d after %d", len(got), missed, total, n)
		}
		before := n
		for _, number := range got {
			m, _ := strconv.Atoi(number)
			if m <= before {
				t.Fatalf("%d after %d", m, before)
			}
			if before = m; !slices.Contains(lasting, m) && (gap == nil || m >= gap.before) {
				read += fmt.Sprintf("<%d>", m)
			}
		}
		if gap != nil && read != whole {
			t.Fatalf("read %q of %q", read, whole)
		}
		for _, m := range lasting {
			if sum := 4 * len(lasting); m > n && sum <= keptShare*limit && !slices.Contains(got, strconv.Itoa(m)) {
				t.Fatalf("%d is missing, though there is room", m)
			}
		}
	})
}

// The size of a log is bounded, whatever its events are.
func TestLogIsBounded(t *testing.T) {
	f := newLog(1000)
	for range 10_000 {
		f.add(func(n int) []byte { return bytes.Repeat([]byte("x"), n%50+1) }, "", false)
	}
	if got := f.size(); got > 1000 {
		t.Errorf("%d bytes", got)
	}
	f.add(func(int) []byte { return make([]byte, 5000) }, "", false)
	if raw, _, _, _, _ := f.next(t.Context(), 10_000); len(raw) != 5000 {
		t.Errorf("the newest is gone: %d bytes", len(raw))
	}
}

// The newest ended turns are kept, up to a bound.
func TestEndedTurnsAreBounded(t *testing.T) {
	ls := New(Config{})
	var ids []string
	for i := range maxEnded + 10 {
		l := &Turn{id: strconv.Itoa(i), principal: strconv.Itoa(i % 8), log: newLog(10)}
		ids = append(ids, l.id)
		ls.add(l)
		ls.retire(l)
	}
	var kept []string
	for _, l := range ls.ended {
		kept = append(kept, l.id)
	}
	if !slices.Equal(kept, ids[10:]) || len(ls.byID) != maxEnded {
		t.Errorf("%d are kept, the first is %s", len(ls.byID), kept[0])
	}
	ls = New(Config{})
	ls.add(&Turn{id: "hers", principal: "ann", log: newLog(10)})
	ls.retire(ls.byID["hers"])
	for i := range 2 * maxEnded {
		l := &Turn{id: strconv.Itoa(i), principal: "bob", log: newLog(10)}
		ls.add(l)
		ls.retire(l)
	}
	if _, ok := ls.find("ann", "hers"); !ok || len(ls.ended) != maxEndedByPrincipal+1 || len(ls.byID) != maxEndedByPrincipal+1 || ls.ended[1].id != strconv.Itoa(2*maxEnded-maxEndedByPrincipal) {
		t.Errorf("one user's turns evict another's: %d are kept", len(ls.byID))
	}
}

// A ping never comes in the middle of an event.
func TestAPingKeepsOutOfEvents(t *testing.T) {
	text := strings.Repeat("0123456789", 400<<10)
	live := &Turn{id: "turn", log: newLog(logBytes), over: true, config: Config{Heartbeat: func() time.Duration { return 10 * time.Microsecond }}}
	live.emit("long", text)
	live.log.close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := live.Serve(w, r, 0); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	resp, err := http.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var events [][]byte
	for e := range bytes.SplitAfterSeq(got, []byte("\n\n")) {
		if string(e) != ": ping\n\n" && len(e) > 0 {
			events = append(events, e)
		}
	}
	if len(events) != 1 || !bytes.Equal(events[0], sse.Frame("turn-1", "long", text)) {
		t.Errorf("%d bytes come as %d events, want one", len(got), len(events))
	}
}

package answer

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestCacheEvicts(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	c := NewCache(100)
	put := func(key string, size int) { c.Put(key, Answer{Text: strings.Repeat("x", size)}, now.Add(time.Minute)) }
	has := func(key string) bool { _, ok := c.get(key, now); return ok }
	put("a", 25)
	put("b", 25)
	put("c", 25)
	put("d", 25)
	if !has("a") { // and now the newest
		t.Error("what fits is kept")
	}
	put("e", 25)
	if has("b") || !has("a") || !has("e") || c.size != 100 {
		t.Errorf("what was used longest ago goes first; %d bytes are kept", c.size)
	}
	put("huge", 26)
	if has("huge") {
		t.Error("one answer may not take more than a quarter")
	}
	put("a", 1)
	if c.size != 76 {
		t.Errorf("the same key is kept once; %d bytes", c.size)
	}
	now = now.Add(time.Minute)
	for _, key := range []string{"a", "c", "d", "e"} {
		if has(key) {
			t.Errorf("%s has run out", key)
		}
	}
	if c.size != 0 || c.order.Len() != 0 || len(c.byKey) != 0 {
		t.Errorf("%d bytes in %d entries are left", c.size, c.order.Len())
	}
	for i := range 1000 {
		put(fmt.Sprint(i), 10)
	}
	if c.order.Len() != 10 || c.size != 100 {
		t.Errorf("%d bytes in %d entries", c.size, c.order.Len())
	}
}

// A failed call stores no answer, and each caller that waited for it makes the call.
func TestJoinWhenTheFirstCallFails(t *testing.T) {
	c := NewCache(100)
	now := func() time.Time { return time.Unix(0, 0) }
	_, ok, done := c.Join(t.Context(), "k", now)
	if ok {
		t.Fatal("there is no answer yet")
	}
	var waiting sync.WaitGroup
	for range 3 {
		waiting.Go(func() {
			_, ok, done := c.Join(t.Context(), "k", now)
			if ok {
				t.Error("there was no answer")
			}
			done()
		})
	}
	done()
	waiting.Wait()
	_, _, done = c.Join(t.Context(), "k", now)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, ok, done := c.Join(ctx, "k", now); ok {
		t.Error("with an ended context")
	} else {
		done()
	}
	c.Put("k", Answer{Text: "x"}, now().Add(time.Minute))
	done()
	if out, ok, _ := c.Join(t.Context(), "k", now); !ok || out.Text != "x" {
		t.Error("the answer is not found")
	}
	if len(c.pending) != 0 {
		t.Errorf("%d are still pending", len(c.pending))
	}
}

package exprcost

import (
	"context"
	"errors"
	"testing"
)

func TestSteps(t *testing.T) {
	if n := Steps("a"); n < 1 || n > 10 {
		t.Errorf("a has %d", n)
	}
	if n := Steps("(?:a?){400}a{400}"); n < 1000 {
		t.Errorf("repeats have %d", n)
	}
	if n := Steps("(", "a"); n != Steps("a") {
		t.Errorf("an invalid expression has %d", n-Steps("a"))
	}
}

func TestQueue(t *testing.T) {
	var q Queue
	leave, err := q.Enter(t.Context(), Light+1)
	if err != nil {
		t.Fatal(err)
	}
	if light, err := q.Enter(t.Context(), Light); err != nil {
		t.Error("a light search waits:", err)
	} else {
		light()
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := q.Enter(ctx, Light+1); !errors.Is(err, context.Canceled) {
		t.Errorf("a second search runs: %v", err)
	}
	leave()
	if leave, err := q.Enter(t.Context(), Light+1); err != nil {
		t.Error(err)
	} else {
		leave()
	}
}

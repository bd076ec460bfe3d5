package turns

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/internal/testtime"
)

// codeOf returns the code of a problem; empty: err is none.
func codeOf(err error) string {
	if p, ok := errors.AsType[*api.Problem](err); ok {
		return p.Code
	}
	return ""
}

func TestAdmission(t *testing.T) {
	slots := make(chan struct{}, 2)
	a := NewAdmission(func() chan struct{} { return slots })
	enter := func(conversation string) (func(), string) {
		leave, err := a.Enter(archive.Scope{Principal: "ann", Conversation: conversation})
		return leave, codeOf(err)
	}
	leave, code := enter("one")
	if code != "" {
		t.Fatal(code)
	}
	if _, code := enter("one"); code != api.CodeBusy {
		t.Errorf("a conversation in a turn: %q", code)
	}
	if _, code := enter("two"); code != "" {
		t.Errorf("another conversation: %q", code)
	}
	if _, code := enter("three"); code != "overloaded" {
		t.Errorf("more turns than slots: %q", code)
	}
	slots = make(chan struct{}, 1) // leave gives back to the slots of before
	leave()
	if _, code := enter("one"); code != "" {
		t.Errorf("a conversation whose turn has ended: %q", code)
	}
	a.Close()
	if _, code := enter("four"); code != api.CodeDraining {
		t.Errorf("a turn after Close: %q", code)
	}
	if _, err := a.Attend(); codeOf(err) != api.CodeDraining {
		t.Errorf("a call after Close: %v", err)
	}
}

// What is inside is waited for, then told to end, then left alone.
func TestAdmissionWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := NewAdmission(func() chan struct{} { return nil })
		ended := make(chan string, 1)
		go func() {
			ended <- codeOf(a.Run(context.Background(), func(ctx context.Context) error {
				<-ctx.Done()
				return ctx.Err()
			}))
		}()
		if _, err := a.Attend(); err != nil { // a call that never ends
			t.Fatal(err)
		}
		synctest.Wait()
		a.Close()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		began := time.Now()
		if err := a.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) || testtime.Since(began) != time.Minute+lastWords {
			t.Errorf("%v after %s", err, testtime.Since(began))
		}
		if code := <-ended; code != api.CodeDraining {
			t.Errorf("a call that was cut off ended with %q", code)
		}
		a.inside.Done()
		if err := a.Wait(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

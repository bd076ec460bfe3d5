package testtime

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestABubblesTimeIsExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if Sleep(time.Hour); Since(began) != time.Hour {
			t.Errorf("%s passed in an hour", Since(began))
		}
	})
}

func TestTheMachinesTimeIsRefused(t *testing.T) {
	for name, f := range map[string]func(){"Sleep": func() { Sleep(0) }, "Since": func() { Since(time.Now()) }} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("it counts the time of the machine")
				}
			}()
			f()
		})
	}
}

func TestComes(t *testing.T) {
	looks := 0
	if !Comes(func() bool { looks++; return looks == 3 }) || looks != 3 {
		t.Errorf("%d looks", looks)
	}
	synctest.Test(t, func(t *testing.T) {
		if Comes(func() bool { return false }) {
			t.Error("what never came did")
		}
	})
}

package session

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/weirhost/weir/host/daemon/store"
)

// A table is a store that other daemons share. It deletes nothing while away, and waits for
// wait, unless that is nil.
type table struct {
	all  []store.Session
	away bool
	wait chan struct{}
}

func (s *table) Sessions(context.Context) ([]store.Session, error) {
	if s.wait != nil {
		<-s.wait
	}
	return append([]store.Session{}, s.all...), nil
}

func (s *table) PutSession(_ context.Context, one store.Session, gone ...string) error {
	if err := s.DeleteSessions(context.Background(), gone...); err != nil {
		return err
	}
	s.all = append(s.all, one)
	return nil
}

func (s *table) DeleteSessions(_ context.Context, ids ...string) error {
	if s.away {
		return errors.New("away")
	}
	for _, id := range ids {
		for i, one := range s.all {
			if one.ID == id {
				s.all = append(s.all[:i:i], s.all[i+1:]...)
				break
			}
		}
	}
	return nil
}

func (*table) Shared() bool      { return true }
func (*table) OnSessions(func()) {}

// A user who has logged out stays so when the store was away, which has it later.
func TestALogoutLasts(t *testing.T) {
	db := &table{}
	s, err := New(t.Context(), nil, db, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	_, _, one, err := s.begin(t.Context(), "ann", "token", "")
	if err != nil {
		t.Fatal(err)
	}
	db.away = true
	if err := s.end(t.Context(), "ann", one.ID); err == nil {
		t.Error("it was told")
	}
	s.reload(0)
	if _, found := s.find(one.ID); found {
		t.Error("the session is back")
	}
	db.away = false
	if _, _, _, err := s.begin(t.Context(), "ann", "token", ""); err != nil || len(db.all) != 1 || len(s.ended) != 0 {
		t.Errorf("the store has %d sessions, %v", len(db.all), err)
	}
}

// Requests do not wait while the store does not answer.
func TestNobodyWaitsForAReload(t *testing.T) {
	db := &table{all: []store.Session{{ID: "one", Principal: "ann"}}}
	s, err := New(t.Context(), nil, db, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	db.wait = make(chan struct{})
	over := make(chan struct{})
	go func() {
		s.reload(0)
		close(over)
	}()
	for s.asking.TryLock() {
		s.asking.Unlock()
	}
	if _, found := s.find("one"); !found {
		t.Error("the session is not there")
	}
	close(db.wait)
	<-over
}

package approvals

import (
	"context"
	"slices"
	"sync"

	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/host/internal/signal"
)

// maxClosed bounds the settled requests of which a memory remembers the outcome.
const maxClosed = 512

// memory is the Store of a daemon that shares nothing.
type memory struct {
	mu      sync.Mutex
	pending []store.ApprovalRow
	closed  []store.ApprovalRow // the oldest first
	changed signal.Signal
}

func (m *memory) Add(_ context.Context, r store.ApprovalRow, most, mostOfPrincipal int) (store.ApprovalRow, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.pending) >= most || len(m.of(r.Principal)) >= mostOfPrincipal {
		return r, false, nil
	}
	m.pending = append(m.pending, r)
	m.changed.Send()
	return r, true, nil
}

func (m *memory) Settle(_ context.Context, principal, id, outcome string, answer []byte) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.IndexFunc(m.pending, func(r store.ApprovalRow) bool { return r.ID == id && r.Principal == principal })
	if i < 0 {
		return false, nil
	}
	r := m.pending[i]
	r.Outcome, r.Answer = outcome, answer
	m.pending = slices.Delete(m.pending, i, i+1)
	if len(m.closed) >= maxClosed {
		m.closed = m.closed[1:]
	}
	m.closed = append(m.closed, r)
	m.changed.Send()
	return true, nil
}

func (m *memory) Get(_ context.Context, principal, id string) (store.ApprovalRow, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range slices.Concat(m.pending, m.closed) {
		if r.ID == id && r.Principal == principal {
			return r, true, nil
		}
	}
	return store.ApprovalRow{}, false, nil
}

func (m *memory) List(_ context.Context, principal string) ([]store.ApprovalRow, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.of(principal), nil
}

// of returns the pending requests of a principal. m.mu is held.
func (m *memory) of(principal string) (out []store.ApprovalRow) {
	for _, r := range m.pending {
		if r.Principal == principal {
			out = append(out, r)
		}
	}
	return out
}

func (m *memory) Changed() <-chan struct{} { return m.changed.Next() }

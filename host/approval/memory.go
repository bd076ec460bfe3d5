package approval

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
)

const (
	// maxAnswers is the most answers that are remembered. The oldest are forgotten
	// first; the person is then asked again.
	maxAnswers = 4096
	// maxScopes is the most scopes whose exposure is remembered.
	maxScopes = 1 << 16
)

// Answers stores what a Memory remembers for several processes. A scope is one of ScopeKey.
type Answers interface {
	Remembers(ctx context.Context, scope, digest string) (bool, error)
	Remember(ctx context.Context, scope, digest string) error
	// Forget deletes what is remembered of a scope, or of a principal's scopes.
	Forget(ctx context.Context, scope string, all bool) error
}

// markPrivate is the digest by which Answers has the scopes with private text.
const markPrivate = "private"

// Share has everything remembered in a store of several processes, which is asked each
// time. It must be called before the first use. A store that fails remembers nothing.
func (m *Memory) Share(s Answers) { m.shared = s }

// A Memory remembers the answers that hold for more than one call, and which
// scopes contain private text: text that a tool read in a granted folder. The zero
// Memory is empty. It is safe for concurrent use.
type Memory struct {
	shared  Answers // set before the first use; nil: there is none
	mu      sync.Mutex
	allowed map[answerKey]bool
	order   []answerKey // of allowed, the oldest first
	private map[string]bool
	full    bool // private has no room for all scopes
	// unstored are the private scopes that shared does not have yet.
	unstored map[string]bool
}

// An answerKey identifies the calls that one answer covers.
type answerKey struct {
	scope  string
	digest string
}

// ScopeKey names the conversation of a principal. The scope of a user whose
// conversations share one archive is the principal alone.
func ScopeKey(principal, conversation string) string { return principal + "\x00" + conversation }

func (m *Memory) isAllowed(ctx context.Context, key answerKey) bool {
	if m.shared != nil {
		allowed, err := m.shared.Remembers(ctx, key.scope, key.digest)
		return allowed && err == nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.allowed[key]
}

func (m *Memory) allow(ctx context.Context, key answerKey) {
	if m.shared != nil {
		_ = m.shared.Remember(ctx, key.scope, key.digest) // or else the person is asked again
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.allowed == nil {
		m.allowed = map[answerKey]bool{}
	}
	if m.allowed[key] {
		return
	}
	if len(m.order) >= maxAnswers {
		delete(m.allowed, m.order[0])
		m.order = m.order[1:]
	}
	m.allowed[key] = true
	m.order = append(m.order, key)
}

// Forget deletes the remembered answers of one conversation.
func (m *Memory) Forget(principal, conversation string) {
	scope := ScopeKey(principal, conversation)
	if m.shared != nil {
		_ = m.shared.Forget(context.Background(), scope, false) // no conversation has the same name again
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forget(func(s string) bool { return s == scope })
}

// ForgetPrincipal deletes a principal's remembered answers and privacy marks.
func (m *Memory) ForgetPrincipal(principal string) {
	if m.shared != nil {
		_ = m.shared.Forget(context.Background(), principal, true) // what is left belongs to no one
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	theirs := func(scope string) bool { return scope == principal || strings.HasPrefix(scope, principal+"\x00") }
	m.forget(theirs)
	maps.DeleteFunc(m.private, func(scope string, _ bool) bool { return theirs(scope) })
}

// ForgetAnswers deletes all remembered answers of this process. Privacy marks stay.
func (m *Memory) ForgetAnswers() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forget(func(string) bool { return true })
}

func (m *Memory) forget(matches func(scope string) bool) {
	m.order = slices.DeleteFunc(m.order, func(k answerKey) bool { return matches(k.scope) })
	maps.DeleteFunc(m.allowed, func(k answerKey, _ bool) bool { return matches(k.scope) })
}

// IsPrivate reports whether a scope contains private text, and whether that is
// known. After more scopes than can be remembered, unknown ones count as private.
func (m *Memory) IsPrivate(scope string) (private, known bool) {
	if m.shared != nil {
		return m.sharedPrivate(scope)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	private, known = m.private[scope]
	return private || !known && m.full, known || m.full
}

// MarkPrivate remembers whether a scope contains private text. A scope that was
// marked as private stays private.
func (m *Memory) MarkPrivate(scope string, private bool) {
	if m.shared != nil && (!private || !m.markShared(scope)) {
		return // another process may mark it later, or it is marked
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.private == nil {
		m.private = map[string]bool{}
	}
	if _, known := m.private[scope]; !known && len(m.private) >= maxScopes {
		if m.full {
			return
		}
		maps.DeleteFunc(m.private, func(_ string, marked bool) bool { return !marked }) // the host can find these out again
		if len(m.private) >= maxScopes {
			m.full = true
			return
		}
	}
	m.private[scope] = m.private[scope] || private
}

// sharedPrivate is IsPrivate for all processes. That a scope is not private is not known:
// another one may read private text into it at any time.
func (m *Memory) sharedPrivate(scope string) (private, known bool) {
	m.mu.Lock()
	private = m.private[scope] || m.full
	m.mu.Unlock()
	if private {
		return true, true
	}
	private, err := m.shared.Remembers(context.Background(), scope, markPrivate)
	return private || err != nil, private || err != nil
}

// markShared marks a scope as private for all processes, and reports whether it was not. A
// mark that cannot be stored holds in this process, and is stored with the next one.
func (m *Memory) markShared(scope string) bool {
	m.mu.Lock()
	done := m.private[scope] && !m.unstored[scope]
	m.mu.Unlock()
	if done {
		return false
	}
	err := m.shared.Remember(context.Background(), scope, markPrivate)
	m.mu.Lock()
	defer m.mu.Unlock()
	if err == nil {
		delete(m.unstored, scope)
	} else if m.unstored == nil {
		m.unstored = map[string]bool{scope: true}
	} else {
		m.unstored[scope] = true
	}
	return true
}

package host

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/sdk/tool"
)

// The most that is remembered. Of consents the oldest go first: whoever gave
// them is asked again.
const (
	maxConsents      = 4096
	maxConversations = 1 << 16
)

// consents remember what people allowed for good, and which conversations hold
// what a tool read in a folder of the operator's. It is safe for concurrent use.
type consents struct {
	mu      sync.Mutex
	allowed map[consent]bool
	order   []consent // of allowed, the oldest first
	private map[string]bool
	full    bool // private cannot hold all that it should
}

// A consent is one answer that holds for more than the call it was given for.
type consent struct {
	place string // principal and conversation
	key   string
}

func (c *consents) given(key consent) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.allowed[key]
}

func (c *consents) give(key consent) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.allowed == nil {
		c.allowed = map[consent]bool{}
	}
	if c.allowed[key] {
		return
	}
	if len(c.order) >= maxConsents {
		delete(c.allowed, c.order[0])
		c.order = c.order[1:]
	}
	c.allowed[key] = true
	c.order = append(c.order, key)
}

// forget takes back every consent of a conversation.
func (c *consents) forget(place string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	there := func(k consent) bool { return k.place == place }
	c.order = slices.DeleteFunc(c.order, there)
	maps.DeleteFunc(c.allowed, func(k consent, _ bool) bool { return there(k) })
}

// forgetOf takes back every consent of a principal's, and forgets what their
// conversations held.
func (c *consents) forgetOf(principal string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	theirs := func(place string) bool { return place == principal || strings.HasPrefix(place, principal+"\x00") }
	c.order = slices.DeleteFunc(c.order, func(k consent) bool { return theirs(k.place) })
	maps.DeleteFunc(c.allowed, func(k consent, _ bool) bool { return theirs(k.place) })
	maps.DeleteFunc(c.private, func(place string, _ bool) bool { return theirs(place) })
}

// read tells what is known of a conversation. When more hold private text than
// can be remembered, every one that is not known does.
func (c *consents) read(place string) (private, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	private, known = c.private[place]
	return private || !known && c.full, known || c.full
}

// note keeps what is found out of a conversation. One that holds private text
// holds it from then on.
func (c *consents) note(place string, private bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.private == nil {
		c.private = map[string]bool{}
	}
	if _, known := c.private[place]; !known && len(c.private) >= maxConversations {
		if c.full {
			return
		}
		maps.DeleteFunc(c.private, func(_ string, marked bool) bool { return !marked }) // it can be read again
		if len(c.private) >= maxConversations {
			c.full = true
			return
		}
	}
	c.private[place] = c.private[place] || private
}

// place is as far as what a tool reads can be read back: the conversation, or
// all of the user's where they share their archive.
func (s *Session) place() string {
	if s.h.cfg.Archive.UserScope || s.across {
		return string(s.principal)
	}
	return string(s.principal) + "\x00" + s.conversation
}

// Forget takes back what people allowed for good in a conversation, which is
// deleted.
func (h *Host) Forget(p Principal, conversation string) {
	h.asked.forget(string(p) + "\x00" + conversation)
}

// ForgetAll takes back everything that people allowed for good as p, whose
// conversations are deleted.
func (h *Host) ForgetAll(p Principal) { h.asked.forgetOf(string(p)) }

// touch notes that a tool has run which may read what the operator lent.
func (s *Session) touch(b *bound) {
	if len(b.grant.Mounts) > 0 {
		s.notePrivate()
	}
}

// notePrivate notes that the conversation holds private text, and with it all
// that the user's conversations hold together.
func (s *Session) notePrivate() {
	s.h.asked.note(s.place(), true)
	s.h.asked.note(string(s.principal), true)
}

// A CallLog knows the calls of earlier processes.
type CallLog interface {
	// RanTools returns the names of the tools that ran in the conversation of a Scope,
	// or in all of the principal's if the Scope has no conversation.
	RanTools(ctx context.Context, sc archive.Scope) ([]string, error)
}

// SetCallLog sets the log of the calls of earlier processes. It must be called before
// the first Session. Without a log, only calls of this process make a conversation
// private.
func (h *Host) SetCallLog(l CallLog) { h.callLog = l }

// holdsPrivate reports whether the conversation holds text from a granted folder. The
// call log knows the calls of earlier processes; if it cannot be read, holdsPrivate
// returns true.
func (s *Session) holdsPrivate(ctx context.Context) bool {
	if private, known := s.h.asked.read(s.place()); known {
		return private
	}
	var ran []string
	if s.h.callLog != nil {
		scope := s.scope()
		if s.h.cfg.Archive.UserScope || s.across {
			scope.Conversation = ""
		}
		var err error
		if ran, err = s.h.callLog.RanTools(ctx, scope); err != nil {
			return true
		}
	}
	private := slices.ContainsFunc(ran, s.h.current.Load().mayRead)
	s.h.asked.note(s.place(), private)
	return private
}

// mayRead reports whether a tool of that name may bring text of a granted
// folder into a conversation. One that is not there any more might have.
func (p *plan) mayRead(name string) bool {
	switch name {
	case tool.LoadHistory, tool.SearchHistory, tool.DescribeTool: // they show what is there already
		return false
	}
	b := p.tools[name]
	return b == nil || len(b.grant.Mounts) > 0
}

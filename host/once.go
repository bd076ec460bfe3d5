package host

import (
	"context"
	"hash/maphash"
	"sync"

	"github.com/weirhost/weir/host/archive"
)

// stripes are locks, each for a part of all conversations.
type stripes struct {
	locks [64]sync.Mutex
	once  sync.Once
	seed  maphash.Seed
}

// of returns the lock of a name.
func (s *stripes) of(name string) *sync.Mutex {
	s.once.Do(func() { s.seed = maphash.MakeSeed() })
	return &s.locks[maphash.String(s.seed, name)%uint64(len(s.locks))]
}

// archiveOnce commits e, unless an identical call of this conversation has left
// an identical text, parts aside: then the earlier entry is returned, and again
// is true. One at a time in a conversation: of two at once the second must not
// refer to a row that the first is about to take back.
func (s *Session) archiveOnce(ctx context.Context, e archive.Entry) (_ archive.Entry, again bool, err error) {
	lock := s.h.keeping.of(string(s.principal) + "\x00" + s.conversation)
	lock.Lock()
	defer lock.Unlock()
	e, err = s.h.archive.Put(ctx, e)
	if err != nil || e.SameAs == "" || len(e.Parts) > 0 {
		return e, false, err
	}
	// One of another conversation of the same user may go with it at any time.
	earlier, err := s.h.archive.Find(ctx, string(s.principal), e.SameAs)
	if err != nil || earlier.Scope != e.Scope {
		return e, false, nil
	}
	if err := s.h.archive.Drop(ctx, s.scope(), e.UUID); err != nil {
		s.h.log.Warn("a second copy of a result stays in the archive", "uuid", e.UUID, "error", err)
		return e, false, nil
	}
	return earlier, true, nil
}

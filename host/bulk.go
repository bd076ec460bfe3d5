package host

import (
	"github.com/weirhost/weir/host/internal/cpusched"
	"github.com/weirhost/weir/sdk/tool"
)

// bulkOver is from how many bytes on working on a text takes a core for ten
// milliseconds and more.
const bulkOver = 1 << 20

// maxArgs is the most bytes of a call's arguments; the sandbox takes no more.
const maxArgs = 16 << 20

// inBulk runs f, which works on a text of n bytes. One long text is worked on at
// a time: with all cores busy with such, short calls would wait for the
// scheduler's next slice, several times over. Beside workers it gives way to them.
func (h *Host) inBulk(n int, f func()) {
	if n < bulkOver {
		f()
		return
	}
	h.bulk.Lock()
	defer h.bulk.Unlock()
	cpusched.RunPreemptible(f)
}

// tooLong refuses arguments before they are read; nil: they may be.
func (s *Session) tooLong(b *bound, args []byte) *tool.Error {
	if b == nil || len(args) <= maxArgs {
		return nil
	}
	name := b.info.Spec.Name
	return in(s.locale).localise(tool.Errorf(tool.TooLarge, "pass less text", "the arguments have %d bytes; %s accepts at most %d", len(args), name, maxArgs), b)
}

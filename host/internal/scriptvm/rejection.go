package scriptvm

import (
	"context"
	"slices"

	"github.com/tetratelabs/wazero/api"
)

// scriptKey is the key of the Script that a context of its module belongs to.
type scriptKey struct{}

// Bounds of what is kept about rejected promises.
const (
	mostRejected = 20
	maxReason    = 300      // bytes
	maxRefused   = 64 << 10 // of all of them as JSON, bytes
)

// A rejection is a promise that was rejected.
type rejection struct {
	Promise uint64 `json:"promise"` // the value, which names the promise
	Reason  string `json:"reason"`
}

// onRejection takes note of a promise that was rejected while nothing awaits it, or of one
// that something awaits after all. QuickJS calls it with the promise, the reason and
// whether it is awaited.
func onRejection(ctx context.Context, m api.Module, stack []uint64) {
	s, ok := ctx.Value(scriptKey{}).(*Script)
	if !ok {
		return
	}
	promise, ok := m.Memory().ReadUint64Le(uint32(stack[0]))
	if !ok {
		return
	}
	if stack[2] != 0 {
		s.refused = slices.DeleteFunc(s.refused, func(r rejection) bool { return r.Promise == promise })
		return
	}
	if len(s.refused) < mostRejected {
		s.refused = append(s.refused, rejection{promise, s.reason(ctx, stack[1])})
	}
}

// reason returns the text of a value; empty: it has none.
func (s *Script) reason(ctx context.Context, value uint64) string {
	text, err := s.string(ctx, value)
	if err != nil {
		_, _ = s.call(ctx, "qjs_get_exception") // else it would be thrown at what follows
		return ""
	}
	return string(text[:min(len(text), maxReason)])
}

// rejected returns the reasons of the promises that nothing awaited.
func (s *Script) rejected() (reasons Names) {
	for _, r := range s.refused {
		if r.Reason != "" {
			reasons = append(reasons, r.Reason)
		}
	}
	return reasons
}

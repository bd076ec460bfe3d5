package host

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"sync"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/internal/callargs"
	"github.com/weirhost/weir/sdk/limit"
)

// resultArg is a whole argument that stands for an archived result, or for a
// part of one.
var resultArg = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^@result:([0-9A-Za-z-]{8,64})(#(/.*)?)?$`) })

// expand puts archived results in the place of the arguments that name them,
// and reports whether there were any. The map itself is changed.
func (s *Session) expand(ctx context.Context, args map[string]any) (expanded bool, err error) {
	if !callargs.AnyString(args, namesResult) { // as in most calls
		return false, nil
	}
	err = callargs.ReplaceStrings(args, func(text string) (string, error) {
		if !namesResult(text) {
			return text, nil
		}
		m := resultArg().FindStringSubmatch(text)
		if m == nil {
			return text, nil
		}
		expanded = true
		page, err := s.h.archive.Read(ctx, s.scope(), m[1], archive.Part{Pointer: m[3]})
		if err != nil {
			return "", s.h.builtin.Error(ctx, s.scope(), err, m[1], page.Entry)
		}
		return page.Text, nil
	})
	return expanded, err
}

// namesResult reports what resultArg takes longer to see: that a text is none.
func namesResult(text string) bool { return strings.HasPrefix(text, "@result:") }

// anyID finds what may be the id of a result.
var anyID = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}`)
})

// writesBack reports whether arguments hold a placeholder or a notice of this
// conversation: a tool that writes would put it where the text should be. Text
// about somebody else's placeholders does not count.
func (s *Session) writesBack(ctx context.Context, args map[string]any) bool {
	return callargs.AnyString(args, func(text string) bool {
		return limit.HasMark(text) && s.ours(ctx, text)
	})
}

// ours reports whether a text with a mark speaks of this conversation: it names
// one of its results, or none at all.
func (s *Session) ours(ctx context.Context, text string) bool {
	ids := anyID().FindAllString(text, 16)
	for _, id := range ids {
		e, err := s.h.archive.Find(ctx, string(s.principal), id)
		known := err == nil || errors.Is(err, archive.ErrExpired)
		if known && e.Scope.Conversation == s.conversation {
			return true
		}
	}
	return len(ids) == 0
}

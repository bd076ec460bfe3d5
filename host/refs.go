package host

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"sync"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/internal/callargs"
	"github.com/weirhost/weir/host/internal/snapshot"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// expandRefs returns the input for the tool: the checked arguments with the text of
// archived results in place of their references. A tool that writes does not get a
// placeholder or a notice of this conversation as its text.
func (s *Session) expandRefs(ctx context.Context, t *snapshot.Tool, args arguments) (input json.RawMessage, fail *tool.Error) {
	s.h.largeText.Do(args.size, func() { input, fail = s.inputOf(ctx, t, args) })
	return input, fail
}

func (s *Session) inputOf(ctx context.Context, t *snapshot.Tool, args arguments) (json.RawMessage, *tool.Error) {
	if !t.Info.Spec.Hints.ReadOnly && s.writesBack(ctx, args.values) {
		return nil, tool.Errorf(tool.Denied, `load the whole first with load_tool_history, or pass it on as "@result:<uuid>"; write no notice into anything`,
			"the arguments of %s hold a placeholder or a notice instead of the text that it refers to", t.Info.Spec.Name)
	}
	expanded, err := s.expand(ctx, args.values)
	if err != nil {
		if e, ok := errors.AsType[*tool.Error](err); ok {
			return nil, e
		}
		return nil, tool.Errorf(tool.Failed, "", "the archive cannot be read")
	}
	if e := t.CheckArgs(args.values); e != nil {
		return nil, e
	}
	if args.canonical != nil && !expanded {
		return args.canonical, nil
	}
	return callargs.Encode(args.values)
}

// reference matches an argument that is a reference to an archived result or to a
// part of one.
var reference = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^@result:([0-9A-Za-z-]{8,64})(#(/.*)?)?$`) })

// maxReferences bounds the different references in the arguments of a call.
const maxReferences = 100

// expand replaces references to archived results by their text, in place, and reports
// whether there were any. It reads a result once, however often it is referred to, and
// bounds the texts together: a reference of 45 bytes can mean 8 MiB of text.
func (s *Session) expand(ctx context.Context, args map[string]any) (expanded bool, err error) {
	if !callargs.AnyString(args, mayBeReference) { // as in most calls
		return false, nil
	}
	texts, size := map[string]string{}, 0
	err = callargs.ReplaceStrings(args, func(text string) (string, error) {
		if !mayBeReference(text) {
			return text, nil
		}
		m := reference().FindStringSubmatch(text)
		if m == nil {
			return text, nil
		}
		expanded = true
		whole, read := texts[text]
		if !read {
			if len(texts) == maxReferences {
				return "", tool.Errorf(tool.TooLarge, "pass fewer results at once", "the arguments refer to more than %d results", maxReferences)
			}
			page, err := s.h.archive.Read(ctx, s.scope(), m[1], archive.Part{Pointer: m[3]})
			if err != nil {
				return "", s.h.builtin.Error(ctx, s.scope(), err, m[1], page.Entry)
			}
			whole, texts[text] = page.Text, page.Text
		}
		if size += len(whole); size > maxArgs {
			return "", tool.Errorf(tool.TooLarge, "pass fewer results at once, or a part of them", "the results that the arguments refer to have more than %s together", tool.Bytes(maxArgs))
		}
		return whole, nil
	})
	return expanded, err
}

// mayBeReference is a quick check before the regular expression.
func mayBeReference(text string) bool { return strings.HasPrefix(text, "@result:") }

// anyID matches what may be the id of a result.
var anyID = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}`)
})

// maxOwnMarks bounds the marks that are looked up for one call. Arguments with more of
// them are not passed on.
const maxOwnMarks = 1000

// writesBack reports whether arguments hold a placeholder or a notice of this
// conversation. Text about placeholders of other conversations does not count.
func (s *Session) writesBack(ctx context.Context, args map[string]any) bool {
	marks := 0
	return callargs.AnyString(args, func(text string) bool {
		for mark := range limit.Marks(text) {
			if marks++; marks > maxOwnMarks || s.isOwn(ctx, mark) {
				return true
			}
		}
		return false
	})
}

// isOwn reports whether a mark is about this conversation: it names one of its results,
// or none at all.
func (s *Session) isOwn(ctx context.Context, mark string) bool {
	ids := anyID().FindAllString(mark, -1)
	for _, id := range ids {
		e, err := s.h.archive.Find(ctx, string(s.principal), id)
		known := err == nil || errors.Is(err, archive.ErrExpired)
		if known && e.Scope.Conversation == s.conversation {
			return true
		}
	}
	return len(ids) == 0
}

package host

import (
	"context"
	"fmt"
	"strings"

	"github.com/weirhost/weir/host/internal/answer"
	"github.com/weirhost/weir/host/internal/history"
	"github.com/weirhost/weir/host/internal/text"
	"github.com/weirhost/weir/sdk/tool"
)

// maxForeignName bounds the name of a tool that is not this host's, in characters.
const maxForeignName = 80

// Keep takes a result that was made elsewhere, by an application with a loop of
// its own, the way of every other: normalised, committed whole, cut under the
// limits of the tool that c names, or under the defaults where this host has
// no such tool, and never over the ceiling. c.Args are what the tool was called
// with. Nothing is run. What is wrong with the result is its Err; the errors are
// those of Call.
func (s *Session) Keep(ctx context.Context, c tool.Call, whole []byte) (tool.Result, error) {
	inner, err := s.h.enter(ctx)
	if err != nil {
		return tool.Result{}, err
	}
	defer s.h.leave(inner)
	began := s.h.cfg.Now()
	r := s.take(inner, c, whole)
	switch {
	case ctx.Err() != nil:
		return tool.Result{}, ctx.Err()
	case inner.Err() != nil:
		return tool.Result{}, ErrClosed
	}
	r.CallID, r.Tool = c.ID, text.OneLine(c.Tool, maxForeignName)
	r.Stats.Duration, r.Stats.RawBytes = s.h.cfg.Now().Sub(began), len(whole)
	s.log(r)
	return r, nil
}

// take is Keep without the host's door.
func (s *Session) take(ctx context.Context, c tool.Call, whole []byte) tool.Result {
	w := in(s.locale)
	name := text.OneLine(c.Tool, maxForeignName)
	switch {
	case strings.TrimSpace(name) == "" || name != c.Tool:
		k := keepTexts[w.locale]
		return failed(w.failure(tool.BadArgs, fmt.Sprintf(k.badName, maxForeignName), k.hintBadName))
	case history.Has(name):
		k := keepTexts[w.locale]
		return failed(w.failure(tool.Denied, fmt.Sprintf(k.own, name), k.hintOwn))
	case len(whole) > tool.MaxWhole:
		return failed(w.failure(tool.TooLarge, w.tooLarge, w.hintSmaller, name, tool.Bytes(tool.MaxWhole)))
	}
	out := answer.DecodeText(whole)
	if len(out.Text) > tool.MaxWhole { // each invalid byte took three
		return failed(w.failure(tool.TooLarge, w.tooLarge, w.hintSmaller, name, tool.Bytes(tool.MaxWhole)))
	}
	s.markPrivate() // its origin is unknown
	return s.result(ctx, s.h.limitsOf(name), c, out)
}

// limitsOf is the tool of that name, or one that declares nothing.
func (h *Host) limitsOf(name string) *bound {
	if b := h.current.Load().tools[name]; b != nil {
		return b
	}
	return h.limited(tool.Spec{Name: name}, "")
}

// keepText is what Keep says when it refuses.
type keepText struct{ badName, hintBadName, own, hintOwn string }

var keepTexts = map[tool.Locale]keepText{
	tool.En: {
		badName: "the tool's name is empty, has line breaks or double blanks, or is longer than %d characters", hintBadName: "name the tool that made the result",
		own: "results of %s are not kept: they are in the archive already", hintOwn: "give them to the model as they are",
	},
	tool.Zh: {
		badName: "工具名为空、含有换行或连续空格，或超过 %d 个字符", hintBadName: "请写明产生该结果的工具名",
		own: "%s 的结果不再存档：其内容已在存档中", hintOwn: "请将其原样交给模型",
	},
}

package host

import (
	"context"
	"strings"

	"github.com/weirhost/weir/host/internal/answer"
	"github.com/weirhost/weir/host/internal/history"
	"github.com/weirhost/weir/host/internal/snapshot"
	"github.com/weirhost/weir/host/internal/text"
	"github.com/weirhost/weir/sdk/tool"
)

// maxToolName bounds the name of a tool that is not this host's, in characters.
const maxToolName = 80

// Ingest treats a result that another program made like one of this host's own tools:
// it normalises the text, archives the whole and cuts what is shown. The limits are
// those of the tool that c names, or the defaults if this host has no such tool;
// never over the ceiling. c.Args are the arguments of the call. Nothing runs. A fault
// of the result is its Err; the errors are those of Call.
func (s *Session) Ingest(ctx context.Context, c tool.Call, whole []byte) (tool.Result, error) {
	named := c
	named.Tool = text.OneLine(c.Tool, maxToolName)
	return s.admit(ctx, named, func(ctx context.Context) tool.Result {
		r := s.ingest(ctx, c, whole)
		r.Stats.RawBytes = len(whole)
		return r
	})
}

func (s *Session) ingest(ctx context.Context, c tool.Call, whole []byte) (r tool.Result) {
	name := text.OneLine(c.Tool, maxToolName)
	switch {
	case strings.TrimSpace(name) == "" || name != c.Tool:
		r.Err = tool.Errorf(tool.BadArgs, "name the tool that made the result",
			"the tool's name is empty, has line breaks or double spaces, or is longer than %d characters", maxToolName)
		return r
	case history.Has(name):
		r.Err = tool.Errorf(tool.Denied, "give them to the model as they are", "results of %s are not archived again: they come from the archive", name)
		return r
	}
	s.markPrivate() // the text may come from anywhere
	t := s.h.current.Load().Tools[name]
	if t == nil {
		t = s.h.newTool(tool.Spec{Name: name})
	}
	return s.keep(ctx, t, c, whole, "")
}

// IngestAs is Ingest for a result that weir's own tool spec has made of others: under the
// limits of that tool. note is a sentence that the model reads before the text.
func (s *Session) IngestAs(ctx context.Context, spec tool.Spec, c tool.Call, whole []byte, note string) (tool.Result, error) {
	return s.admit(ctx, c, func(ctx context.Context) tool.Result { return s.keep(ctx, s.h.newTool(spec), c, whole, note) })
}

func (s *Session) keep(ctx context.Context, t *snapshot.Tool, c tool.Call, whole []byte, note string) tool.Result {
	a := answer.DecodeText(whole)
	if a.Cut {
		a = s.markCut(a)
	}
	a.Note = strings.TrimSpace(note + " " + a.Note)
	return s.summarise(ctx, t, c, s.record(ctx, t, c, a))
}

// newTool returns a tool that no plugin has, with the limits that apply.
func (h *Host) newTool(spec tool.Spec) *snapshot.Tool {
	return snapshot.NewTool(h.settings.Load().limits, spec, "", h.limitsOf(spec.Name), 0)
}

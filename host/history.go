package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/internal/callargs"
	"github.com/weirhost/weir/host/internal/registry"
	"github.com/weirhost/weir/host/internal/text"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// history returns who answers for a tool of the host's own; nil: nobody.
func (s *Session) history(name string) func(context.Context, tool.Call) tool.Result {
	switch name {
	case tool.LoadHistory:
		return s.load
	case tool.SearchHistory:
		return s.search
	}
	return nil
}

// load answers load_tool_history: a part of an archived whole, from its offset
// on. No limit but the caller's room bounds it, so that Shown is a first page
// and the Result holds everything selected.
func (s *Session) load(ctx context.Context, c tool.Call) tool.Result {
	w := in(s.locale)
	id, part, err := archive.ParsePart(c.Args, s.locale)
	if err != nil {
		return failed(s.historyError(ctx, err, id, archive.Entry{}))
	}
	keep, fail := w.keepTurns(c.Args)
	if fail != nil {
		return failed(fail)
	}
	selectors := selectorsOf(part)
	if c.Turn > 0 && s.turns.count(c.Turn, fmt.Sprint(id, string(selectors), part.Offset)) > 2 {
		return failed(w.failure(tool.Denied, w.repeated, w.hintRepeated))
	}
	page, err := s.h.archive.Read(ctx, s.scope(), id, part)
	if err != nil {
		return failed(s.historyError(ctx, err, id, page.Entry))
	}
	r := tool.Result{
		Tool: tool.LoadHistory, Ephemeral: true, Sources: page.Entry.Sources,
		Load: &tool.Load{UUID: id, Args: selectors, Offset: part.Offset, Chars: page.Chars, KeepTurns: keep},
	}.WithWhole(page.Text)
	r.Shown = limit.Fit(r, tool.Limits{MaxChars: loadChars, Strategy: tool.HeadOnly}, limit.By{Chars: tool.LayerLoad, Lines: tool.LayerLoad})
	r.Stats.RawBytes = len(page.Text)
	return r
}

// selectorsOf writes a part as the arguments of a load, without id and offset.
func selectorsOf(p archive.Part) json.RawMessage {
	var v struct {
		Lines   string `json:"lines,omitempty"`
		Grep    string `json:"grep,omitempty"`
		Context int    `json:"context,omitempty"`
		Pointer string `json:"pointer,omitempty"`
		Head    int    `json:"head,omitempty"`
		Tail    int    `json:"tail,omitempty"`
	}
	v.Grep, v.Context, v.Pointer, v.Head, v.Tail = p.Grep, p.Context, p.Pointer, p.Head, p.Tail
	switch {
	case p.Last > 0:
		v.Lines = fmt.Sprintf("%d-%d", max(p.First, 1), p.Last)
	case p.First > 0:
		v.Lines = fmt.Sprintf("%d-", p.First)
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil || b.String() == "{}\n" {
		return nil
	}
	return json.RawMessage(strings.TrimSpace(b.String()))
}

// historyError words what keeps an archived result from being read. Somebody
// else's is told like one that never was.
func (s *Session) historyError(ctx context.Context, err error, id string, e archive.Entry) *tool.Error {
	w := in(s.locale)
	var own *tool.Error
	switch {
	case ctx.Err() != nil:
		return w.failure(tool.Cancelled, w.unreadable, "")
	case errors.As(err, &own):
		return own
	case errors.Is(err, archive.ErrNotFound):
		return w.failure(tool.BadArgs, w.noArchive, w.hintNoArchive, text.OneLine(id, 80))
	case errors.Is(err, archive.ErrExpired):
		hint := fmt.Sprintf(w.hintAgain, e.Tool, e.Input)
		if len(e.Input) > 500 {
			hint = fmt.Sprintf(w.hintAgainWhole, e.Tool)
		}
		return w.failure(tool.Expired, w.expired, hint, id)
	}
	s.h.log.Error("the archive cannot be read", "conversation", s.conversation, "error", err)
	return w.failure(tool.Failed, w.unreadable, w.hintOperator)
}

// search answers search_tool_history.
func (s *Session) search(ctx context.Context, c tool.Call) tool.Result {
	w := in(s.locale)
	query, wrong := s.wanted(c.Args)
	if len(wrong) > 0 {
		return failed(w.failure(tool.BadArgs, w.misfit, fmt.Sprintf(w.hintArgs, `{"query": "timeout"}`), tool.SearchHistory, wrong))
	}
	found, err := s.h.archive.Search(ctx, s.scope(), query, archive.SearchOptions{Locale: s.locale})
	if err != nil {
		return failed(s.historyError(ctx, err, "", archive.Entry{}))
	}
	r := tool.Result{Tool: tool.SearchHistory, Ephemeral: true}.WithWhole(w.hits(query, found))
	r.Shown = limit.Fit(r, in(s.locale).searchLimits(), limit.By{Chars: tool.LayerTool, Lines: tool.LayerTool})
	return r
}

// wanted reads the arguments of a search, or says what is wrong with them.
func (s *Session) wanted(raw json.RawMessage) (query, wrong string) {
	missing := map[bool]string{false: `"query" is missing`, true: `缺少 "query"`}[s.locale == tool.Zh]
	args, _, fail := callargs.Decode(raw)
	if fail != nil {
		return "", missing
	}
	schema, err := registry.CompileSchema(specTexts[s.locale == tool.Zh].search)
	if err != nil {
		return "", err.Error()
	}
	if wrong := schema.Check(args, s.locale); len(wrong) > 0 {
		return "", in(s.locale).join(wrong)
	}
	if query, _ = args["query"].(string); strings.TrimSpace(query) == "" {
		return "", missing
	}
	return query, ""
}

// searchLimits bound what is shown of a search.
func (wording) searchLimits() tool.Limits {
	return tool.Limits{MaxChars: tool.DefaultMaxChars, MaxLines: tool.DefaultMaxLines, Strategy: tool.HeadOnly, Archive: tool.KeepNever}
}

// hits writes what a search found, grouped by result.
func (w wording) hits(query string, found archive.SearchResult) string {
	var b strings.Builder
	if len(found.Hits) == 0 {
		fmt.Fprintf(&b, w.nothingFound, text.OneLine(query, 200), found.Archives)
	} else {
		fmt.Fprintf(&b, w.found, len(found.Hits))
	}
	last := ""
	for _, h := range found.Hits {
		if h.Entry.UUID != last {
			last = h.Entry.UUID
			fmt.Fprintf(&b, "\n\nuuid=%s %s · %s · %s", last, h.Entry.Tool, h.Entry.Query, h.Entry.Created.UTC().Format("2006-01-02 15:04"))
		}
		if h.Line > 0 {
			fmt.Fprintf(&b, "\n%d: %s", h.Line, h.Snippet)
		} else {
			fmt.Fprintf(&b, "\n(%s) %s", w.inCall, h.Snippet)
		}
	}
	if found.Stopped && found.Left > 0 {
		fmt.Fprintf(&b, "\n\n"+w.foundMore, found.Left)
	}
	return b.String()
}

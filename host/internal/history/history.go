// Package history answers the two tools that weir provides for archived results:
// load_tool_history returns a part of one result, search_tool_history finds words in
// all results of a conversation. Specs describes both to a model. Tools connects
// them to a store and answers calls; it also words the errors of the store for the
// model, which other readers of the archive need too. Repeats counts the loads of
// one turn, to refuse a model that loads the same part again and again.
package history

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hashicorp/go-hclog"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/text"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// LoadChars is how much of a load is shown where no agent bounds it, in characters.
const LoadChars = 32768

// maxSameLoads is how often a part can be loaded in one turn.
const maxSameLoads = 2

// A Store is the part of the archive that the tools need.
type Store interface {
	Read(ctx context.Context, scope archive.Scope, id string, part archive.Part) (archive.Page, error)
	Search(ctx context.Context, scope archive.Scope, query string, opt archive.SearchOptions) (archive.SearchResult, error)
}

// Tools answers the calls of the history tools. It is safe for concurrent use.
type Tools struct {
	Store Store
	// Near returns the results that are nearest to a text by what they mean. Nil, or
	// no result without an error: the search goes by words alone.
	Near func(ctx context.Context, scope archive.Scope, text string, limit int) ([]archive.Near, error)
	Log  hclog.Logger
}

// A Request is one call, of a reader who sees the results in Scope.
type Request struct {
	Scope archive.Scope
	// Across says that Scope reaches all conversations of the principal.
	Across  bool
	Locale  tool.Locale
	Call    tool.Call
	Repeats *Repeats
	// Short returns the results that the caller keeps itself, oldest first; nil: there are none.
	// Only a search calls it.
	Short func() []Short
}

// Has reports whether name is one of the history tools.
func Has(name string) bool { return name == tool.LoadHistory || name == tool.SearchHistory }

// Answer returns the result of a call to one of the history tools. Sentences of its
// Err are English with the parts to translate; see msg.ToolError.
func (t *Tools) Answer(ctx context.Context, r Request) tool.Result {
	if r.Call.Tool == tool.SearchHistory {
		return t.search(ctx, r)
	}
	return t.load(ctx, r)
}

// load answers load_tool_history. Only the room of the caller bounds the text: Shown
// is a first page, and the Result holds everything selected.
func (t *Tools) load(ctx context.Context, r Request) tool.Result {
	id, part, err := archive.ParsePart(r.Call.Args)
	if err != nil {
		return tool.Result{Err: t.Error(ctx, r.Scope, err, id, archive.Entry{})}
	}
	keep, fail := keepTurns(r.Call.Args)
	if fail != nil {
		return tool.Result{Err: fail}
	}
	selectors := selectorsOf(part)
	if r.Call.Turn > 0 && r.Repeats.count(r.Call.Turn, fmt.Sprint(id, string(selectors), part.Offset)) > maxSameLoads {
		return tool.Result{Err: tool.Errorf(tool.Denied,
			`it is above: answer from it, or load another part with lines="a-b", grep="…" or offset=n`,
			"this part has been loaded twice in this turn already")}
	}
	page, err := t.Store.Read(ctx, r.Scope, id, part)
	if err != nil {
		return tool.Result{Err: t.Error(ctx, r.Scope, err, id, page.Entry)}
	}
	out := Loaded(r.Locale, id, part, page)
	out.Load.KeepTurns = keep
	return out
}

// Loaded returns the result of a call that loads a page, before an agent bounds it. For
// a grep without a match it is a sentence in l: a model reads no text as a failure.
func Loaded(l tool.Locale, id string, part archive.Part, page archive.Page) tool.Result {
	if part.Grep != "" && page.Matches == 0 {
		page.Text = msg.In(l, tool.Textf("No line of this result matches %q.", text.OneLine(part.Grep, 80)))
	}
	out := tool.Result{
		Tool: tool.LoadHistory, Ephemeral: true, Sources: page.Entry.Sources,
		Load: &tool.Load{UUID: id, Args: selectorsOf(part), Offset: part.Offset, Chars: page.Chars},
	}.WithWhole(page.Text)
	out.Shown = limit.Fit(out, loadLimits(), limit.By{Chars: tool.LayerLoad, Lines: tool.LayerLoad})
	out.Stats.RawBytes = len(page.Text)
	return out
}

// selectorsOf returns a part as the arguments of a load, without id and offset.
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
	s, err := text.JSON(v)
	if err != nil || s == "{}" {
		return nil
	}
	return json.RawMessage(s)
}

// Error returns an error of the store as a failure for the model. A result of
// another user or conversation has the same error as one that does not exist. An
// error that is not the caller's fault is logged.
func (t *Tools) Error(ctx context.Context, scope archive.Scope, err error, id string, e archive.Entry) *tool.Error {
	switch own, isOwn := errors.AsType[*tool.Error](err); {
	case ctx.Err() != nil:
		return tool.Errorf(tool.Cancelled, "", "the archive cannot be read")
	case isOwn:
		return own
	case errors.Is(err, archive.ErrNotFound):
		return tool.Errorf(tool.BadArgs, "copy the id from a placeholder or a notice, or find it with search_tool_history",
			"there is no archived result with the id %q that can be read here", text.OneLine(id, 80))
	case errors.Is(err, archive.ErrExpired):
		hint := tool.Textf("make the call again: %s(%s)", e.Tool, string(e.Input))
		if len(e.Input) > 500 {
			hint = tool.Textf("make the call of %s again", e.Tool)
		}
		return tool.NewError(tool.Expired, tool.Textf("the archived result %s has been removed: it was too old, or the archive was full", id), hint)
	}
	t.Log.Error("the archive cannot be read", "conversation", scope.Conversation, "error", err)
	return tool.Errorf(tool.Failed, "use another tool; the operator must check this one", "the archive cannot be read")
}

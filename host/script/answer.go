package script

import (
	"context"
	"encoding/json"
	"errors"
	"time"
	"unicode/utf8"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/scriptvm"
	"github.com/weirhost/weir/sdk/tool"
)

// answerTo does what a script wants.
func (x *run) answerTo(ctx context.Context, w *want) answered {
	a := answered{Answer: scriptvm.Answer{ID: w.ID}, want: w}
	var value any
	switch w.Kind {
	case "call":
		return x.call(ctx, w, a)
	case "text":
		e, err := x.archive.Get(ctx, x.Scope, w.UUID)
		if err != nil {
			return x.refuse(a, tool.Errorf(tool.BadArgs, "", "there is no result with this uuid"))
		}
		value, a.origin = e.Full, originOf(origin{UUID: w.UUID}, e.Full)
	case "part":
		uuid, p, err := archive.ParsePart(w.Part)
		if fail, ok := errors.AsType[*tool.Error](err); ok {
			return x.refuse(a, fail)
		}
		began := time.Now()
		page, err := x.archive.Peek(ctx, x.Scope, uuid, p)
		a.searched = time.Since(began)
		if fail, ok := errors.AsType[*tool.Error](err); ok {
			return x.refuse(a, fail)
		} else if err != nil {
			return x.refuse(a, tool.Errorf(tool.BadArgs, "", "there is no result with this uuid"))
		}
		value, a.origin = page.Text, originOf(origin{UUID: uuid, Part: w.Part}, page.Text)
	case "find":
		value = append([]string{}, x.session.FindToolsAmong(ctx, w.Query, max(1, min(w.Count, mostFound)), func(name string) bool { return x.names[name] })...)
	case "describe":
		for _, t := range x.Tools {
			if t.Name == w.Tool {
				value = t
			}
		}
		if value == nil {
			return x.refuse(a, x.noTool(w.Tool))
		}
	default:
		return x.refuse(a, tool.Errorf(tool.BadArgs, "", "the host does not know this request"))
	}
	return x.with(a, value)
}

// mostFound is how many tools one search of a script finds.
const mostFound = 20

func unknown(name string) *tool.Error {
	return tool.Errorf(tool.UnknownTool, "ALL_TOOLS has the names", "there is no tool %q", name)
}

// refuse gives the script an error, in its language.
func (x *run) refuse(a answered, fail *tool.Error) answered {
	fail = msg.ToolError(x.Locale, fail)
	a.Fault = &scriptvm.Fault{Code: string(fail.Code), Message: fail.Msg, Hint: fail.Hint}
	if a.made.Tool != "" {
		a.made.Fault = fail.Code
	}
	return a
}

func (x *run) with(a answered, value any) answered {
	text, err := json.Marshal(value)
	if err != nil {
		return x.refuse(a, tool.Errorf(tool.Failed, "", "the answer cannot be written as JSON"))
	}
	a.Value = text
	return a
}

// call makes one call of a tool.
func (x *run) call(ctx context.Context, w *want, a answered) answered {
	a.made = Made{Tool: w.Tool}
	switch {
	case w.number >= x.options.Calls:
		return x.refuse(a, tool.Errorf(tool.TooLarge, "do more with each call", "a script may make %d calls", max(0, x.options.Calls)))
	case !x.names[w.Tool]:
		return x.refuse(a, x.noTool(w.Tool))
	}
	c := tool.Call{ID: w.id, Tool: w.Tool, Args: w.Args, Turn: x.Turn}
	began := time.Now()
	r, err := x.session.Call(ctx, c)
	a.call, a.result, a.err, a.made.Took = &c, r, err, time.Since(began)
	switch {
	case err != nil:
		return a
	case w.failed != nil:
		a.err = w.failed
		return a
	case r.Err != nil && !w.begun && !w.parked && x.store.stops():
		a.away = true
		return a
	case r.Err != nil:
		a = x.refuse(a, r.Err)
	default:
		a = x.handle(a, r)
	}
	if !w.parked {
		a.err = x.store.ended(a)
	}
	return a
}

// handle gives the script a result.
func (x *run) handle(a answered, r tool.Result) answered {
	whole := r.Whole()
	handle := map[string]any{"tool": a.want.Tool, "uuid": "", "chars": r.Shown.TotalChars, "lines": r.Shown.TotalLines}
	if r.Ref != nil {
		handle["uuid"], a.made.UUID = r.Ref.UUID, r.Ref.UUID
	}
	if r.Ref == nil || len(whole) <= inlineChars || utf8.RuneCountInString(whole) <= inlineChars {
		handle["text"] = whole
		a.origin = originOf(origin{UUID: a.made.UUID, Call: a.want.number}, whole)
	}
	a.made.Chars = r.Shown.TotalChars
	return x.with(a, handle)
}

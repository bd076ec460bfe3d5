package history

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/internal/callargs"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/schema"
	"github.com/weirhost/weir/host/internal/text"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// search answers search_tool_history.
func (t *Tools) search(ctx context.Context, r Request) tool.Result {
	query, fail := queryOf(r.Call.Args, r.Locale)
	if fail != nil {
		return tool.Result{Err: fail}
	}
	found, err := t.Store.Search(ctx, r.Scope, query, archive.SearchOptions{})
	if err != nil {
		return tool.Result{Err: t.Error(ctx, r.Scope, err, "", archive.Entry{})}
	}
	out := tool.Result{Tool: tool.SearchHistory, Ephemeral: true}.WithWhole(hitsText(r.Locale, query, found))
	out.Shown = limit.Fit(out, searchLimits(), limit.By{Chars: tool.LayerTool, Lines: tool.LayerTool})
	return out
}

// queryOf returns the query of a search.
func queryOf(raw json.RawMessage, l tool.Locale) (string, *tool.Error) {
	args, _, fail := callargs.Decode(raw)
	if fail != nil {
		return "", invalidSearch(tool.Textf(`"query" is missing`))
	}
	compiled, err := schema.Compile(searchSchema(l))
	if err != nil {
		return "", invalidSearch(err)
	}
	if wrong := compiled.Check(args); len(wrong) > 0 {
		return "", invalidSearch(text.Join(wrong))
	}
	query, _ := args["query"].(string)
	if strings.TrimSpace(query) == "" {
		return "", invalidSearch(tool.Textf(`"query" is missing`))
	}
	return query, nil
}

func invalidSearch(reason any) *tool.Error {
	return tool.NewError(tool.BadArgs, tool.Textf("the arguments of %s do not fit: %s", tool.SearchHistory, reason),
		tool.Textf("correct this and call the tool again; an example that fits: %s", `{"query": "timeout"}`))
}

// hitsText returns what a search found, grouped by result.
func hitsText(l tool.Locale, query string, found archive.SearchResult) string {
	var b strings.Builder
	if len(found.Hits) == 0 {
		b.WriteString(msg.In(l, tool.Textf("Nothing found for %q in %d archived results of this conversation.", text.OneLine(query, 200), found.Archives)))
	} else {
		b.WriteString(msg.In(l, tool.Textf("%d places in the archived results of this conversation, newest first. To read one: load_tool_history(uuid=\"…\", lines=\"a-b\").", len(found.Hits))))
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
			fmt.Fprintf(&b, "\n(%s) %s", msg.Format(l, "in its arguments"), h.Snippet)
		}
	}
	if found.Stopped && found.Left > 0 {
		b.WriteString("\n\n" + msg.In(l, tool.Textf("The search stopped here; %d older results were not searched. Use rarer words to reach them.", found.Left)))
	}
	return b.String()
}

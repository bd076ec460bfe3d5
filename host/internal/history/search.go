package history

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
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
	var kept, short []Short
	if r.Short != nil {
		kept = r.Short()
		short = findShort(query, kept)
	}
	found.Archives += len(kept)
	out := tool.Result{Tool: tool.SearchHistory, Ephemeral: true}.WithWhole(hitsText(r, query, found, short, t.near(ctx, r, query, found)))
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

// hitsText returns what a search found, grouped by result: by words, then by meaning.
func hitsText(r Request, query string, found archive.SearchResult, short []Short, near []archive.Near) string {
	var b strings.Builder
	if len(found.Hits) > 0 || len(short) == 0 {
		b.WriteString(msg.In(r.Locale, headOf(r.Across, query, found)))
	}
	last := ""
	for _, h := range found.Hits {
		if h.Entry.UUID != last {
			last = h.Entry.UUID
			writeEntry(&b, h.Entry)
		}
		if h.Line > 0 {
			fmt.Fprintf(&b, "\n%d: %s", h.Line, h.Snippet)
		} else {
			fmt.Fprintf(&b, "\n(%s) %s", msg.Format(r.Locale, "in its arguments"), h.Snippet)
		}
	}
	if found.Stopped && found.Left > 0 {
		b.WriteString("\n\n" + msg.In(r.Locale, tool.Textf("The search stopped here; %d older results were not searched. Use rarer words to reach them.", found.Left)))
	}
	writeShort(&b, r.Locale, query, short)
	if len(near) > 0 {
		b.WriteString("\n\n" + msg.In(r.Locale, tool.Textf("Near in meaning, the nearest first; load the lines to read them:")))
	}
	for _, n := range near {
		writeEntry(&b, n.Entry)
		fmt.Fprintf(&b, "\nlines=\"%d-%d\" (%.2f) %s", n.First, n.Last, n.Score, text.OneLine(n.Entry.Summary, 200))
	}
	return strings.TrimLeft(b.String(), "\n")
}

// headOf returns the first line of an answer.
func headOf(across bool, query string, found archive.SearchResult) tool.Text {
	query = text.OneLine(query, 200)
	switch none := len(found.Hits) == 0; {
	case none && across:
		return tool.Textf("Nothing found for %q in %d results of all conversations of the user.", query, found.Archives)
	case none:
		return tool.Textf("Nothing found for %q in %d results of this conversation.", query, found.Archives)
	case across:
		return tool.Textf("Found in the archived results of all conversations of the user, newest first: %d. To read one: load_tool_history(uuid=\"…\", lines=\"a-b\").", len(found.Hits))
	}
	return tool.Textf("Found in the archived results of this conversation, newest first: %d. To read one: load_tool_history(uuid=\"…\", lines=\"a-b\").", len(found.Hits))
}

func writeEntry(b *strings.Builder, e archive.Entry) {
	fmt.Fprintf(b, "\n\nuuid=%s %s · %s · %s", e.UUID, e.Tool, e.Query, e.Created.UTC().Format("2006-01-02 15:04"))
}

// maxNear is how many results a search names for their meaning, leastScore the cosine
// under which a passage is about something else.
const (
	maxNear    = 5
	leastScore = 0.3
)

// near returns what is near to a query in meaning and was not found by its words.
func (t *Tools) near(ctx context.Context, r Request, query string, found archive.SearchResult) []archive.Near {
	if t.Near == nil {
		return nil
	}
	near, err := t.Near(ctx, r.Scope, query, maxNear)
	if err != nil {
		t.Log.Warn("the archive is searched by words only", "error", err)
		return nil
	}
	return slices.DeleteFunc(near, func(n archive.Near) bool {
		return n.Score < leastScore || slices.ContainsFunc(found.Hits, func(h archive.Hit) bool { return h.Entry.UUID == n.Entry.UUID })
	})
}

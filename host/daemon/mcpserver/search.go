package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/toolsearch"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/text"
	"github.com/weirhost/weir/sdk/tool"
)

// A Listing says which tools the protocol's list has.
type Listing string

// The Listings. In ListSearch a client sees weir's own tools, the pinned ones, and
// find_tools, describe_tool and call_tool, which reach all others. ListAuto is
// ListSearch if the tools need more than Config.ToolsChars, else ListAll.
const (
	ListAuto   Listing = "auto"
	ListAll    Listing = "all"
	ListSearch Listing = "search"
)

// maxRanks bounds the tools that are remembered as found, for each user.
const maxRanks = 1000

// A search is what a user finds tools in.
type search struct {
	tools []tool.Spec     // that the user may call
	ranks map[string]int  // places of tools that were found and not called yet
	short map[string]bool // the tools that are listed for clients that search
	long  bool            // ListAuto is ListSearch
}

// listing says which tools the list of a client has; ListAuto: it depends on them.
func (u *user) listing(c Client) Listing {
	var own Listing
	if u.s.cfg.ListingOf != nil {
		own = u.s.cfg.ListingOf(u.principal)
	}
	return cmp.Or(c.Listing, own, u.s.cfg.Listing, ListAuto)
}

// searches reports whether a client searches for tools. u.mu is held.
func (u *user) searches(c Client) bool {
	switch listing := u.listing(c); listing {
	case ListSearch, ListAll:
		return listing == ListSearch
	}
	return u.search.long
}

// isLong reports whether tools are too many for ListAuto to list them all.
func (u *user) isLong(tools []tool.Spec) bool {
	if u.s.cfg.ToolsChars < 0 {
		return false
	}
	chars := 0
	for _, spec := range tools {
		if chars += utf8.RuneCountInString(agent.ToolText(spec, u.locale())); chars > u.s.cfg.ToolsChars {
			return true
		}
	}
	return false
}

// searchList returns the tools that a client lists which searches for the others. u.mu
// is held.
func (u *user) searchList(all []tool.Spec) []tool.Spec {
	session, pinned, longest := u.tools(), u.s.cfg.Pinned, tool.DefaultCeiling
	var out, others []tool.Spec
	for _, spec := range all {
		longest = max(longest, spec.Output.MaxChars)
		if session.Source(spec.Name) == "" || pinned != nil && pinned(spec.Name) {
			out = append(out, spec)
		} else {
			others = append(others, spec)
		}
	}
	for _, spec := range toolsearch.Specs(others, session.Source, u.locale()) {
		spec.Output.MaxChars = longest
		spec.Hints.Network = spec.Name == tool.CallTool
		out = append(out, spec)
	}
	return out
}

// asked returns what a client searches in; nil: every tool is in its list.
func (u *user) asked(c Client) *search {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.searches(c) {
		return nil
	}
	return u.search
}

// lists reports whether a tool is in a client's list. u.mu is held.
func (u *user) lists(c Client, name string) bool {
	_, ok := u.listed[name]
	if !u.searches(c) {
		return ok && !toolsearch.Is(name)
	}
	return ok && u.search.short[name]
}

// view leaves of a list of tools those that a client lists, as it knows them.
func (u *user) view(c Client, all *mcp.ListToolsResult) (toolList, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	out := toolList{ListToolsResult: all}
	for _, t := range all.Tools {
		if !u.lists(c, t.Name) {
			continue
		}
		own := u.listed[t.Name]
		text := own.text
		if c.Short && own.short != nil {
			t = new(*t)
			t.OutputSchema = own.short
			short, err := described(t, own.beside)
			if err != nil {
				return out, err
			}
			text = string(short)
		}
		out.tools = append(out.tools, text)
	}
	return out, nil
}

// wrap makes a call of a tool that has to be searched for one of call_tool: a client may
// have its name from elsewhere, and the protocol only knows tools of the list.
func (u *user) wrap(c Client, p *mcp.CallToolParamsRaw) {
	u.mu.Lock()
	if name, _ := tool.Named(p.Name, u.search.tools); name != "" {
		p.Name = name
	}
	isListed, in := u.lists(c, p.Name), u.search
	if !u.searches(c) {
		in = nil
	}
	u.mu.Unlock()
	if isListed || in == nil || !slices.ContainsFunc(in.tools, func(s tool.Spec) bool { return s.Name == p.Name }) {
		return
	}
	call := map[string]any{"name": p.Name}
	if len(p.Arguments) > 0 {
		call["arguments"] = p.Arguments
	}
	if args, err := json.Marshal(call); err == nil {
		p.Name, p.Arguments = tool.CallTool, args
	}
}

// resolve returns the call that a call of call_tool asks for: from then on it is a call
// of that tool like any other. answered has the answer to a search, to a question about a
// tool, and to what cannot be called; nil: the host answers.
func (u *user) resolve(ctx context.Context, client Client, c tool.Call) (_ tool.Call, answered *tool.Result) {
	in := u.asked(client)
	if in == nil {
		return c, nil
	}
	switch c.Tool {
	case tool.FindTools:
		return c, u.findTools(ctx, c, in)
	case tool.DescribeTool:
		r := toolsearch.Describe(c, in.tools, u.locale())
		if r.Err != nil {
			r.Err = msg.ToolError(u.locale(), r.Err)
		}
		return c, &r
	case tool.CallTool:
	default:
		return c, nil
	}
	target, ok := c.Target()
	if !ok {
		return c, u.failed(c, tool.Errorf(tool.BadArgs, "find_tools finds names",
			`"name" has to be the name of a tool, and "arguments" a JSON object with its arguments`))
	}
	if name, _ := tool.Named(target.Tool, in.tools); name != "" {
		target.Tool = name
	}
	switch {
	case target.Tool == tool.FindTools || target.Tool == tool.DescribeTool:
		return u.resolve(ctx, client, target)
	case !slices.ContainsFunc(in.tools, func(s tool.Spec) bool { return s.Name == target.Tool }):
		fail := noTool(target.Tool, in.tools)
		if absent := u.tools().Absent(target.Tool); absent != nil && u.offers(target.Tool) {
			fail = absent
		}
		return c, u.failed(c, fail)
	}
	return target, nil
}

// noTool is the error of a call of a tool that is not among those.
func noTool(name string, those []tool.Spec) *tool.Error {
	var names []string
	for _, s := range those {
		names = append(names, s.Name)
	}
	hint := tool.Textf("find_tools finds names")
	near := text.Nearest(name, names)
	if _, several := tool.Named(name, those); len(several) > 0 {
		near = several
	}
	if len(near) > 0 {
		hint = tool.Textf("did you mean one of these: %s", strings.Join(near, ", "))
	}
	return tool.NewError(tool.UnknownTool, tool.Textf("there is no tool named %q", text.OneLine(name, 80)), hint)
}

// failed returns the result of a call that does not reach a tool.
func (u *user) failed(c tool.Call, fail *tool.Error) *tool.Result {
	return &tool.Result{CallID: c.ID, Tool: c.Tool, Err: msg.ToolError(u.locale(), fail)}
}

// findTools answers a call of find_tools.
func (u *user) findTools(ctx context.Context, c tool.Call, in *search) *tool.Result {
	query, count, ok := toolsearch.Query(c)
	if !ok {
		return u.failed(c, tool.Errorf(tool.BadArgs, "", `"query" is missing: say in a few words what the tool should do`))
	}
	names := u.tools().FindToolsAmong(ctx, query, count, u.offers)
	var found []tool.Spec
	for _, name := range names {
		if i := slices.IndexFunc(in.tools, func(s tool.Spec) bool { return s.Name == name }); i >= 0 {
			found = append(found, in.tools[i])
		}
	}
	u.remember(in, found)
	if f := u.s.cfg.Searched; f != nil {
		f(len(found))
	}
	r := toolsearch.Found(c, found, u.locale())
	return &r
}

// remember stores the places of tools that were found for the first time.
func (u *user) remember(in *search, found []tool.Spec) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for i, s := range found {
		if in.ranks[s.Name] == 0 && len(in.ranks) < maxRanks {
			in.ranks[s.Name] = i + 1
		}
	}
}

// rank returns the place at which a search has found a tool that is called for the first
// time since; 0: none has.
func (u *user) rank(name string) int {
	u.mu.Lock()
	defer u.mu.Unlock()
	rank := u.search.ranks[name]
	delete(u.search.ranks, name)
	return rank
}

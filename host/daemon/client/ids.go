package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/sdk/tool"
)

// Last is the name of the conversation in which the last question was asked, and of
// the newest archived result.
const Last = "last"

// missing is the code of a problem: nothing has the id.
const missing = "not_found"

// leastID is the length of the shortest part of an id, in bytes.
const leastID = 4

// wholeID is the length of a result's id, in bytes.
const wholeID = 36

// mostMatches is how many ids that match a part are looked at, mostShown how many an
// error lists.
const mostMatches, mostShown = 100, 5

// Conversation returns the whole id of a conversation. given is its id, the beginning
// or the end of it, or Last; empty: the result is empty. No match and several
// matches are a *api.Problem.
func (c *Client) Conversation(ctx context.Context, given string) (string, error) {
	var list api.ConversationList
	part, err := c.matching(ctx, "/api/conversations", given, &list)
	if part == "" || err != nil {
		return "", err
	}
	var ids []string
	for _, x := range list.Conversations {
		if part != Last || x.Messages > 0 { // calls without a model have no messages
			ids = append(ids, x.ID)
		}
	}
	switch id, found := pick(part, ids); {
	case id != "":
		return id, nil
	case part == Last:
		return "", api.Problemf(http.StatusNotFound, missing, "ask a question first", "there is no conversation yet")
	case len(found) == 0:
		return "", api.Problemf(http.StatusNotFound, missing, "`weir conversation list` lists them", "there is no conversation with the id %q", api.Clip(given, 80))
	default:
		return "", ambiguous(found, tool.Textf("%q is a part of the ids of %d conversations", part, len(found)))
	}
}

// Result returns the whole id of an archived result. given is its id, the beginning
// or the end of it, or Last. Of several matches, one in the conversation comes before
// the others; empty: none does. A whole id is returned as it is. No match and several matches are a *api.Problem.
func (c *Client) Result(ctx context.Context, given, conversation string) (string, error) {
	var list api.ArchiveList
	if len(given) == wholeID { // the daemon knows what became of it
		return given, nil
	}
	part, err := c.matching(ctx, "/api/archives", given, &list)
	if err != nil {
		return "", err
	}
	var ids, near []string
	for _, a := range list.Archives {
		ids = append(ids, a.UUID)
		if a.Conversation == conversation {
			near = append(near, a.UUID)
		}
	}
	if id, _ := pick(part, near); id != "" {
		return id, nil
	}
	switch id, found := pick(part, ids); {
	case id != "":
		return id, nil
	case part == Last:
		return "", api.Problemf(http.StatusNotFound, missing, "`weir call TOOL` and questions make some", "there is no archived result yet")
	case len(found) == 0:
		return "", api.Problemf(http.StatusNotFound, missing, "`weir archive list` lists them", "there is no archived result with the id %q", api.Clip(given, 80))
	default:
		return "", ambiguous(found, tool.Textf("%q is a part of the ids of %d archived results", part, len(found)))
	}
}

// Approval returns the whole id of a call that waits for a person. given is its id, or
// the beginning or the end of it, or Last for the only one that waits: of several, the
// newest may be one that the person has not read. An id that matches none is returned as it is: the
// daemon knows what became of the call.
func (c *Client) Approval(ctx context.Context, given string) (string, error) {
	var list struct{ Approvals []struct{ ID string } }
	if err := c.Get(ctx, "/api/approvals", &list); err != nil {
		return "", err
	}
	var ids []string
	for _, a := range list.Approvals {
		if given == Last || matches(a.ID, given) {
			ids = append(ids, a.ID)
		}
	}
	switch id, found := pick(given, ids); {
	case given == Last && len(ids) > 1:
		return "", ambiguous(ids, tool.Textf("%d calls wait", len(ids)))
	case id != "":
		return id, nil
	case len(found) == 0:
		return given, nil
	default:
		return "", ambiguous(found, tool.Textf("%q is a part of the ids of %d calls that wait", given, len(found)))
	}
}

// matching reads the rows of a list whose ids match given, or the newest ones for
// Last. It returns given without the dots that mark a shortened id.
func (c *Client) matching(ctx context.Context, path, given string, into any) (part string, err error) {
	part = strings.Trim(given, "…")
	if part == "" {
		return "", nil
	}
	q := url.Values{"limit": {fmt.Sprint(mostMatches)}}
	if part != Last {
		q.Set("id", part)
	}
	return part, c.Get(ctx, path+"?"+q.Encode(), into)
}

// pick returns the only id that matches part, or that is equal to it. Otherwise it
// returns those that match.
func pick(part string, ids []string) (id string, found []string) {
	switch {
	case len(ids) > 0 && part == Last:
		return ids[0], nil
	case slices.Contains(ids, part):
		return part, nil
	case len(part) < leastID:
		return "", nil
	case len(ids) == 1:
		return ids[0], nil
	}
	return "", ids
}

// matches reports whether part is the beginning or the end of an id.
func matches(id, part string) bool { return strings.HasPrefix(id, part) || strings.HasSuffix(id, part) }

// ambiguous lists the ids that match.
func ambiguous(ids []string, text tool.Text) *api.Problem {
	list := strings.Join(ids[:min(len(ids), mostShown)], " ")
	if len(ids) > mostShown {
		list += " …"
	}
	p := &api.Problem{Status: http.StatusBadRequest, Code: msg.Usage, Msg: text}
	return p.WithHint("give more of it: %s", list)
}

// mark begins an argument that is the text of an archived result.
const mark = "@result:"

// Arguments returns the arguments of a call with the whole ids of archived results, of
// which a person may write a part or Last: in uuid of load_tool_history, and after
// "@result:". Ids are looked up as by Result.
func (c *Client) Arguments(ctx context.Context, name string, args json.RawMessage, conversation string) (json.RawMessage, error) {
	var object map[string]json.RawMessage
	if json.Unmarshal(args, &object) != nil {
		return args, nil // the daemon says what is wrong
	}
	changed := false
	for key, raw := range object {
		var value string
		if json.Unmarshal(raw, &value) != nil {
			continue
		}
		given, isRef := strings.CutPrefix(value, mark)
		if !isRef && (name != tool.LoadHistory || key != "uuid") {
			continue
		}
		given, part, hasPart := strings.Cut(given, "#")
		if given == "" || strings.ContainsAny(given, " \n") { // a text
			continue
		}
		id, err := c.Result(ctx, given, conversation)
		if err != nil {
			return nil, err
		}
		if hasPart {
			id += "#" + part
		}
		if isRef {
			id = mark + id
		}
		object[key], _ = json.Marshal(id) // a string always marshals
		changed = true
	}
	if !changed {
		return args, nil
	}
	return json.Marshal(object)
}

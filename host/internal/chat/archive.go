package chat

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/client"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/sdk/tool"
)

// selectors are the names of the parts of an archived result.
var selectors = []string{"lines", "grep", "context", "pointer", "head", "tail", "offset"}

// ShowArchive prints an archived result, or the part that selectors (name=value)
// name, and returns its id. given names it as Client.Result takes it, near is a
// conversation whose results come first, or empty. With loadable it shows a result
// only if that conversation may load it.
func ShowArchive(ctx context.Context, p *term.Printer, from *client.Client, given string, parts []string, near string, loadable bool) (string, error) {
	q := url.Values{}
	for _, s := range parts {
		name, value, ok := strings.Cut(s, "=")
		if !ok || !slices.Contains(selectors, name) {
			return "", msg.Usagef("selectors are lines=a-b, grep=…, context=n, pointer=/…, head=n, tail=n and offset=n", "%q is not a selector", s)
		}
		q.Set(name, value)
	}
	if loadable {
		q.Set("conversation_id", near)
	}
	uuid, err := from.Result(ctx, given, near)
	if err != nil {
		return "", err
	}
	for {
		var page api.ArchivePage
		done, err := p.Show(ctx, from, "/api/archives/"+url.PathEscape(uuid)+"?"+q.Encode(), &page)
		if p, ok := errors.AsType[*api.Problem](err); ok && strings.Contains(p.Hint.String(), `{"uuid"`) { // as a model writes it
			p.Hint = tool.Textf("write for example lines=95-140, or one of grep=ERROR, pointer=/items/0, head=20, tail=20, offset=2000")
		}
		if done || err != nil {
			return uuid, err
		}
		if page.Matches == 0 && q.Get("grep") != "" {
			p.Errf("no line matches\n")
			return page.UUID, nil
		}
		fmt.Fprint(p.Texts(), page.Text)
		if page.Next == 0 {
			if !strings.HasSuffix(page.Text, "\n") {
				fmt.Fprintln(p.Out)
			}
			return page.UUID, nil
		}
		q.Set("offset", strconv.Itoa(page.Next))
	}
}

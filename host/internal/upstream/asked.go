package upstream

import (
	"bytes"
	"context"
	"regexp"
	"sync"

	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/sdk/tool"
)

// Call runs the tool on the server and returns its MCP result.
func (t Tool) Call(ctx context.Context, inv sandbox.Invocation) (sandbox.Output, *tool.Error) {
	before := t.Server.client.Asked()
	o, fail := t.call(ctx, inv)
	switch {
	case fail != nil:
		o.Asked = fail.Code == tool.Failed && (t.Server.client.Asked() != before || lacks().MatchString(fail.Msg))
	case bytes.Contains(o.Bytes, []byte(`"isError":true`)):
		o.Asked = t.Server.client.Asked() != before || lacks().Match(o.Bytes[:min(len(o.Bytes), maxAsked)])
	}
	return o, fail
}

// maxAsked bounds the part of an error in which lacks is looked for, in bytes.
const maxAsked = 4 << 10

// lacks matches what libraries of servers say of a client that has declared nothing: they
// ask it nothing then.
var lacks = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)client (does not|doesn't) (support|have) (the )?\W{0,2}(form\W{0,2} |url\W{0,2} )?(elicitation|sampling|roots|list_?roots|create_?message)|\b(elicitation|sampling|list roots) (is )?not supported`)
})

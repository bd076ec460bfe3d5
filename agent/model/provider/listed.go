package provider

import (
	"context"
	"slices"
	"strings"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/sdk/tool"
)

// maxListed is how many names of a server's models a message has.
const maxListed = 8

// Unlisted says that a model is not in the list of its server, and which models are.
// It is zero if the model is there, or if the server has no list. Some servers also
// answer for names that they do not list.
func Unlisted(ctx context.Context, m agent.Model, name string) tool.Text {
	server, ok := agent.As[interface {
		Models(context.Context) ([]string, error)
	}](m)
	if !ok {
		return tool.Text{}
	}
	names, err := server.Models(ctx)
	if err != nil || len(names) == 0 || slices.ContainsFunc(names, func(n string) bool { return n == name || strings.TrimSuffix(n, ":latest") == name }) {
		return tool.Text{}
	}
	shown := strings.Join(names[:min(maxListed, len(names))], ", ")
	if more := len(names) - maxListed; more > 0 {
		return tool.Textf("%s is not among the models that the server lists: %s and %d more", name, shown, more)
	}
	return tool.Textf("%s is not among the models that the server lists: %s", name, shown)
}

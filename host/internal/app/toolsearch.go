package app

import (
	"context"
	"errors"

	"github.com/weirhost/weir/host"
	"github.com/weirhost/weir/host/daemon"
	"github.com/weirhost/weir/host/internal/config"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/sdk/tool"
)

// addToolSearch adds the models that help to find tools. A command that ends soon uses
// what is kept about tools, and asks nothing.
func (a *App) addToolSearch(cfg *host.Config, s config.Settings, models map[string]daemon.Model) error {
	cfg.ToolSearch.KeptOnly = !a.options.Stays
	switch {
	case !s.Search.Embeddings:
		cfg.ToolSearch.EmbeddingModel = ""
	case cfg.Embed == nil:
		return msg.Usagef("add embedding_model to a table of [models], or leave embeddings out", "[tool_search] embeddings is true, and no model has an embedding_model")
	default:
		cfg.ToolSearch.Embed = cfg.Embed
	}
	name := s.Search.QuestionModel
	if name == "" {
		return nil
	}
	m, err := namedModel(models, "[tool_search] question_model", name)
	if err != nil {
		return err
	}
	cfg.ToolSearch.QuestionModel = name
	cfg.ToolSearch.Ask = func(ctx context.Context, prompt string) (string, error) {
		select {
		case <-a.opened: // the daemon counts what it costs
		case <-ctx.Done():
			return "", ctx.Err()
		}
		asked := a.Daemon.Aside(daemon.Aside{Locale: tool.En}, name, m)
		text, _, err := reply(ctx, asked, prompt, tool.En, host.MaxQuestionReply)
		if errors.Is(err, errCutOff) { // the lines so far are as good as all
			err = nil
		}
		return text, err
	}
	return nil
}

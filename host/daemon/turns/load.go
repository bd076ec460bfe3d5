package turns

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/sdk/tool"
)

// loadTool brings an archived result back.
const loadTool = tool.LoadHistory

// maxLoads bounds the archives that one question brings with it.
const maxLoads = 8

// preload makes the calls that load the asked archives in front of the model's
// first reply. One that is missing, or is another conversation's, is a problem
// before anything begins.
func (t *turn) preload(ctx context.Context) error {
	loads := unique(t.ask.LoadUUIDs)
	switch a := t.prof.Agent; {
	case len(loads) == 0:
		return nil
	case len(loads) > maxLoads:
		return api.Problemf(http.StatusBadRequest, "too_many_loads", "ask in several questions", "a question can load %d archives, not %d", maxLoads, len(loads))
	case !a.EnableToolCalling || a.MaxToolCalls < 0 || !(toolbox{allow: t.prof.Allow, deny: t.prof.Deny}).sees(loadTool):
		return api.Problemf(http.StatusBadRequest, "cannot_load", "use another profile", "the profile %s does not let archives be loaded", t.ask.Profile)
	}
	calls := make([]tool.Call, len(loads))
	for i, l := range loads {
		args, err := l.Args()
		if err != nil {
			return err
		}
		if err := t.loadable(ctx, l.UUID, args); err != nil {
			return err
		}
		calls[i] = tool.Call{Tool: loadTool, Args: args}
	}
	t.prof.Agent.Preload = calls
	return nil
}

// loadable reports what the call of a load would be refused for.
func (t *turn) loadable(ctx context.Context, id string, args json.RawMessage) error {
	missing := api.Problemf(http.StatusNotFound, "not_found", "`weir archive list --conversation ID` lists what can be loaded",
		"there is no archived result %q in this conversation", api.Clip(id, 80))
	if strings.TrimSpace(id) == "" {
		return missing
	}
	_, part, err := archive.ParsePart(args)
	if err != nil {
		return err
	}
	_, err = t.s.Host.Archive().Peek(ctx, t.scope, id, part)
	if errors.Is(err, archive.ErrNotFound) {
		return missing
	}
	return err
}

// unique returns the list without repeated entries.
func unique(list []api.Load) []api.Load {
	var out []api.Load
	seen := map[string]bool{}
	for _, l := range list {
		key := fmt.Sprint(l.UUID, l.Selectors)
		if !seen[key] {
			seen[key] = true
			out = append(out, l)
		}
	}
	return out
}

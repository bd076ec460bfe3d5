package chat

import (
	"context"
	"encoding/json"
	"maps"
	"net/url"
	"slices"

	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/internal/term"
)

// Conversations returns the latest conversations of a daemon, the newest first.
func Conversations(ctx context.Context, from term.Getter) ([]api.ConversationRow, error) {
	var out api.ConversationList
	err := from.Get(ctx, "/api/conversations?limit=1000", &out)
	return out.Conversations, err
}

// ModelNames returns the names of a daemon's models.
func ModelNames(ctx context.Context, from term.Getter) ([]string, error) {
	var out api.ConfiguredModels
	if err := from.Get(ctx, "/api/models", &out); err != nil {
		return nil, err
	}
	names := make([]string, len(out.Models))
	for i, m := range out.Models {
		names[i] = m.Name
	}
	return names, nil
}

// ProfileNames returns the names of a daemon's agent profiles.
func ProfileNames(ctx context.Context, from term.Getter) ([]string, error) {
	var out struct {
		Settings struct {
			Agents map[string]json.RawMessage `json:"agents"`
		} `json:"settings"`
	}
	err := from.Get(ctx, "/api/settings", &out)
	return append([]string{"default"}, slices.Sorted(maps.Keys(out.Settings.Agents))...), err
}

// LastTrace returns how the last question of a conversation was answered, nil if
// the daemon does not have its trace.
func LastTrace(ctx context.Context, from term.Getter, conversation string) *api.Trace {
	var tr api.Trace
	if err := from.Get(ctx, "/api/traces/last?conversation_id="+url.QueryEscape(conversation), &tr); err != nil {
		return nil
	}
	return &tr
}

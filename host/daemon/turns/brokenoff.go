package turns

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/store"
)

// keepPieces stores what is streamed, until the end of the turn or of ctx.
func (l *lasting) keepPieces(ctx context.Context) {
	l.pieces.begin(l.t.s.Behind, func() {
		l.storing.Lock()
		defer l.storing.Unlock()
		defer l.t.s.recovered(new(api.ChatEnd), new(error))
		l.keepPiece(ctx)
	})
}

// keepPiece stores what was streamed since the last piece or step.
func (l *lasting) keepPiece(ctx context.Context) {
	text, reasoning := l.pieces.take()
	if text+reasoning == "" || ctx.Err() != nil || l.failed.Load() {
		return
	}
	body, err := json.Marshal(piece{lastRow(l.t.stored).Turn, len(l.Steps), text, reasoning})
	if err == nil {
		err = l.t.s.Store.AddPiece(ctx, l.Run, len(l.Pieces)+1, body)
	}
	switch {
	case err == nil:
		l.Pieces = append(l.Pieces, nil)
	case !errors.Is(err, store.ErrFenced): // it is tried again with what follows it
		l.t.s.Logger.Debug("a part of an answer could not be stored", "conversation", l.Scope.Conversation, "error", err)
		l.pieces.back(text, reasoning)
	}
}

// brokenOff returns the reply that was streamed after the last step of a turn whose daemon is
// gone; false: nothing of one is stored.
func (l *lasting) brokenOff(turn int) (m agent.Message, ok bool) {
	for _, body := range l.Pieces {
		var p piece
		if json.Unmarshal(body, &p) != nil || p.Turn != turn || p.After != len(l.Steps) {
			continue
		}
		m.Text += p.Text
		m.Reasoning += p.Reasoning
	}
	m.Text = strings.TrimLeft(m.Text, "\r\n") // the stream has an empty line in front of it
	m.Role, m.Turn, m.At = agent.RoleAssistant, turn, l.t.s.Now()
	return m, strings.TrimSpace(m.Text+m.Reasoning) != ""
}

package archive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/weirhost/weir/sdk/tool"
)

// A line of an export. Kind says which of the other members is set.
type exportLine struct {
	Kind         string              `json:"kind"` // conversation, message, tool_call, archive
	Conversation *exportConversation `json:"conversation,omitempty"`
	Message      *exportMessage      `json:"message,omitempty"`
	ToolCall     *exportUse          `json:"tool_call,omitempty"`
	Archive      *exportEntry        `json:"archive,omitempty"`
}

type exportConversation struct {
	ID      string    `json:"id"`
	Title   string    `json:"title,omitempty"`
	Profile string    `json:"profile,omitempty"`
	Created time.Time `json:"created_at"`
	Updated time.Time `json:"updated_at"`
}

type exportMessage struct {
	Seq      int             `json:"seq"`
	Turn     int             `json:"turn"`
	Role     string          `json:"role"`
	Content  string          `json:"content"`
	Thinking string          `json:"thinking,omitempty"`
	Model    string          `json:"model,omitempty"`
	Body     json.RawMessage `json:"body,omitempty"`
	Created  time.Time       `json:"created_at"`
}

type exportUse struct {
	Turn       int       `json:"turn"`
	CallID     string    `json:"call_id,omitempty"`
	Tool       string    `json:"tool_name"`
	Model      string    `json:"model,omitempty"`
	Format     string    `json:"format,omitempty"`
	Code       string    `json:"code,omitempty"`
	Layer      string    `json:"cut_by,omitempty"`
	Produced   int       `json:"produced"`
	Shown      int       `json:"shown"`
	UUID       string    `json:"archive_uuid,omitempty"`
	DurationUS int64     `json:"duration_us"`
	Created    time.Time `json:"created_at"`
}

type exportEntry struct {
	UUID    string          `json:"uuid"`
	Thread  string          `json:"thread_id,omitempty"`
	Turn    int             `json:"turn"`
	CallID  string          `json:"call_id,omitempty"`
	Tool    string          `json:"tool_name"`
	Input   json.RawMessage `json:"tool_input"`
	Query   string          `json:"query_summary"`
	Summary string          `json:"result_summary"`
	Full    *string         `json:"result_full"`          // null: pruned
	Raw     []byte          `json:"result_raw,omitempty"` // base64; only when it differs from result_full
	SHA256  string          `json:"result_sha256"`
	Chars   int             `json:"result_length"`
	Lines   int             `json:"result_lines"`
	Bytes   int             `json:"result_bytes"`
	Sources []tool.Source   `json:"sources,omitempty"`
	Parts   []tool.Blob     `json:"parts,omitempty"`
	Created time.Time       `json:"created_at"`
	Pruned  bool            `json:"pruned,omitempty"`
}

// Export writes everything of one conversation as JSON lines: the
// conversation, its messages, its calls, its archives with their whole texts,
// the oldest first. It answers ErrNotFound when the principal has nothing under
// that id; what was written before another error stands.
func (s *Store) Export(ctx context.Context, sc Scope, w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	written := 0
	put := func(l exportLine) error {
		written++
		return enc.Encode(l)
	}
	for _, part := range []func(context.Context, Scope, func(exportLine) error) error{s.exportMessages, s.exportUses, s.exportEntries} {
		if err := part(ctx, sc, put); err != nil {
			return err
		}
	}
	if written == 0 {
		return ErrNotFound
	}
	return nil
}

func (s *Store) exportMessages(ctx context.Context, sc Scope, put func(exportLine) error) error {
	c, err := s.Conversation(ctx, sc)
	if errors.Is(err, ErrNotFound) {
		return nil // archives may belong to a conversation that is kept elsewhere
	}
	if err != nil {
		return err
	}
	if err := put(exportLine{Kind: "conversation", Conversation: &exportConversation{c.ID, c.Title, c.Profile, c.Created, c.Updated}}); err != nil {
		return err
	}
	msgs, err := s.Messages(ctx, sc)
	if err != nil {
		return err
	}
	for _, m := range msgs {
		if err := put(exportLine{Kind: "message", Message: &exportMessage{m.Seq, m.Turn, m.Role, m.Content, m.Thinking, m.Model, bodyOf(m), m.Created}}); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) exportUses(ctx context.Context, sc Scope, put func(exportLine) error) error {
	uses, err := s.Uses(ctx, sc, time.Time{})
	if err != nil {
		return err
	}
	for _, u := range uses {
		if u.Scope != sc {
			continue
		}
		if err := put(exportLine{Kind: "tool_call", ToolCall: &exportUse{u.Turn, u.CallID, u.Tool, u.Model, u.Format, u.Code, u.Layer,
			u.Produced, u.Shown, u.UUID, u.Duration.Microseconds(), u.Created}}); err != nil {
			return err
		}
	}
	return nil
}

// exportEntries reads the ids first and then one archive at a time, so that a
// slow writer holds no snapshot of the file.
func (s *Store) exportEntries(ctx context.Context, sc Scope, put func(exportLine) error) error {
	const doing = "exporting archives"
	rows, err := s.read.QueryContext(ctx, `SELECT uuid FROM tool_result_archive WHERE conversation_id = ? AND principal = ?
		ORDER BY created_at, uuid`, sc.Conversation, sc.Principal)
	if err != nil {
		return wrap(ctx, doing, err)
	}
	defer rows.Close()
	var ids []string
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return wrap(ctx, doing, err)
		}
		ids = append(ids, id)
	}
	if err := rows.Err(); err != nil {
		return wrap(ctx, doing, err)
	}
	for _, id := range ids {
		e, err := s.Get(ctx, sc, id)
		if errors.Is(err, ErrNotFound) {
			continue // deleted in between
		}
		if err != nil && !errors.Is(err, ErrExpired) {
			return err
		}
		x := &exportEntry{UUID: e.UUID, Thread: e.Thread, Turn: e.Turn, CallID: e.CallID, Tool: e.Tool, Input: e.Input, Query: e.Query, Summary: e.Summary,
			SHA256: e.SHA256, Chars: e.Chars, Lines: e.Lines, Bytes: e.Bytes, Sources: e.Sources, Parts: e.Parts, Created: e.Created, Pruned: e.Pruned}
		if !e.Pruned {
			x.Full = &e.Full
			raw, err := s.Raw(ctx, sc, id)
			if err != nil {
				return fmt.Errorf("%s: %w", doing, err)
			}
			if string(raw) != e.Full {
				x.Raw = raw
			}
		}
		if err := put(exportLine{Kind: "archive", Archive: x}); err != nil {
			return err
		}
	}
	return nil
}

// bodyOf keeps one bad body from spoiling an export.
func bodyOf(m Message) json.RawMessage {
	if len(m.Body) == 0 {
		return nil
	}
	return storedInput(m.Body)
}

package archive

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
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
	Full    *string         `json:"result_full"`          // null: pruned, or left out
	Raw     []byte          `json:"result_raw,omitempty"` // base64; only when it differs from result_full
	SHA256  string          `json:"result_sha256"`
	Chars   int             `json:"result_length"`
	Lines   int             `json:"result_lines"`
	Bytes   int             `json:"result_bytes"`
	Sources []tool.Source   `json:"sources,omitempty"`
	Parts   []tool.Blob     `json:"parts,omitempty"`
	Created time.Time       `json:"created_at"`
	Pruned  bool            `json:"pruned,omitempty"`
	Left    bool            `json:"left_out,omitempty"` // the texts are kept, and not in this export
}

// Export writes everything of one conversation as JSON lines: the
// conversation, its messages, its calls, its archives with their whole texts,
// the oldest first. It answers ErrNotFound when the principal has nothing under
// that id; what was written before another error stands. Little of it is in
// memory at any time, and a slow writer holds nothing up.
func (s *Store) Export(ctx context.Context, sc Scope, w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return s.export(ctx, sc, true, func(l exportLine) error { return enc.Encode(l) })
}

// ExportDocument writes what Export does as one JSON object with the members
// conversation, messages, tool_calls and archives, each but the first a list.
// Archives are there with everything but their texts, unless whole is true.
func (s *Store) ExportDocument(ctx context.Context, sc Scope, w io.Writer, whole bool) error {
	d := document{w: w}
	if err := s.export(ctx, sc, whole, d.put); err != nil {
		return err
	}
	return d.end()
}

func (s *Store) export(ctx context.Context, sc Scope, whole bool, put func(exportLine) error) error {
	written := 0
	count := func(l exportLine) error {
		written++
		return put(l)
	}
	if err := s.exportMessages(ctx, sc, count); err != nil {
		return err
	}
	if err := s.exportUses(ctx, sc, count); err != nil {
		return err
	}
	if err := s.exportEntries(ctx, sc, whole, count); err != nil {
		return err
	}
	if written == 0 {
		return ErrNotFound
	}
	return nil
}

// A document puts lines together to one JSON object.
type document struct {
	w    io.Writer
	list string // the one that is open; empty: none
	any  bool   // something was written
}

// lists are the members of a document in their order.
var lists = []struct{ kind, member string }{{"message", "messages"}, {"tool_call", "tool_calls"}, {"archive", "archives"}}

func (d *document) put(l exportLine) error {
	value := map[string]any{"conversation": l.Conversation, "message": l.Message, "tool_call": l.ToolCall, "archive": l.Archive}[l.Kind]
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	margin := "    "
	if l.Kind == "conversation" {
		margin = "  "
	}
	enc.SetIndent(margin, "  ")
	if err := enc.Encode(value); err != nil {
		return err
	}
	before := ",\n    "
	switch {
	case l.Kind == "conversation":
		before = "{\n  \"conversation\": "
	case l.Kind != d.list:
		before = d.open(l.Kind)
	}
	d.any = true
	_, err := io.WriteString(d.w, before+strings.TrimSpace(text.String()))
	return err
}

// open ends the list that is open and begins that of kind, with empty ones
// between them.
func (d *document) open(kind string) string {
	var b strings.Builder
	begun := d.list == ""
	if !d.any {
		b.WriteString("{\n  \"conversation\": null")
	}
	if !begun {
		b.WriteString("\n  ]")
	}
	for _, l := range lists {
		switch {
		case !begun:
			begun = l.kind == d.list
		case l.kind == kind:
			d.list = kind
			b.WriteString(",\n  \"" + l.member + "\": [\n    ")
			return b.String()
		default:
			b.WriteString(",\n  \"" + l.member + "\": []")
		}
	}
	return b.String()
}

func (d *document) end() error {
	_, err := io.WriteString(d.w, d.open("")+"\n}\n")
	return err
}

// exportPage is how many rows are read at once.
const exportPage = 64

// EachMessage hands over a conversation's messages in order, a few at a time
// from the disk: f may be slow. It answers ErrNotFound for a conversation that
// the principal does not have, also when it is deleted meanwhile. A message that
// changes meanwhile comes as it was or as it is.
func (s *Store) EachMessage(ctx context.Context, sc Scope, f func(Message) error) error {
	last := 0
	for {
		var page []Message
		err := s.each(ctx, `SELECT seq, turn, role, model, m.created_at, content, thinking, body
			FROM messages m JOIN conversations c ON c.id = m.conversation_id
			WHERE m.conversation_id = ? AND c.principal = ? AND seq > ? ORDER BY seq LIMIT ?`,
			[]any{sc.Conversation, sc.Principal, last, exportPage}, func(row scanner) error {
				m, err := scanMessage(row)
				page = append(page, m)
				return err
			})
		if err != nil {
			return wrap(ctx, "reading messages", err)
		}
		if len(page) == 0 {
			_, err := s.Conversation(ctx, sc)
			return err
		}
		for _, m := range page {
			if err := f(m); err != nil {
				return err
			}
			last = m.Seq
		}
	}
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
	return s.EachMessage(ctx, sc, func(m Message) error {
		return put(exportLine{Kind: "message", Message: &exportMessage{m.Seq, m.Turn, m.Role, m.Content, m.Thinking, m.Model, bodyOf(m), m.Created}})
	})
}

func (s *Store) exportUses(ctx context.Context, sc Scope, put func(exportLine) error) error {
	const doing = "exporting calls"
	last := int64(0)
	for {
		var page []*exportUse
		if err := s.each(ctx, `SELECT id, turn, call_id, tool_name, model, format, code, cut_by, produced, shown, archive_uuid, duration_us, created_at
			FROM tool_calls WHERE conversation_id = ? AND principal = ? AND id > ? ORDER BY id LIMIT ?`,
			[]any{sc.Conversation, sc.Principal, last, exportPage}, func(row scanner) error {
				var u exportUse
				var created sql.NullInt64
				err := row.Scan(&last, &u.Turn, &u.CallID, &u.Tool, &u.Model, &u.Format, &u.Code, &u.Layer, &u.Produced, &u.Shown, &u.UUID, &u.DurationUS, &created)
				u.Created = timeOf(created)
				page = append(page, &u)
				return err
			}); err != nil {
			return wrap(ctx, doing, err)
		}
		if len(page) == 0 {
			return nil
		}
		for _, u := range page {
			if err := put(exportLine{Kind: "tool_call", ToolCall: u}); err != nil {
				return err
			}
		}
	}
}

// EachEntry hands over the archives of a conversation, the oldest first: with
// their whole texts, or with all but those. Pruned ones are among them.
func (s *Store) EachEntry(ctx context.Context, sc Scope, whole bool, f func(Entry) error) error {
	const doing = "exporting archives"
	// The ids first and then one at a time, so that a slow f holds no snapshot of
	// the file.
	var ids []string
	if err := s.each(ctx, `SELECT uuid FROM tool_result_archive WHERE conversation_id = ? AND principal = ?
		ORDER BY created_at, uuid`, []any{sc.Conversation, sc.Principal}, func(row scanner) error {
		var id string
		err := row.Scan(&id)
		ids = append(ids, id)
		return err
	}); err != nil {
		return wrap(ctx, doing, err)
	}
	read := s.row
	if whole {
		read = s.Get
	}
	for _, id := range ids {
		e, err := read(ctx, sc, id)
		if errors.Is(err, ErrNotFound) {
			continue // deleted in between
		}
		if err != nil && !errors.Is(err, ErrExpired) {
			return wrap(ctx, doing, err)
		}
		if err := f(e); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) exportEntries(ctx context.Context, sc Scope, whole bool, put func(exportLine) error) error {
	return s.EachEntry(ctx, sc, whole, func(e Entry) error {
		x := &exportEntry{UUID: e.UUID, Thread: e.Thread, Turn: e.Turn, CallID: e.CallID, Tool: e.Tool, Input: e.Input, Query: e.Query, Summary: e.Summary,
			SHA256: e.SHA256, Chars: e.Chars, Lines: e.Lines, Bytes: e.Bytes, Sources: e.Sources, Created: e.Created, Pruned: e.Pruned, Left: !whole && !e.Pruned}
		if whole && !e.Pruned {
			raw, err := s.Raw(ctx, sc, e.UUID)
			if err != nil {
				return fmt.Errorf("exporting archives: %w", err)
			}
			if string(raw) != e.Full {
				x.Raw = raw
			}
			x.Full, x.Parts = &e.Full, e.Parts
		}
		return put(exportLine{Kind: "archive", Archive: x})
	})
}

// row reads an entry without its texts.
func (s *Store) row(ctx context.Context, sc Scope, id string) (Entry, error) {
	e, err := s.scanEntry(s.read.QueryRowContext(ctx, "SELECT "+entryColumns+` FROM tool_result_archive
		WHERE uuid = ? AND conversation_id = ? AND principal = ?`, id, sc.Conversation, sc.Principal))
	if errors.Is(err, sql.ErrNoRows) {
		return Entry{}, ErrNotFound
	}
	return e, err
}

// bodyOf keeps one bad body from spoiling an export.
func bodyOf(m Message) json.RawMessage {
	if len(m.Body) == 0 {
		return nil
	}
	return storedInput(m.Body)
}

package store

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/internal/sqlite"
	"github.com/weirhost/weir/sdk/tool"
)

// An exportLine is one line of an export. Kind names the other member that is set.
type exportLine struct {
	Kind         string              `json:"kind"` // conversation, message, tool_call, archive
	Conversation *exportConversation `json:"conversation,omitempty"`
	Message      *exportMessage      `json:"message,omitempty"`
	ToolCall     *exportCall         `json:"tool_call,omitempty"`
	Archive      *exportResult       `json:"archive,omitempty"`
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

type exportCall struct {
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

type exportResult struct {
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
	LeftOut bool            `json:"left_out,omitempty"` // the texts exist but are not in this export
}

// Export writes everything of one conversation as JSON lines: the conversation, its
// messages, its calls, its results with their whole texts, oldest first. A principal
// that has nothing under the id receives ErrNotFound. Export keeps little of it in
// memory, and a slow writer does not delay others. After an error a part is written.
func (s *Store) Export(ctx context.Context, sc archive.Scope, w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return s.export(ctx, sc, true, func(l exportLine) error { return enc.Encode(l) })
}

// ExportDocument writes the same as Export as one JSON object with the members
// conversation, messages, tool_calls and archives, lists except the first. If whole is
// false, the archives have no texts.
func (s *Store) ExportDocument(ctx context.Context, sc archive.Scope, w io.Writer, whole bool) error {
	d := document{w: w}
	if err := s.export(ctx, sc, whole, d.put); err != nil {
		return err
	}
	return d.end()
}

func (s *Store) export(ctx context.Context, sc archive.Scope, whole bool, put func(exportLine) error) error {
	written := 0
	count := func(l exportLine) error {
		written++
		return put(l)
	}
	if err := s.exportMessages(ctx, sc, count); err != nil {
		return err
	}
	if err := s.exportCalls(ctx, sc, count); err != nil {
		return err
	}
	if err := s.exportResults(ctx, sc, whole, count); err != nil {
		return err
	}
	if written == 0 {
		return ErrNotFound
	}
	return nil
}

// A document writes exportLines as one JSON object.
type document struct {
	w    io.Writer
	list string // the kind of the open list; empty: none
	any  bool   // whether something was written
}

// lists are the lists of a document in their order.
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

// open ends the open list and begins that of kind, with the empty lists between them.
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

func (s *Store) exportMessages(ctx context.Context, sc archive.Scope, put func(exportLine) error) error {
	c, err := s.Conversation(ctx, sc)
	if errors.Is(err, ErrNotFound) {
		return nil // results may belong to a conversation that another program keeps
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

func (s *Store) exportCalls(ctx context.Context, sc archive.Scope, put func(exportLine) error) error {
	const doing = "exporting calls"
	last := int64(0)
	for {
		var page []*exportCall
		if err := s.db.Each(ctx, `SELECT id, turn, call_id, tool_name, model, format, code, cut_by, produced, shown, archive_uuid, duration_us, created_at
			FROM tool_calls WHERE conversation_id = ? AND principal = ? AND id > ? ORDER BY id LIMIT ?`,
			[]any{sc.Conversation, sc.Principal, last, pageRows}, func(row sqlite.Row) error {
				var c exportCall
				var created sql.NullInt64
				err := row.Scan(&last, &c.Turn, &c.CallID, &c.Tool, &c.Model, &c.Format, &c.Code, &c.Layer, &c.Produced, &c.Shown, &c.UUID, &c.DurationUS, &created)
				c.Created = sqlite.Time(created)
				page = append(page, &c)
				return err
			}); err != nil {
			return wrap(ctx, doing, err)
		}
		if len(page) == 0 {
			return nil
		}
		for _, c := range page {
			if err := put(exportLine{Kind: "tool_call", ToolCall: c}); err != nil {
				return err
			}
		}
	}
}

func (s *Store) exportResults(ctx context.Context, sc archive.Scope, whole bool, put func(exportLine) error) error {
	return s.results.Each(ctx, sc, whole, func(e archive.Entry) error {
		x := &exportResult{UUID: e.UUID, Thread: e.Thread, Turn: e.Turn, CallID: e.CallID, Tool: e.Tool, Input: e.Input, Query: e.Query, Summary: e.Summary,
			SHA256: e.SHA256, Chars: e.Chars, Lines: e.Lines, Bytes: e.Bytes, Sources: e.Sources, Created: e.Created, Pruned: e.Pruned, LeftOut: !whole && !e.Pruned}
		if whole && !e.Pruned {
			x.Full, x.Raw, x.Parts = &e.Full, e.Raw, e.Parts
		}
		return put(exportLine{Kind: "archive", Archive: x})
	})
}

// bodyOf returns the body of a message as valid JSON: a string if it is not.
func bodyOf(m Message) json.RawMessage {
	var b bytes.Buffer
	switch {
	case len(m.Body) == 0:
		return nil
	case json.Compact(&b, m.Body) == nil:
		return b.Bytes()
	}
	quoted, _ := json.Marshal(string(m.Body)) // never fails for a string
	return quoted
}

// EachResult calls f for the results of a conversation, oldest first, with their texts
// if whole is true. See archive.SQLite.Each.
func (s *Store) EachResult(ctx context.Context, sc archive.Scope, whole bool, f func(archive.Entry) error) error {
	return s.results.Each(ctx, sc, whole, f)
}

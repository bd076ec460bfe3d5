// Package export writes a stored conversation as Markdown for people, in English or
// Chinese. It reads a few messages at a time, so an export needs little memory. The
// exports for programs are in package store.
package export

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/text"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// A markdown writes a conversation for people. Flush of its writer returns the first
// error.
type markdown struct {
	w      *bufio.Writer
	locale tool.Locale
}

// in returns a sentence or a format in the language of the reader.
func (m *markdown) in(format string) string { return msg.Format(m.locale, format) }

// Markdown writes a conversation in the language l. Questions become quotations, answers
// stay unchanged, calls and results are in fences that their text cannot close. whole
// adds the full text of archived results. The caller must flush w.
func Markdown(ctx context.Context, db *store.Store, sc archive.Scope, w *bufio.Writer, whole bool, l tool.Locale) error {
	m := &markdown{w: w, locale: l}
	sums, err := db.Totals(ctx, sc)
	if err != nil {
		return err
	}
	m.head(sums)
	if sums.Messages == 0 {
		m.printf("%s\n\n", m.in("There are no messages."))
	}
	if err := db.EachMessage(ctx, sc, func(row store.Message) error {
		m.message(Message(row))
		return ctx.Err()
	}); err != nil {
		return err
	}
	return m.archives(ctx, db, sc, whole)
}

func (m *markdown) printf(format string, args ...any) { fmt.Fprintf(m.w, format, args...) }

func (m *markdown) head(c store.Totals) {
	title := api.CleanTitle(c.Title)
	if title == "" {
		title = m.in("A conversation without a title")
	}
	m.printf("# %s\n\n- %s: `%s`\n- %s: %s\n- %s: %s\n", mdEscape(title), m.in("Conversation"), c.ID, m.in("Begun"), mdTime(c.Created), m.in("Last used"), mdTime(c.Updated))
	m.printf("- "+m.in("messages: %d · turns: %d · tool calls: %d (results not shown whole: %d) · prompt tokens: %d · completion tokens: %d")+"\n", c.Messages, c.Turns, c.Calls, c.Cut, c.Prompt, c.Completion)
	if c.Client != "" {
		m.printf("- %s: %s\n", m.in("Asked through"), mdEscape(c.Client))
	}
	if len(c.Models) > 0 {
		m.printf("- %s: %s\n", m.in("Models"), mdEscape(strings.Join(c.Models, ", ")))
	}
	for _, sum := range c.Costs {
		m.printf("- %s: %.6g %s\n", m.in("Cost"), sum.Amount, mdEscape(sum.Currency))
	}
	m.printf("\n")
}

func (m *markdown) message(msg agent.Message) {
	when := " — " + mdTime(msg.At)
	switch msg.Role {
	case agent.RoleUser:
		m.printf("## %s %d%s\n\n", m.in("Question"), msg.Turn, when)
		for line := range strings.Lines(msg.Text) {
			m.printf("> %s\n", strings.TrimRight(line, "\r\n"))
		}
		m.printf("\n")
	case agent.RoleNote:
		m.printf("## %s %d%s\n\n", m.in("Note"), msg.Turn, when)
		m.fence("text", msg.Text)
	case agent.RoleResults:
		for _, e := range msg.Results {
			m.result(e)
		}
	default:
		m.printf("## %s %d", m.in("Answer"), msg.Turn)
		if msg.Model != "" {
			m.printf(" — %s", mdEscape(msg.Model))
		}
		m.printf("%s\n\n", when)
		if msg.Reasoning != "" {
			m.printf("### %s\n\n", m.in("Thoughts"))
			m.fence("text", msg.Reasoning)
		}
		if msg.Text != "" {
			m.printf("%s\n\n", msg.Text)
		}
		m.sources(msg.Sources)
		for _, c := range msg.Calls {
			m.printf("### %s: `%s`\n\n", m.in("Tool call"), mdCode(c.Tool))
			m.fence("json", text.Indent(c.Args))
		}
	}
}

// sources lists the sources of an answer.
func (m *markdown) sources(all []agent.Source) {
	if len(all) == 0 {
		return
	}
	m.printf("%s\n\n", m.in("Sources:"))
	for _, s := range all {
		// Only such an address is a link that ends with the sign behind it.
		address := strings.NewReplacer("<", "%3C", ">", "%3E").Replace(limit.Visible(s.URL))
		m.printf("- \\[%d\\] %s <%s>\n", s.N, mdEscape(limit.Visible(s.Title)), address)
	}
	m.printf("\n")
}

func (m *markdown) result(e agent.ResultEntry) {
	failed := ""
	if e.Err {
		failed = m.in(" (failed)")
	}
	m.printf("### %s: `%s`%s\n\n", m.in("Tool result"), mdCode(e.Tool), failed)
	m.fence("text", e.Text)
	if e.Ref == nil {
		return
	}
	form := m.in("The whole has %d characters and %d lines and is archive `%s`.")
	if e.Folded {
		form = m.in("This is a placeholder; the whole has %d characters and %d lines and is archive `%s`.")
	}
	m.printf(form+"\n\n", e.Ref.Chars, e.Ref.Lines, e.Ref.UUID)
}

// archives lists the archived results, with their full text if whole is true.
func (m *markdown) archives(ctx context.Context, db *store.Store, sc archive.Scope, whole bool) error {
	first := true
	return db.EachResult(ctx, sc, whole, func(e archive.Entry) error {
		if first {
			m.printf("## %s\n\n", m.in("Archived results"))
			first = false
		}
		m.printf("### `%s`: `%s`\n\n"+m.in("%s · %d characters · %d lines · sha256 `%s`")+"\n\n%s:\n\n", e.UUID, mdCode(e.Tool), mdTime(e.Created), e.Chars, e.Lines, e.SHA256, m.in("Arguments"))
		m.fence("json", text.Indent(e.Input))
		switch {
		case e.Pruned:
			m.printf("%s\n\n", m.in("Its text was pruned; a call with these arguments brings it again."))
		case !whole:
			m.printf("%s\n\n", m.in("Its text is not in this export (archives=true brings it)."))
		default:
			m.fence("text", e.Full)
		}
		return ctx.Err()
	})
}

// fence writes a text between fences that are longer than any run of backquotes in it.
func (m *markdown) fence(kind, text string) {
	longest, run := 2, 0
	for _, r := range text {
		if r != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	fence := strings.Repeat("`", longest+1)
	m.printf("%s%s\n%s\n%s\n\n", fence, kind, strings.TrimSuffix(text, "\n"), fence)
}

func mdTime(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// mdCode returns a name that cannot end the backquotes around it.
func mdCode(s string) string { return strings.ReplaceAll(api.CleanTitle(s), "`", "'") }

// mdEscape escapes the characters of a line that Markdown or HTML would interpret.
func mdEscape(s string) string {
	var b strings.Builder
	for _, r := range s {
		if strings.ContainsRune("\\`*_{}[]<>#|!&~", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Message decodes a stored message. If its body is invalid, it returns the message's
// text alone.
func Message(row store.Message) agent.Message {
	var m agent.Message
	if json.Unmarshal(row.Body, &m) != nil {
		m = agent.Message{Role: agent.Role(row.Role), Text: row.Content, Reasoning: row.Thinking, Turn: row.Turn, Model: row.Model}
	}
	m.At = row.Created
	return m
}

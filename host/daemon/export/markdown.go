// Package export writes a stored conversation as Markdown for people, in English or
// Chinese. It reads a few messages at a time, so an export needs little memory. The
// exports for programs are in package store.
package export

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/host/archive"
	"github.com/weirhost/weir/host/daemon/store"
	"github.com/weirhost/weir/host/daemon/turns"
	"github.com/weirhost/weir/sdk/tool"
)

// mdWords are the headings of a conversation in one language.
type mdWords struct {
	untitled, id, begun, used, sums, models, cost    string
	question, answer, thoughts, call, result, failed string
	whole, folded, archives, pruned, left, arguments string
	stored, noMessages                               string
}

func mdIn(l tool.Locale) mdWords {
	if l == tool.Zh {
		return mdWords{
			untitled: "未命名的会话", id: "会话", begun: "开始", used: "最后使用", models: "模型", cost: "费用",
			sums:     "%d 条消息 · %d 轮 · %d 次工具调用（其中 %d 次结果被截断）· %d 个提示 token · %d 个回答 token",
			question: "提问", answer: "回答", thoughts: "思考", call: "工具调用", result: "工具结果", failed: "（失败）",
			whole: "完整结果共 %d 字符、%d 行，存档为 `%s`。", folded: "以上为占位符；完整结果共 %d 字符、%d 行，存档为 `%s`。",
			archives: "存档的完整结果", pruned: "正文已被清理，可用以下参数重新调用。", left: "正文未包含在此导出中（archives=true 可包含）。", arguments: "参数",
			stored: "%s · %d 字符 · %d 行 · sha256 `%s`", noMessages: "没有消息。",
		}
	}
	return mdWords{
		untitled: "A conversation without a title", id: "Conversation", begun: "Begun", used: "Last used", models: "Models", cost: "Cost",
		sums:     "%d messages · %d turns · %d tool calls (%d results not shown whole) · %d prompt tokens · %d completion tokens",
		question: "Question", answer: "Answer", thoughts: "Thoughts", call: "Tool call", result: "Tool result", failed: " (failed)",
		whole: "The whole has %d characters and %d lines and is archive `%s`.", folded: "This is a placeholder; the whole has %d characters and %d lines and is archive `%s`.",
		archives: "Archived results", pruned: "Its text was pruned; a call with these arguments brings it again.", left: "Its text is not in this export (archives=true brings it).", arguments: "Arguments",
		stored: "%s · %d characters · %d lines · sha256 `%s`", noMessages: "There are no messages.",
	}
}

// A markdown writes a conversation for people. Flush of its writer returns the first
// error.
type markdown struct {
	w     *bufio.Writer
	words mdWords
}

// Markdown writes a conversation in the language l. Questions become quotations, answers
// stay unchanged, calls and results are in fences that their text cannot close. whole
// adds the full text of archived results. The caller must flush w.
func Markdown(ctx context.Context, db *store.Store, sc archive.Scope, w *bufio.Writer, whole bool, l tool.Locale) error {
	m := &markdown{w: w, words: mdIn(l)}
	sums, err := db.Totals(ctx, sc)
	if err != nil {
		return err
	}
	m.head(sums)
	if sums.Messages == 0 {
		m.printf("%s\n\n", m.words.noMessages)
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
	title := turns.CleanTitle(c.Title)
	if title == "" {
		title = m.words.untitled
	}
	w := m.words
	m.printf("# %s\n\n- %s: `%s`\n- %s: %s\n- %s: %s\n", mdEscape(title), w.id, c.ID, w.begun, mdTime(c.Created), w.used, mdTime(c.Updated))
	m.printf("- "+w.sums+"\n", c.Messages, c.Turns, c.Calls, c.Cut, c.Prompt, c.Completion)
	if len(c.Models) > 0 {
		m.printf("- %s: %s\n", w.models, mdEscape(strings.Join(c.Models, ", ")))
	}
	for _, sum := range c.Costs {
		m.printf("- %s: %.6g %s\n", w.cost, sum.Amount, mdEscape(sum.Currency))
	}
	m.printf("\n")
}

func (m *markdown) message(msg agent.Message) {
	w := m.words
	when := " — " + mdTime(msg.At)
	switch msg.Role {
	case agent.RoleUser:
		m.printf("## %s %d%s\n\n", w.question, msg.Turn, when)
		for line := range strings.Lines(msg.Text) {
			m.printf("> %s\n", strings.TrimRight(line, "\r\n"))
		}
		m.printf("\n")
	case agent.RoleResults:
		for _, e := range msg.Results {
			m.result(e)
		}
	default:
		m.printf("## %s %d", w.answer, msg.Turn)
		if msg.Model != "" {
			m.printf(" — %s", mdEscape(msg.Model))
		}
		m.printf("%s\n\n", when)
		if msg.Reasoning != "" {
			m.printf("### %s\n\n", w.thoughts)
			m.fence("text", msg.Reasoning)
		}
		if msg.Text != "" {
			m.printf("%s\n\n", msg.Text)
		}
		for _, c := range msg.Calls {
			m.printf("### %s: `%s`\n\n", w.call, mdCode(c.Tool))
			m.fence("json", indented(c.Args))
		}
	}
}

func (m *markdown) result(e agent.ResultEntry) {
	w := m.words
	failed := ""
	if e.Err {
		failed = w.failed
	}
	m.printf("### %s: `%s`%s\n\n", w.result, mdCode(e.Tool), failed)
	m.fence("text", e.Text)
	if e.Ref == nil {
		return
	}
	form := w.whole
	if e.Folded {
		form = w.folded
	}
	m.printf(form+"\n\n", e.Ref.Chars, e.Ref.Lines, e.Ref.UUID)
}

// archives lists the archived results, with their full text if whole is true.
func (m *markdown) archives(ctx context.Context, db *store.Store, sc archive.Scope, whole bool) error {
	w, first := m.words, true
	return db.EachResult(ctx, sc, whole, func(e archive.Entry) error {
		if first {
			m.printf("## %s\n\n", w.archives)
			first = false
		}
		m.printf("### `%s`: `%s`\n\n"+w.stored+"\n\n%s:\n\n", e.UUID, mdCode(e.Tool), mdTime(e.Created), e.Chars, e.Lines, e.SHA256, w.arguments)
		m.fence("json", indented(e.Input))
		switch {
		case e.Pruned:
			m.printf("%s\n\n", w.pruned)
		case !whole:
			m.printf("%s\n\n", w.left)
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

func indented(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}

func mdTime(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// mdCode returns a name that cannot end the backquotes around it.
func mdCode(s string) string { return strings.ReplaceAll(turns.CleanTitle(s), "`", "'") }

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

package worker

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"

	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/host/internal/shmring"
	"github.com/weirhost/weir/sdk/tool"
)

// A failureMeta is a tool.Error on its way from a child to its parent. The parent
// renders it in the language of its reader, so format and arguments stay apart.
type failureMeta struct {
	Code      tool.Code
	Msg, Hint textMeta
}

// A textMeta is a tool.Text whose arguments are already rendered, each by its own
// verb of the English format. A textMeta without a Format is an argument: a Word.
type textMeta struct {
	Format string     `json:",omitempty"`
	Args   []textMeta `json:",omitempty"`
	Word   string     `json:",omitempty"`
}

// maxDepth bounds how deep the texts of a child are nested.
const maxDepth = 4

// verb matches one verb of a format; formats of this repository have no indexes.
var verb = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`%[-+# 0]*\d*(?:\.\d+)?[a-zA-Z%]`) })

// verbsOf returns the verbs of a format, without the plain %%.
func verbsOf(format string) []string {
	var verbs []string
	for _, v := range verb().FindAllString(format, -1) {
		if !strings.HasSuffix(v, "%") {
			verbs = append(verbs, v)
		}
	}
	return verbs
}

func metaOfFailure(e *tool.Error) *failureMeta {
	if e == nil {
		return nil
	}
	return &failureMeta{e.Code, metaOfText(orPlain(e.MsgText, e.Msg)), metaOfText(orPlain(e.HintText, e.Hint))}
}

// orPlain returns t, or a Text of plain words if t is empty.
func orPlain(t tool.Text, words string) tool.Text {
	if t.IsZero() && words != "" {
		return tool.Textf("%s", words)
	}
	return t
}

func metaOfText(t tool.Text) textMeta {
	verbs := verbsOf(t.Format)
	if len(verbs) != len(t.Args) { // no arguments, or a format that says more than its verbs
		return textMeta{Format: t.String()}
	}
	m := textMeta{Format: t.Format}
	for i, a := range t.Args {
		switch a := a.(type) {
		case tool.Text:
			m.Args = append(m.Args, metaOfText(a))
		case error:
			m.Args = append(m.Args, metaOfText(msg.Of(a)))
		default:
			m.Args = append(m.Args, textMeta{Word: fmt.Sprintf(verbs[i], a)})
		}
	}
	return m
}

// failure returns the tool.Error that a child sent. The error is shmring.ErrProtocol: the
// texts are nested too deeply, or a format does not fit its arguments.
func (m *failureMeta) failure() (*tool.Error, error) {
	sentence, err := m.Msg.text(maxDepth)
	if err != nil {
		return nil, err
	}
	hint, err := m.Hint.text(maxDepth)
	if err != nil {
		return nil, err
	}
	return tool.NewError(m.Code, sentence, hint), nil
}

// text returns the Text, made safe to log and to show. Its length is at most that
// of what the child sent: each argument is shown once.
func (m textMeta) text(depth int) (tool.Text, error) {
	t := tool.Text{Format: sandbox.Printable(m.Format, maxMsg)}
	if len(m.Args) == 0 {
		return t, nil
	}
	if depth == 0 || len(verbsOf(t.Format)) != len(m.Args) || strings.ContainsAny(t.Format, "[*") {
		return tool.Text{}, fmt.Errorf("%w: a failure has a text that is not valid", shmring.ErrProtocol)
	}
	for _, a := range m.Args {
		if a.Format == "" {
			t.Args = append(t.Args, rendered(sandbox.Printable(a.Word, maxMsg)))
			continue
		}
		inner, err := a.text(depth - 1)
		if err != nil {
			return tool.Text{}, err
		}
		t.Args = append(t.Args, inner)
	}
	return t, nil
}

// rendered is an argument that the child has rendered; every verb prints it as it is.
type rendered string

// Format implements fmt.Formatter.
func (r rendered) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, string(r)) }

// pack appends the failure as JSON: failures are rare, and few bytes.
func (m *failureMeta) pack() string {
	text, err := json.Marshal(m)
	if err != nil {
		return "{}" // strings always marshal
	}
	return string(text)
}

func unpackFailure(text string) (*failureMeta, error) {
	var m failureMeta
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return nil, fmt.Errorf("%w: a failure is not readable", shmring.ErrProtocol)
	}
	return &m, nil
}

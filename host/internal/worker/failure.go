package worker

import (
	"encoding/json"
	"fmt"

	"github.com/weirhost/weir/host/internal/frames"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/sandbox"
	"github.com/weirhost/weir/sdk/tool"
)

// A failureMeta is a tool.Error on its way from a child to its parent. The parent
// renders it in the language of its reader, so format and arguments stay apart.
type failureMeta struct {
	Code      tool.Code
	Msg, Hint msg.Wire
}

func metaOfFailure(e *tool.Error) *failureMeta {
	if e == nil {
		return nil
	}
	return &failureMeta{e.Code, msg.ToWire(orPlain(e.MsgText, e.Msg)), msg.ToWire(orPlain(e.HintText, e.Hint))}
}

// orPlain returns t, or a Text of plain words if t is empty.
func orPlain(t tool.Text, words string) tool.Text {
	if t.IsZero() && words != "" {
		return tool.Textf("%s", words)
	}
	return t
}

// failure returns the tool.Error that a child sent. The error is frames.ErrProtocol:
// the texts are not valid.
func (m *failureMeta) failure() (*tool.Error, error) {
	sentence, err := m.Msg.Text(clean)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", frames.ErrProtocol, err)
	}
	hint, err := m.Hint.Text(clean)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", frames.ErrProtocol, err)
	}
	return tool.NewError(m.Code, sentence, hint), nil
}

// clean makes a child's text safe to log and to show.
func clean(s string) string { return sandbox.Printable(s, maxMsg) }

// pack returns the failure as JSON: failures are rare and short.
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
		return nil, fmt.Errorf("%w: a failure is not readable", frames.ErrProtocol)
	}
	return &m, nil
}

package mcpclient

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/weirhost/weir/host/internal/jsonscan"
	"github.com/weirhost/weir/host/internal/lines"
	"github.com/weirhost/weir/host/internal/msg"
)

// MaxValues bounds the values in a message. The SDK reads structured content into Go
// values, which need up to some hundred bytes each.
const MaxValues = 250_000

// ErrManyValues reports an answer with more than MaxValues values.
var ErrManyValues = msg.Errorf("the answer has too many values")

// manyValues is the message of the error that bounded writes in place of an answer.
const manyValues = "weir: too many values"

// bounded returns a message. In place of an answer with too many values it returns an
// error with the same id, and nothing in place of another such message.
func bounded(message []byte) []byte {
	if len(message) < 2*MaxValues || jsonscan.Count(message).Values <= MaxValues {
		return message
	}
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if json.Unmarshal(message, &m) != nil || len(m.ID) == 0 || len(m.ID) > 100 || m.Method != "" {
		return nil
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":%q}}`, m.ID, manyValues)
}

// An answerBody is the body of an HTTP answer that is one message. It is not safe for
// concurrent use.
type answerBody struct {
	io.ReadCloser
	message io.Reader // nil before the first Read
}

// Read implements io.Reader.
func (b *answerBody) Read(p []byte) (int, error) {
	if b.message == nil {
		whole, err := io.ReadAll(b.ReadCloser)
		if err != nil {
			return 0, err
		}
		b.message = bytes.NewReader(bounded(whole))
	}
	return b.message.Read(p)
}

// An eventBody is the body of an HTTP answer that is a stream of events, with a message
// in each. It is not safe for concurrent use.
type eventBody struct {
	io.Closer
	r      *bufio.Reader
	rest   []byte // of a line
	values int    // of the event, in its lines before the current one
}

func newEventBody(body io.ReadCloser) *eventBody {
	return &eventBody{Closer: body, r: bufio.NewReaderSize(body, 64<<10)}
}

// Read implements io.Reader.
func (b *eventBody) Read(p []byte) (int, error) {
	for len(b.rest) == 0 {
		line, err := lines.Read(b.r, maxBody)
		if len(line) == 0 && err != nil {
			return 0, err
		}
		if b.rest, err = b.line(line); err != nil {
			return 0, err
		}
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

// line returns a line with its message bounded. An event that has too many values in
// several lines ends the stream.
func (b *eventBody) line(line []byte) ([]byte, error) {
	data, ok := bytes.CutPrefix(line, []byte("data:"))
	if !ok {
		if len(bytes.TrimSpace(line)) == 0 {
			b.values = 0
		}
		return line, nil
	}
	if message := bounded(data); len(message) != len(data) {
		return fmt.Appendf(nil, "data: %s\n", message), nil
	}
	if b.values += jsonscan.Count(data).Values; b.values > MaxValues {
		return nil, ErrManyValues
	}
	return line, nil
}

package mcpclient

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/weirhost/weir/host/internal/jsonscan"
	"github.com/weirhost/weir/host/internal/lines"
	"github.com/weirhost/weir/host/internal/msg"
)

// MaxValues bounds the values in a message. The SDK reads structured content into Go
// values, which need up to some hundred bytes each.
const MaxValues = 250_000

// MaxDepth bounds the levels of a message: the SDK reads 1,000, and gives the whole
// connection up at more.
const MaxDepth = 900

// These errors say why an answer was not read.
var (
	ErrManyValues = msg.Errorf("the answer has too many values")
	ErrDeep       = msg.Errorf("the answer is nested too deeply")
	ErrLong       = msg.Errorf("the answer is too long")
	errUnusable   = msg.Errorf("the answer is not valid")
)

// inPlace returns the message of the error that is written in place of an answer.
func inPlace(why error) string { return "weir: " + why.Error() }

// bounded returns a message. In place of an answer with too many values or levels it
// returns an error with the same id, and nothing in place of another such message.
func bounded(message []byte) []byte {
	if len(message) < 2*MaxDepth {
		return message
	}
	switch n := jsonscan.Count(message); {
	case n.Values > MaxValues:
		return refused(message, ErrManyValues)
	case n.Depth > MaxDepth:
		return refused(message, ErrDeep)
	}
	return message
}

// refused returns an error with the id of an answer, which may be cut off or invalid;
// nil if it is none or has its id after the cut.
func refused(answer []byte, why error) []byte {
	var version, id string
	for name, v := range jsonscan.Members(strings.TrimSpace(string(answer))) {
		switch name {
		case "jsonrpc":
			version = v
		case "id":
			id = v
		case "method":
			return nil
		}
	}
	if version == "" || len(id) > 100 || !json.Valid([]byte(id)) {
		return nil
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":%q}}`, id, inPlace(why))
}

// tooMuch returns the reason of an error that was written in place of an answer, or nil.
func tooMuch(message string, err error) error {
	for _, why := range []error{ErrManyValues, ErrDeep, ErrLong} {
		if message == inPlace(why) || errors.Is(err, why) {
			return why
		}
	}
	return nil
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
		b.message = bytes.NewReader(withRaw(bounded(whole)))
	}
	return b.message.Read(p)
}

// An eventBody is the body of an HTTP answer that is a stream of events, with a message
// in each. It is not safe for concurrent use.
type eventBody struct {
	io.Closer
	r       *bufio.Reader
	rest    []byte // of a line
	values  int    // of the event, in its lines before the current one
	lines   int    // of the event, with data
	unasked *unasked
}

func newEventBody(body io.ReadCloser, u *unasked) *eventBody {
	return &eventBody{Closer: body, r: bufio.NewReaderSize(body, 64<<10), unasked: u}
}

// Read implements io.Reader.
func (b *eventBody) Read(p []byte) (int, error) {
	for len(b.rest) == 0 {
		line, err := lines.Begin(b.r, MaxBytes)
		if errors.Is(err, lines.ErrLong) {
			return 0, ErrLong
		}
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

// line returns a line with its message bounded, and nothing in place of a message that is
// not read. What a message of several lines is cannot be seen in one of them: each counts as
// one that answers nothing, and one too many ends the stream, as too many values do.
func (b *eventBody) line(line []byte) ([]byte, error) {
	data, ok := bytes.CutPrefix(line, []byte("data:"))
	if !ok {
		if len(bytes.TrimSpace(line)) == 0 {
			b.values, b.lines = 0, 0
		}
		return line, nil
	}
	switch b.lines++; {
	case b.lines == 1 && !b.unasked.admits(data):
		return nil, nil
	case b.lines == 2 && !b.unasked.spend(b.unasked.other):
		return nil, ErrManyValues
	}
	if message := bounded(data); len(message) != len(data) {
		return fmt.Appendf(nil, "data: %s\n", message), nil
	}
	if b.values += jsonscan.Count(data).Values; b.values > MaxValues {
		return nil, ErrManyValues
	}
	if message := withRaw(data); len(message) != len(data) {
		return fmt.Appendf(nil, "data: %s\n", message), nil
	}
	return line, nil
}

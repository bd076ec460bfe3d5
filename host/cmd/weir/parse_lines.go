package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/weirhost/weir/agent/parse"
	"github.com/weirhost/weir/agent/parse/eval"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/term"
	"github.com/weirhost/weir/sdk/tool"
)

// A caseResult is the answer to one line. The id is the caller's own, of any
// JSON type; null where the line had none that could be read.
type caseResult struct {
	ID json.RawMessage `json:"id"`
	caseFound
	Error string `json:"error,omitempty"`
}

// caseFound is what eval found, without its id.
type caseFound struct {
	Calls     []eval.Call      `json:"calls"`
	Text      string           `json:"text"`
	Malformed []eval.Malformed `json:"malformed"`
}

// jsonl answers every line of stdin with one line of stdout, in order.
func (p parseRun) jsonl(ctx context.Context, c *cli) error {
	in, out := bufio.NewReaderSize(c.In, 64<<10), bufio.NewWriterSize(c.Out, 64<<10)
	bad := 0
	for n := 1; ; n++ {
		line, err := readLine(in, maxText)
		if err == io.EOF {
			break
		}
		var res caseResult
		if err == nil {
			res, err = p.line(line)
		} else if !errors.Is(err, errLongLine) {
			return errors.Join(msg.Errorf("line %d cannot be read: %w", n, err), out.Flush())
		}
		if err != nil {
			bad++
			c.errf("weir: line %d: %s\n", n, err)
			res = caseResult{ID: res.ID, Error: err.Error()}
			res.Calls, res.Malformed = []eval.Call{}, []eval.Malformed{}
		}
		if err := writeLine(out, res, in.Buffered() == 0); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return errors.Join(ctx.Err(), out.Flush())
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	if bad > 0 {
		c.errf("weir: %d lines could not be read; each is {\"id\":\"…\",\"tools\":[…],\"text\":\"…\"}\n", bad)
		return term.ExitError(term.ExitFailed)
	}
	return nil
}

// writeLine writes one answer. flush is set when no further line is waiting,
// so that a program that asks line by line gets each answer at once.
func writeLine(out *bufio.Writer, res caseResult, flush bool) error {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(res); err != nil {
		return err
	}
	if flush {
		return out.Flush()
	}
	return nil
}

// line reads one case and parses its text. Beside an error, the result has the
// id as far as it could be read.
func (p parseRun) line(line []byte) (res caseResult, err error) {
	var in struct {
		ID    json.RawMessage `json:"id"`
		Tools json.RawMessage `json:"tools"`
		Text  json.RawMessage `json:"text"`
	}
	if len(bytes.TrimSpace(line)) == 0 {
		return res, msg.Errorf("it is empty")
	}
	if err := json.Unmarshal(line, &in); err != nil {
		return res, msg.Errorf("%s", jsonFault(err))
	}
	res.ID = in.ID
	if in.Text == nil {
		return res, msg.Errorf("it has no text")
	}
	var text string
	if err := json.Unmarshal(in.Text, &text); err != nil {
		return res, msg.Errorf("text: %s", jsonFault(err))
	}
	o := parse.Options{AnyName: true}
	if in.Tools != nil {
		if o.Tools, err = toolList(in.Tools); err != nil {
			return res, err
		}
		o.AnyName = len(o.Tools) == 0
	}
	r := eval.NewResult("", p.events(o, text))
	res.caseFound = caseFound{r.Calls, r.Text, r.Malformed}
	return res, nil
}

// jsonFault says what is wrong with a JSON text in words for its writer.
func jsonFault(err error) tool.Text {
	var syntax *json.SyntaxError
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return tool.Textf("it is not JSON: it breaks at byte %d", syntax.Offset)
	case errors.As(err, &wrong) && wrong.Field != "":
		return tool.Textf("%s is of the wrong type: it is of type %s", wrong.Field, wrong.Value)
	case errors.As(err, &wrong):
		return tool.Textf("it is of type %s", wrong.Value)
	}
	return tool.Textf("it cannot be read")
}

var errLongLine = msg.Errorf("it is longer than 64 MiB")

// readLine returns the next line without its newline; io.EOF: there is none.
// A line of more than most bytes is passed over whole.
func readLine(r *bufio.Reader, most int) ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := r.ReadSlice('\n')
		if long = long || len(line)+len(part) > most; !long {
			line = append(line, part...)
		}
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err == io.EOF && (len(line) > 0 || long):
		case err != nil:
			return nil, err
		}
		if long {
			return nil, errLongLine
		}
		return bytes.TrimSuffix(line, []byte("\n")), nil
	}
}

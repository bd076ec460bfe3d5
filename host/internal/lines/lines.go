// Package lines reads lines of bounded length from an untrusted stream, which may never
// end a line.
package lines

import (
	"bufio"
	"bytes"
	"errors"
)

// ErrLong says that a line was longer than allowed and was skipped.
var ErrLong = errors.New("the line is too long")

// Read returns the next line with its end, at most most bytes; it is valid until the
// next Read. A longer line is skipped, which is ErrLong. After the last line, which
// may lack its end, the error is that of r: io.EOF.
func Read(r *bufio.Reader, most int) ([]byte, error) {
	line, err := Begin(r, most)
	if !errors.Is(err, ErrLong) {
		return line, err
	}
	if err := Skip(r, line); err != nil {
		return nil, err
	}
	return nil, ErrLong
}

// Begin is Read, but of a line that is too long it returns the beginning with ErrLong,
// before the line ends: the writer may never end it. Skip skips the rest.
func Begin(r *bufio.Reader, most int) ([]byte, error) {
	part, err := r.ReadSlice('\n')
	if err == nil && len(part) <= most { // the usual case
		return part, nil
	}
	var line []byte
	for ; ; part, err = r.ReadSlice('\n') {
		line = append(line, part...)
		switch {
		case len(line) > most:
			return line, ErrLong
		case !errors.Is(err, bufio.ErrBufferFull):
			return line, err
		}
	}
}

// Skip skips the rest of a line that began with begin. The error is that of r.
func Skip(r *bufio.Reader, begin []byte) error {
	if bytes.HasSuffix(begin, []byte("\n")) {
		return nil
	}
	for {
		if _, err := r.ReadSlice('\n'); !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}

// Package lines reads lines of bounded length from an untrusted stream, which may never
// end a line.
package lines

import (
	"bufio"
	"errors"
)

// ErrLong says that a line was longer than allowed and was skipped.
var ErrLong = errors.New("the line is too long")

// Read returns the next line with its end, at most most bytes; it is valid until the
// next Read. A longer line is skipped, which is ErrLong. After the last line, which
// may lack its end, the error is that of r: io.EOF.
func Read(r *bufio.Reader, most int) ([]byte, error) {
	part, err := r.ReadSlice('\n')
	if err == nil && len(part) <= most { // the usual case
		return part, nil
	}
	var line []byte
	long := false
	for ; ; part, err = r.ReadSlice('\n') {
		if !long {
			line = append(line, part...)
		}
		if len(line) > most {
			line, long = nil, true
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case long && err == nil:
			return nil, ErrLong
		default:
			return line, err
		}
	}
}

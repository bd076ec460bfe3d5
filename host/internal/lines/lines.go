// Package lines reads the lines of a stream that somebody else writes, who may never
// end one.
package lines

import (
	"bufio"
	"errors"
)

// ErrLong says that a line was longer than wanted, and that it was passed over.
var ErrLong = errors.New("the line is too long")

// Read reads a line of most bytes at the most, with its end, which is valid until the
// next one is read. One that is longer is read to its end and dropped: that is ErrLong.
// Behind the last line, which may lack its end, the error is that of r: io.EOF.
func Read(r *bufio.Reader, most int) ([]byte, error) {
	part, err := r.ReadSlice('\n')
	if err == nil && len(part) <= most { // as most are
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

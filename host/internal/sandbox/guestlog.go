package sandbox

import (
	"bytes"
	"regexp"
	"strings"
	"sync"
	"unicode"

	"github.com/hashicorp/go-hclog"
)

// How much one call may print and log.
const (
	maxLogLines = 500  // lines; further ones are only counted
	maxLogLine  = 2048 // bytes of one line
)

// journal passes a guest's lines on to the host's log, within limits.
type journal struct {
	log hclog.Logger

	mu      sync.Mutex
	lines   int
	dropped int
}

func (j *journal) write(level hclog.Level, source, line string) {
	j.mu.Lock()
	over := j.lines >= maxLogLines
	if over {
		j.dropped++
	} else {
		j.lines++
	}
	j.mu.Unlock()
	if !over {
		j.log.Log(level, printable(line, maxLogLine), "from", source)
	}
}

// end logs how many lines were dropped, and resets the count.
func (j *journal) end() {
	j.mu.Lock()
	dropped := j.dropped
	j.lines, j.dropped = 0, 0
	j.mu.Unlock()
	if dropped > 0 {
		j.log.Warn("the plugin printed more than is kept", "lines_dropped", dropped)
	}
}

// stream is a guest's stdout or stderr. It accepts everything and stores little, so a
// flood only costs the guest's own time.
type stream struct {
	journal *journal
	source  string
	check   func() // ends the guest if its time is over

	mu   sync.Mutex
	line []byte
	head []byte // the beginning of the output
}

// headBytes is enough for the line in which a crashing guest explains itself.
const headBytes = 2048

// Write implements io.Writer; it never fails.
func (s *stream) Write(p []byte) (int, error) {
	s.check()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.head = append(s.head, p[:min(len(p), headBytes-len(s.head))]...)
	for rest := p; len(rest) > 0; {
		part, after, ended := bytes.Cut(rest, []byte("\n"))
		s.line = append(s.line, part[:min(len(part), maxLogLine-len(s.line))]...)
		if rest = after; ended {
			s.flush()
		}
	}
	return len(p), nil
}

func (s *stream) flush() {
	if len(s.line) > 0 {
		s.journal.write(hclog.Debug, s.source, string(s.line))
	}
	s.line = s.line[:0]
}

// end flushes a line without an end, and resets the stream.
func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flush()
	s.line, s.head = nil, nil
}

// first returns the first line that is not empty, or "".
func (s *stream) first() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for line := range strings.Lines(string(s.head)) {
		if line = printable(strings.TrimSpace(line), maxLogLine); line != "" {
			return line
		}
	}
	return ""
}

// escapes matches terminal sequences: colours, cursor movements.
var escapes = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\x1b\[[0-9;?]*[ -/]*[@-~]`) })

// printable makes a guest's text safe to show: valid UTF-8 of at most n bytes, without
// terminal sequences, control characters and characters that reorder or hide text.
func printable(s string, n int) string {
	if len(s) > n {
		s = s[:n]
	}
	s = escapes().ReplaceAllString(s, "")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), r == unicode.ReplacementChar:
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
}

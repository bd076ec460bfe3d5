package mcpclient

import (
	"bytes"
	"cmp"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/weirhost/weir/sdk/limit"
)

// Bounds of what is kept of a program's output to say why it ended.
const (
	lastLines = 5
	lastChars = 1000 // of all of them
)

// maxLine bounds a logged line, in bytes.
const maxLine = 2000

// said are the last lines that a program wrote and that are no messages. It is safe for
// concurrent use.
type said struct {
	mu   sync.Mutex
	last []string
}

// noise matches the frames of a stack trace and what npm adds after the end of a program: the
// reason is above them.
var noise = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^at (\S+|(async |new )?\S+ \(.*\)|.*:\d+:\d+\)?)$|^npm notice\b`)
})

// add keeps a line, unless it is noise.
func (s *said) add(line string) {
	line = limit.Visible(short(limit.Normalise([]byte(line)), lastChars/2))
	if line == "" || noise().MatchString(line) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = append(s.last, line)
	s.last = slices.Delete(s.last, 0, max(len(s.last)-lastLines, 0))
}

// String returns the lines on one line, the latest of them if they are long. Empty: there are
// none.
func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	from, left := len(s.last), lastChars
	for from > 0 {
		if left -= len([]rune(s.last[from-1])); left < 0 {
			break
		}
		from--
	}
	return strings.Join(s.last[from:], " | ")
}

// An outputLog logs the lines of a program that are not messages. It is not safe
// for concurrent use.
type outputLog struct {
	server *Server
	said   *said  // nil: the lines are not kept
	rest   []byte // of the line that has not ended
}

// Write implements io.Writer. It never fails, because an error would stop the
// program.
func (c *outputLog) Write(p []byte) (int, error) {
	n := len(p)
	for {
		line, after, ended := bytes.Cut(p, []byte("\n"))
		c.rest = append(c.rest, line[:min(len(line), maxLine-len(c.rest))]...)
		if !ended {
			return n, nil
		}
		c.flush()
		p = after
	}
}

// flush ends the line.
func (c *outputLog) flush() {
	line := c.server.masked(string(c.rest))
	c.rest = c.rest[:0]
	if c.said != nil {
		c.said.add(line)
	}
	if text := short(line, maxLine); text != "" {
		c.server.log.Debug("another server says", "server", c.server.cfg.Name, "line", text)
	}
}

// minSecret is the length of the shortest value that is masked, in bytes: a shorter one is
// part of too many words.
const minSecret = 6

// masks returns a Replacer that writes the names of variables and headers in place of their
// values, which may be secrets: those that an argument or the address has, too.
func masks(c Config) *strings.Replacer {
	names := map[string]string{}
	for name, v := range c.Variables {
		names[v] = name
	}
	for name, v := range c.Env {
		names[v] = name
		if u, err := url.Parse(v); err == nil {
			password, _ := u.User.Password() // that of a database, without its address
			names[password] = name
		}
	}
	for name, v := range c.Headers {
		names[v] = name
		_, token, _ := strings.Cut(v, " ") // after "Bearer"
		names[token] = name
	}
	values := slices.SortedFunc(maps.Keys(names), func(a, b string) int { return cmp.Or(len(b)-len(a), cmp.Compare(a, b)) })
	var pairs []string
	for _, v := range values {
		if len(v) >= minSecret {
			pairs = append(pairs, v, "${"+names[v]+"}")
		}
	}
	return strings.NewReplacer(pairs...)
}

// masked returns a text of the server without the values that are given to it.
func (s *Server) masked(text string) string {
	if s.mask == nil {
		return text
	}
	return s.mask.Replace(text)
}

// short returns a text on one line, cut to n bytes.
func short(text string, n int) string {
	text = strings.ToValidUTF8(strings.Join(strings.Fields(text), " "), "")
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "…"
}

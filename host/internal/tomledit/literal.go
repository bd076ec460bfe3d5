package tomledit

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/weirhost/weir/host/internal/msg"
)

// Literal returns a value as TOML writes it.
func Literal(v any) (string, error) {
	switch v := v.(type) {
	case bool:
		return strconv.FormatBool(v), nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			break
		}
		s := strconv.FormatFloat(v, 'f', -1, 64)
		if !strings.Contains(s, ".") {
			s += ".0"
		}
		return s, nil
	case string:
		return quote(v), nil
	case []any:
		parts := make([]string, len(v))
		for i, e := range v {
			if _, list := e.([]any); list {
				return "", msg.Errorf("a list has lists in it")
			}
			var err error
			if parts[i], err = Literal(e); err != nil {
				return "", err
			}
		}
		return "[" + strings.Join(parts, ", ") + "]", nil
	}
	return "", msg.Errorf("the value is no text, number, yes or no, or list of these")
}

// bare matches the names that need no quotes.
var bare = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_-]+$`) })

// Key returns a name as TOML writes it in a key.
func Key(name string) string {
	if bare().MatchString(name) {
		return name
	}
	return quote(name)
}

// quote returns a basic string of TOML.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0:
			b.WriteString(`\u` + strings.Repeat("0", 4-len(strconv.FormatInt(int64(r), 16))) + strconv.FormatInt(int64(r), 16))
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

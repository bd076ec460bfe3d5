package postgres

import (
	"strconv"
	"strings"
)

// numbered returns a statement with the parameters of PostgreSQL. A ? without a number has
// the next one after the greatest before it, as in SQLite. Texts in quotes stay.
func numbered(query string) string {
	if !strings.Contains(query, "?") {
		return query
	}
	var b strings.Builder
	b.Grow(len(query) + 32)
	greatest := 0
	for len(query) > 0 {
		at := strings.IndexAny(query, `?'"`)
		if at < 0 {
			break
		}
		b.WriteString(query[:at])
		quote := query[at]
		query = query[at+1:]
		if quote != '?' {
			end := strings.IndexByte(query, quote) + 1
			if end == 0 { // it does not end: PostgreSQL says so
				end = len(query)
			}
			b.WriteByte(quote)
			b.WriteString(query[:end])
			query = query[end:]
			continue
		}
		rest := strings.TrimLeft(query, "0123456789")
		n, err := strconv.Atoi(query[:len(query)-len(rest)])
		if err != nil {
			n = greatest + 1
		}
		greatest, query = max(greatest, n), rest
		b.WriteString("$" + strconv.Itoa(n))
	}
	b.WriteString(query)
	return b.String()
}

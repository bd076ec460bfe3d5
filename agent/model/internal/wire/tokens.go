package wire

import "encoding/json"

// maxTokens is more than any request has: a count above it is no count.
const maxTokens = 1 << 30

// Tokens is a count of tokens in a server's answer. It reads any JSON: what is no count,
// such as a text, a negative number, or one that no request has, is 0. An answer is
// never lost because of the count beside it.
type Tokens int

// UnmarshalJSON implements json.Unmarshaler. It returns no error.
func (t *Tokens) UnmarshalJSON(raw []byte) error {
	var n float64
	if *t = 0; json.Unmarshal(raw, &n) == nil && n >= 0 && n <= maxTokens {
		*t = Tokens(n)
	}
	return nil
}

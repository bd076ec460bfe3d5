package wire

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/tidwall/sjson"
)

// Body is what a request sends: a parameter struct of a provider's library, and
// members beside it that take the place of the struct's own of that name. They are
// set in the order of their names, where the libraries' own extra fields go by the
// order of a map: the same request is the same bytes, which is what a server's
// cache, a recording and a golden file go by.
type Body struct {
	Params json.Marshaler
	Extra  map[string]any
}

// MarshalJSON returns the body.
func (b Body) MarshalJSON() ([]byte, error) {
	raw, err := b.Params.MarshalJSON()
	for _, name := range slices.Sorted(maps.Keys(b.Extra)) {
		if err != nil {
			return nil, err
		}
		var v []byte
		if v, err = json.Marshal(b.Extra[name]); err == nil {
			raw, err = sjson.SetRawBytes(raw, literal(name), v)
		}
	}
	return raw, err
}

// literal returns the path that names the member itself, whatever its name says in
// the language of paths.
func literal(name string) string {
	var p strings.Builder
	for _, r := range name {
		if strings.ContainsRune(`\|#@*.:?`, r) {
			p.WriteByte('\\')
		}
		p.WriteRune(r)
	}
	return p.String()
}

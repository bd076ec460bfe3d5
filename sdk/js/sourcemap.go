package js

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"path"
	"strings"
)

// A sourceMap maps each place of a built script to its place in the sources. It is the
// part of a source map (ECMA-426) that errors need; the prelude reads Mappings.
type sourceMap struct {
	Sources  []string `json:"sources"`
	Mappings string   `json:"mappings"`
}

// maxName is how long a source's name may be, in bytes.
const maxName = 255

// inlineMap begins the line that bundlers put a source map into.
var inlineMap = []byte("//# sourceMappingURL=data:application/json;base64,")

// cutSourceMap returns the script without the source map in its last line, and that map;
// nil: the script has none that can be read.
func cutSourceMap(script []byte) ([]byte, *sourceMap) {
	text := bytes.TrimRight(script, "\r\n\t ")
	start := bytes.LastIndexByte(text, '\n') + 1
	encoded, ok := bytes.CutPrefix(text[start:], inlineMap)
	if !ok {
		return script, nil
	}
	var m sourceMap
	data, err := base64.StdEncoding.AppendDecode(nil, encoded)
	if err != nil || json.Unmarshal(data, &m) != nil || m.Mappings == "" || len(m.Sources) == 0 {
		return script, nil
	}
	for i, name := range m.Sources {
		// Names are relative to the folder that the bundler wrote into, which is gone. The
		// prelude takes an empty one for unknown.
		if name = strings.TrimPrefix(path.Clean("/"+name), "/"); len(name) > maxName {
			name = ""
		}
		m.Sources[i] = name
	}
	return script[:start], &m
}

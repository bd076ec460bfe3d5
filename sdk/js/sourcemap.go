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
	// Starts are where the prelude may begin to read, in order: it reads from the last one
	// that is not after the place it looks for.
	Starts []start `json:"starts"`
}

// A start is a place in Mappings at which a mapping begins, and what is known there.
type start struct {
	Row    int    `json:"row"`    // of the script, from 1
	Column int    `json:"column"` // of the script, where the mapping begins, from 0
	Offset int    `json:"offset"` // in Mappings, in bytes
	Before [4]int `json:"before"` // the numbers of a mapping, as they were before this one
}

// startSpacing is how many bytes of Mappings lie between two starts at least. The
// interpreter in the sandbox reads a byte in about 5 µs, so an error costs some 10 ms.
const startSpacing = 2048

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
	m.Starts = startsOf(m.Mappings)
	return script[:start], &m
}

// base64Digits are the digits of a mapping's numbers: five bits each, the lowest first; the
// sixth bit says that more follow, and the lowest bit of a number is its sign.
const base64Digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

// startsOf returns the starts of the mappings. It ends at a number that no source map of a
// script has: what follows is read from the last start before it.
func startsOf(mappings string) []start {
	starts := []start{}
	next := start{Row: 1}
	at, row, field, value, shift := [4]int{}, 1, 0, 0, 0
	for i := range len(mappings) {
		if digit := strings.IndexByte(base64Digits, mappings[i]); digit >= 0 {
			if value |= digit & 31 << shift; shift > 25 {
				return starts
			}
			if shift += 5; digit&32 != 0 {
				continue
			}
			if field < 4 {
				at[field] += (value >> 1) * (1 - value&1*2)
			}
			field, value, shift = field+1, 0, 0
			continue
		}
		// A mapping without a source is no start: the one before it holds for its places.
		if next.Column = at[0]; field >= 4 && (len(starts) == 0 || next.Offset-starts[len(starts)-1].Offset >= startSpacing) {
			starts = append(starts, next)
		}
		if field = 0; mappings[i] == ';' {
			row++
			at[0] = 0
		}
		next = start{Row: row, Offset: i + 1, Before: at}
	}
	return starts
}

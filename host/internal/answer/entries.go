package answer

import (
	"encoding/json"
	"strings"

	"github.com/weirhost/weir/host/internal/jsonscan"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// entries are those of a result, as its JSON has them. They only say where a cut falls
// best: what they get wrong makes them nothing, and the result stays.
type entries tool.Entries

// UnmarshalJSON counts the values before it reads them: lines, two members, the object.
func (e *entries) UnmarshalJSON(raw []byte) error {
	if jsonscan.Count(raw).Values > tool.MaxEntries+3 || json.Unmarshal(raw, (*tool.Entries)(e)) != nil || len(e.Lines) > tool.MaxEntries {
		*e = entries{}
	}
	return nil
}

// some returns the entries; nil: there are none.
func (e entries) some() *tool.Entries {
	if len(e.Lines) == 0 {
		return nil
	}
	return (*tool.Entries)(&e)
}

// placed returns the entries of raw, the text of a tool, as those of a.Text, which
// normalising made of it. It returns nil if the parts of raw are not those of a.Text.
func placed(raw string, a Answer, e *tool.Entries) *tool.Entries {
	if e == nil || a.Raw == nil {
		return e
	}
	out := &tool.Entries{Lines: make([]int, 0, len(e.Lines)), Show: e.Show}
	text, line, to := a.Text, 1, 1
	for _, n := range e.Lines {
		end := 0
		for ; line < n; line++ {
			i := strings.IndexByte(raw[end:], '\n')
			if i < 0 {
				break
			}
			end += i + 1
		}
		if line < n {
			break // it begins after the text
		}
		part := limit.NormaliseString(raw[:end])
		if line > n || !strings.HasPrefix(text, part) || part != "" && !strings.HasSuffix(part, "\n") {
			return nil
		}
		to += strings.Count(part, "\n")
		raw, text = raw[end:], text[len(part):]
		out.Lines = append(out.Lines, to)
	}
	if limit.NormaliseString(raw) != text {
		return nil
	}
	return out
}

package tomledit

import (
	"reflect"
	"slices"
	"strings"

	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/tomlpos"
)

// RemoveTable returns the text without the table at a path and the tables below it, which
// must have headers. Comments in them stay. Without that table nothing changes.
func RemoveTable(text string, path ...string) (string, error) {
	root, ok := tomlpos.Locate(text)
	before, after := map[string]any{}, map[string]any{}
	if _, err := tomlpos.Decode(text, &before); err != nil || !ok {
		return "", msg.Errorf("the file is not TOML")
	}
	p := root.Find(path...)
	if p == nil {
		return text, nil
	}
	all, own := root.Headers(text), p.Headers(text)
	slices.Sort(all)
	slices.Sort(own)
	out := text
	for _, at := range slices.Backward(own) {
		end := len(text)
		if i, _ := slices.BinarySearch(all, at+1); i < len(all) {
			end = all[i]
		}
		out = cut(out, at, at+bodyLen(text[at:end]))
	}
	_, err := tomlpos.Decode(out, &after)
	if err != nil || !reflect.DeepEqual(without(before, path), without(after, path)) || !reflect.DeepEqual(after, without(after, path)) {
		return "", msg.Errorf("%s is written in a way that cannot be edited here", strings.Join(path, "."))
	}
	return out, nil
}

// bodyLen returns the length of the beginning of a table's text that ends with its last line
// that is neither empty nor a comment: the comments after it are the next table's.
func bodyLen(text string) int {
	n, end := 0, 0
	for line := range strings.Lines(text) {
		n += len(line)
		if l := strings.TrimSpace(line); l != "" && l[0] != '#' {
			end = n
		}
	}
	return end
}

// cut removes whole lines of a text, but for the comments in them, and the empty lines before
// them.
func cut(text string, from, to int) string {
	from = strings.LastIndexByte(text[:from], '\n') + 1
	said := comments(text[from:to])
	head, tail := text[:from], text[to:]
	if len(said) > 0 {
		return head + strings.Join(said, "\n") + "\n" + tail
	}
	kept := strings.TrimRight(head, "\r\n")
	if kept != "" {
		kept += "\n"
	}
	if rest := strings.TrimLeft(tail, "\r\n"); kept == "" || rest == "" {
		return kept + rest
	}
	return kept + tail
}

// without returns a document without the value at a path, and without the tables around it
// that have nothing else.
func without(doc map[string]any, path []string) map[string]any {
	out := map[string]any{}
	for k, v := range doc {
		if k == path[0] {
			t, isTable := v.(map[string]any)
			if len(path) == 1 {
				continue
			}
			if isTable {
				if t = without(t, path[1:]); len(t) == 0 {
					continue
				}
				v = t
			}
		}
		out[k] = v
	}
	return out
}

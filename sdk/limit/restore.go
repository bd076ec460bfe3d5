package limit

import "github.com/weirhost/weir/sdk/tool"

// Restore returns v with its Text, cut from whole again at v.Gaps. It needs whole to be
// the text that v was cut from, and returns false if it is another one, or if v is a
// summary.
func Restore(whole string, v tool.View) (tool.View, bool) {
	if chars, lines := Count(whole); v.Summarized || chars != v.TotalChars || lines != v.TotalLines {
		return v, false
	}
	var text []byte
	rest := whole
	for _, g := range v.Gaps {
		n := g.At - len(text)
		if n < 0 || n > len(rest) {
			return v, false
		}
		text, rest = append(text, rest[:n]...), rest[n:]
		rest = rest[forward(rest, g.Chars):]
	}
	v.Text = string(append(text, rest...))
	return v, true
}

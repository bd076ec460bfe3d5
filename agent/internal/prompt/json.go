package prompt

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/weirhost/weir/sdk/tool"
)

// CallText writes a call the way the prompt teaches it.
func CallText(c tool.Call) string {
	args := c.Args
	if len(bytes.TrimSpace(args)) == 0 {
		args = json.RawMessage("{}")
	}
	return fmt.Sprintf(`<tool_call>{"id":%s,"tool_name":%s,"arguments":%s}</tool_call>`, Quote(c.ID), Quote(c.Tool), args)
}

// Quote writes a JSON string and keeps <, > and & readable.
func Quote(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always encodes
	return strings.TrimSuffix(b.String(), "\n")
}

// compact removes the spaces between the tokens of a JSON text.
func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

// OneLine folds white space, so that a description cannot draw a heading or a
// list entry of its own into the prompt.
func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// RuneCount counts characters.
func RuneCount(s string) int { return utf8.RuneCountInString(s) }

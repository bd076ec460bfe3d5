package limit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/weirhost/weir/sdk/tool"
)

// words writes the sentences of one language. Any locale but zh is English.
type words tool.Locale

// sliver is the shortest notice. It always fits.
const sliver = "…"

// maxClaim bounds, in characters, each message of a tool apart from its text.
const maxClaim = 500

// maxNote bounds the host's own sentence about a call, in characters: it names up to 25
// results of a script.
const maxNote = 3000

func (w words) zh() bool { return tool.Locale(w) == tool.Zh }

// notice states what is missing, which limit decided, and how to get the rest.
// It returns the longest wording that fits room characters, which include two
// newlines around it.
func (w words) notice(r tool.Result, room int) string {
	for _, s := range w.notices(r) {
		if runes(s)+2 <= room {
			return s
		}
	}
	return sliver
}

// notices returns the wordings of the notice, the longest first.
func (w words) notices(r tool.Result) []string {
	v := r.Shown
	chars, lines := v.Missing()
	if r.Load != nil && len(v.Gaps) > 0 {
		shown := runes(v.Text[:v.Gaps[0].At])
		return []string{w.load(r, r.Load.Offset, shown), w.loadBriefly(r.Load.Offset + shown)}
	}
	if v.Summarized {
		return []string{w.pick(
			fmt.Sprintf("[A summary by a model of %s characters, %s lines. %s]", thousands(v.TotalChars), thousands(v.TotalLines), w.remedy(r)),
			fmt.Sprintf("[以上是模型写的摘要，原始长度: %d 字符 / %d 行。%s]", v.TotalChars, v.TotalLines, w.remedy(r)),
		)}
	}
	if v.Gaps[0].First == 0 {
		return []string{w.pick(
			fmt.Sprintf("[%s of %s characters left out by %s; \"…+n\" means n more items, keys or characters. %s]", thousands(chars), thousands(v.TotalChars), w.limit(v), w.remedy(r)),
			fmt.Sprintf("[截断了 %d 字符（%s），“…+n” 表示省略了 n 项、键或字符。结果已截断，原始长度: %d 字符。%s]", chars, w.limit(v), v.TotalChars, w.remedy(r)),
		), w.briefly(chars, v.TotalChars)}
	}
	if v.TotalEntries > 0 {
		return w.entries(r, chars, lines)
	}
	return []string{w.pick(
		fmt.Sprintf("[%s of %s characters (%s of %s lines) left out by %s. %s]", thousands(chars), thousands(v.TotalChars), thousands(lines), thousands(v.TotalLines), w.limit(v), w.remedy(r)),
		fmt.Sprintf("[截断了 %d 字符 / %d 行（%s）。结果已截断，原始长度: %d 字符 / %d 行。%s]", chars, lines, w.limit(v), v.TotalChars, v.TotalLines, w.remedy(r)),
	), w.briefly(chars, v.TotalChars)}
}

// entries returns the wordings of the notice of a result with entries.
func (w words) entries(r tool.Result, chars, lines int) []string {
	v := r.Shown
	first := "" // the entries shown are the first ones
	if len(v.Gaps) == 1 && v.Gaps[0].At == len(v.Text) {
		first = "前"
	}
	head := w.pick(
		fmt.Sprintf("[%s of %s results shown whole; %s of %s characters", thousands(v.ShownEntries), thousands(v.TotalEntries), thousands(chars), thousands(v.TotalChars)),
		fmt.Sprintf("[完整显示%s %d 个结果（结果已截断，共 %d 条结果）。截断了 %d 字符", first, v.ShownEntries, v.TotalEntries, chars))
	return []string{
		head + w.pick(
			fmt.Sprintf(" (%s of %s lines) left out by %s. %s]", thousands(lines), thousands(v.TotalLines), w.limit(v), w.remedy(r)),
			fmt.Sprintf(" / %d 行（%s），原始长度: %d 字符 / %d 行。%s]", lines, w.limit(v), v.TotalChars, v.TotalLines, w.remedy(r))),
		head + w.pick(
			fmt.Sprintf(" left out by %s. %s]", w.limit(v), w.remedy(r)),
			fmt.Sprintf("（%s），原始长度: %d 字符。%s]", w.limit(v), v.TotalChars, w.remedy(r))),
		head + w.pick(" left out]", fmt.Sprintf("，原始长度: %d 字符]", v.TotalChars)),
		w.briefly(chars, v.TotalChars),
	}
}

func (w words) pick(en, zh string) string {
	if w.zh() {
		return zh
	}
	return en
}

func (w words) briefly(missing, total int) string {
	return w.pick(
		fmt.Sprintf("[%s of %s characters left out]", thousands(missing), thousands(total)),
		fmt.Sprintf("[截断了 %d 字符，原始长度: %d 字符]", missing, total))
}

// limit names the layer that decided, and its limit.
func (w words) limit(v tool.View) string { return Name(v.By, v.Limit, v.Unit, tool.Locale(w)) }

// remedy states how to get the missing part, or that it is lost.
func (w words) remedy(r tool.Result) string {
	switch {
	case r.Ref != nil && r.Shown.TotalEntries > 0:
		return w.pick("The rest: ", "余下: ") + w.call(r) + w.pick(" or ", " 或 ") + w.grep(r.Shown)
	case r.Ref != nil:
		return w.pick("The whole: ", "全文: ") + w.call(r) + w.pick(" or ", " 或 ") + w.grep(r.Shown)
	case r.Unkept:
		return w.pick("The rest could not be kept and is gone; call the tool again for a smaller part.",
			"其余内容未能保存，已丢失；请再次调用该工具，请求更小的部分。")
	}
	return w.pick("The rest was not kept; call the tool again and ask for less.",
		"其余内容未保存；请再次调用该工具，请求更少的内容。")
}

// grep returns the argument that finds lines of the whole: those to keep that are
// left out, with their number, if there are any. longerRemedy reserves its room.
func (w words) grep(v tool.View) string {
	if v.LeftOut == 0 {
		return `grep="…"`
	}
	if v.Grep == "" {
		return `grep="…"` + w.pick(fmt.Sprintf(" (%s more lines to keep)", thousands(v.LeftOut)), fmt.Sprintf("（应保留的行还有 %d 行）", v.LeftOut))
	}
	quoted := string(quote(v.Grep))
	return w.pick(fmt.Sprintf("grep=%s for %s more lines to keep", quoted, thousands(v.LeftOut)), fmt.Sprintf("grep=%s 找出应保留的另外 %d 行", quoted, v.LeftOut))
}

// longerRemedy returns how many characters grep adds for an expression.
func longerRemedy(expr string) int { return runes(string(quote(expr))) + 40 }

// quote writes s as a JSON string that keeps <, > and &.
func quote(s string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s)
	return bytes.TrimSpace(b.Bytes())
}

// call returns the call of load_tool_history that loads the missing part: by
// lines; by characters if it is on one line; by pointer in JSON.
func (w words) call(r tool.Result) string {
	v := r.Shown
	sel := ""
	if len(v.Gaps) > 0 && !v.Summarized {
		first, last := v.Gaps[0], v.Gaps[len(v.Gaps)-1]
		switch {
		case first.First == 0:
			sel = `, pointer="/…"`
		case first.First == last.Last && (v.TotalEntries == 0 || !startsLine(v.Text, first.At)):
			sel = fmt.Sprintf(", offset=%d", runes(v.Text[:first.At]))
		default:
			sel = fmt.Sprintf(`, lines="%d-%d"`, first.First, last.Last)
		}
	}
	return fmt.Sprintf(`load_tool_history(uuid="%s"%s)`, r.Ref.UUID, sel)
}

// startsLine reports whether a line of text begins at byte at.
func startsLine(text string, at int) bool { return at == 0 || text[at-1] == '\n' }

// marker returns the marker of a further gap. cutter.marker reserves its room.
func (w words) marker(g tool.Gap) string {
	if g.First == g.Last {
		return w.pick(fmt.Sprintf("[… line %d]", g.First), fmt.Sprintf("[… 第 %d 行]", g.First))
	}
	return w.pick(fmt.Sprintf("[… lines %d-%d]", g.First, g.Last), fmt.Sprintf("[… 第 %d-%d 行]", g.First, g.Last))
}

// times returns the line after the first of n identical kept lines.
// countSize reserves its room.
func times(n int) string { return fmt.Sprintf("[… ×%d]", n) }

// countSize returns the size of times with its newlines.
func countSize(n int) (chars, lines int) { return 7 + digits(n), 1 }

// load returns the notice of a load that shows shown characters from offset on,
// with the call that continues.
func (w words) load(r tool.Result, offset, shown int) string {
	next := offset + shown
	call := fmt.Sprintf(`load_tool_history(uuid="%s"%s, offset=%d)`, r.Load.UUID, arguments(r.Load.Args, "uuid", "offset"), next)
	return w.pick(
		fmt.Sprintf("[Characters %s to %s of %s. To go on: %s]", thousands(offset+min(shown, 1)), thousands(next), thousands(r.Load.Chars), call),
		fmt.Sprintf("[第 %d 至 %d 字符，共 %d 字符。继续: %s]", offset+min(shown, 1), next, r.Load.Chars, call))
}

func (w words) loadBriefly(next int) string {
	return w.pick(fmt.Sprintf("[To go on: the same call with offset=%d]", next),
		fmt.Sprintf("[继续: 同一调用加 offset=%d]", next))
}

// failure returns the error of r on one line, or "" if r did not fail.
func (w words) failure(r tool.Result) string {
	if r.Err == nil {
		return ""
	}
	s := w.pick("Error", "错误") + " (" + string(r.Err.Code) + "):"
	if !r.Err.InText || r.Shown.Summarized || r.Whole() == "" {
		s += " " + oneLine(r.Err.Msg)
	}
	if r.Err.Hint != "" {
		s = w.stop(s) + w.pick(" Hint: ", " 提示: ") + oneLine(r.Err.Hint)
	}
	return s
}

// stop adds a full stop to s unless it ends in punctuation.
func (w words) stop(s string) string {
	s = strings.TrimRight(s, " ")
	if last, _ := utf8.DecodeLastRuneInString(s); strings.ContainsRune(".!?:;…。！？：；", last) {
		return s
	}
	return s + w.pick(".", "。")
}

// head returns the lines before the text: the failure, the host's note, and the
// reference to an identical earlier result.
func (w words) head(r tool.Result) string {
	lines := []string{w.failure(r), clip(Neutralise(strings.Join(strings.Fields(r.Note), " ")), maxNote), w.same(r)}
	return strings.Join(slices.DeleteFunc(lines, func(s string) bool { return s == "" }), "\n")
}

// same names the earlier call with the identical result. It returns "" if there
// is none, or if a summary is shown.
func (w words) same(r tool.Result) string {
	if r.Ref == nil || !r.Ref.Again || r.Shown.Summarized {
		return ""
	}
	at := r.Ref.CreatedAt.Format(time.DateTime)
	return w.pick(
		fmt.Sprintf("[Identical to the result of %s (uuid %s)]", at, r.Ref.UUID),
		fmt.Sprintf("[结果相同: 与 %s 的结果一致（uuid %s）]", at, r.Ref.UUID))
}

// repeat replaces a result that is already in the context of the model.
func (w words) repeat(r tool.Result) string {
	at := r.Ref.CreatedAt.Format(time.DateTime)
	return w.pick(
		fmt.Sprintf(`[Identical to the result of %s (uuid %s), shown above. To read it again: load_tool_history(uuid="%s")]`, at, r.Ref.UUID, r.Ref.UUID),
		fmt.Sprintf(`[结果相同: 与上文 %s 的结果一致（uuid %s）。再次读取: load_tool_history(uuid="%s")]`, at, r.Ref.UUID, r.Ref.UUID))
}

// claim returns the tool's statement that there is more, or "" without one. The
// text names the tool as its source, because weir cannot check it. less says that a
// part of what the tool counted is left out: its next part then does not follow
// directly after what is shown.
func (w words) claim(r tool.Result, less bool) string {
	m := r.More
	if m == nil {
		return ""
	}
	how := w.pick("Ask it for the next part, or for less.", "可请求下一部分或更少内容。")
	if args := arguments(m.Args); args != "" {
		how = w.pick("To go on: ", "继续: ") + clip(Neutralise(r.Tool+"(…"+args+")"), maxClaim)
	}
	if less {
		total, totalZh := "", ""
		if m.Total > 0 {
			total, totalZh = " of "+thousands(m.Total), fmt.Sprintf("，共 %d 项", m.Total)
		}
		return w.pick(
			fmt.Sprintf("[The tool says: its whole text has %s%s, and a part of that is left out here. After the whole: %s]", thousands(m.Shown), total, strings.TrimPrefix(how, "To go on: ")),
			fmt.Sprintf("[工具说明: 完整结果含 %d 项%s，此处省略了其中一部分。读完整结果之后: %s]", m.Shown, totalZh, strings.TrimPrefix(how, "继续: ")))
	}
	if m.Total <= 0 {
		return w.pick(
			fmt.Sprintf("[The tool says: %s shown, and there is more. %s]", thousands(m.Shown), how),
			fmt.Sprintf("[工具说明: 已显示 %d 项，还有更多。%s]", m.Shown, how))
	}
	return w.pick(
		fmt.Sprintf("[The tool says: %s of %s shown. %s]", thousands(m.Shown), thousands(m.Total), how),
		fmt.Sprintf("[工具说明: 已显示 %d 项，共 %d 项。%s]", m.Shown, m.Total, how))
}

// oneLine returns a text of a tool for use inside one of our lines: neutralised,
// without newlines, at most maxClaim characters.
func oneLine(s string) string {
	s = Neutralise(strings.Join(strings.Fields(s), " "))
	return clip(s, maxClaim)
}

// arguments writes a JSON object as the arguments of a call, in their order, each
// after a comma. It returns "" if the object is invalid, empty or too long.
func arguments(object json.RawMessage, but ...string) string {
	var compact bytes.Buffer
	var fields map[string]json.RawMessage
	if json.Compact(&compact, object) != nil || json.Unmarshal(compact.Bytes(), &fields) != nil {
		return ""
	}
	var b strings.Builder
	for _, key := range keysInOrder(object) {
		if !slices.Contains(but, key) {
			fmt.Fprintf(&b, ", %s=%s", key, fields[key])
		}
	}
	if b.Len() > maxClaim {
		return ""
	}
	return b.String()
}

// keysInOrder returns the keys of a valid JSON object in their order.
func keysInOrder(object json.RawMessage) []string {
	d := json.NewDecoder(strings.NewReader(string(object)))
	_, err := d.Token()
	var keys []string
	for err == nil && d.More() {
		var key json.Token
		if key, err = d.Token(); err != nil {
			break
		}
		keys = append(keys, fmt.Sprint(key))
		var skip json.RawMessage
		err = d.Decode(&skip)
	}
	return keys
}

// thousands formats n with commas, as in 28,110.
func thousands(n int) string {
	s := strconv.Itoa(n)
	start := 0
	if n < 0 {
		start = 1
	}
	for i := len(s) - 3; i > start; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// The rest of this file recognises the sentences that the functions above write,
// and the placeholders of the agent. Neutralise changes them in the text of tools,
// because only weir may write them. For a new sentence above, add its beginning
// here.

// IsNotice reports whether a line is a notice, marker or claim of Render, in any
// language. Neutralised text of a tool contains none.
func IsNotice(line string) bool {
	return strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]") && isNotice(line[1:])
}

// HasMark reports whether a text contains the beginning of a placeholder or of a
// notice about cut text, in any language.
func HasMark(text string) bool {
	for range Marks(text) {
		return true
	}
	return false
}

// maxMark bounds the line of a notice, in bytes: a notice may quote arguments of maxClaim
// characters.
const maxMark = 4096

// Marks yields each placeholder and each notice about cut text in a text, from its
// bracket to the end of its line.
func Marks(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := strings.IndexByte(text, '['); i >= 0; i = strings.IndexByte(text, '[') {
			text = text[i+1:]
			line := strings.TrimLeft(text, " \t\r\n")
			line, _, _ = strings.Cut(line[:min(len(line), maxMark)], "\n")
			if isMark(line) && !yield(line) {
				return
			}
		}
	}
}

// isMark reports whether s, after a "[", continues as a placeholder or as a notice
// with certainty: it compares whole phrases, not only their beginnings.
func isMark(s string) bool {
	for _, p := range []string{"tool result archived", "工具结果存档"} {
		if after, ok := cutFold(s, p); ok {
			after = strings.TrimLeft(after, " \t\r\n")
			return strings.HasPrefix(after, ":") || strings.HasPrefix(after, "：")
		}
	}
	for _, p := range []string{"a summary by a model of", "以上是模型写的摘要", "identical to the result of", "结果相同: 与"} {
		if hasFold(s, p) {
			return true
		}
	}
	line, _, _ := strings.Cut(s, "]")
	switch {
	case isAmount(s, " of "):
		return strings.Contains(strings.ToLower(line), " characters") && strings.Contains(strings.ToLower(line), "left out")
	case hasFold(s, "characters "):
		return isAmount(s[len("characters "):], " to ")
	case strings.HasPrefix(s, "第 "):
		return strings.Contains(line, "字符，共")
	case strings.HasPrefix(s, "完整显示"):
		return strings.Contains(line, "结果已截断，共 ")
	}
	for _, p := range []string{"结果已截断", "截断了", "截断"} {
		if after, ok := strings.CutPrefix(s, p); ok {
			after = strings.TrimLeft(after, " ")
			return strings.HasPrefix(strings.TrimLeft(after, "0123456789"), " 字符") && after != "" && after[0] >= '0' && after[0] <= '9'
		}
	}
	return false
}

// isPlaceholder reports whether s, after a "[", continues as a placeholder.
func isPlaceholder(s string) bool {
	return hasFold(s, "tool result archived") || strings.HasPrefix(s, "工具结果存档") || strings.HasPrefix(s, "存档:")
}

// isNotice reports whether s, after a "[", continues like a sentence of Render.
func isNotice(s string) bool {
	for _, p := range []string{"截断了", "结果已截断", "完整显示", "以上是模型写的摘要", "工具说明:", "继续: 同一调用", "… 第 ", "… ×", "结果相同: 与"} {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	for _, p := range []string{"the tool says:", "a summary by a model of", "to go on: the same call", "… line", "identical to the result of"} {
		if hasFold(s, p) {
			return true
		}
	}
	if after, ok := cutFold(s, "characters "); ok {
		return isAmount(after, " to ")
	}
	return isAmount(s, " of ") || strings.HasPrefix(s, "第 ") && strings.Contains(s[:min(len(s), 64)], "字符，共")
}

// isAmount reports whether s begins with a number, then word, then a number, as
// in "28,110 of 35,870 characters".
func isAmount(s, word string) bool {
	n := strings.TrimLeft(s, "0123456789,")
	after, ok := cutFold(n, word)
	if !ok || len(n) == len(s) {
		return false
	}
	rest := strings.TrimLeft(after, "0123456789,")
	return len(rest) < len(after) && (hasFold(rest, " characters") || hasFold(rest, " lines") || hasFold(rest, " results") || hasFold(rest, " of "))
}

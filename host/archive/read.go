package archive

import (
	"context"
	"errors"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/weirhost/weir/sdk/tool"
)

// Peek returns a part of an archived whole, for people to read. Its errors are
// those of Get, and a *tool.Error with code bad_args for a part that does not
// exist. It counts no load: those tell what models had to load back.
func (s *Store) Peek(ctx context.Context, sc Scope, uuid string, p Part) (Page, error) {
	e, err := s.Get(ctx, sc, uuid)
	full := e.Full
	e.Full = ""
	if err != nil {
		return Page{Entry: e}, err
	}
	page, bad := cutPart(full, p)
	if bad != nil {
		return Page{}, bad
	}
	page.Entry = e
	return page, nil
}

// Read is Peek for a model: it counts a load, unless it fails. A load that
// cannot be counted, because the disk is full, is still answered.
func (s *Store) Read(ctx context.Context, sc Scope, uuid string, p Part) (Page, error) {
	page, err := s.Peek(ctx, sc, uuid, p)
	if err != nil {
		return page, err
	}
	now := stored(s.now())
	if err := s.commit(ctx, 0, func(b *batch) error {
		return b.exec(countLoad, now.UnixMilli(), uuid, sc.Principal, sc.Conversation, s.cfg().UserScope || sc.Everywhere)
	}); err != nil {
		s.log.Warn("a load was not counted", "uuid", uuid, "error", err)
	} else {
		page.Entry.Loads, page.Entry.LastLoad = page.Entry.Loads+1, now
	}
	return page, nil
}

// cutPart selects from text. The selected text is a run of the whole, byte for
// byte, but for three cases: grep puts line numbers in front (12: for a match,
// 11- for context) and -- between groups, head with tail puts -- between the
// two, and a pointer at a JSON string is that string's text.
func cutPart(text string, p Part) (Page, *tool.Error) {
	if err := p.check(); err != nil {
		return Page{}, err
	}
	l := language(p.Locale)
	var page Page
	var err *tool.Error
	switch {
	case p.First != 0 || p.Last != 0:
		text, err = l.pickLines(text, max(p.First, 1), p.Last)
	case p.Grep != "":
		text, page.Matches, err = l.grep(text, p.Grep, p.Context)
	case p.Pointer != "":
		text, err = l.pick(text, p.Pointer)
	}
	if err != nil {
		return Page{}, err
	}
	text = ends(text, p.Head, p.Tail)
	page.Chars = utf8.RuneCountInString(text)
	if p.Offset > page.Chars {
		return Page{}, tool.Errorf(tool.BadArgs, l.say("give a smaller offset", "请给出更小的 offset"),
			l.say("the selected part has %d characters; offset %d lies behind them", "所选部分共 %d 字符；offset %d 已超出"), page.Chars, p.Offset)
	}
	page.Text = skipChars(text, p.Offset)
	return page, nil
}

// pickLines returns lines first to last, with their line ends; last 0: to the end.
func (l language) pickLines(text string, first, last int) (string, *tool.Error) {
	start := lineStart(text, first)
	if start == len(text) && (first > 1 || text == "") {
		total := countLines(text)
		return "", tool.Errorf(tool.BadArgs, l.say("ask for lines up to ", "可请求的最大行号：")+strconv.Itoa(total),
			l.say("the result has %d lines; line %d does not exist", "该结果共 %d 行；第 %d 行不存在"), total, first)
	}
	if last == 0 {
		return text[start:], nil
	}
	return text[start : start+lineStart(text[start:], last-first+2)], nil
}

// lineStart returns where line n begins, counted from 1, or the text's end.
func lineStart(text string, n int) int {
	at := 0
	for range n - 1 {
		i := strings.IndexByte(text[at:], '\n')
		if i < 0 {
			return len(text)
		}
		at += i + 1
	}
	return at
}

// grep returns the matching lines with their numbers and context lines around.
func (l language) grep(text, expr string, context int) (string, int, *tool.Error) {
	re, err := regexp.Compile(expr)
	if err != nil {
		return "", 0, tool.Errorf(tool.BadArgs, l.say(`write an RE2 expression; escape . ( [ * + ? with \; (?i) ignores case`,
			`请写 RE2 正则表达式；. ( [ * + ? 需用 \ 转义；(?i) 表示忽略大小写`), l.say("grep cannot be read: %s", "grep 无法解析：%s"), l.complaint(err))
	}
	lines := splitLines(text)
	var hits []int
	for i, line := range lines {
		if re.MatchString(line) {
			hits = append(hits, i)
		}
	}
	var b strings.Builder
	written := 0 // lines before this one are out
	for k, hit := range hits {
		from, to := max(hit-min(context, hit), written), min(hit+min(context, len(lines)), len(lines)-1)
		if k+1 < len(hits) {
			to = min(to, hits[k+1]-1) // the next hit writes itself as a match
		}
		if written > 0 && from > written {
			b.WriteString("--\n")
		}
		for i := from; i <= to; i++ {
			b.WriteString(strconv.Itoa(i + 1))
			if i == hit {
				b.WriteByte(':')
			} else {
				b.WriteByte('-')
			}
			b.WriteString(lines[i])
			b.WriteByte('\n')
		}
		written = to + 1
	}
	return b.String(), len(hits), nil
}

// complaint is what regexp says, without the package's own words around it.
func (l language) complaint(err error) string {
	bad, ok := errors.AsType[*syntax.Error](err)
	if !ok || tool.Locale(l) != tool.Zh {
		return strings.TrimPrefix(err.Error(), "error parsing regexp: ")
	}
	what, ok := map[syntax.ErrorCode]string{
		syntax.ErrInvalidCharClass:      "字符类无效",
		syntax.ErrInvalidCharRange:      "字符范围无效",
		syntax.ErrInvalidEscape:         "转义序列无效",
		syntax.ErrInvalidNamedCapture:   "命名分组无效",
		syntax.ErrInvalidPerlOp:         "不支持该 Perl 语法",
		syntax.ErrInvalidRepeatOp:       "重复运算符叠用",
		syntax.ErrInvalidRepeatSize:     "重复次数无效",
		syntax.ErrInvalidUTF8:           "不是有效的 UTF-8",
		syntax.ErrMissingBracket:        "缺少 ]",
		syntax.ErrMissingParen:          "缺少 )",
		syntax.ErrMissingRepeatArgument: "重复运算符前没有内容",
		syntax.ErrTrailingBackslash:     "末尾有多余的 \\",
		syntax.ErrUnexpectedParen:       "多余的 )",
		syntax.ErrNestingDepth:          "嵌套过深",
		syntax.ErrLarge:                 "表达式过大",
	}[bad.Code]
	if !ok {
		what = "表达式无效"
	}
	return what + "：`" + bad.Expr + "`"
}

// splitLines returns the lines without their ends.
func splitLines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// ends returns the first head and the last tail lines; 0 and 0: everything.
func ends(text string, head, tail int) string {
	if head == 0 && tail == 0 {
		return text
	}
	total := countLines(text)
	if head >= total || tail >= total-head {
		return text
	}
	first, last := text[:lineStart(text, head+1)], text[lineStart(text, total-tail+1):]
	switch {
	case tail == 0:
		return first
	case head == 0:
		return last
	}
	return first + "--\n" + last
}

// skipChars leaves out the first n characters.
func skipChars(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[i:]
		}
		n--
	}
	return ""
}

package main

import (
	"errors"
	"path"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/weirhost/weir/sdk/guest"
	"github.com/weirhost/weir/sdk/tool"
)

const maxPattern = 1000 // bytes

// compile reads an RE2 expression and rewrites it so that it can run over a
// whole file and still mean what it means line by line: nothing matches a
// newline, and the text's ends are a line's ends. That keeps the search linear
// where trying each line, or checking each match, would not be.
func compile(pattern string, ignoreCase bool) (*regexp.Regexp, error) {
	if pattern == "" || len(pattern) > maxPattern {
		return nil, guest.Errorf(tool.BadArgs, "Give an RE2 expression, for example \"func .*Open\".",
			"Argument \"pattern\" must have 1 to %d bytes; it has %d.", maxPattern, len(pattern)).
			Zh("请给出 RE2 表达式，例如 \"func .*Open\"。", "参数 \"pattern\" 须有 1 到 %d 字节，现有 %d 字节。")
	}
	flags := syntax.Perl &^ (syntax.ClassNL | syntax.OneLine)
	if ignoreCase {
		flags |= syntax.FoldCase
	}
	parsed, err := syntax.Parse(pattern, flags)
	if err == nil {
		byLine(parsed)
		var re *regexp.Regexp
		if re, err = regexp.Compile(parsed.String()); err == nil {
			return re, nil
		}
	}
	reason := err.Error()
	if e, ok := errors.AsType[*syntax.Error](err); ok {
		reason = e.Code.String() + ": " + e.Expr
	}
	return nil, guest.Errorf(tool.BadArgs,
		`The syntax is RE2: no look-around, no back-references; write \( for a plain bracket.`,
		"The pattern is not a valid expression (%s).", reason).Zh("语法是 RE2：没有环视和反向引用；普通括号写作 \\(。", "该表达式无效（%s）。")
}

// byLine removes every way in which an expression could match a newline.
func byLine(re *syntax.Regexp) {
	switch re.Op {
	case syntax.OpAnyChar:
		re.Op = syntax.OpAnyCharNotNL
	case syntax.OpBeginText:
		re.Op = syntax.OpBeginLine
	case syntax.OpEndText:
		re.Op, re.Flags = syntax.OpEndLine, re.Flags&^syntax.WasDollar
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			if r == '\n' {
				re.Op, re.Rune = syntax.OpNoMatch, nil
				break
			}
		}
	case syntax.OpCharClass:
		re.Rune = withoutNewline(re.Rune)
	}
	for _, sub := range re.Sub {
		byLine(sub)
	}
}

// withoutNewline splits the range that holds the newline, if one does.
func withoutNewline(ranges []rune) []rune {
	var out []rune
	for i := 0; i < len(ranges); i += 2 {
		lo, hi := ranges[i], ranges[i+1]
		if lo > '\n' || hi < '\n' {
			out = append(out, lo, hi)
			continue
		}
		if lo < '\n' {
			out = append(out, lo, '\n'-1)
		}
		if hi > '\n' {
			out = append(out, '\n'+1, hi)
		}
	}
	return out
}

// glob chooses files by name. One without a slash is for the last element.
type glob struct{ re *regexp.Regexp }

// newGlob reads *, ?, [a-z], {a,b} and ** for any number of folders; empty
// matches everything.
func newGlob(pattern string) (glob, error) {
	if pattern == "" {
		return glob{}, nil
	}
	if len(pattern) > maxPattern {
		return glob{}, guest.Errorf(tool.BadArgs, "Write for example \"*.go\".", "Argument \"glob\" is too long.").
			Zh("请写成例如 \"*.go\"。", "参数 \"glob\" 太长。")
	}
	if !strings.Contains(pattern, "/") {
		pattern = "**/" + pattern
	}
	re, err := regexp.Compile("^" + globExpr(strings.TrimPrefix(pattern, "./")) + "$")
	if err != nil {
		return glob{}, guest.Errorf(tool.BadArgs, "Write for example \"*.go\" or \"docs/**/*.md\".",
			"Argument \"glob\" is not a valid file pattern.").Zh("请写成例如 \"*.go\" 或 \"docs/**/*.md\"。", "参数 \"glob\" 不是有效的文件模式。")
	}
	return glob{re}, nil
}

func globExpr(p string) string {
	var b strings.Builder
	depth := 0
	for i := 0; i < len(p); i++ {
		switch c := p[i]; {
		case strings.HasPrefix(p[i:], "**/"):
			b.WriteString("(?:.*/)?")
			i += 2
		case strings.HasPrefix(p[i:], "**"):
			b.WriteString(".*")
			i++
		case c == '*':
			b.WriteString("[^/]*")
		case c == '?':
			b.WriteString("[^/]")
		case c == '{':
			b.WriteString("(?:")
			depth++
		case c == '}' && depth > 0:
			b.WriteString(")")
			depth--
		case c == ',' && depth > 0:
			b.WriteString("|")
		case c == '[' && strings.IndexByte(p[i:], ']') > 1:
			end := i + strings.IndexByte(p[i:], ']')
			class := strings.ReplaceAll(p[i+1:end], `\`, `\\`)
			if class[0] == '!' {
				class = "^" + class[1:]
			}
			b.WriteString("[" + class + "]")
			i = end
		default:
			b.WriteString(regexp.QuoteMeta(p[i : i+1]))
		}
	}
	return b.String()
}

// match reports whether a file is chosen; a glob with a slash may be relative
// to the start folder or to the workspace.
func (g glob) match(start, name string) bool {
	if g.re == nil || g.re.MatchString(name) {
		return true
	}
	inside, ok := strings.CutPrefix(name, path.Clean(start)+"/")
	return ok && g.re.MatchString(inside)
}

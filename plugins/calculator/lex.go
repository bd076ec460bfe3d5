package main

import (
	"strings"
	"unicode"

	"github.com/weirhost/weir/sdk/guest"
	"github.com/weirhost/weir/sdk/tool"
)

// kind is what a token is.
type kind int

const (
	end kind = iota
	number
	name
	operator // text is one of + - * / // % ^ ! ( ) , ° √
)

type token struct {
	kind kind
	text string
	at   int // the character it begins at, from 1
}

// plain replaces the ways of writing arithmetic that people and models use by
// one: full-width forms, typographic signs, powers written small.
func plain(r rune) string {
	switch r {
	case '×', '·', '⋅', '∙', '✕':
		return "*"
	case '÷', '∕', '⁄':
		return "/"
	case '−', '–', '—', '﹣':
		return "-"
	case '²':
		return "^2"
	case '³':
		return "^3"
	case '、':
		return ","
	case 'π':
		return " pi "
	case '【', '〔', '[', '{':
		return "("
	case '】', '〕', ']', '}':
		return ")"
	case '\u3000':
		return " "
	}
	if r >= '！' && r <= '～' {
		return plain(r - '！' + '!')
	}
	return string(r)
}

// lex splits an expression into tokens, the last of kind end. A trailing "="
// is dropped: "1+1=" asks for the same as "1+1".
func lex(expr string) ([]token, error) {
	var src []rune
	var at []int
	for i, r := range []rune(expr) {
		for _, p := range plain(r) {
			src, at = append(src, unicode.ToLower(p)), append(at, i+1)
		}
	}
	for len(src) > 0 && strings.ContainsRune("=? \t\n", src[len(src)-1]) {
		src = src[:len(src)-1]
	}
	var tokens []token
	calls := &brackets{}
	for i := 0; i < len(src); {
		n, k := scan(src[i:], calls.inCall())
		switch {
		case n == 0:
			return nil, guest.Errorf(tool.BadArgs, "Use numbers, + - * / % ^ !, brackets and functions.",
				"The character %q at position %d means nothing here.", []rune(expr)[at[i]-1], at[i]).
				Zh("请使用数字、+ - * / % ^ !、括号和函数。", "第 %[2]d 位的字符 %[1]q 在这里没有意义。")
		case k != end:
			t := token{k, string(src[i : i+n]), at[i]}
			if t.text == "x" {
				t.text = "*"
			}
			calls.see(t)
			tokens = append(tokens, t)
		}
		i += n
	}
	return append(tokens, token{end, "", len([]rune(expr)) + 1}), nil
}

// brackets knows whether the innermost open bracket belongs to a function: a
// comma parts arguments there and thousands elsewhere.
type brackets struct {
	open []bool
	last token
}

func (b *brackets) see(t token) {
	switch {
	case t.text == "(":
		b.open = append(b.open, b.last.kind == name)
	case t.text == ")" && len(b.open) > 0:
		b.open = b.open[:len(b.open)-1]
	}
	b.last = t
}

func (b *brackets) inCall() bool { return len(b.open) > 0 && b.open[len(b.open)-1] }

// scan measures the token at the beginning of src; 0: there is none. White
// space has kind end.
func scan(src []rune, inCall bool) (int, kind) {
	switch r := src[0]; {
	case unicode.IsSpace(r):
		return 1, end
	case isDigit(r) || r == '.' && len(src) > 1 && isDigit(src[1]):
		return scanNumber(src, inCall), number
	case r == '√':
		return 1, operator
	case unicode.IsLetter(r):
		n := 1
		for n < len(src) && (unicode.IsLetter(src[n]) || isDigit(src[n]) || src[n] == '_') {
			n++
		}
		if n == 1 && r == 'x' {
			return n, operator // 3 x 4
		}
		return n, name
	case (r == '*' || r == '/') && len(src) > 1 && src[1] == r:
		return 2, operator
	case strings.ContainsRune("+-*/%^!(),°", r):
		return 1, operator
	}
	return 0, end
}

// scanNumber reads 12, 1_000, 1,000 (outside a call), 0x1f, 0b101, 1.5 and 2e-3.
func scanNumber(src []rune, inCall bool) int {
	if len(src) > 2 && src[0] == '0' && (src[1] == 'x' || src[1] == 'b' || src[1] == 'o') && isHex(src[2]) {
		n := 2
		for n < len(src) && isHex(src[n]) {
			n++
		}
		return n
	}
	n := digits(src, 0)
	for !inCall && n <= len(src)-4 && src[n] == ',' && digits(src, n+1) == n+4 {
		n += 4
	}
	if n < len(src) && src[n] == '.' {
		n = digits(src, n+1)
	}
	if n < len(src)-1 && src[n] == 'e' {
		exp := n + 1
		if exp < len(src)-1 && (src[exp] == '+' || src[exp] == '-') {
			exp++
		}
		if isDigit(src[exp]) {
			n = digits(src, exp)
		}
	}
	return n
}

// digits gives the end of the run of digits and underscores from i on.
func digits(src []rune, i int) int {
	for i < len(src) && (isDigit(src[i]) || src[i] == '_' && i > 0 && isDigit(src[i-1])) {
		i++
	}
	return i
}

func isDigit(r rune) bool { return r >= '0' && r <= '9' }
func isHex(r rune) bool   { return isDigit(r) || r >= 'a' && r <= 'f' }

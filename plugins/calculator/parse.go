package main

import (
	"math/big"
	"strconv"
	"strings"

	"github.com/weirhost/weir/sdk/guest"
	"github.com/weirhost/weir/sdk/tool"
)

const maxNesting = 200 // brackets, signs and powers inside each other

// eval computes an expression. The grammar, from loose to tight:
//
//	sum     = product { ("+" | "-") product }
//	product = unary { ("*" | "/" | "//" | "%" | "mod" | "of" | nothing before a bracket or name) unary }
//	unary   = ("+" | "-" | "√") unary | power
//	power   = postfix [ ("^" | "**") unary ]
//	postfix = atom { "!" | "%" | "°" }
//	atom    = number | constant | function "(" sum { "," sum } ")" | "(" sum ")"
//
// "%" is modulo when an operand follows and percent otherwise.
func eval(expr string) (value, error) {
	tokens, err := lex(expr)
	if err != nil {
		return value{}, err
	}
	p := &parser{tokens: tokens}
	v, err := p.sum()
	if err == nil && p.peek().kind != end {
		err = p.unexpected()
	}
	return v, err
}

type parser struct {
	tokens []token
	depth  int
}

func (p *parser) peek() token { return p.tokens[0] }

func (p *parser) next() token {
	t := p.tokens[0]
	if t.kind != end {
		p.tokens = p.tokens[1:]
	}
	return t
}

// take consumes the next token if it is this operator or word.
func (p *parser) take(texts ...string) (string, bool) {
	t := p.peek()
	if t.kind == number {
		return "", false
	}
	for _, s := range texts {
		if t.text == s {
			p.next()
			return s, true
		}
	}
	return "", false
}

func (p *parser) unexpected() error {
	t := p.peek()
	if t.kind == end {
		return guest.Errorf(tool.BadArgs, "Finish it, for example by closing a bracket.", "The expression ends too early.").
			Zh("请写完整，例如补上括号。", "表达式不完整。")
	}
	return guest.Errorf(tool.BadArgs, "Write one expression, for example \"(3 + 4) * 2\".",
		"%q at position %d is not expected there.", t.text, t.at).Zh("请写一个表达式，例如 \"(3 + 4) * 2\"。", "第 %[2]d 位不应出现 %[1]q。")
}

func (p *parser) sum() (value, error) {
	if p.depth++; p.depth > maxNesting {
		return value{}, guest.Errorf(tool.BadArgs, "Compute it in parts.", "The expression is nested more than %d deep.", maxNesting).
			Zh("请分几步计算。", "表达式的嵌套超过 %d 层。")
	}
	defer func() { p.depth-- }()
	left, err := p.product()
	for err == nil {
		op, ok := p.take("+", "-")
		if !ok {
			return left, nil
		}
		var right value
		if right, err = p.product(); err == nil {
			if op == "-" {
				right = right.neg()
			}
			left, err = add(left, right)
		}
	}
	return value{}, err
}

func (p *parser) product() (value, error) {
	left, err := p.unary()
	for err == nil {
		op, ok := p.take("*", "/", "//", "%", "mod", "of")
		if t := p.peek(); !ok && (t.text == "(" || t.kind == name || t.text == "√") {
			op, ok = "*", true // 2pi, 3(4+5)
		}
		if !ok {
			return left, nil
		}
		var right value
		if right, err = p.unary(); err == nil {
			left, err = multiply(op, left, right)
		}
	}
	return value{}, err
}

func multiply(op string, a, b value) (value, error) {
	switch op {
	case "/":
		return div(a, b)
	case "//":
		q, err := div(a, b)
		if err != nil {
			return q, err
		}
		return floor(q)
	case "%", "mod":
		return mod(a, b)
	}
	return mul(a, b)
}

func (p *parser) unary() (value, error) {
	if p.depth++; p.depth > maxNesting {
		return value{}, guest.Errorf(tool.BadArgs, "Compute it in parts.", "The expression is nested more than %d deep.", maxNesting).
			Zh("请分几步计算。", "表达式的嵌套超过 %d 层。")
	}
	defer func() { p.depth-- }()
	op, ok := p.take("+", "-", "√")
	if !ok {
		return p.power()
	}
	v, err := p.unary()
	switch {
	case err != nil || op == "+":
		return v, err
	case op == "√":
		return sqrt(v)
	}
	return v.neg(), nil
}

func (p *parser) power() (value, error) {
	base, err := p.postfix()
	if err != nil {
		return value{}, err
	}
	if _, ok := p.take("^", "**"); !ok {
		return base, nil
	}
	exponent, err := p.unary() // right to left, and 2^-3 is a power
	if err != nil {
		return value{}, err
	}
	return pow(base, exponent)
}

func (p *parser) postfix() (value, error) {
	v, err := p.atom()
	for err == nil {
		switch {
		case p.peek().text == "!":
			p.next()
			v, err = factorial(v)
		case p.peek().text == "%" && !p.operandAfter():
			p.next()
			v, err = div(v, whole(100))
		case p.peek().text == "°":
			p.next()
			v, err = radians(v)
		default:
			return v, nil
		}
	}
	return value{}, err
}

// operandAfter reports whether the token after the next one begins an
// operand; a sign does not: 50% - 10% is a difference of percentages.
func (p *parser) operandAfter() bool {
	t := p.tokens[1]
	return t.kind == number || t.text == "(" || t.text == "√" || t.kind == name && t.text != "of" && t.text != "mod"
}

func (p *parser) atom() (value, error) {
	switch t := p.peek(); {
	case t.kind == number:
		p.next()
		return parseNumber(t)
	case t.kind == name:
		p.next()
		return p.named(t)
	}
	if _, ok := p.take("("); !ok {
		return value{}, p.unexpected()
	}
	v, err := p.sum()
	if err != nil {
		return value{}, err
	}
	if _, ok := p.take(")"); !ok {
		return value{}, p.unexpected()
	}
	return v, nil
}

// named is a constant or the call of a function.
func (p *parser) named(t token) (value, error) {
	f, known := lookup(t.text)
	if !known {
		return value{}, guest.Errorf(tool.BadArgs, "Known are: "+knownNames()+".", "%q at position %d is not known.", t.text, t.at).
			Zh("可用的有："+knownNames()+"。", "第 %[2]d 位的 %[1]q 无法识别。")
	}
	if f.max == 0 {
		return f.call(nil)
	}
	if _, ok := p.take("("); !ok {
		return value{}, guest.Errorf(tool.BadArgs, "Write "+t.text+"(…).", "The function %q at position %d needs brackets.", t.text, t.at).
			Zh("请写成 "+t.text+"(…)。", "第 %[2]d 位的函数 %[1]q 需要括号。")
	}
	var args []value
	for {
		v, err := p.sum()
		if err != nil {
			return value{}, err
		}
		args = append(args, v)
		if _, more := p.take(","); !more {
			break
		}
	}
	if _, ok := p.take(")"); !ok {
		return value{}, p.unexpected()
	}
	if len(args) < f.min || len(args) > f.max {
		return value{}, guest.Errorf(tool.BadArgs, "Give "+f.arity().String()+".", "The function %q got %d arguments.", t.text, len(args)).
			Zh("请给出"+f.arity().In(tool.Zh)+"。", "函数 %q 得到 %d 个参数。")
	}
	return f.call(args)
}

func parseNumber(t token) (value, error) {
	text := strings.NewReplacer(",", "", "_", "").Replace(t.text)
	if len(text) > 2 && text[0] == '0' && strings.ContainsAny(text[1:2], "xbo") {
		if n, ok := new(big.Int).SetString(text, 0); ok {
			return exact(new(big.Rat).SetInt(n))
		}
		return value{}, guest.Errorf(tool.BadArgs, "", "%q at position %d is not a number.", t.text, t.at).
			Zh("", "第 %[2]d 位的 %[1]q 不是数字。")
	}
	if _, e, ok := strings.Cut(text, "e"); ok {
		if n, err := strconv.Atoi(e); err != nil || n > maxDigits || n < -maxDigits {
			return value{}, tooBig(tool.Text{Format: "The exponent of %q", Zh: "%q 的指数", Args: []any{t.text}})
		}
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return value{}, guest.Errorf(tool.BadArgs, "", "%q at position %d is not a number.", t.text, t.at).
			Zh("", "第 %[2]d 位的 %[1]q 不是数字。")
	}
	return exact(r)
}

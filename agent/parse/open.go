package parse

import (
	"bytes"
	"slices"
	"strings"
)

// open looks whether a call, a thought or a fence begins at i, and enters it.
// atLine says that only white space and decoration stands before i on its line.
func (p *parser) open(i int, atLine bool) status {
	b := p.buf
	switch c := b[i]; {
	case c == '<' || c == '[':
		tok, st := p.t.tokenAt(b, i, p.final)
		if st == done {
			return p.openToken(tok, i, atLine)
		}
		if st == more || c == '<' {
			return st
		}
		if st := p.openCalling(i); st != no {
			return st
		}
		return p.openBare(i, atLine)
	case c == '`':
		return p.openCode(i, atLine)
	case c == '{' || c == '(' || isQuote(c):
		return p.openBare(i, atLine)
	case isLetter(c):
		if atLine && p.start {
			if st := p.skipRole(i); st != no {
				return st
			}
		}
		if atLine {
			if st := p.openWord(i); st != no {
				return st
			}
		}
		return p.openBare(i, atLine)
	}
	return no
}

// openToken enters what a marker begins.
func (p *parser) openToken(tok token, i int, atLine bool) status {
	switch tok.role {
	case roleThink:
		if !atLine && !p.start {
			return no
		}
		p.enterThought(i, tok.end, false)
		return done
	case roleThinkEnd: // its opener was part of the prompt, or is lost
		p.flush(i)
		p.leaveThought(tok.end)
		return done
	case roleHarmony:
		return p.openHeader(tok, i)
	case roleOpen, roleInvoke:
		if i > 0 && i > p.out-lookback && isQuoted(p.before(i)) || !p.mayCall() {
			return no
		}
		if !p.beginGroup(i, i, tok.format) {
			return no
		}
		return done
	case roleJunk, roleClose:
		if p.start && tok.role == roleJunk {
			if slices.Contains(stopWords, tok.word) {
				p.drop(tok.end)
			}
			p.pos, p.mode = tok.end, inLine
			return done
		}
		if slices.Contains(stopWords, tok.word) {
			p.pos, p.mode, p.tail = tok.end, inTail, i
			return done
		}
	}
	return no
}

// isQuoted reports whether text ends with an opening quotation mark.
func isQuoted(text string) bool {
	text = strings.TrimRight(text, " ")
	for _, q := range []string{`"`, "'", "“", "‘", "「", "《", "`", "<code>", "<pre>", "<!--", "（例：", "（例如："} {
		if strings.HasSuffix(text, q) {
			return true
		}
	}
	return false
}

func (p *parser) enterThought(from, to int, harmony bool) {
	if !p.start {
		p.flush(from)
	}
	p.drop(to)
	p.mode, p.pos, p.harmony, p.drafted = inThought, to, harmony, -1
}

// leaveThought goes on behind a thought, as if the message began there.
func (p *parser) leaveThought(to int) {
	p.drop(to)
	p.mode, p.pos, p.drafted = inLine, to, -1
	p.start, p.prose, p.doc = p.last == nil, 0, false
}

// openCode enters a fence, or code inside a line.
func (p *parser) openCode(i int, atLine bool) status {
	b := p.buf
	n, open := tickRun(b, i)
	if open && !p.final {
		return more
	}
	if n >= 3 {
		return p.openFence(i, n, atLine)
	}
	if n == 1 && (atLine || i > 0 && p.mode == inText && isSpace(p.buf[i-1])) {
		if st := p.openBare(i, atLine); st != no {
			return st
		}
	}
	return no
}

var (
	callFences = []string{"tool_call", "tool_calls", "tool_code", "toolcall", "function_call", "function_calls", "tool_use", "tool", "function", "tools"}
	dataFences = []string{"", "json", "jsonc", "json5", "jsonl", "python", "py", "python3", "xml", "html", "javascript", "js", "text", "txt", "plaintext", "bash", "shell", "sh", "code"}
)

// openFence enters a fence: a group if what is in it may be a call, else a
// quotation.
func (p *parser) openFence(i, n int, atLine bool) status {
	body, info, st := fenceInfo(p.buf, i+n, p.final)
	if st == more {
		return more
	}
	if st == done && atLine || st == done && slices.Contains(callFences, info) {
		switch p.payloadAt(body, info) {
		case more:
			return more
		case done:
			if slices.Contains(callFences, info) {
				if p.mayCall() && p.beginMarked(i, i, FormatFence) {
					return done
				}
			} else if p.beginGroup(i, i, FormatFence) {
				return done
			}
		}
	}
	if !atLine {
		return no
	}
	p.mode, p.ticks, p.pos, p.midLine = inFence, n, i+n, true
	p.start = false
	return done
}

// fenceInfo reads the word behind a fence's backticks. The body begins on the
// next line or, where the word ends, on the same one.
func fenceInfo(b []byte, i int, final bool) (body int, info string, st status) {
	j := i
	for j < len(b) && j-i < 32 && (isNameByte(b[j]) || b[j] == '+') {
		j++
	}
	info = strings.ToLower(string(b[i:j]))
	k := j
	for k < len(b) && k-j < maxIndent && (b[k] == ' ' || b[k] == '\t' || b[k] == '\r') {
		k++
	}
	if k == len(b) {
		if final {
			return k, info, no
		}
		return k, info, more
	}
	if b[k] == '\n' {
		k++
	} else if b[k] != '[' && b[k] != '{' && b[k] != '<' {
		return k, info, no
	}
	if !slices.Contains(callFences, info) && !slices.Contains(dataFences, info) {
		return k, info, no
	}
	return k, info, done
}

// payloadAt reports whether the body of a fence may be a call.
func (p *parser) payloadAt(i int, info string) status {
	b := p.buf
	k := i
	for k < len(b) && k-i < 4*maxIndent && isSpace(b[k]) {
		k++
	}
	if k == len(b) {
		if p.final {
			return no
		}
		return more
	}
	if b[k] == '<' {
		tok, st := p.t.tokenAt(b, k, p.final)
		if st == done && tok.role != roleOpen && tok.role != roleInvoke {
			return no
		}
		return st
	}
	if slices.Contains(callFences, info) && b[k] == '{' {
		return done
	}
	if st, _ := p.probe(k, true); st != no {
		return st
	}
	return p.pythonAt(k)
}

// openBare enters a call without a marker, where the context allows one.
func (p *parser) openBare(i int, atLine bool) status {
	if p.cited {
		return no
	}
	st, format := p.probe(i, false)
	if st != done {
		return st
	}
	if !atLine && format != FormatPythonic && !(format == FormatJSON && p.labelled(i)) {
		return no
	}
	if !p.beginGroup(i, i, format) {
		return no
	}
	return done
}

// openWord enters the forms that a word at the start of a line announces.
func (p *parser) openWord(i int) status {
	rest := p.buf[i:min(len(p.buf), i+64)]
	for _, w := range []struct {
		word string
		open func(int) status
	}{{"functools", p.openFunctools}, {"commentary to=", p.openRecipient}, {"assistantcommentary to=", p.openRecipient}, {"to=functions.", p.openRecipient}} {
		if len(rest) < len(w.word) {
			if !p.final && strings.EqualFold(string(rest), w.word[:len(rest)]) {
				return more
			}
			continue
		}
		if strings.EqualFold(string(rest[:len(w.word)]), w.word) {
			return w.open(i)
		}
	}
	return p.openReAct(i)
}

// skipRole skips the role's name behind a special token that leaked.
func (p *parser) skipRole(i int) status {
	const word = "assistant"
	if i == 0 || p.buf[i-1] != '>' {
		return no
	}
	rest := p.buf[i:]
	if len(rest) <= len(word) {
		if strings.HasPrefix(word, string(rest)) {
			return unless(p.final)
		}
		return no
	}
	if next := rest[len(word)]; !strings.HasPrefix(string(rest[:len(word)]), word) || next != '\n' && next != '<' && next != '{' && next != '[' {
		return no
	}
	p.pos, p.mode = i+len(word), inLine
	return done
}

func (p *parser) openFunctools(i int) status {
	j := i + len("functools")
	if j == len(p.buf) && !p.final {
		return more
	}
	if j < len(p.buf) && p.buf[j] == '[' && p.mayCall() && p.beginGroup(i, j, FormatFunctools) {
		return done
	}
	return no
}

// openCalling enters [Calling tool: name with arguments: {…}].
func (p *parser) openCalling(i int) status {
	b := p.buf[i:min(len(p.buf), i+maxToken)]
	limit := len(b) == maxToken || p.final
	word := func(j int) int {
		for j < len(b) && (isLetter(b[j]) || b[j] == ' ') {
			j++
		}
		return j
	}
	colon := word(1)
	label := strings.ToLower(string(b[1:colon]))
	const forms = "calling tool|calling tools|calling function|call tool|tool call|called tool|using tool|function call"
	known := false
	for f := range strings.SplitSeq(forms, "|") {
		known = known || label == f || colon == len(b) && strings.HasPrefix(f, label)
	}
	if !known {
		return no
	}
	if colon == len(b) {
		return unless(limit)
	}
	if b[colon] != ':' {
		return no
	}
	j := colon + 1
	for j < len(b) && b[j] == ' ' {
		j++
	}
	end, unsure := nameRun(b, j, limit)
	if unsure {
		return more
	}
	if end == j || p.t.find(string(b[j:end])) == nil {
		return no
	}
	args := bytes.IndexAny(b[end:], "{(]\n")
	if args < 0 {
		return unless(limit)
	}
	if b[end+args] != '{' && b[end+args] != '(' || !p.mayCall() || !p.beginGroup(i, i+end+args, FormatCalling) {
		return no
	}
	p.g.setName(string(b[j:end]))
	if b[end+args] == '(' {
		p.pos = i + j
		p.g.name = ""
	}
	return done
}

// unless answers a look ahead that ran out of text: undecided unless there is
// no more to come.
func unless(limit bool) status {
	if limit {
		return no
	}
	return more
}

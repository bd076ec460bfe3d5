package parse

import (
	"bytes"
	"slices"
	"strings"
)

// scanTagged finds the marker that ends tagged arguments. Without one they do
// not run: the last argument could have gone on.
func (p *parser) scanTagged(it *item) status {
	b := p.buf
	for {
		i := it.open + it.sc.pos
		n := bytes.IndexByte(b[i:], '<')
		if n < 0 {
			it.sc.pos = len(b) - it.open
			if p.final {
				return cut
			}
			return more
		}
		i += n
		it.sc.pos = i - it.open
		tok, st := p.t.tokenAt(b, i, p.final)
		switch {
		case st == more:
			return more
		case st == no:
		case tok.role == roleClose && (it.closer == "" || tok.word == it.closer || !strings.HasPrefix(tok.word, "/")) && !p.isOwnKey(tok.word):
			if tok.word == "/function" || tok.word == "/invoke" || tok.word == "|/invoke" || tok.word == it.closer {
				it.sc.pos = tok.end - it.open
			}
			return done
		case tok.role == roleOpen && it.closer == "" && tok.format != FormatTags, tok.role == roleJunk && it.format == FormatGLM:
			return done
		}
		it.sc.pos++
	}
}

// isOwnKey reports whether a closing word is that of a parameter of the tool
// that is being called.
func (p *parser) isOwnKey(word string) bool {
	info := p.t.find(p.g.name)
	if info == nil {
		return false
	}
	_, own := info.params.prop(strings.TrimPrefix(word, "/"))
	return own
}

// readTagged reads <parameter=key>value</parameter> and its relatives.
func (t *toolset) readTagged(name, text string) reading {
	r := reading{name: name, args: node{kind: kindObject}, loose: true}
	info := t.find(name)
	if info == nil {
		return r
	}
	b := []byte(text)
	for i := 0; i < len(b); i++ {
		if b[i] != '<' {
			continue
		}
		key, from, end := t.param(info, b, i)
		if key == "" {
			continue
		}
		value := trimValue(text[from:end])
		own, _ := info.key(key)
		s, ok := info.params.prop(own)
		if !ok && info.params.extra != nil {
			s = *info.params.extra
		}
		r.args.keys = append(r.args.keys, key)
		r.args.items = append(r.args.items, untyped(value, s))
		i = end - 1
	}
	return r
}

// param reads one tagged argument at b[i]: its key, and where its value lies.
func (t *toolset) param(info *toolInfo, b []byte, i int) (key string, from, end int) {
	if tok, st := t.tokenAt(b, i, true); st == done && tok.role == roleParam {
		switch {
		case strings.HasSuffix(tok.word, "arg_key"):
			closing := bytes.IndexByte(b[tok.end:], '<')
			if closing < 0 || strings.HasPrefix(tok.word, "/") {
				return "", 0, 0
			}
			key = strings.TrimSpace(string(b[tok.end : tok.end+closing]))
			at := bytes.Index(b[tok.end:], []byte("arg_value>"))
			if at < 0 {
				return "", 0, 0
			}
			from = tok.end + at + len("arg_value>")
			return key, from, t.valueEnd(b, from, "arg_value")
		case tok.name != "":
			return tok.name, tok.end, t.valueEnd(b, tok.end, "parameter", "param")
		}
		return "", 0, 0
	}
	close := bytes.IndexByte(b[i:min(len(b), i+maxName)], '>')
	if close < 2 || !isPlainName(string(b[i+1:i+close])) {
		return "", 0, 0
	}
	key = string(b[i+1 : i+close])
	if _, own := info.key(key); !own || slices.Contains(argsKeys, key) && info.open {
		return "", 0, 0
	}
	from = i + close + 1
	n := bytes.Index(b[from:], []byte("</"+key+">"))
	if n < 0 {
		return "", 0, 0
	}
	return key, from, from + n
}

// valueEnd finds the closing tag of a value; where it is missing, the next
// argument or the end ends the value.
func (t *toolset) valueEnd(b []byte, from int, words ...string) int {
	for i := from; i < len(b); i++ {
		if b[i] != '<' {
			continue
		}
		tok, st := t.tokenAt(b, i, true)
		if st != done {
			continue
		}
		word := strings.TrimLeft(tok.word, "/|")
		for _, w := range words {
			if tok.role == roleParam && strings.HasSuffix(word, w) && (strings.Contains(tok.word, "/") || tok.name != "") {
				return i
			}
		}
		if tok.role == roleClose && (tok.word == "/function" || strings.HasSuffix(tok.word, "/invoke") || tok.word == "/tool_call") || strings.HasSuffix(tok.word, "arg_key") {
			return i
		}
	}
	return len(b)
}

// trimValue takes off a CDATA section's marks, or the line breaks that set a value apart from its tags.
func trimValue(s string) string {
	if inner, ok := strings.CutPrefix(strings.TrimSpace(s), "<![CDATA["); ok {
		if inner, ok = strings.CutSuffix(inner, "]]>"); ok {
			return inner
		}
	}
	s = strings.TrimPrefix(strings.TrimPrefix(s, "\r"), "\n")
	return strings.TrimSuffix(strings.TrimSuffix(s, "\n"), "\r")
}

// scanString finds the end of a string in a list that is no call.
func (p *parser) scanString(it *item) status {
	b := p.buf[it.open:]
	for it.sc.pos = max(1, it.sc.pos); it.sc.pos < len(b); it.sc.pos++ {
		switch b[it.sc.pos] {
		case '\n':
			return done
		case b[0]:
			if it.sc.pos+1 == len(b) && !p.final {
				return more
			}
			if it.sc.pos+1 == len(b) || isEnd(b[it.sc.pos+1]) || isSpace(b[it.sc.pos+1]) {
				it.sc.pos++
				return done
			}
		}
	}
	if p.final {
		return done
	}
	return more
}

// plainTag handles the tags that spell out the parts of a call behind a
// marker: <name>…</name> and <arguments>…</arguments>.
func (p *parser) plainTag() status {
	b := p.buf[p.pos:min(len(p.buf), p.pos+maxName)]
	final := p.final || len(b) == maxName
	closing := bytes.IndexByte(b, '>')
	if closing < 0 {
		return unless(final)
	}
	word := strings.TrimPrefix(string(b[1:closing]), "/")
	if b[1] != '/' && !p.g.fresh {
		return no
	}
	switch {
	case slices.Contains(argsKeys, word):
		if b[1] != '/' && p.g.name != "" {
			k := skipBlank(p.buf, p.pos+closing+1)
			if k == len(p.buf) && !p.final {
				return more
			}
			if k < len(p.buf) && p.buf[k] == '<' {
				return p.beginItem(itemTagged, p.g.nameAt, k)
			}
		}
		p.closed(p.pos + closing + 1)
		return done
	case b[1] != '/' && slices.Contains(nameKeys, word):
		end := bytes.IndexByte(b[closing:], '<')
		if end < 0 {
			return unless(final)
		}
		p.g.name, p.g.nameAt = strings.TrimSpace(string(b[closing+1:closing+end])), p.pos
		p.pos += closing + end
		return done
	case slices.Contains(nameKeys, word):
		p.closed(p.pos + closing + 1)
		return done
	}
	return no
}

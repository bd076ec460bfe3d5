package toolset

import (
	"bytes"
	"slices"
	"strings"

	"github.com/weirhost/weir/agent/parse/internal/lex"
	"github.com/weirhost/weir/agent/parse/internal/marker"
	"github.com/weirhost/weir/agent/parse/internal/value"
)

// ReadTagged reads <parameter=key>value</parameter> and its relatives.
func (t *Set) ReadTagged(name, text string) Reading {
	r := Reading{Name: name, Arguments: value.Arguments{Args: value.Node{Kind: value.Object}}, Loose: true}
	info := t.Find(name)
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
		s, ok := info.Params.Prop(own)
		if !ok && info.Params.extra != nil {
			s = *info.Params.extra
		}
		r.Args.Keys = append(r.Args.Keys, key)
		r.Args.Items = append(r.Args.Items, untyped(value, s))
		i = end - 1
	}
	return r
}

// param reads one tagged argument at b[i]: its key, and where its value lies.
func (t *Set) param(info *Tool, b []byte, i int) (key string, from, end int) {
	if tok, st := marker.At(t, b, i, true); st == lex.Done && tok.Role == marker.RoleParam {
		switch {
		case strings.HasSuffix(tok.Word, "arg_key") && !strings.HasPrefix(tok.Word, "/"), tok.Word == "|tool_arg_start":
			closing := bytes.IndexByte(b[tok.End:min(len(b), tok.End+maxKey)], '<')
			if closing < 0 {
				return "", 0, 0
			}
			key = strings.TrimSpace(string(b[tok.End : tok.End+closing]))
			if from = t.valueStart(b, tok.End+closing); from < 0 {
				return "", 0, 0
			}
			return key, from, t.valueEnd(b, from, "arg_value", "arg_end")
		case tok.Name != "":
			return tok.Name, tok.End, t.valueEnd(b, tok.End, "parameter", "param")
		}
		return "", 0, 0
	}
	close := bytes.IndexByte(b[i:min(len(b), i+lex.MaxName)], '>')
	if close < 2 || !lex.IsPlainName(string(b[i+1:i+close])) {
		return "", 0, 0
	}
	key = string(b[i+1 : i+close])
	if _, own := info.key(key); !own || slices.Contains(ArgsKeys, key) && info.open {
		return "", 0, 0
	}
	from = i + close + 1
	n := bytes.Index(b[from:], []byte("</"+key+">"))
	if n < 0 {
		return "", 0, 0
	}
	return key, from, from + n
}

// maxKey bounds what is between the tag of a key and the tag of its value, in bytes.
const maxKey = 512

// valueStart returns where the value begins whose tag comes after a key, or -1.
func (t *Set) valueStart(b []byte, i int) int {
	for end := min(len(b), i+maxKey); i < end; i++ {
		if b[i] != '<' {
			continue
		}
		tok, st := marker.At(t, b, i, true)
		if st == lex.Done && strings.HasSuffix(tok.Word, "arg_value") && !strings.HasPrefix(tok.Word, "/") {
			return tok.End
		}
	}
	return -1
}

// valueEnd finds the closing tag of a value; where it is missing, the next
// argument or the end ends the value.
func (t *Set) valueEnd(b []byte, from int, words ...string) int {
	if bytes.HasPrefix(b[from:], []byte(cdata)) {
		if n := bytes.Index(b[from:], []byte("]]>")); n >= 0 {
			return from + n + len("]]>")
		}
	}
	for i := from; i < len(b); i++ {
		if b[i] != '<' {
			continue
		}
		tok, st := marker.At(t, b, i, true)
		if st != lex.Done {
			continue
		}
		word := strings.TrimLeft(tok.Word, "/|")
		for _, w := range words {
			if tok.Role == marker.RoleParam && strings.HasSuffix(word, w) && (strings.Contains(tok.Word, "/") || tok.Name != "" || w == "arg_end") {
				return i
			}
		}
		if tok.Role == marker.RoleClose && (tok.Word == "/function" || strings.HasSuffix(tok.Word, "/invoke") || tok.Word == "/tool_call" || tok.Word == "|tool_call_end") || strings.HasSuffix(tok.Word, "arg_key") {
			return i
		}
	}
	return len(b)
}

// cdata begins a value that is no markup.
const cdata = "<![CDATA["

// trimValue takes off a CDATA section's marks, or the line breaks that set a value apart from its tags.
func trimValue(s string) string {
	if inner, ok := strings.CutPrefix(strings.TrimSpace(s), cdata); ok {
		if inner, ok = strings.CutSuffix(inner, "]]>"); ok {
			return inner
		}
	}
	s = strings.TrimPrefix(strings.TrimPrefix(s, "\r"), "\n")
	return strings.TrimSuffix(strings.TrimSuffix(s, "\n"), "\r")
}

package parse

import (
	"bytes"
	"slices"
	"strings"
)

// maxToken bounds one tag or special token, in bytes.
const maxToken = 240

// A role is what a marker does.
type role int

const (
	roleNone     role = iota
	roleOpen          // what follows is a call
	roleClose         // a call, or a group of them, ends
	roleSep           // stands between the parts of a call
	roleInvoke        // carries the tool's name: <invoke name="…">, <function=…>, <name>
	roleParam         // <parameter=…>, <arg_key>: inside tagged arguments only
	roleThink         // a thought begins
	roleThinkEnd      // a thought ends
	roleHarmony       // <|channel|> and <|start|>: a header up to <|message|>
	roleJunk          // a special token that leaked
)

// A token is one marker.
type token struct {
	role   role
	format Format
	word   string // folded, without brackets
	name   string // the tool's name, if it carries one
	end    int    // offset behind it in the buffer
}

// openWords are the markers that open a call, by their folded word. A word
// that is written <|word|> or <｜word｜> is looked up as |word first.
var openWords = map[string]Format{
	"tool_call": FormatTag, "function_call": FormatFunction, "functioncall": FormatFunction, "function_calls": FormatInvoke,
	"start_function_call": FormatFunction, "tool_calls": FormatTags, "toolcall": FormatTags, "toolcalls": FormatTags, "tools": FormatTags,
	"tool_use": FormatTags, "tool_code": FormatTags, "tool": FormatTags, "longcat_tool_call": FormatGLM,
	"|tool_call": FormatToken, "|tool_calls": FormatToken, "|tool_call_start": FormatToken, "|tool_calls_start": FormatToken,
	"|function_call": FormatToken, "|action_start": FormatToken, "|tool_list_start": FormatToken,
	"|python_tag": FormatPythonTag, "|python_start": FormatPythonTag, "|start_action": FormatCommand,
	"|tools_prefix": FormatToken, "|tool_calls_begin": FormatDeepSeek, "|tool_call_begin": FormatDeepSeek, "|tool_outputs_begin": "",
	"|tool_calls_section_begin": FormatKimi, "|tool_call_section_begin": FormatKimi,
}

var closeWords = map[string]bool{
	"|tool_call_end": true, "|tool_calls_end": true, "|tool_calls_section_end": true, "|tool_call_section_end": true, "|end_action": true,
	"|action_end": true, "|tools_suffix": true, "|python_end": true, "|tool_list_end": true, "end_function_call": true, "|call": true, "|eom_id": true,
}

var sepWords = map[string]bool{"|tool_sep": true, "tool_sep": true, "|role_sep": true, "|tool_call_name": true, "|tool_call_args": true, "|tool_call_argument_begin": true, "|plugin": true, "|interpreter": true}

var thinkWords = map[string]bool{
	"think": true, "thinking": true, "thought": true, "reasoning": true, "|start_thinking": true, "|begin_of_thought": true, "|thinking": true, "|think": true,
}

var thinkEnds = map[string]bool{
	"/think": true, "/thinking": true, "/thought": true, "/reasoning": true, "|end_thinking": true, "|end_of_thought": true, "|/thinking": true, "|/think": true,
}

var paramWords = []string{"parameter", "param", "arg_key", "arg_value", "longcat_arg_key", "longcat_arg_value"}

// squareTokens are the markers in square brackets, all in capitals.
var squareTokens = map[string]token{
	"[TOOL_CALLS]": {role: roleOpen, format: FormatMistral}, "[TOOL_CALL]": {role: roleOpen, format: FormatBracket},
	"[TOOL_REQUEST]": {role: roleOpen, format: FormatBracket}, "[END_TOOL_REQUEST]": {role: roleClose}, "[/TOOL_CALL]": {role: roleClose}, "[/TOOL_CALLS]": {role: roleClose},
	"[ARGS]": {role: roleSep}, "[CALL_ID]": {role: roleSep}, "[THINK]": {role: roleThink, word: "[think"}, "[/THINK]": {role: roleThinkEnd, word: "[/think"},
}

// tagNamespaces are the prefixes that vendors put before the words above.
var tagNamespaces = []string{"minimax", "seed", "antml", "steptml"}

// plainJunk are the special tokens without pipes.
var plainJunk = []string{"?xml", "s", "/s", "bos", "eos", "end_of_turn", "start_of_turn", "bot_end"}

// stopWords are the special tokens that frame a reply. At its end they are no
// part of it.
var stopWords = []string{
	"s", "/s", "bos", "bot_end", "eos", "end_of_turn", "start_of_turn", "|im_start", "|im_end", "|eot_id", "|eom_id", "|start_header_id", "|end_header_id",
	"|begin_of_text", "|end_of_text", "|endoftext", "|end", "|start", "|return", "|call", "|eot", "|eom", "|eos", "|bos", "|assistant", "|user", "|system", "|observation",
	"|end_of_turn_token", "|start_of_turn_token", "|start_text", "|end_text", "|start_response", "|end_response", "|end_of_sentence", "|begin_of_sentence",
	"|end_of_role", "|start_of_role", "|assistant_end", "|assistant_start",
}

// markerWords are all words that a marker may have, sorted.
var markerWords = func() []string {
	words := slices.Concat(paramWords, plainJunk, tagNamespaces, []string{"invoke", "function", "dsml", "channel"})
	for w := range openWords {
		words = append(words, w)
	}
	for _, m := range []map[string]bool{closeWords, sepWords, thinkWords, thinkEnds} {
		for w := range m {
			words = append(words, w)
		}
	}
	slices.Sort(words)
	return words
}()

// knownWord reports whether word may grow into a marker's word.
func (t *toolset) knownWord(word string) bool {
	if word == "" || word[0] == '|' {
		return true
	}
	i, _ := slices.BinarySearch(markerWords, word)
	return i < len(markerWords) && strings.HasPrefix(markerWords[i], word) || t.prefixOfName(word) ||
		t.prefixOfName(fold(stripNamespace(word)))
}

// tokenAt reads the marker at b[i], which is '<' or '['. done: a marker; no:
// ordinary text; more: undecided.
func (t *toolset) tokenAt(b []byte, i int, final bool) (token, status) {
	if b[i] == '[' {
		return squareToken(b, i, final)
	}
	if i+1 < len(b) && !isLetter(b[i+1]) && bytes.IndexByte([]byte("/|?\xef"), b[i+1]) < 0 {
		return token{}, no
	}
	w, st := readTagWord(b, i, final)
	if st != done {
		return token{}, st
	}
	word := w.folded()
	if w.end >= len(b) {
		if final || w.end-i > maxToken || !w.closing && !t.knownWord(word) || w.closing && len(w.text) > 64 {
			return token{}, no
		}
		return token{}, more
	}
	return t.finishToken(b, i, w.end, token{word: word}, string(w.text), final)
}

// A tagWord is the word of a marker as it is spelled.
type tagWord struct {
	text           []byte
	closing, piped bool
	end            int
}

// readTagWord reads the word behind the '<' at b[i], its slash and pipes
// included. Tokenizers write ▁ for a space.
func readTagWord(b []byte, i int, final bool) (w tagWord, st status) {
	j := i + 1
	if j < len(b) && b[j] == '/' {
		w.closing = true
		j++
	}
	w.text = make([]byte, 0, 32)
	for ; j < len(b) && j-i <= maxToken; j++ {
		c := b[j]
		if n := pipe(b[j:], final); n != 0 {
			if n < 0 {
				return w, more
			}
			if len(w.text) > 0 && !strings.EqualFold(string(w.text), "dsml") {
				break
			}
			w.text, w.piped = w.text[:0], true
			j += n - 1
			continue
		}
		switch {
		case c == 0xE2:
			if len(b)-j < 3 {
				return w, unless(final)
			}
			if b[j+1] != 0x96 || b[j+2] != 0x81 {
				return w, no
			}
			w.text = append(w.text, '_')
			j += 2
			continue
		case c == ':' && slices.Contains(tagNamespaces, string(w.text)):
			w.text = w.text[:0]
			continue
		case c == ':' && w.piped && len(w.text) > 0:
			w.text = append(w.text, '_')
			continue
		}
		if !isNameByte(c) && !(len(w.text) == 0 && (c == '?' || c == '/' && w.piped)) {
			break
		}
		w.text = append(w.text, c)
	}
	w.end = j
	return w, done
}

// folded returns the word as the tables have it: /word for a closing tag,
// |word for a special token.
func (w tagWord) folded() string {
	word := fold(string(w.text))
	switch {
	case w.closing && strings.Trim(string(w.text), ".") == "":
		return "/..."
	case w.closing:
		return "/" + word
	case w.piped && len(w.text) > 0 && w.text[0] == '/':
		return "|/" + fold(string(w.text[1:]))
	case w.piped && word != "":
		return "|" + word
	}
	return word
}

// pipe returns the length of | or ｜ at the start of b, 0 if there is none, and
// a negative number if it cannot be said yet.
func pipe(b []byte, final bool) int {
	switch {
	case b[0] == '|':
		return 1
	case b[0] != 0xEF:
		return 0
	case bytes.HasPrefix(b, []byte("｜")):
		return 3
	case len(b) < 3 && !final && bytes.HasPrefix([]byte("｜"), b):
		return -1
	}
	return 0
}

// finishToken reads what stands between a marker's word and its end.
func (t *toolset) finishToken(b []byte, i, j int, tok token, spelled string, final bool) (token, status) {
	tok.role, tok.format = t.classify(tok.word)
	if b[j] == '=' && (tok.word == "function" || tok.word == "parameter" || tok.word == "tool") {
		return valuedToken(b, i, j, tok, final)
	}
	attr := ""
	if isSpace(b[j]) {
		st := no
		attr, j, st = attributes(b, j, i+maxToken, final)
		if st != done {
			return token{}, st
		}
	}
	if j < len(b) && b[j] == '/' && tok.role != roleNone {
		j++
	}
	piped := false
	for j < len(b) {
		n := pipe(b[j:], final)
		if n < 0 {
			return token{}, more
		}
		if n == 0 {
			break
		}
		piped = true
		j += n
	}
	if j >= len(b) {
		return token{}, undecided(b, i, final)
	}
	switch {
	case b[j] == '>':
		tok.end = j + 1
	case b[j] == '?' && tok.word == "?xml":
		if j+1 >= len(b) {
			return token{}, undecided(b, i, final)
		}
		if b[j+1] != '>' {
			return token{}, no
		}
		tok.end = j + 2
	case attr != "" && tok.role == roleOpen: // <tool_call name="…" arguments={…}/>
		tok.end = j
	default:
		return token{}, no
	}
	if attr != "" {
		tok.name = attr
	}
	switch { // Gemma writes one pipe: <|channel>…<channel|>
	case tok.word == "|channel" && !piped:
		tok.role = roleThink
	case tok.word == "channel" && piped:
		tok.role = roleThinkEnd
	}
	if tok.role == roleNone && t.find(spelled) != nil && !t.any {
		tok.role, tok.format, tok.name = roleInvoke, FormatTags, spelled
	}
	if tok.role == roleNone || tok.role == roleInvoke && tok.name == "" {
		return token{}, no
	}
	return tok, done
}

// valuedToken reads <function=name> and <parameter=key>; j is at the sign.
func valuedToken(b []byte, i, j int, tok token, final bool) (token, status) {
	end := bytes.IndexByte(b[j:min(len(b), i+maxToken)], '>')
	if end < 0 {
		return token{}, undecided(b, i, final)
	}
	tok.name = strings.Trim(string(b[j+1:j+end]), " \t\r\n\"'/")
	tok.end = j + end + 1
	tok.role, tok.format = roleInvoke, FormatXML
	if tok.word == "parameter" {
		tok.role = roleParam
	}
	return tok, done
}

func undecided(b []byte, i int, final bool) status {
	if final || len(b)-i > maxToken {
		return no
	}
	return more
}

func (t *toolset) classify(word string) (role, Format) {
	if f, ok := openWords[word]; ok {
		if f == "" {
			return roleJunk, ""
		}
		return roleOpen, f
	}
	switch {
	case thinkWords[word]:
		return roleThink, ""
	case thinkEnds[word]:
		return roleThinkEnd, ""
	case closeWords[word]:
		return roleClose, ""
	case sepWords[word]:
		return roleSep, ""
	case word == "invoke" || word == "function" || word == "|invoke":
		return roleInvoke, FormatInvoke
	case word == "|channel" || word == "|start":
		return roleHarmony, FormatHarmony
	case slices.Contains(paramWords, strings.TrimLeft(word, "/|")):
		return roleParam, ""
	case word == "/...", word == "/function", word == "/invoke", word == "|/invoke":
		return roleClose, ""
	case strings.HasPrefix(word, "|/"):
		return roleClose, ""
	case strings.HasPrefix(word, "/"):
		if _, ok := openWords[word[1:]]; ok {
			return roleClose, ""
		}
		if t.folded[word[1:]] != nil {
			return roleClose, ""
		}
	case word == "|function_calls": // with a vendor's prefix
		return roleOpen, FormatInvoke
	case slices.Contains(plainJunk, word) || strings.HasPrefix(word, "|") && len(word) > 1:
		return roleJunk, ""
	}
	return roleNone, ""
}

// attributes reads name="…" and other attributes up to the marker's end.
func attributes(b []byte, j, limit int, final bool) (name string, end int, st status) {
	wait := more
	if final {
		wait = no
	}
	for {
		for j < len(b) && isSpace(b[j]) {
			j++
		}
		if j >= len(b) {
			return name, j, wait
		}
		if j > limit {
			return name, j, no
		}
		if !isLetter(b[j]) {
			return name, j, done
		}
		k, unsure := nameRun(b, j, final)
		if unsure || k >= len(b) {
			return name, j, wait
		}
		if b[k] != '=' {
			return name, j, no
		}
		key := string(b[j:k])
		k++
		if k >= len(b) {
			return name, j, wait
		}
		if b[k] == '{' || b[k] == '[' {
			return name, j, done
		}
		var val string
		if isQuote(b[k]) {
			n := bytes.IndexByte(b[k+1:min(len(b), limit)], b[k])
			if n < 0 {
				if len(b) < limit {
					return name, j, wait
				}
				return name, j, no
			}
			val, j = string(b[k+1:k+1+n]), k+n+2
		} else {
			for j = k; j < len(b) && !isSpace(b[j]) && b[j] != '>'; j++ {
			}
			val = string(b[k:j])
		}
		if key == "name" || key == "tool" || key == "function" {
			name = val
		}
	}
}

func squareToken(b []byte, i int, final bool) (token, status) {
	rest := b[i:min(len(b), i+20)]
	if len(rest) > 1 && rest[1] != '/' && (rest[1] < 'A' || rest[1] > 'Z') {
		return token{}, no
	}
	for word, tok := range squareTokens {
		if bytes.HasPrefix(rest, []byte(word)) {
			tok.end = i + len(word)
			if tok.word == "" {
				tok.word = strings.ToLower(word)
			}
			return tok, done
		}
		if !final && bytes.HasPrefix([]byte(word), rest) {
			return token{}, more
		}
	}
	return token{}, no
}

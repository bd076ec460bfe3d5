// Package marker reads the tags and special tokens that models write around tool
// calls and reasoning, such as <tool_call>, [TOOL_CALLS] and <|channel|>. The
// table Formats lists those that open a call, the tables below the others.
package marker

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"github.com/weirhost/weir/agent/parse/internal/lex"
)

// MaxToken bounds one tag or special token, in bytes.
const MaxToken = 240

// A role is what a marker does.
type role int

const (
	roleNone     role = iota
	RoleOpen          // what follows is a call
	RoleClose         // a call, or a group of them, ends
	RoleSep           // is between the parts of a call
	RoleInvoke        // carries the tool's name: <invoke name="…">, <function=…>, <name>
	RoleParam         // <parameter=…>, <arg_key>: inside tagged arguments only
	RoleThink         // a thought begins
	RoleThinkEnd      // a thought ends
	RoleHarmony       // <|channel|> and <|start|>: a header up to <|message|>
	RoleJunk          // a special token that leaked
)

// Names are the declared tools, as far as markers depend on them: some models
// write a tool's name as a tag.
type Names interface {
	// Declared reports whether a model's spelling names a declared tool.
	Declared(spelled string) bool
	// IsFolded reports whether word is a declared name in folded form.
	IsFolded(word string) bool
	// begins reports whether word begins a declared name in folded form.
	Begins(word string) bool
}

// None is the set without tools.
type None struct{}

// Declared returns false.
func (None) Declared(string) bool { return false }

// IsFolded returns false.
func (None) IsFolded(string) bool { return false }

// Begins returns false.
func (None) Begins(string) bool { return false }

// A Token is one marker.
type Token struct {
	Role   role
	Format Format
	Word   string // folded, without brackets
	Name   string // the tool's name, if it carries one
	End    int    // offset after it in the buffer
}

// Special reports whether the token is none that text has: <|word|> or [WORD].
func (t Token) Special() bool {
	return strings.HasPrefix(t.Word, "|") || strings.HasPrefix(t.Word, "[")
}

// Inner reports whether the token opens one call inside a section of several.
func (t Token) Inner() bool { return t.Special() && !slices.Contains(sections, t.Word) }

// sections are the tokens that open a section of calls.
var sections = []string{"|tool_calls_begin", "|tool_calls_section_begin", "|tool_call_section_begin", "|tool_calls", "|tool_calls_start", "|tool_list_start", "|tools_prefix", "|start_action", "|action_start"}

// EndsWithClose reports whether b ends with a marker that closes calls. Tokens that end
// the reply may follow it.
func EndsWithClose(t Names, b []byte) bool {
	for {
		b = bytes.TrimRight(b, " \t\r\n")
		i := bytes.LastIndexByte(b, '<')
		if i < 0 {
			return false
		}
		tok, st := At(t, b, i, true)
		switch {
		case st != lex.Done || tok.End != len(b):
			return false
		case tok.Role == RoleClose:
			return true
		case !slices.Contains(StopWords, tok.Word):
			return false
		}
		b = b[:i]
	}
}

// openWords are the markers that open a call, by their folded word. A word
// that is written <|word|> or <｜word｜> is looked up as |word first.
var openWords = opened()

var closeWords = map[string]bool{
	"|tool_call_end": true, "|tool_calls_end": true, "|tool_calls_section_end": true, "|tool_call_section_end": true, "|end_action": true,
	"|action_end": true, "|tools_suffix": true, "|python_end": true, "|tool_list_end": true, "end_function_call": true, "|call": true, "|eom_id": true,
}

var sepWords = map[string]bool{"|tool_sep": true, "tool_sep": true, "|role_sep": true, "|tool_call_name": true, "|tool_call_args": true, "|tool_call_argument_begin": true, "|plugin": true, "|interpreter": true}

var thinkWords = map[string]bool{
	"think": true, "thinking": true, "thought": true, "reasoning": true, "|start_thinking": true, "|begin_of_thought": true, "|thinking": true, "|think": true, "|think_start": true, "|inner_prefix": true,
}

var thinkEnds = map[string]bool{
	"/think": true, "/thinking": true, "/thought": true, "/reasoning": true, "|end_thinking": true, "|end_of_thought": true, "|/thinking": true, "|/think": true, "|think_end": true, "|inner_suffix": true,
}

var paramWords = []string{"parameter", "param", "arg_key", "arg_value", "longcat_arg_key", "longcat_arg_value", "tool_arg_start", "tool_arg_value", "tool_arg_end"}

// PipedNamespaces returns the prefixes that end with a pipe. Package limit needs them.
func PipedNamespaces() []string { return append(slices.Clone(tokenNamespaces), tagNamespaces...) }

// collapsed are words that have lost the space before their attribute.
var collapsed = []string{"functionname", "invokename", "paramname", "parametername"}

// squareTokens are the markers in square brackets, all in capitals.
var squareTokens = square()

// tagNamespaces are the prefixes that vendors put before the words above, with a colon or
// a pipe; tokenNamespaces those of special tokens, with a pipe.
var (
	tagNamespaces   = []string{"minimax", "seed", "antml", "steptml", "atem", "ifm"}
	tokenNamespaces = []string{"dsml", "gcml"}
)

// plainJunk are the special tokens without pipes.
var plainJunk = []string{"?xml", "s", "/s", "bos", "eos", "end_of_turn", "start_of_turn", "bot_end"}

// wrappers are the words of tags around calls that mean nothing.
var wrappers = []string{"json", "xml", "response", "answer", "schema", "call"}

// Prompt is in front of a name that begins a call.
const Prompt = ">>>"

// StopWords are the special tokens that frame a reply. At its end they are no
// part of it.
var StopWords = []string{
	"s", "/s", "bos", "bot_end", "eos", "end_of_turn", "start_of_turn", "|im_start", "|im_end", "|eot_id", "|eom_id", "|start_header_id", "|end_header_id",
	"|begin_of_text", "|end_of_text", "|endoftext", "|end", "|start", "|return", "|call", "|eot", "|eom", "|eos", "|bos", "|assistant", "|user", "|system", "|observation",
	"|end_of_turn_token", "|start_of_turn_token", "|start_text", "|end_text", "|start_response", "|end_response", "|end_of_sentence", "|begin_of_sentence",
	"|end_of_role", "|start_of_role", "|turn", "|role_end", "|assistant_end", "|assistant_start", "|message_sep", comment,
}

// comment is the word of an empty comment, which some models write for a tag.
const comment = "!--"

// markerWords are all words that a marker may have, sorted.
var markerWords = func() []string {
	words := slices.Concat(paramWords, plainJunk, tagNamespaces, collapsed, tokenNamespaces, []string{"invoke", "function", "channel", "turn"})
	words = slices.AppendSeq(words, maps.Keys(openWords))
	for _, m := range []map[string]bool{closeWords, sepWords, thinkWords, thinkEnds} {
		words = slices.AppendSeq(words, maps.Keys(m))
	}
	slices.Sort(words)
	return words
}()

// CallingForms are the words of [Calling tool: name with arguments: {…}], in lower case.
var CallingForms = []string{"calling tool", "calling tools", "calling function", "call tool", "tool call", "called tool", "using tool", "function call"}

// RoleForm begins a line in front of a call, where a role's name would be.
const RoleForm = "function call<|role_sep|>"

// Functools is in front of a list of calls.
const Functools = "functools"

// CallForm is in front of a name and its arguments, where the tokens of a call are lost.
const CallForm = "call:"

// RecipientForms begin a line that names a tool, where the tokens of a channel are lost.
var RecipientForms = []string{"commentary to=", "assistantcommentary to=", "to=functions."}

// Marks returns the words of tags and special tokens that begin, divide or end a call or
// a thought, as the tables have them without a slash, and the tokens in square brackets.
// Package limit neutralises them in the texts of tools. Parameters are not among them:
// they are nothing without the rest of a call.
func Marks() (words, square []string) {
	words = []string{"invoke", "|invoke", "function", "|function_calls", "functionname", "invokename"}
	words = slices.AppendSeq(words, maps.Keys(openWords))
	for _, m := range []map[string]bool{closeWords, sepWords, thinkWords, thinkEnds} {
		for w := range m {
			words = append(words, strings.TrimPrefix(strings.Replace(w, "|/", "|", 1), "/"))
		}
	}
	for w := range squareTokens {
		square = append(square, strings.TrimPrefix(w[1:], "/"))
	}
	slices.Sort(words)
	slices.Sort(square)
	return slices.Compact(words), slices.Compact(square)
}

// isWord reports whether word is a marker's word and no vendor's prefix.
func isWord(word string) bool {
	_, found := slices.BinarySearch(markerWords, word)
	return found && !slices.Contains(tagNamespaces, word)
}

// knownWord reports whether word may grow into a marker's word.
func knownWord(t Names, word string) bool {
	if word == "" || word[0] == '|' {
		return true
	}
	i, _ := slices.BinarySearch(markerWords, word)
	return i < len(markerWords) && strings.HasPrefix(markerWords[i], word) || t.Begins(word) ||
		t.Begins(lex.Fold(lex.StripNamespace(word)))
}

// At reads the marker at b[i], which is '<' or '['. done: a marker; no:
// ordinary text; more: undecided.
func At(t Names, b []byte, i int, final bool) (Token, lex.Status) {
	if b[i] == '[' {
		return squareToken(b, i, final)
	}
	if i+1 < len(b) && b[i+1] == '!' {
		return emptyComment(b, i, final)
	}
	if i+1 < len(b) && !lex.IsLetter(b[i+1]) && bytes.IndexByte([]byte("/|?\xef"), b[i+1]) < 0 {
		return Token{}, lex.No
	}
	w, st := readTagWord(b, i, final)
	if st != lex.Done {
		return Token{}, st
	}
	word := w.folded()
	if w.end >= len(b) {
		if final || w.end-i > MaxToken || !w.closing && !knownWord(t, word) || w.closing && len(w.text) > 64 {
			return Token{}, lex.No
		}
		return Token{}, lex.More
	}
	return finishToken(t, b, i, w.end, Token{Word: word}, string(w.text), final)
}

// emptyComment reads <!-- -->.
func emptyComment(b []byte, i int, final bool) (Token, lex.Status) {
	const open, closing = "<!--", "-->"
	rest := string(b[i:min(len(b), i+16)])
	body, ok := strings.CutPrefix(rest, open)
	if !ok {
		if !final && strings.HasPrefix(open, rest) {
			return Token{}, lex.More
		}
		return Token{}, lex.No
	}
	body = strings.TrimLeft(body, " ")
	switch {
	case strings.HasPrefix(body, closing):
		return Token{Role: RoleJunk, Word: comment, End: i + len(rest) - len(body) + len(closing)}, lex.Done
	case !final && len(rest) < 16 && strings.HasPrefix(closing, body):
		return Token{}, lex.More
	}
	return Token{}, lex.No
}

// Wrapper reads an opening or closing tag without meaning at b[i] and returns its end.
func Wrapper(b []byte, i int, final bool) (end int, st lex.Status) {
	rest := bytes.ToLower(b[i:min(len(b), i+16)])
	for _, w := range wrappers {
		for _, tag := range []string{"<" + w + ">", "</" + w + ">"} {
			if bytes.HasPrefix(rest, []byte(tag)) {
				return i + len(tag), lex.Done
			}
			if !final && len(rest) < len(tag) && strings.HasPrefix(tag, string(rest)) {
				return i, lex.More
			}
		}
	}
	return i, lex.No
}

// Space returns the length of white space at b[j], as tokenizers also write it: Ġ for
// a space, Ċ for a line's end. Negative: undecided.
func Space(b []byte, j int, final bool) int {
	switch {
	case j == len(b):
		return 0
	case lex.IsSpace(b[j]):
		return 1
	case b[j] != 0xC4:
		return 0
	case j+1 == len(b):
		return map[bool]int{true: 0, false: -1}[final]
	case b[j+1] == 0xA0 || b[j+1] == 0x8A:
		return 2
	}
	return 0
}

// A tagWord is the word of a marker as it is spelled.
type tagWord struct {
	text           []byte
	closing, piped bool
	suffix         bool // a vendor's suffix has begun, as in <tool_call:opensource>
	end            int
}

// readTagWord reads the word after the '<' at b[i], its slash and pipes
// included. Tokenizers write ▁ for a space.
func readTagWord(b []byte, i int, final bool) (w tagWord, st lex.Status) {
	j := i + 1
	if j < len(b) && b[j] == '/' {
		w.closing = true
		j++
	}
	w.text = make([]byte, 0, 32)
	for ; j < len(b) && j-i <= MaxToken; j++ {
		c := b[j]
		if n := pipe(b[j:], final); n != 0 {
			if n < 0 {
				return w, lex.More
			}
			prefix := lex.Fold(string(w.text))
			if prefix != "" && !slices.Contains(tokenNamespaces, prefix) && !slices.Contains(tagNamespaces, prefix) {
				break
			}
			w.text, w.piped = w.text[:0], w.piped || !slices.Contains(tagNamespaces, prefix)
			j += n - 1
			continue
		}
		switch {
		case w.suffix && lex.IsNameByte(c):
			continue
		case c == ':' && !w.piped && isWord(lex.Fold(string(w.text))):
			w.suffix = true
			continue
		case c == 0xE2:
			if len(b)-j < 3 {
				return w, lex.Unless(final)
			}
			if b[j+1] != 0x96 || b[j+2] != 0x81 {
				return w, lex.No
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
		if w.suffix || !lex.IsNameByte(c) && !(len(w.text) == 0 && (c == '?' || c == '/' && w.piped)) {
			break
		}
		w.text = append(w.text, c)
	}
	w.end = j
	return w, lex.Done
}

// folded returns the word as the tables have it: /word for a closing tag,
// |word for a special token.
func (w tagWord) folded() string {
	word := lex.Fold(string(w.text))
	switch {
	case w.closing && strings.Trim(string(w.text), ".") == "":
		return "/..."
	case w.closing:
		return "/" + word
	case w.piped && len(w.text) > 0 && w.text[0] == '/':
		return "|/" + lex.Fold(string(w.text[1:]))
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

// finishToken reads what is between a marker's word and its end.
func finishToken(t Names, b []byte, i, j int, tok Token, spelled string, final bool) (Token, lex.Status) {
	tok.Role, tok.Format = classify(t, tok.Word)
	if tok.Word == "function" || tok.Word == "parameter" || tok.Word == "tool" {
		if k := lex.SkipBlank(b, j); k < len(b) && b[k] == '=' {
			return valuedToken(b, i, k, tok, final)
		}
	}
	attr := ""
	if b[j] == '=' && slices.Contains(collapsed, tok.Word) { // <functionname="…">
		tok.Word = strings.TrimSuffix(tok.Word, "name")
		tok.Role, tok.Format = classify(t, tok.Word)
		j -= len("name")
	}
	n := Space(b, j, final)
	if n < 0 {
		return Token{}, lex.More
	}
	if n > 0 || lex.IsLetter(b[j]) {
		st := lex.No
		attr, j, st = attributes(b, j, i+MaxToken, final)
		if st != lex.Done {
			return Token{}, st
		}
	}
	if j < len(b) && b[j] == '/' && tok.Role != roleNone {
		j++
	}
	piped := false
	for j < len(b) {
		n := pipe(b[j:], final)
		if n < 0 {
			return Token{}, lex.More
		}
		if n == 0 {
			break
		}
		piped = true
		j += n
	}
	if j >= len(b) {
		return Token{}, undecided(b, i, final)
	}
	switch {
	case b[j] == '>':
		tok.End = j + 1
	case b[j] == '?' && tok.Word == "?xml":
		if j+1 >= len(b) {
			return Token{}, undecided(b, i, final)
		}
		if b[j+1] != '>' {
			return Token{}, lex.No
		}
		tok.End = j + 2
	case attr != "" && tok.Role == RoleOpen: // <tool_call name="…" arguments={…}/>
		tok.End = j
	default:
		return Token{}, lex.No
	}
	if attr != "" {
		tok.Name = attr
	}
	switch { // Gemma writes one pipe: <|channel>…<channel|>
	case tok.Word == "|channel" && !piped:
		tok.Role = RoleThink
	case tok.Word == "channel" && piped:
		tok.Role = RoleThinkEnd
	case tok.Word == "turn" && piped:
		tok.Role, tok.Word = RoleJunk, "|turn"
	}
	if tok.Role == roleNone && t.Declared(spelled) {
		tok.Role, tok.Format, tok.Name = RoleInvoke, FormatTags, spelled
	}
	if tok.Role == roleNone || tok.Role == RoleInvoke && tok.Name == "" {
		return Token{}, lex.No
	}
	return tok, lex.Done
}

// valuedToken reads <function=name> and <parameter=key>; j is at the sign.
func valuedToken(b []byte, i, j int, tok Token, final bool) (Token, lex.Status) {
	end := bytes.IndexByte(b[j:min(len(b), i+MaxToken)], '>')
	if end < 0 {
		return Token{}, undecided(b, i, final)
	}
	tok.Name = strings.Trim(string(b[j+1:j+end]), " \t\r\n\"'/")
	tok.End = j + end + 1
	tok.Role, tok.Format = RoleInvoke, FormatXML
	if tok.Word == "parameter" {
		tok.Role = RoleParam
	}
	return tok, lex.Done
}

func undecided(b []byte, i int, final bool) lex.Status {
	if final || len(b)-i > MaxToken {
		return lex.No
	}
	return lex.More
}

func classify(t Names, word string) (role, Format) {
	if f, ok := openWords[word]; ok {
		if f == "" {
			return RoleJunk, ""
		}
		return RoleOpen, f
	}
	switch {
	case slices.Contains(plainJunk, word):
		return RoleJunk, ""
	case thinkWords[word]:
		return RoleThink, ""
	case thinkEnds[word]:
		return RoleThinkEnd, ""
	case closeWords[word]:
		return RoleClose, ""
	case sepWords[word]:
		return RoleSep, ""
	case word == "invoke" || word == "function" || word == "|invoke":
		return RoleInvoke, FormatInvoke
	case word == "|channel" || word == "|start":
		return RoleHarmony, FormatHarmony
	case slices.Contains(paramWords, strings.TrimLeft(word, "/|")):
		return RoleParam, ""
	case word == "/...", word == "/function", word == "/invoke", word == "|/invoke":
		return RoleClose, ""
	case strings.HasPrefix(word, "|/"):
		return RoleClose, ""
	case strings.HasPrefix(word, "/"):
		if _, ok := openWords[word[1:]]; ok {
			return RoleClose, ""
		}
		if t.IsFolded(word[1:]) {
			return RoleClose, ""
		}
	case word == "|function_calls": // with a vendor's prefix
		return RoleOpen, FormatInvoke
	case strings.HasPrefix(word, "|") && len(word) > 1:
		return RoleJunk, ""
	}
	return roleNone, ""
}

// attributes reads name="…" and other attributes up to the marker's end.
func attributes(b []byte, j, limit int, final bool) (name string, end int, st lex.Status) {
	wait := lex.More
	if final {
		wait = lex.No
	}
	for {
		n := Space(b, j, final)
		for ; n > 0; n = Space(b, j, final) {
			j += n
		}
		if j >= len(b) || n < 0 {
			return name, j, wait
		}
		if j > limit {
			return name, j, lex.No
		}
		if !lex.IsLetter(b[j]) {
			return name, j, lex.Done
		}
		k, unsure := lex.NameRun(b, j, final)
		if unsure || k >= len(b) {
			return name, j, wait
		}
		if b[k] != '=' {
			return name, j, lex.No
		}
		key := string(b[j:k])
		k++
		if k >= len(b) {
			return name, j, wait
		}
		if b[k] == '{' || b[k] == '[' {
			return name, j, lex.Done
		}
		var val string
		if lex.IsQuote(b[k]) {
			n := bytes.IndexByte(b[k+1:min(len(b), limit)], b[k])
			if n < 0 {
				if len(b) < limit {
					return name, j, wait
				}
				return name, j, lex.No
			}
			val, j = string(b[k+1:k+1+n]), k+n+2
		} else {
			for j = k; j < len(b) && !lex.IsSpace(b[j]) && b[j] != '>'; j++ {
			}
			val = string(b[k:j])
		}
		if key == "name" || key == "tool" || key == "function" {
			name = val
		}
	}
}

func squareToken(b []byte, i int, final bool) (Token, lex.Status) {
	rest := b[i:min(len(b), i+24)]
	if len(rest) > 1 && rest[1] != '/' && (rest[1] < 'A' || rest[1] > 'Z') {
		return Token{}, lex.No
	}
	for word, tok := range squareTokens {
		if bytes.HasPrefix(rest, []byte(word)) {
			tok.End = i + len(word)
			if tok.Word == "" {
				tok.Word = strings.ToLower(word)
			}
			return tok, lex.Done
		}
		if !final && bytes.HasPrefix([]byte(word), rest) {
			return Token{}, lex.More
		}
	}
	return Token{}, lex.No
}

package parse

import (
	"bytes"
	"slices"
	"strings"

	"github.com/weirhost/weir/agent/parse/internal/lex"
	"github.com/weirhost/weir/agent/parse/internal/marker"
	"github.com/weirhost/weir/agent/parse/internal/toolset"
)

// maxTrail is how far Mentions reads in a group after its last call, in bytes. It reads
// that part again when the group ends there, once for each group.
const maxTrail = 128

// trails reports whether the text up to i is more than may be read twice.
func (gs *groups) trails(i int) bool {
	return gs.in.mentions && gs.g.calls > 0 && i-gs.g.end > maxTrail
}

// part handles one thing between two calls. no: the group ends here.
func (gs *groups) part(c byte) lex.Status {
	g := gs.g
	switch c {
	case ',', ';':
		if c == ';' {
			gs.confirmLine()
			gs.closed(gs.in.pos + 1)
			return lex.Done
		}
		gs.in.pos++
		return lex.Done
	case ']', ')', '}', '>':
		if c == '>' {
			if st := gs.promptPart(); st != lex.No {
				return st
			}
			if !g.typed {
				return lex.No
			}
		}
		g.depth = max(0, g.depth-1)
		gs.closed(gs.in.pos + 1)
		return lex.Done
	case '<':
		return gs.tokenPart()
	case '[':
		if tok, st := gs.in.token(gs.in.pos); st != lex.No {
			if st == lex.More {
				return lex.More
			}
			return gs.markerPart(tok)
		}
		return gs.bracketPart()
	case '(':
		return gs.bracketPart()
	case '{':
		return gs.objectPart()
	case '`':
		return gs.tickPart()
	case '"', '\'':
		return gs.quotePart(c)
	case '*':
		gs.in.pos++
		if g.calls > 0 {
			g.end = gs.in.pos
		}
		return lex.Done
	case '/':
		if g.typed { // the end of a marker that closes itself
			gs.in.pos++
			return lex.Done
		}
	case '-', '+':
		if g.eol || g.calls == 0 {
			gs.in.pos++
			return lex.Done
		}
	case '#':
		if g.fence || g.calls > 0 && lex.IsBlank(gs.in.buf[gs.in.pos-1]) {
			g.comment = true
			return gs.skipLine()
		}
	case '.':
		return gs.stopPart()
	case ':':
		if g.fresh {
			gs.in.pos++
			return lex.Done
		}
	}
	switch {
	case lex.IsLetter(c):
		return gs.wordPart()
	case lex.IsDigit(c) && g.eol:
		return gs.numberPart()
	}
	return lex.No
}

// closed takes a closing bracket, quote or marker into the group.
func (gs *groups) closed(end int) {
	gs.in.pos = end
	if gs.g.calls > 0 {
		gs.g.end = end
	}
}

// promptPart handles >>> in front of a further name.
func (gs *groups) promptPart() lex.Status {
	rest := gs.in.buf[gs.in.pos:min(len(gs.in.buf), gs.in.pos+len(marker.Prompt))]
	switch {
	case string(rest) == marker.Prompt:
		gs.block++
		gs.g.typed, gs.g.fresh = true, true
		gs.in.pos += len(marker.Prompt)
		return lex.Done
	case !gs.in.final && strings.HasPrefix(marker.Prompt, string(rest)):
		return lex.More
	}
	return lex.No
}

// tokenPart handles a marker in angle brackets.
func (gs *groups) tokenPart() lex.Status {
	tok, st := gs.in.token(gs.in.pos)
	if st == lex.No {
		if end, st := marker.Wrapper(gs.in.buf, gs.in.pos, gs.in.final); st != lex.No {
			if st == lex.Done {
				gs.closed(end)
			}
			return st
		}
	}
	if st == lex.No && gs.g.typed {
		return gs.plainTag()
	}
	if st != lex.Done {
		return st
	}
	return gs.markerPart(tok)
}

func (gs *groups) markerPart(tok marker.Token) lex.Status {
	g := gs.g
	switch tok.Role {
	case marker.RoleOpen:
		if g.single && g.calls > 0 {
			return lex.No
		}
		gs.block++
		g.typed, g.fresh, g.ended, g.closed = true, true, false, false
		if g.confirm == atEOL {
			g.confirm = atOnce
		}
		if g.calls == 0 && g.format != marker.FormatDeepSeek && g.format != marker.FormatKimi && g.format != marker.FormatHarmony || g.format == marker.FormatFence {
			g.format = tok.Format
		}
		g.name, g.nameAt = tok.Name, gs.in.pos
		gs.closed(tok.End)
	case marker.RoleClose:
		g.fresh, g.ended = false, g.calls > 0
		if g.name != "" && g.item == nil {
			gs.emptyCall()
		}
		g.name, g.closed = "", g.calls > 0
		if g.calls > 0 { // also where its opening marker was lost
			if !g.typed {
				gs.confirmAll()
			}
			g.typed = true
		}
		gs.closed(tok.End)
	case marker.RoleSep:
		if tok.Word == "[call_id]" { // the id is after it
			return gs.callID(tok.End)
		}
		gs.in.pos = tok.End
	case marker.RoleJunk:
		gs.closed(tok.End)
		if strings.HasPrefix(tok.Word, "|im_") || strings.HasPrefix(tok.Word, "|eot") {
			gs.block++
			g.eol = true
			gs.confirmLine()
		}
	case marker.RoleInvoke:
		switch tok.Format {
		case marker.FormatInvoke, marker.FormatXML:
			if st := gs.in.argumentsAt(tok.End); st != lex.Done {
				return st
			}
			return gs.beginTagged(tok)
		case marker.FormatTags:
			return gs.beginTagged(tok)
		}
		return lex.No
	case marker.RoleParam:
		if g.name != "" {
			return gs.beginItem(itemTagged, g.nameAt, gs.in.pos)
		}
		return lex.No
	case marker.RoleHarmony:
		return gs.headerPart(tok)
	default:
		return lex.No
	}
	return lex.Done
}

// callID skips the id between [CALL_ID] and [ARGS].
func (gs *groups) callID(i int) lex.Status {
	end, unsure := lex.NameRun(gs.in.buf, i, gs.in.final)
	if unsure {
		return lex.More
	}
	gs.in.pos = end
	return lex.Done
}

// bracketPart handles an opening bracket: of a list of calls, or of a call
// that is written as a tuple.
func (gs *groups) bracketPart() lex.Status {
	b := gs.in.buf
	k := gs.in.pos + 1
	for k < len(b) && k-gs.in.pos < lex.MaxIndent && lex.IsSpace(b[k]) {
		k++
	}
	if k < len(b) && lex.IsQuote(b[k]) {
		k++
	}
	end, unsure := lex.NameRun(b, k, gs.in.final)
	if unsure || k == len(b) && !gs.in.final {
		return lex.More
	}
	if end > k && gs.in.tools.Find(string(b[k:end])) != nil {
		j := end
		if j < len(b) && lex.IsQuote(b[j]) {
			j++
		}
		j = lex.SkipBlank(b, j)
		if j == len(b) && !gs.in.final {
			return lex.More
		}
		if j < len(b) && b[j] == ',' && !(gs.in.tools.AnyName && j == end) {
			return gs.beginItem(itemTuple, gs.in.pos, gs.in.pos)
		}
	}
	gs.g.depth++
	gs.in.pos++
	return lex.Done
}

// objectPart begins an object, unless the brace is around a call.
func (gs *groups) objectPart() lex.Status {
	b := gs.in.buf
	if gs.g.name == "" && (!gs.g.typed || gs.g.ended) {
		st, format := gs.around.probe(true).At(gs.in.pos)
		switch {
		case st == lex.More:
			return lex.More
		case st == lex.Done && format == marker.FormatPythonic:
			gs.in.pos++
			return lex.Done
		case st == lex.No && (gs.g.depth == 0 && !gs.g.fence || gs.g.ended):
			return lex.No
		}
	} else if k := lex.SkipBlank(b, gs.in.pos+1); k == len(b) && !gs.in.final {
		return lex.More
	}
	if gs.g.name != "" {
		return gs.beginItem(itemNamed, gs.g.nameAt, gs.in.pos)
	}
	return gs.beginItem(itemObject, gs.in.pos, gs.in.pos)
}

// quotePart handles a quote: around a call, or of a string that is no call.
func (gs *groups) quotePart(c byte) lex.Status {
	b, g := gs.in.buf, gs.g
	if gs.in.pos+1 == len(b) && !gs.in.final {
		return lex.More
	}
	if g.depth > 0 && gs.in.pos+1 < len(b) && lex.IsLetter(b[gs.in.pos+1]) {
		end, unsure := lex.NameRun(b, gs.in.pos+1, gs.in.final)
		if unsure {
			return lex.More
		}
		name := string(b[gs.in.pos+1 : end])
		if gs.in.tools.Find(name) == nil || end < len(b) && b[end] != '(' && b[end] != c {
			return gs.beginItem(itemString, gs.in.pos, gs.in.pos)
		}
	}
	gs.closed(gs.in.pos + 1)
	return lex.Done
}

// stopPart takes the full stop of a sentence that ends with a call.
func (gs *groups) stopPart() lex.Status {
	b := gs.in.buf
	if gs.in.pos+1 == len(b) && !gs.in.final {
		return lex.More
	}
	if gs.g.calls == 0 || gs.in.pos+1 < len(b) && !lex.IsSpace(b[gs.in.pos+1]) {
		return lex.No
	}
	if gs.in.pos+1 < len(b) && b[gs.in.pos+1] != '\n' && b[gs.in.pos+1] != '\r' {
		return lex.No
	}
	gs.closed(gs.in.pos + 1)
	return lex.Done
}

// numberPart skips the number of a list's entry.
func (gs *groups) numberPart() lex.Status {
	b := gs.in.buf
	i := gs.in.pos
	for i < len(b) && i-gs.in.pos < 4 && lex.IsDigit(b[i]) {
		i++
	}
	if i+1 >= len(b) {
		return lex.Unless(gs.in.final)
	}
	if b[i] != '.' && b[i] != ')' || b[i+1] != ' ' {
		return lex.No
	}
	gs.in.pos = i + 2
	return lex.Done
}

// skipLine skips a comment or an import in a fence.
func (gs *groups) skipLine() lex.Status {
	b := gs.in.buf
	for gs.in.pos < len(b) && b[gs.in.pos] != '\n' {
		gs.in.pos++
		gs.g.comment = true
	}
	if gs.in.pos == len(b) {
		return lex.More
	}
	gs.g.comment = false
	return lex.Done
}

// plainTag handles the tags that spell out the parts of a call after a
// marker: <name>…</name> and <arguments>…</arguments>.
func (gs *groups) plainTag() lex.Status {
	b := gs.in.buf[gs.in.pos:min(len(gs.in.buf), gs.in.pos+lex.MaxName)]
	final := gs.in.final || len(b) == lex.MaxName
	closing := bytes.IndexByte(b, '>')
	if closing < 0 {
		return lex.Unless(final)
	}
	word := strings.TrimPrefix(string(b[1:closing]), "/")
	if b[1] != '/' && !gs.g.fresh {
		return lex.No
	}
	switch {
	case word == "invoke": // its name is in a tag of its own
		gs.closed(gs.in.pos + closing + 1)
		return lex.Done
	case slices.Contains(toolset.ArgsKeys, word):
		if b[1] != '/' && gs.g.name != "" {
			k := lex.SkipBlank(gs.in.buf, gs.in.pos+closing+1)
			if k == len(gs.in.buf) && !gs.in.final {
				return lex.More
			}
			if k < len(gs.in.buf) && gs.in.buf[k] == '<' {
				return gs.beginItem(itemTagged, gs.g.nameAt, k)
			}
		}
		gs.closed(gs.in.pos + closing + 1)
		return lex.Done
	case b[1] != '/' && slices.Contains(toolset.NameKeys, word):
		end := bytes.IndexByte(b[closing:], '<')
		if end < 0 {
			return lex.Unless(final)
		}
		gs.g.name, gs.g.nameAt = strings.TrimSpace(string(b[closing+1:closing+end])), gs.in.pos
		gs.in.pos += closing + end
		return lex.Done
	case slices.Contains(toolset.NameKeys, word):
		gs.closed(gs.in.pos + closing + 1)
		return lex.Done
	}
	return lex.No
}

// tickPart handles backticks: code marks around a call, or a fence.
func (gs *groups) tickPart() lex.Status {
	b, g := gs.in.buf, gs.g
	n, open := lex.TickRun(b, gs.in.pos)
	if open && !gs.in.final {
		return lex.More
	}
	if n < 3 {
		gs.closed(gs.in.pos + n)
		return lex.Done
	}
	if g.fence {
		g.fence = false
		g.eol = true
		gs.closed(gs.in.pos + n)
		if g.typed {
			return lex.Done
		}
		gs.confirmLine()
		return lex.Done
	}
	body, info, st := lex.FenceInfo(b, gs.in.pos+n, gs.in.final)
	if st == lex.More {
		return lex.More
	}
	if st == lex.Done && g.ended && !g.fresh { // data
		return lex.No
	}
	if st == lex.No {
		if g.calls > 0 { // a fence's end whose beginning is missing
			gs.closed(gs.in.pos + n)
			return lex.Done
		}
		return lex.No
	}
	if g.calls > 0 && g.name == "" {
		switch st := gs.around.payloadAt(body, info); st {
		case lex.More:
			return st
		case lex.No:
			gs.closed(gs.in.pos + n)
			return lex.Done
		}
	}
	gs.block++
	g.fence, g.fenced, g.eol = true, true, true
	gs.in.pos = body
	return lex.Done
}

// headerPart handles a further channel between two calls.
func (gs *groups) headerPart(tok marker.Token) lex.Status {
	to, _, end, st := marker.Header(gs.in.buf, tok.End, gs.in.final)
	if st == lex.Done && to == "" {
		return lex.No
	}
	if st == lex.Done {
		gs.g.name, gs.g.nameAt = to, gs.in.pos
		gs.closed(end)
	}
	return st
}

package textcalls

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/tidwall/gjson"

	"github.com/weirhost/weir/agent/internal/prompt"
	"github.com/weirhost/weir/agent/parse"
)

// An answer is what the client gets of one choice, of one reply or two.
type answer struct {
	reader  *reader
	ended   bool            // the reply was read to its end
	said    strings.Builder // content that was delivered
	lead    string          // line ends in front of it, which are not delivered yet
	apart   bool            // a thought, a call or another reply is between content and what follows
	calls   int             // that were delivered
	spoke   bool            // the second reply has brought content or calls
	second  bool            // it is the second reply
	echo    string          // what the second reply may repeat at its beginning
	waiting string          // what of it is a repetition so far
	kept    kept            // of an answer that comes whole
}

// An out is a part of an answer in its own form: one of its fields is set.
type out struct{ content, thought, call string }

// begin goes on with a second reply.
func (a *answer) begin(r *reader) {
	a.reader, a.second, a.ended, a.apart = r, true, false, true
	a.echo = strings.TrimSpace(a.said.String())
}

// deliver writes pieces for the client.
func (a *answer) deliver(pieces []piece, ids map[string]bool) []out {
	var outs []out
	for _, p := range pieces {
		switch {
		case p.call != nil:
			a.waiting, a.echo = "", "" // a repetition that has not ended
			outs = append(outs, out{call: callDelta(*p.call, a.calls, newID(p.call.ID, ids))})
			a.calls++
			a.apart, a.spoke, a.lead = true, a.second, ""
		case p.thought != "":
			outs = append(outs, out{thought: p.thought})
			a.apart, a.lead = true, ""
		default:
			if text := a.content(a.unrepeated(p.text)); text != "" {
				outs = append(outs, out{content: text})
			}
		}
	}
	return joinOuts(outs)
}

// end returns the content that waited for the end of a reply.
func (a *answer) end() []out {
	text := a.waiting
	if strings.TrimSpace(text) == a.echo {
		text = ""
	}
	a.waiting, a.echo = "", ""
	if text = a.content(text); text == "" && a.said.Len() == 0 && a.calls == 0 && !a.apart {
		text, a.lead = a.lead, ""
	}
	if text == "" {
		return nil
	}
	return []out{{content: text}}
}

// unrepeated returns text without what was delivered already, which may be at the beginning
// of a second reply.
func (a *answer) unrepeated(text string) string {
	if a.echo == "" {
		return text
	}
	a.waiting += text
	begin := strings.TrimLeft(a.waiting, " \t\r\n")
	switch rest, repeats := strings.CutPrefix(begin, a.echo); {
	case repeats:
		a.waiting, a.echo = "", ""
		return rest
	case strings.HasPrefix(a.echo, begin):
		return ""
	}
	text, a.waiting, a.echo = a.waiting, "", ""
	return text
}

// content returns text as it follows what was delivered: without line ends in front where a
// thought or a call is there, and behind an empty line where it would run into other text.
func (a *answer) content(text string) string {
	switch {
	case text == "":
		return ""
	case a.said.Len() == 0:
		if text = a.lead + text; strings.Trim(text, "\r\n") == "" {
			a.lead = text
			return ""
		}
		if a.lead = ""; a.apart {
			text = strings.TrimLeft(text, "\r\n")
		}
	case a.apart:
		blank := "\r\n"
		if a.second && !a.spoke { // of what it repeated
			blank += " \t"
		}
		if text = strings.TrimLeft(text, blank); text == "" {
			return ""
		}
		text = gap(a.said.String()) + text
	}
	a.apart, a.spoke = false, a.spoke || a.second
	a.said.WriteString(text)
	return text
}

// gap returns what is missing of an empty line behind text.
func gap(text string) string {
	switch {
	case strings.HasSuffix(text, "\n\n"):
		return ""
	case strings.HasSuffix(text, "\n"):
		return "\n"
	}
	return "\n\n"
}

func joinOuts(outs []out) []out {
	var joined []out
	for _, o := range outs {
		if n := len(joined); n > 0 && o.call == "" && joined[n-1].call == "" && (o.content == "") == (joined[n-1].content == "") {
			joined[n-1].content += o.content
			joined[n-1].thought += o.thought
			continue
		}
		joined = append(joined, o)
	}
	return joined
}

// callDelta writes a call as an element of tool_calls.
func callDelta(c parse.Call, index int, id string) string {
	return fmt.Sprintf(`{"index":%d,"id":%s,"type":"function","function":{"name":%s,"arguments":%s}}`, index, prompt.Quote(id), prompt.Quote(c.Name), prompt.Quote(string(c.Args)))
}

// idPattern matches ids of calls that every client accepts.
var idPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`) })

// newID returns the model's id if it is valid and no call has it, else the next number that
// is free.
func newID(wanted string, used map[string]bool) string {
	if !idPattern().MatchString(wanted) || used[wanted] {
		for n := 1; ; n++ {
			if wanted = fmt.Sprintf("call_%03d", n); !used[wanted] {
				break
			}
		}
	}
	used[wanted] = true
	return wanted
}

// usedIDs returns the ids of calls in messages.
func usedIDs(messages []gjson.Result) map[string]bool {
	ids := map[string]bool{}
	for _, m := range messages {
		for _, c := range m.Get("tool_calls").Array() {
			ids[c.Get("id").String()] = true
		}
		if isResult(m) {
			ids[m.Get("tool_call_id").String()] = true
		}
	}
	return ids
}

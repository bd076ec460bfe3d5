package textcalls

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"

	"github.com/weirhost/weir/agent"
	"github.com/weirhost/weir/agent/internal/prompt"
	"github.com/weirhost/weir/agent/passthrough"
)

// takeDelta takes a chunk of a stream with one choice.
func (x *exchange) takeDelta(c passthrough.Chunk, choice gjson.Result) {
	index, delta := int(choice.Get("index").Int()), choice.Get("delta")
	a := x.answer(index)
	a.thinks(delta)
	text, finish := delta.Get("content"), choice.Get("finish_reason").String()
	outs := a.deliver(a.reader.feed(textOf(text)), x.ids)
	if finish == "" {
		if x.pass(c, index, text, outs); a.reader.over() && !x.ask.many && !x.stopped {
			x.leave(index, a)
		}
		return
	}
	cut := wasCut(c, finish)
	outs = append(outs, x.closeReply(a, cut)...)
	again := !cut && x.mustAsk(a)
	if !again {
		outs = append(outs, x.endReply(a)...)
	}
	for _, o := range joinOuts(outs) {
		if x.send(index, o); x.stopped {
			return
		}
	}
	if again {
		x.tail = []passthrough.Chunk{c}
		return
	}
	c.Data = without(c.Data, "choices.0.delta.content")
	if a.calls > 0 && !cut {
		c.Data, c.Finish = set(c.Data, "choices.0.finish_reason", []byte(`"tool_calls"`)), agent.FinishCalls
	}
	x.forward(c)
}

// textOf returns a content that is a text. Any other is passed on as it is.
func textOf(content gjson.Result) string {
	if content.Type != gjson.String {
		return ""
	}
	return content.String()
}

// thinks notes that the server separates thoughts.
func (a *answer) thinks(delta gjson.Result) {
	for _, key := range []string{"reasoning_content", "reasoning", "thinking"} {
		if delta.Get(key).String() != "" {
			a.reader.reading.StartInThought = false
		}
	}
}

// pass hands a chunk on whose text became outs. If nothing changed it stays as it came.
func (x *exchange) pass(c passthrough.Chunk, index int, text gjson.Result, outs []out) {
	same := textOf(text) == "" && len(outs) == 0 || len(outs) == 1 && outs[0].content != "" && outs[0].content == textOf(text)
	if same && !x.second {
		x.forward(c)
		return
	}
	if same { // the role was sent before
		c.Data = without(c.Data, "choices.0.delta.role")
		if says(c.Data) {
			x.forward(c)
		} else {
			x.forward(passthrough.Chunk{Usage: c.Usage, Model: c.Model})
		}
		return
	}
	rest := c
	rest.Data = without(c.Data, "choices.0.delta.content")
	if x.second {
		rest.Data = without(rest.Data, "choices.0.delta.role")
	}
	if !says(rest.Data) {
		rest.Data = nil
	}
	x.forward(rest)
	for _, o := range outs {
		if x.stopped {
			return
		}
		x.send(index, o)
	}
}

// says reports whether the delta of a chunk has anything in it.
func says(data []byte) bool {
	some := false
	gjson.GetBytes(data, "choices.0.delta").ForEach(func(_, v gjson.Result) bool {
		some = some || v.Type != gjson.Null
		return !some
	})
	return some || gjson.GetBytes(data, "usage").IsObject()
}

// send delivers a part of the answer in a chunk like the newest one.
func (x *exchange) send(index int, o out) {
	a := x.answers[index]
	if gjson.GetBytes(x.last, "choices.0.message").Exists() {
		a.kept.add(o)
		return
	}
	delta := `{"content":` + prompt.Quote(o.content) + `}`
	switch {
	case o.call != "":
		delta = `{"tool_calls":[` + o.call + `]}`
	case o.thought != "":
		delta = `{"reasoning_content":` + prompt.Quote(o.thought) + `}`
	}
	data := set(without(x.last, "usage"), "choices", fmt.Appendf(nil, `[{"index":%d,"delta":%s,"finish_reason":null}]`, index, delta))
	x.forward(passthrough.Chunk{Data: data})
}

// forward yields a chunk, with the usage of both replies, as a part of the first one's
// answer. A chunk that says nothing is left out.
func (x *exchange) forward(c passthrough.Chunk) {
	if c.Data == nil && c.Usage == nil && c.Model == "" && c.Finish == "" || x.stopped {
		return
	}
	if x.second && c.Data != nil {
		for _, key := range []string{"id", "created"} {
			if v := gjson.GetBytes(x.first, key); v.Exists() {
				c.Data = set(c.Data, key, []byte(v.Raw))
			}
		}
	}
	x.stopped = !x.yield(x.before.with(c), nil)
}

// without takes a member out of JSON.
func without(data []byte, path string) []byte {
	if !gjson.GetBytes(data, path).Exists() {
		return data
	}
	out, err := sjson.DeleteBytes(data, path)
	if err != nil {
		return data
	}
	return out
}

// kept is what an answer that comes whole is made of.
type kept struct {
	content, thought strings.Builder
	calls            []string
}

func (k *kept) add(o out) {
	k.content.WriteString(o.content)
	if o.thought != "" && k.thought.Len() > 0 {
		k.thought.WriteString(gap(k.thought.String()))
	}
	k.thought.WriteString(o.thought)
	if o.call != "" {
		k.calls = append(k.calls, string(without([]byte(o.call), "index")))
	}
}

// takeWhole takes an answer that is not streamed.
func (x *exchange) takeWhole(c passthrough.Chunk, choices []gjson.Result) {
	for i, choice := range choices {
		a, message := x.answer(int(choice.Get("index").Int())), choice.Get("message")
		a.thinks(message)
		finish := choice.Get("finish_reason").String()
		cut := wasCut(passthrough.Chunk{}, finish)
		if thought := message.Get("reasoning_content").String(); !a.reader.closed {
			a.kept.add(out{thought: thought})
		}
		outs := append(a.deliver(a.reader.feed(textOf(message.Get("content"))), x.ids), x.closeReply(a, cut)...)
		again := !cut && len(choices) == 1 && x.mustAsk(a)
		if !again {
			outs = append(outs, x.endReply(a)...)
		}
		for _, o := range joinOuts(outs) {
			a.kept.add(o)
		}
		if again {
			x.tail = []passthrough.Chunk{c}
			return
		}
		c.Data = a.kept.write(slices.Clone(c.Data), fmt.Sprintf("choices.%d.", i), message)
		if a.calls > 0 && !cut {
			c.Data = set(c.Data, fmt.Sprintf("choices.%d.finish_reason", i), []byte(`"tool_calls"`))
			c.Finish = agent.FinishCalls
		}
	}
	x.forward(c)
}

// write puts the answer into the message at a path. What did not change stays as it came.
func (k *kept) write(data []byte, path string, message gjson.Result) []byte {
	path += "message."
	if text := k.content.String(); text != textOf(message.Get("content")) {
		value := []byte(prompt.Quote(text))
		if text == "" && len(k.calls) > 0 {
			value = []byte("null")
		}
		data = set(data, path+"content", value)
	}
	if text := k.thought.String(); text != message.Get("reasoning_content").String() {
		data = set(data, path+"reasoning_content", []byte(prompt.Quote(text)))
	}
	if len(k.calls) > 0 {
		data = set(data, path+"tool_calls", []byte("["+strings.Join(k.calls, ",")+"]"))
	}
	return data
}

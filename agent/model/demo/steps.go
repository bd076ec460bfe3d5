package demo

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weirhost/weir/sdk/tool"
)

const (
	thenWords = `(?i)[,;.]?\s+(?:and )?then,?\s+|[，,；;。]?\s*(?:然后|接着|再)\s*`
	sentences = `[?？;；]\s*|。|\.\s+|\s*(?:另外|同时)\s*|\.?\s+(?i:also)\s+`
	hit       = `(?m)^([\w./-]*\w\.\w+)[:-]\d+` // a file and a line, as searches write them
)

// next returns the calls to make now; none: it is time to answer.
func next(s scene) []tool.Call {
	if c, ok := loadMore(s); ok {
		return s.numbered(c)
	}
	if len(s.results) == 0 && refersBack(s.question) {
		if c, ok := load(s); ok {
			return s.numbered(c)
		}
		if len(s.earlier) > 0 {
			return nil
		}
	}
	if s.called(loadTool) || s.called(searchTool) {
		return nil
	}
	if len(s.results) == 0 {
		if c, ok := script(s); ok {
			return s.numbered(c)
		}
	}
	tools := slices.DeleteFunc(slices.Clone(s.tools), func(t toolInfo) bool {
		return t.name == loadTool || t.name == searchTool || t.name == tool.RunScript
	})
	steps := split(thenWords, s.question)
	done := len(s.results)
	switch {
	case len(steps) > 1 && done < len(steps) && (done == 0 || !isFailure(s.results[done-1].text)):
		step := steps[done]
		if done > 0 { // a later step may mean a file that an earlier one found
			if m := compiled(hit).FindStringSubmatch(s.results[done-1].text); m != nil && !compiled(path).MatchString(step) {
				step += " " + m[1]
			}
		}
		if c, ok := callFor(tools, step); ok {
			return s.numbered(c)
		}
		return nil
	case done > 0:
		return nil
	}
	if s.must != nil {
		return s.numbered(forced(slices.DeleteFunc(tools, func(t toolInfo) bool { return !s.must(t) }), s.question)...)
	}
	if c, ok := callFor(tools, s.question); ok && len(split(sentences, s.question)) < 2 {
		return s.numbered(c)
	}
	var calls []tool.Call
	for _, q := range split(sentences, s.question) {
		if c, ok := callFor(tools, q); ok {
			calls = append(calls, c)
		}
	}
	return s.numbered(calls...)
}

// split divides a question; full stops in quotations and names end no sentence.
func split(expr, question string) []string {
	var out []string
	for _, p := range compiled(expr).Split(question, -1) {
		if p = strings.TrimSpace(p); p != "" {
			out = append(out, p)
		}
	}
	return out
}

// numbered gives calls their ids. A call that this turn has made is left out.
func (s scene) numbered(calls ...tool.Call) []tool.Call {
	var out []tool.Call
	for _, c := range calls {
		if slices.ContainsFunc(append(s.calls, out...), func(o tool.Call) bool { return o.Tool == c.Tool && string(o.Args) == string(c.Args) }) {
			continue
		}
		c.ID = fmt.Sprintf("call_%03d", len(s.calls)+len(out)+1)
		out = append(out, c)
	}
	return out
}

func (s scene) has(name string) bool {
	return slices.ContainsFunc(s.tools, func(t toolInfo) bool { return t.name == name })
}

func (s scene) called(name string) bool {
	return slices.ContainsFunc(s.calls, func(c tool.Call) bool { return c.Tool == name })
}

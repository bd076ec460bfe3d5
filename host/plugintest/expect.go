package plugintest

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/weirhost/weir/host/internal/tomlpos"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// expect is the expected result of a call. The zero value expects success.
type expect struct {
	at    map[string]Problem
	code  tool.Code // the expected failure; empty: none
	hint  *texts    // of that failure
	whole *texts    // the whole text, or the message of the failure
	shown *texts    // the text for the model, with the notice

	chars, lines *amount // of the whole
	cut          *cut
	archived     *bool
	sources      []string
	parts        []string // media types; nil: any
	more         *more
	entries      *entries
	files        map[string]*leftover
	requests     *amount
	time         time.Duration // 0: the deadline alone
	memory       tool.Bytes    // 0: the limit alone
}

// A cut is the expectation of the shown part.
type cut struct {
	any          bool // false: the text must not be cut
	by           tool.Layer
	unit         tool.Unit
	limit        *amount
	chars, lines *amount // of the shown part, without the notice
}

// more is the expectation of a tool's claim that there is more.
type more struct {
	any          bool
	shown, total *amount
	args         json.RawMessage
}

// entries is the expectation of the entries of the whole: hits, rows, matches.
type entries struct {
	shown, total *amount
}

// A leftover is the expected content of a file after the call.
type leftover struct {
	gone bool
	text *texts
	at   Problem
}

// codes are the failures that a case can expect.
var codes = []string{
	string(tool.BadArgs), string(tool.Failed), string(tool.TimedOut), string(tool.OutOfMemory), string(tool.Trapped), string(tool.TooLarge),
	string(tool.Denied), string(tool.RateLimited), string(tool.Expired),
}

// expect decodes [case.expect]. The zero node expects success.
func (n node) expect() (e expect) {
	if n.Table == nil {
		return e
	}
	e.at = map[string]Problem{}
	if e.code = tool.Code(n.text("error")); e.code != "" && !slices.Contains(codes, string(e.code)) {
		n.Bad("error", tool.Textf("write one of: %s", join(codes)), "there is no error %q", e.code)
	}
	e.hint = n.node("hint").texts()
	e.whole = n.someTexts()
	e.shown = n.node("shown").texts()
	e.chars, e.lines, e.requests = n.maybe("chars"), n.maybe("lines"), n.maybe("requests")
	e.cut = n.cut()
	if b, ok := tomlpos.Typed[bool](n.Table, "archived", tool.Textf("true or false")); ok {
		e.archived = &b
	}
	e.sources, _ = n.list("sources")
	if parts, ok := n.list("parts"); ok {
		e.parts = append([]string{}, parts...)
	}
	e.more, e.entries = n.more(), n.entries()
	e.files = n.leftovers()
	e.time, e.memory = n.duration("max_time"), n.bytes("max_memory")
	for _, key := range n.Known() {
		e.at[key] = n.place(key)
	}
	n.done()
	return e
}

func (n node) maybe(key string) *amount {
	if a, ok := n.amount(key); ok {
		return &a
	}
	return nil
}

// cut decodes cut = true, cut = false or [case.expect.cut].
func (n node) cut() *cut {
	switch v := n.Values["cut"].(type) {
	case bool:
		n.Get("cut")
		return &cut{any: v}
	case nil:
		n.Get("cut")
		return nil
	}
	t := n.node("cut")
	if t.Table == nil {
		return nil
	}
	c := &cut{any: true, by: tool.Layer(t.text("by")), unit: tool.Unit(t.text("unit")), limit: t.maybe("limit"), chars: t.maybe("kept_chars"), lines: t.maybe("kept_lines")}
	layers := []tool.Layer{tool.LayerNone, tool.LayerTool, tool.LayerDefault, tool.LayerOperator, tool.LayerCeiling}
	if !slices.Contains(layers, c.by) {
		t.Bad("by", tool.Textf(`write "tool", "default", "operator" or "ceiling"`), "%s is %q", t.Name("by"), c.by)
	}
	if c.unit != "" && c.unit != tool.Chars && c.unit != tool.Lines && c.unit != tool.EntryUnit {
		t.Bad("unit", tool.Textf("write %q, %q or %q", tool.Chars, tool.Lines, tool.EntryUnit), "%s is %q", t.Name("unit"), c.unit)
	}
	t.done()
	return c
}

// more decodes more = true, more = false or [case.expect.more].
func (n node) more() *more {
	if b, ok := n.Values["more"].(bool); ok {
		n.Get("more")
		return &more{any: b}
	}
	t := n.node("more")
	if t.Table == nil {
		return nil
	}
	m := &more{any: true, shown: t.maybe("shown"), total: t.maybe("total"), args: t.json("args")}
	t.done()
	return m
}

// entries decodes [case.expect.entries].
func (n node) entries() *entries {
	t := n.node("entries")
	if t.Table == nil {
		return nil
	}
	e := &entries{shown: t.maybe("shown"), total: t.maybe("total")}
	t.done()
	return e
}

func (n node) leftovers() map[string]*leftover {
	t := n.node("files")
	if t.Table == nil {
		return nil
	}
	out := map[string]*leftover{}
	for path, raw := range t.Values {
		l := &leftover{at: t.place(path)}
		switch v := raw.(type) {
		case string:
			t.Get(path)
			l.text = &texts{equals: &v, at: map[string]Problem{"equals": l.at}}
		case bool:
			t.Get(path)
			l.gone = !v
		default:
			l.text = t.node(path).texts()
		}
		out[path] = l
	}
	return out
}

// An answer is the result of a call, in the form that the checks need.
type answer struct {
	result tool.Result
	shown  string // the text for the model
	count  int    // of requests
	// file returns the content of a file after the call. ok is false if no
	// folder of the plugin can contain it.
	file func(name string) (path string, ok bool)
}

// check returns the differences from the expectation, and the golden files that
// it wrote.
func (e expect) check(a answer, at Problem, update bool) (out []Problem, updated []string) {
	c := checker{expect: e, at: at}
	r := a.result
	text, what := r.Whole(), tool.Textf("the text")
	switch {
	case e.code == "" && r.Err != nil:
		c.wrong("error", "", "the call failed: %s", r.Err)
		return c.out, nil
	case e.code != "" && r.Err == nil:
		c.wrong("error", "got:\n"+indent(clip(text, maxGot)), "the call succeeded, and the error %s is expected", e.code)
		return c.out, nil
	case e.code != "" && r.Err.Code != e.code:
		c.wrong("error", "", "the error is %s, and %s is expected", r.Err, e.code)
	}
	if r.Err != nil {
		text, what = r.Err.Msg, tool.Textf("the error's message")
		c.out = append(c.out, e.hint.check(tool.Textf("the error's hint"), r.Err.Hint)...)
	}
	c.out = append(c.out, e.whole.check(what, text)...)
	c.out = append(c.out, e.shown.check(tool.Textf("what the model reads"), a.shown)...)
	for _, g := range []struct {
		t    *texts
		what tool.Text
		text string
	}{{e.whole, what, text}, {e.shown, tool.Textf("what the model reads"), a.shown}} {
		bad, file := g.t.checkGolden(g.what, g.text, update)
		c.out = append(c.out, bad...)
		if file != "" {
			updated = append(updated, file)
		}
	}
	c.amount("chars", "the whole has %d characters", r.Shown.TotalChars, e.chars)
	c.amount("lines", "the whole has %d lines", r.Shown.TotalLines, e.lines)
	c.cut(r)
	c.claims(r)
	if e.entries != nil {
		c.amount("entries", "%d entries are shown whole", r.Shown.ShownEntries, e.entries.shown)
		c.amount("entries", "the whole has %d entries", r.Shown.TotalEntries, e.entries.total)
	}
	c.amount("requests", "the tool made %d requests", a.count, e.requests)
	c.leftovers(a.file)
	if e.time > 0 && r.Stats.Duration > e.time {
		c.wrong("max_time", "", "the call took %s, and at most %s is expected", round(r.Stats.Duration), e.time)
	}
	if e.memory > 0 && r.Stats.Memory > e.memory {
		c.wrong("max_memory", "", "the tool ended with %s of memory, and at most %s is expected", r.Stats.Memory, e.memory)
	}
	return c.out, updated
}

// A checker collects differences from the expectation.
type checker struct {
	expect
	at  Problem
	out []Problem
}

// wrong adds a problem at a key of the expectation, or at the case if the key is
// not set.
func (c *checker) wrong(key, detail, format string, args ...any) {
	p, ok := c.expect.at[key]
	if !ok || p.Line == 0 {
		p = c.at
	}
	p.Msg, p.Detail = tool.Textf(format, args...), detail
	c.out = append(c.out, p)
}

func (c *checker) amount(key, format string, got int, want *amount) {
	if want != nil && !want.holds(got) {
		c.wrong(key, "", "%v, expected: %v", tool.Textf(format, got), want.text())
		c.out[len(c.out)-1] = moved(c.out[len(c.out)-1], want.at)
	}
}

// moved returns a problem with another position.
func moved(p, to Problem) Problem {
	p.File, p.Line, p.Col = to.File, to.Line, to.Col
	return p
}

func (c *checker) cut(r tool.Result) {
	e, v := c.expect.cut, r.Shown
	switch {
	case e == nil:
	case e.any != v.Cut() && v.Cut():
		c.wrong("cut", "", "the text of %d characters and %d lines is cut by the %s limit of %d %s, and is expected to be shown whole", v.TotalChars, v.TotalLines, v.By, v.Limit, v.Unit)
	case e.any != v.Cut():
		c.wrong("cut", "", "the text of %d characters and %d lines is shown whole, and is expected to be cut", v.TotalChars, v.TotalLines)
	case e.any:
		if e.by != "" && e.by != v.By {
			c.wrong("cut", "", "it is cut by the %s limit of %d %s, and not by that of the %s", v.By, v.Limit, v.Unit, e.by)
		}
		if e.unit != "" && e.unit != v.Unit {
			c.wrong("cut", "", "it is cut by the limit of %d %s, and not by that of %s", v.Limit, v.Unit, e.unit)
		}
		chars, lines := limit.Count(v.Text)
		c.amount("cut", "the limit that decides is %d", v.Limit, e.limit)
		c.amount("cut", "%d characters are shown", chars, e.chars)
		c.amount("cut", "%d lines are shown", lines, e.lines)
	}
	if c.archived != nil && *c.archived != (r.Ref != nil) {
		if r.Ref != nil {
			c.wrong("archived", "", "the whole is archived")
		} else {
			c.wrong("archived", "", "the whole is not archived")
		}
	}
}

func (c *checker) claims(r tool.Result) {
	for _, want := range c.sources {
		if !slices.ContainsFunc(r.Sources, func(s tool.Source) bool { return s.URL == want || s.Title == want }) {
			c.wrong("sources", "", "%q is not among the sources: %s", want, sourcesOf(r.Sources))
		}
	}
	if c.parts != nil {
		var got []string
		for _, p := range r.Parts {
			got = append(got, p.MIME)
		}
		if !slices.Equal(got, c.parts) {
			c.wrong("parts", "", "the files are %q, expected: %q", got, c.parts)
		}
	}
	m := c.more
	switch {
	case m == nil:
	case r.More != nil && !m.any:
		c.wrong("more", "", "the tool says that there is more")
	case r.More == nil && m.any:
		c.wrong("more", "", "the tool does not say that there is more")
	case m.any:
		c.amount("more", "it says that %d items are shown", r.More.Shown, m.shown)
		c.amount("more", "it says that there are %d items", r.More.Total, m.total)
		if m.args != nil && !sameJSON(m.args, r.More.Args) {
			c.wrong("more", "", "it continues with %s, expected: %s", orNothing(r.More.Args), m.args)
		}
	}
}

func sourcesOf(list []tool.Source) tool.Text {
	var out []string
	for _, s := range list {
		out = append(out, strings.TrimSpace(s.Title+" "+s.URL))
	}
	if len(out) == 0 {
		return tool.Textf("there are none")
	}
	return tool.Textf("%s", join(out))
}

func orNothing(b []byte) tool.Text {
	if len(b) == 0 {
		return tool.Textf("nothing")
	}
	return tool.Textf("%s", b)
}

func (c *checker) leftovers(file func(string) (string, bool)) {
	for _, path := range slices.Sorted(maps.Keys(c.files)) {
		l := c.files[path]
		at, ok := file(path)
		data, err := os.ReadFile(at)
		p := l.at
		switch {
		case !ok:
			p.Msg = tool.Textf("the file %q lies in no folder that the plugin asks for", path)
		case l.gone && err == nil:
			p.Msg = tool.Textf("the file %s is there after the call", path)
		case !l.gone && err != nil:
			p.Msg = tool.Textf("the file %s is not there after the call", path)
		default:
			c.out = append(c.out, l.text.check(tool.Textf("the file %s", path), string(data))...)
			continue
		}
		c.out = append(c.out, p)
	}
}

// sampleUUID replaces the archive's uuid in the text that a case compares.
const sampleUUID = "00000000-0000-4000-8000-000000000000"

// rendered returns the text of a result for the model, the same in each run.
func rendered(r tool.Result, l tool.Locale) string {
	if r.Ref != nil {
		ref := *r.Ref
		ref.UUID, ref.CreatedAt = sampleUUID, time.Time{}
		r.Ref = &ref
	}
	return limit.Render(r, l)
}

// round rounds a duration for people.
func round(d time.Duration) time.Duration {
	switch {
	case d > time.Second:
		return d.Round(10 * time.Millisecond)
	case d > time.Millisecond:
		return d.Round(100 * time.Microsecond)
	}
	return d.Round(time.Microsecond)
}

package quote

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/weirhost/weir/agent/parse"
	"github.com/weirhost/weir/sdk/tool"
)

// A Digest stands for a call: its tool and the values of its arguments. Two spellings of
// one call have the same.
type Digest uint64

// Tools are the declared tools, as calls are compared. They are safe for concurrent use.
type Tools struct {
	set *parse.Set
	// defaults are the values that stand for left out arguments, by tool and argument, as
	// normal writes them.
	defaults map[string]map[string]string
	stamp    Digest
}

// NewTools returns the tools of set, which are specs, but for load_tool_history: every notice of a
// cut text has a call of it, which is never a quotation.
func NewTools(specs []tool.Spec, set *parse.Set) *Tools {
	loads := func(s tool.Spec) bool { return s.Name == tool.LoadHistory }
	if slices.ContainsFunc(specs, loads) {
		specs = slices.DeleteFunc(slices.Clone(specs), loads)
		set = parse.NewSet(parse.Options{Tools: specs})
	}
	t := &Tools{set: set, defaults: map[string]map[string]string{}}
	var all strings.Builder
	for _, s := range specs {
		all.WriteString(s.Name + "\x00" + string(s.Params) + "\x00")
		var schema struct {
			Properties map[string]struct {
				Default json.RawMessage `json:"default"`
			} `json:"properties"`
		}
		if json.Unmarshal(s.Params, &schema) != nil {
			continue
		}
		for name, p := range schema.Properties {
			v, ok := decode(p.Default)
			if !ok {
				continue
			}
			if t.defaults[s.Name] == nil {
				t.defaults[s.Name] = map[string]string{}
			}
			t.defaults[s.Name][name] = normal(v)
		}
	}
	t.stamp = sum(all.String())
	return t
}

// Digest returns the digest of a call.
func (t *Tools) Digest(c Call) Digest {
	v, _ := decode(t.set.Arguments(c.Tool, c.Args))
	args, ok := v.(map[string]any)
	if !ok {
		return sum(c.Tool + "\x00" + squeeze(string(c.Args)))
	}
	maps.DeleteFunc(args, func(name string, v any) bool { return t.isDefault(c.Tool, name, v) })
	return sum(c.Tool + "\x00" + normal(args))
}

// isDefault reports whether leaving an argument out says the same.
func (t *Tools) isDefault(name, arg string, v any) bool {
	standard, ok := t.defaults[name][arg]
	return v == nil || ok && normal(v) == standard
}

// every returns the digest that stands for all calls of a tool.
func every(name string) Digest { return sum(name) }

func sum(s string) Digest {
	h := sha256.Sum256([]byte(s))
	return Digest(binary.BigEndian.Uint64(h[:]))
}

func decode(data json.RawMessage) (v any, ok bool) {
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.UseNumber()
	return v, d.Decode(&v) == nil
}

// normal writes a value so that what a model may write in place of it is equal: without
// white space and characters that are not seen, numbers by value, also those in quotation
// marks, and without keys that have no value.
func normal(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case json.Number:
		return number(string(v))
	case string:
		return number(squeeze(v))
	case []any:
		var b strings.Builder
		for _, item := range v {
			b.WriteString("\x01" + normal(item))
		}
		return "[" + b.String() + "]"
	case map[string]any:
		var b strings.Builder
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if v[key] != nil {
				b.WriteString("\x01" + squeeze(key) + "\x02" + normal(v[key]))
			}
		}
		return "{" + b.String() + "}"
	}
	return ""
}

// number returns a number in one spelling, and any other text as it is.
func number(s string) string {
	const longest = 40
	if len(s) == 0 || len(s) > longest || strings.Trim(s, "0123456789+-.eE") != "" || !strings.ContainsAny(s, "0123456789") {
		return s
	}
	switch v := plainNumbers(json.Number(s)).(type) {
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return s
}

// squeeze returns a text without white space, lookalikes and what is not seen.
func squeeze(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, original(s))
}

// MaxCalls is how many calls of a conversation's foreign texts are kept. Of a tool of
// which a text holds a further one, every call counts as held.
const MaxCalls = 10_000

// Calls are the digests of the calls that foreign texts hold. The zero value is empty and
// ready. It is used by one goroutine.
type Calls struct{ held map[Digest]bool }

// Holds reports whether a text holds a call.
func (c *Calls) Holds(call Call, t *Tools) bool {
	return len(c.held) > 0 && (c.held[every(call.Tool)] || c.held[t.Digest(call)])
}

// Add adds what Read returned for another conversation part, or for the same one earlier.
func (c *Calls) Add(held []byte) {
	for ; len(held) >= digestBytes; held = held[digestBytes:] {
		c.add(Digest(binary.BigEndian.Uint64(held)))
	}
}

func (c *Calls) add(d Digest) {
	if c.held == nil {
		c.held = map[Digest]bool{}
	}
	c.held[d] = true
}

const digestBytes = 8

// Read adds the calls that texts hold, but for those that own reports. It returns the
// digests that are new, for Add; own may be nil.
func (c *Calls) Read(texts []string, t *Tools, own func(Call) bool) (added []byte) {
	for _, text := range texts {
		t.each(text, func(call Call) {
			d := t.Digest(call)
			if c.held[d] || c.held[every(call.Tool)] || own != nil && own(call) {
				return
			}
			if len(c.held) >= MaxCalls {
				d = every(call.Tool)
			}
			c.add(d)
			added = binary.BigEndian.AppendUint64(added, uint64(d))
		})
	}
	return added
}

// Stamp returns bytes that tell one list of tools from others: calls of a tool that is new
// were not found in texts that were read before. They have the length of a digest.
func (t *Tools) Stamp() []byte { return binary.BigEndian.AppendUint64(nil, uint64(t.stamp)) }

// each calls f for every call that a text holds, in every reading of it.
func (t *Tools) each(text string, f func(Call)) {
	for _, variant := range plain(text, t.set.MayName) {
		calls := t.set.Mentions(variant)
		t.pass(calls, f)
		for reading := range readings(t.without(variant, calls), t.set.MayCall) {
			t.pass(t.set.Mentions(reading), f)
		}
	}
}

func (t *Tools) pass(calls []parse.Call, f func(Call)) {
	for _, c := range calls {
		f(Call{Tool: c.Name, Args: c.Args})
		if c.Name != tool.CallTool {
			continue
		}
		if inner, ok := (tool.Call{Args: c.Args}).Target(); ok { // the call that it asks for
			f(Call{Tool: inner.Tool, Args: inner.Args})
		}
	}
}

// maxLost is how many calls without returns are not found again before it gives up.
const maxLost = 16

// without returns a text without those of its calls that have only one reading: on one line,
// with arguments in brackets, and without another name in them.
func (t *Tools) without(text string, calls []parse.Call) string {
	var b strings.Builder
	lost := 0
	for _, c := range calls {
		open := strings.IndexAny(c.Raw, "{(")
		if open < 0 || strings.Contains(c.Raw, "\n") || strings.Contains(c.Raw[:open], "</") || strings.Count(c.Raw, "</") > 1 || t.set.MayName(strings.Replace(c.Raw, c.Name, "", 1)) {
			continue
		}
		i := strings.Index(text, c.Raw)
		if i < 0 {
			if lost++; lost > maxLost {
				break
			}
			continue
		}
		b.WriteString(text[:i])
		text = text[i+len(c.Raw):]
	}
	return b.String() + text
}

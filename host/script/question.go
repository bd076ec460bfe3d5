package script

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/weirhost/weir/host/approval"
	"github.com/weirhost/weir/host/internal/msg"
	"github.com/weirhost/weir/host/internal/text"
	"github.com/weirhost/weir/sdk/limit"
	"github.com/weirhost/weir/sdk/tool"
)

// A Question is one call of a script that waits for a person: a row of the script's card.
type Question struct {
	// Number identifies it among those of the script.
	Number int    `json:"number"`
	Tool   string `json:"tool"`
	Plugin string `json:"plugin,omitempty"`
	// Why says what the tool can do and which setting asks.
	Why string `json:"why"`
	// Args are the arguments as the script wrote them; a result in them is a reference.
	Args json.RawMessage `json:"args"`
	// Sources say where arguments come from.
	Sources []Source `json:"sources,omitempty"`
	// Identity is that of the tool; Digest that of all that an answer is for.
	Identity string `json:"identity"`
	Digest   string `json:"digest"`
}

// Key names a question in an answer: the same call with other arguments, or of a tool that
// was changed, has another one.
func (q Question) Key() string { return fmt.Sprintf("%d-%.16s", q.Number, q.Digest) }

// A Source says where an argument comes from.
type Source struct {
	Arg  string `json:"arg"`  // its name, or its JSON pointer
	From string `json:"from"` // "lines 3-40 of read_file(notes.txt)"
	// UUID names the archived whole; empty: there is none.
	UUID string `json:"uuid,omitempty"`
}

// A Verdict is a person's answer to a Question.
type Verdict struct {
	Allow bool `json:"allow"`
	// Later says that it holds for later calls of the same tool by the same script, too.
	Later bool `json:"later,omitempty"`
	// By is the name of the person.
	By string `json:"by,omitempty"`
	// Digest is that of the Question that the person has seen; the answer is for no other.
	Digest string `json:"digest"`
}

// An origin is a text that the script was given.
type origin struct {
	UUID   string          `json:"uuid,omitempty"`
	Call   int             `json:"call"` // whose result it is, from 0
	Part   json.RawMessage `json:"part,omitempty"`
	Digest string          `json:"digest"`
}

const (
	// maxOrigins is how many texts are remembered.
	maxOrigins = 500
	// minOrigin is how long a text is, in bytes, of which it matters where it comes from.
	minOrigin = 12
	// maxBrief is how many characters of a call's arguments name it.
	maxBrief = 60
	// maxArgs is how long arguments are, in bytes, that are read to name a call.
	maxArgs = 1 << 20
)

// question returns what a person is asked about a call.
func (x *run) question(w *want, r approval.Request) *Question {
	sum := sha256.Sum256(bytes.Join([][]byte{[]byte(r.Tool), []byte(r.Plugin), []byte(r.Identity), r.Args}, []byte{0}))
	return &Question{
		Number: w.ID, Tool: limit.Visible(r.Tool), Plugin: limit.Visible(r.Plugin), Why: limit.Visible(r.Why), Args: w.Args,
		Sources: x.sources(w.Args), Identity: r.Identity, Digest: hex.EncodeToString(sum[:]),
	}
}

// sources says where the texts in arguments come from.
func (x *run) sources(args json.RawMessage) (out []Source) {
	var v any
	if json.Unmarshal(args, &v) != nil {
		return nil
	}
	walk(v, "", func(pointer, value string) {
		if s, ok := x.source(value); ok {
			s.Arg = pointer
			out = append(out, s)
		}
	})
	return out
}

// walk calls f for each text in a JSON value: top-level members by their names, others by
// their JSON pointers.
func walk(v any, at string, f func(pointer, value string)) {
	switch v := v.(type) {
	case string:
		if strings.Count(at, "/") == 1 {
			at = at[1:]
		}
		f(at, v)
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			walk(v[name], at+"/"+name, f)
		}
	case []any:
		for i, e := range v {
			walk(e, at+"/"+strconv.Itoa(i), f)
		}
	}
}

// source returns where a text comes from.
func (x *run) source(value string) (Source, bool) {
	if ref, ok := strings.CutPrefix(value, "@result:"); ok {
		uuid, pointer, _ := strings.Cut(ref, "#")
		from := x.callWith(uuid)
		if pointer != "" {
			from = msg.In(x.Locale, tool.Textf("%s of %s", limit.Visible(pointer), from))
		}
		return Source{From: from, UUID: uuid}, true
	}
	if len(value) < minOrigin {
		return Source{}, false
	}
	digest := digestOf(value)
	for _, o := range slices.Backward(x.Origins) {
		if o.Digest != digest {
			continue
		}
		from := x.callWith(o.UUID)
		if o.UUID == "" && o.Call < len(x.Briefs) {
			from = x.Briefs[o.Call]
		}
		if label := partLabel(o.Part); label != "" {
			from = msg.In(x.Locale, tool.Textf("%s of %s", label, from))
		}
		return Source{From: from, UUID: o.UUID}, true
	}
	return Source{}, false
}

// callWith returns the call whose result has a uuid.
func (x *run) callWith(uuid string) string {
	for i, m := range x.Made {
		if m.UUID == uuid && uuid != "" {
			return x.Briefs[i]
		}
	}
	return text.OneLine(uuid, 40)
}

// partLabel describes a part of a result: "lines 3-40".
func partLabel(part json.RawMessage) string {
	members := map[string]any{}
	if json.Unmarshal(part, &members) != nil {
		return ""
	}
	delete(members, "uuid")
	var out []string
	for _, name := range slices.Sorted(maps.Keys(members)) {
		value, ok := members[name].(string)
		if !ok {
			b, _ := json.Marshal(members[name]) // it comes from JSON
			value = string(b)
		}
		out = append(out, name+" "+text.OneLine(value, 40))
	}
	return strings.Join(out, ", ")
}

func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// originOf returns the origin of a text that the script is given; nil: it is too short.
func originOf(o origin, text string) *origin {
	if len(text) < minOrigin {
		return nil
	}
	o.Digest = digestOf(text)
	return &o
}

// brief names a call for a person: the only argument, or all of them, shortened.
func brief(name string, args json.RawMessage) string {
	members := map[string]any{}
	if len(args) > maxArgs || json.Unmarshal(args, &members) != nil {
		return name + "(…)"
	}
	var out []string
	for _, key := range slices.Sorted(maps.Keys(members)) {
		value, ok := members[key].(string)
		if !ok {
			b, _ := json.Marshal(members[key]) // it comes from JSON
			value = string(b)
		}
		if len(members) > 1 {
			value = key + ": " + value
		}
		out = append(out, text.OneLine(value, maxBrief))
	}
	s := limit.Visible(strings.Join(out, ", "))
	if utf8.RuneCountInString(s) > maxBrief {
		s = string([]rune(s)[:maxBrief]) + "…"
	}
	return name + "(" + s + ")"
}

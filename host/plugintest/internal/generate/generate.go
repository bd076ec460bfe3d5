// Package generate generates arguments of tool calls from a JSON Schema, for the
// fuzzing of plugins. A Generator returns arguments that probably fit the schema
// (Args) and arguments that probably do not (Invalid); the caller checks them
// with the schema itself. Shrink reduces arguments that make a tool fail to
// simple ones that still do. All choices depend on a seed: the same seed and the
// same calls return the same arguments.
package generate

import (
	"encoding/json"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
)

// A Generator generates values from a JSON Schema. The values need not fit it.
// A Generator is not safe for concurrent use.
type Generator struct {
	rnd  *rand.Rand
	root map[string]any
	seen map[string][]any // values of examples, by the argument's name
	left int              // characters that the arguments may still get
}

// New returns a generator of arguments for the schema, whose choices depend on
// seed. A nil schema allows anything.
func New(schema map[string]any, seed uint64) *Generator {
	return &Generator{rnd: rand.New(rand.NewPCG(seed, 0)), root: schema, seen: map[string][]any{}}
}

// AddExample adds the values of arguments. The generator uses some of them again
// for arguments with the same names.
func (g *Generator) AddExample(args map[string]any) {
	for name, value := range args {
		g.seen[name] = append(g.seen[name], value)
	}
}

// Args returns new arguments. They are nil if the schema is not that of an object.
func (g *Generator) Args() map[string]any {
	g.left = maxSize
	args, _ := g.value(g.root, "", 0).(map[string]any)
	return args
}

// IntN returns a number from 0 to n-1, from the generator's random source.
func (g *Generator) IntN(n int) int { return g.rnd.IntN(n) }

// Bounds of arguments: the depth of values, including references, and about how many
// characters they have, where each value counts valueSize and the length of its text.
const (
	maxNesting = 6
	maxSize    = 1 << 20
	valueSize  = 100
)

// value returns a value for the schema of the argument with that name.
func (g *Generator) value(schema any, name string, depth int) any {
	s, ok := schema.(map[string]any)
	if g.left -= valueSize; !ok || g.left < 0 || depth > maxNesting {
		return g.anything()
	}
	if ref, ok := s["$ref"].(string); ok {
		return g.value(g.lookup(ref), name, depth+1)
	}
	if v, ok := s["const"]; ok {
		return v
	}
	if list, ok := s["enum"].([]any); ok && len(list) > 0 {
		return list[g.rnd.IntN(len(list))]
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if list, ok := s[key].([]any); ok && len(list) > 0 {
			return g.value(list[g.rnd.IntN(len(list))], name, depth+1)
		}
	}
	if known := g.seen[name]; len(known) > 0 && g.rnd.IntN(4) == 0 {
		return known[g.rnd.IntN(len(known))]
	}
	switch g.kind(s) {
	case "object":
		return g.object(s, depth)
	case "array":
		return g.array(s, name, depth)
	case "string":
		return g.text(s)
	case "integer":
		return json.Number(formatInt(g.integer(s)))
	case "number":
		return g.number(s)
	case "boolean":
		return g.rnd.IntN(2) == 0
	case "null":
		return nil
	}
	return g.anything()
}

// kind returns the type of the value to generate.
func (g *Generator) kind(s map[string]any) string {
	switch t := s["type"].(type) {
	case string:
		return t
	case []any:
		if len(t) > 0 {
			kind, _ := t[g.rnd.IntN(len(t))].(string)
			return kind
		}
	}
	if _, ok := s["properties"]; ok {
		return "object"
	}
	return ""
}

// lookup returns the target of a reference within the schema, or nil.
func (g *Generator) lookup(ref string) any {
	at, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil
	}
	var v any = g.root
	for part := range strings.SplitSeq(at, "/") {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[strings.NewReplacer("~1", "/", "~0", "~").Replace(part)]
	}
	return v
}

// object returns the required properties and some of the others.
func (g *Generator) object(s map[string]any, depth int) any {
	out := map[string]any{}
	props, _ := s["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(props)) {
		if slices.Contains(required(s), name) || g.rnd.IntN(2) == 0 {
			out[name] = g.value(props[name], name, depth+1)
		}
	}
	return out
}

func required(s map[string]any) (out []string) {
	list, _ := s["required"].([]any)
	for _, e := range list {
		if name, ok := e.(string); ok {
			out = append(out, name)
		}
	}
	return out
}

func (g *Generator) array(s map[string]any, name string, depth int) any {
	low := intOf(s["minItems"], 0)
	n := low + g.rnd.IntN(4)
	if g.rnd.IntN(10) == 0 {
		n = low + 40
	}
	out := []any{}
	for range min(n, intOf(s["maxItems"], n), max(0, g.left/valueSize)) {
		out = append(out, g.value(s["items"], name, depth+1))
	}
	return out
}

// maxExact bounds integers to those that a float64 represents exactly. JavaScript
// and some JSON decoders have no other numbers.
const maxExact = 1 << 53

func (g *Generator) integer(s map[string]any) int64 {
	low, high := floatOf(s["minimum"], -maxExact), floatOf(s["maximum"], maxExact)
	low = max(low, floatOf(s["exclusiveMinimum"], low-1)+1)
	high = min(high, floatOf(s["exclusiveMaximum"], high+1)-1)
	low, high = max(math.Ceil(low), -maxExact), min(math.Floor(high), maxExact)
	if low > high {
		return int64(low)
	}
	pick := []int64{int64(low), int64(high)}
	for _, v := range []int64{0, 1, -1, 2, 7, 100, 1000, math.MaxInt32, math.MinInt32, math.MaxInt32 + 1, maxExact - 1} {
		if float64(v) >= low && float64(v) <= high {
			pick = append(pick, v, v)
		}
	}
	if g.rnd.IntN(3) == 0 {
		return int64(low) + int64(g.rnd.Float64()*(high-low))
	}
	v := pick[g.rnd.IntN(len(pick))]
	if step := intOf(s["multipleOf"], 0); step > 1 {
		v -= v % int64(step)
	}
	return v
}

func (g *Generator) number(s map[string]any) any {
	low, high := floatOf(s["minimum"], -1e9), floatOf(s["maximum"], 1e9)
	switch g.rnd.IntN(4) {
	case 0:
		return json.Number(formatInt(g.integer(s)))
	case 1:
		return numberOf(low)
	case 2:
		return numberOf(high)
	}
	return numberOf(low + g.rnd.Float64()*(high-low))
}

// odd are texts that often make programs fail.
var odd = []string{
	"", " ", "a", "0", "-1", "1e309", "NaN", "null", "true", "\n", "\t\r\n", "a\x00b", "\\", "\"", "'", "`", "%s%n%d", "${x}", "{{x}}",
	"../../etc/passwd", "/", "//", "./.", "C:\\x", "a/b/c.txt", "*", "**", "?", "[", "[a-", "(", "(?:", "a|", "{", "}", "<script>", "</tool_call>",
	"' OR 1=1 --", "; ls", "$(ls)", "é", "e\u0301", "漢字とかな", "中文。", "Привет", "عربى", "👩‍👩‍👧‍👦", "\u202eabc", "\ufeff", "\U0010ffff",
	"http://", "https://example.com/?q=%zz", "2024-02-30", "2024-02-29T25:61:00Z", "1,2;3", "a=b&c", "key: value", "---",
}

func (g *Generator) text(s map[string]any) string {
	low, high := min(intOf(s["minLength"], 0), max(0, g.left)), intOf(s["maxLength"], maxSize)
	if pattern, ok := s["pattern"].(string); ok && g.rnd.IntN(4) > 0 {
		if t, ok := g.matching(pattern); ok {
			return t
		}
	}
	if sample, ok := formats[stringOf(s["format"])]; ok && g.rnd.IntN(4) > 0 {
		return sample[g.rnd.IntN(len(sample))]
	}
	var t string
	switch g.rnd.IntN(8) {
	case 0, 1, 2, 3:
		t = odd[g.rnd.IntN(len(odd))]
	case 4:
		t = odd[g.rnd.IntN(len(odd))] + odd[g.rnd.IntN(len(odd))]
	case 5:
		t = strings.Repeat(odd[2+g.rnd.IntN(len(odd)-2)], 1+g.rnd.IntN(400))
	case 6:
		t = g.words()
	default:
		t = g.noise()
	}
	g.left -= low
	return sized(t, low, high)
}

// sized pads or cuts a text to a length from low to high, in characters.
func sized(t string, low, high int) string {
	r := []rune(t)
	for len(r) < low {
		r = append(r, 'a')
	}
	return string(r[:min(len(r), high)])
}

var vocabulary = strings.Fields("the river carries water past an old weir stone fish 2024 3.14 Berlin 北京 flow Level error TODO func return select from where")

func (g *Generator) words() string {
	var out []string
	for range 1 + g.rnd.IntN(12) {
		out = append(out, vocabulary[g.rnd.IntN(len(vocabulary))])
	}
	return strings.Join(out, " ")
}

func (g *Generator) noise() string {
	var b strings.Builder
	for range g.rnd.IntN(40) {
		if g.rnd.IntN(3) == 0 {
			b.WriteRune(rune(g.rnd.IntN(0x3000)))
		} else {
			b.WriteByte(byte(' ' + g.rnd.IntN(95)))
		}
	}
	return strings.ToValidUTF8(b.String(), "?")
}

// formats are example texts for the formats of JSON Schema.
var formats = map[string][]string{
	"date":      {"2024-02-29", "1970-01-01", "9999-12-31"},
	"time":      {"00:00:00Z", "23:59:59+05:30"},
	"date-time": {"2024-02-29T12:30:00Z", "1969-12-31T23:59:59-08:00"},
	"email":     {"a@example.com", "very.long.name+tag@sub.example.org"},
	"uri":       {"https://example.com/", "http://localhost:8080/a?b=c#d", "mailto:a@example.com"},
	"uuid":      {"123e4567-e89b-12d3-a456-426614174000"},
	"ipv4":      {"127.0.0.1", "255.255.255.255"},
	"ipv6":      {"::1", "2001:db8::1"},
	"hostname":  {"example.com", "a"},
}

// anything returns a value without regard to a schema.
func (g *Generator) anything() any {
	switch g.rnd.IntN(6) {
	case 0:
		return nil
	case 1:
		return g.rnd.IntN(2) == 0
	case 2:
		return json.Number(formatInt(int64(g.rnd.IntN(2000) - 1000)))
	case 3:
		return []any{odd[g.rnd.IntN(len(odd))]}
	case 4:
		return map[string]any{"a": odd[g.rnd.IntN(len(odd))]}
	}
	return odd[g.rnd.IntN(len(odd))]
}

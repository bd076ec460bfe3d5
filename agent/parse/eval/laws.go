package eval

import (
	"fmt"
	"math/rand/v2"
	"reflect"

	"github.com/weirhost/weir/agent/parse"
)

// Laws checks a text against the laws of package parse and returns what it
// finds broken, or nil. full adds every two-way split and every prefix, which
// takes time in the square of the text's length.
func Laws(o parse.Options, text string, full bool) error {
	want := parse.All(o, text)
	if got := chunked(o, text, func() int { return 1 }); !reflect.DeepEqual(want, got) {
		return fmt.Errorf("byte by byte: %s", Diff(want, got))
	}
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 1))
		if got := chunked(o, text, func() int { return 1 + r.IntN(1+int(seed)*9) }); !reflect.DeepEqual(want, got) {
			return fmt.Errorf("chunks of seed %d: %s", seed, Diff(want, got))
		}
	}
	if !full {
		return nil
	}
	for i := range len(text) {
		p := parse.New(o)
		got := p.Feed(text[:i])
		got = append(got, p.Feed(text[i:])...)
		if got = parse.Join(append(got, p.Close(false)...)); !reflect.DeepEqual(want, got) {
			return fmt.Errorf("split at %d: %s", i, Diff(want, got))
		}
		p = parse.New(o)
		cut := append(p.Feed(text[:i]), p.Close(true)...)
		if c, extra := Extra(parse.Calls(cut), parse.Calls(want)); extra {
			return fmt.Errorf("cut off at %d, it calls %s(%s), which the whole does not", i, c.Name, c.Args)
		}
	}
	return nil
}

// Hasty returns the shortest prefix that, taken as a complete reply, makes a
// call that the whole text does not make. A quotation that is the last thing
// so far reads as a call, so that this is a measure, not a law.
func Hasty(o parse.Options, text string) (prefix int, c parse.Call, found bool) {
	want := parse.Calls(parse.All(o, text))
	for i := range len(text) {
		if c, extra := Extra(parse.Calls(parse.All(o, text[:i])), want); extra {
			return i, c, true
		}
	}
	return 0, parse.Call{}, false
}

// Extra returns the first call of part that whole does not hold.
func Extra(part, whole []parse.Call) (parse.Call, bool) {
	left := map[string]int{}
	for _, c := range whole {
		left[c.Name+string(c.Args)]++
	}
	for _, c := range part {
		if left[c.Name+string(c.Args)]--; left[c.Name+string(c.Args)] < 0 {
			return c, true
		}
	}
	return parse.Call{}, false
}

func chunked(o parse.Options, text string, size func() int) []parse.Event {
	p := parse.New(o)
	var out []parse.Event
	for text != "" {
		n := min(size(), len(text))
		out = append(out, p.Feed(text[:n])...)
		text = text[n:]
	}
	return parse.Join(append(out, p.Close(false)...))
}

// Diff names the first event in which two readings differ.
func Diff(want, got []parse.Event) string {
	for i := range max(len(want), len(got)) {
		switch {
		case i >= len(want):
			return fmt.Sprintf("event %d: unexpected %#v", i, got[i])
		case i >= len(got):
			return fmt.Sprintf("event %d: missing %#v", i, want[i])
		case !reflect.DeepEqual(want[i], got[i]):
			return fmt.Sprintf("event %d: want %#v, got %#v", i, want[i], got[i])
		}
	}
	return "no difference"
}

package plugintest

import (
	"math"
	"strconv"
	"strings"

	"github.com/weirhost/weir/sdk/tool"
)

// An amount is the allowed range of a number, both ends included.
type amount struct {
	low, high int
	at        Problem
}

// anyNumber allows every number.
var anyNumber = amount{low: 0, high: math.MaxInt}

func (a amount) holds(n int) bool { return n >= a.low && n <= a.high }

func (a amount) text() tool.Text {
	switch {
	case a.low == a.high:
		return tool.Textf("%d", a.low)
	case a.high == math.MaxInt:
		return tool.Textf("at least %d", a.low)
	case a.low == 0:
		return tool.Textf("at most %d", a.high)
	}
	return tool.Textf("%d to %d", a.low, a.high)
}

// amount decodes a number, or a range in quotes: "10..20", "10..", "..20".
func (n node) amount(key string) (a amount, ok bool) {
	raw, ok := n.Get(key)
	if !ok {
		return a, false
	}
	a.at = n.place(key)
	switch v := raw.(type) {
	case int64:
		if v >= 0 && v <= math.MaxInt32 {
			a.low, a.high = int(v), int(v)
			return a, true
		}
	case string:
		if low, high, ok := parseRange(v); ok {
			a.low, a.high = low, high
			return a, true
		}
	}
	n.Bad(key, tool.Textf("write a number, or a range in quotes: %s = 10, or \"10..20\", \"10..\" or \"..20\"", key), "%s is %v", n.Name(key), raw)
	return a, false
}

func parseRange(s string) (low, high int, ok bool) {
	from, to, ok := strings.Cut(s, "..")
	if !ok || from+to == "" {
		return 0, 0, false
	}
	high = math.MaxInt
	var err error
	if from != "" {
		if low, err = strconv.Atoi(from); err != nil || low < 0 {
			return 0, 0, false
		}
	}
	if to != "" {
		if high, err = strconv.Atoi(to); err != nil {
			return 0, 0, false
		}
	}
	return low, high, low <= high
}

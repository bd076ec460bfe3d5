package main

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/weirhost/weir/sdk/guest"
	"github.com/weirhost/weir/sdk/tool"
)

const (
	defaultLines = 800
	lineChars    = 65     // characters of every line, its newline included
	maxLines     = 100000 // one call's text stays under the host's 8 MiB
)

type args struct {
	Lines int `json:"lines"` // 0: 800
	Seed  int `json:"seed"`
}

// generate writes a gauge-keeper's log of numbered lines, all of one length
// and each unlike the others: 800 lines are exactly 52,000 characters. The
// same arguments always give the same text.
func generate(_ *guest.Call, in args) (guest.Result, error) {
	if in.Lines < 0 {
		return guest.Result{}, guest.Errorf(tool.BadArgs, "Give 1 to 100,000 lines.", "\"lines\" must not be negative.").
			Zh("请给出 1 到 100,000 行。", "\"lines\" 不能为负数。")
	}
	want := in.Lines
	if want == 0 {
		want = defaultLines
	}
	lines := min(want, maxLines)
	var b strings.Builder
	b.Grow(lines * lineChars)
	for n := 1; n <= lines; n++ {
		b.WriteString(line(n, in.Seed))
		b.WriteByte('\n')
	}
	r := guest.Text(b.String())
	if want > lines {
		r.More = &tool.More{Shown: lines, Total: want}
		// Other text under the same numbers: a seed is what can be changed.
		r.More.Args, _ = json.Marshal(map[string]int{"lines": lines, "seed": in.Seed + 1})
	}
	return r, nil
}

// line returns line n without its newline: its number, where and what was
// measured, and a mark that no other line has.
func line(n, seed int) string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d/%d", seed, n)
	x := h.Sum64()
	draw := func(below uint64) int {
		v := x % below
		x /= below
		return int(v)
	}
	text := fmt.Sprintf("line %d: gate %s at the %s, level %d.%02d m, mark %05d",
		n, gates[draw(uint64(len(gates)))], places[draw(uint64(len(places)))], draw(9)+1, draw(100), (uint64(n)*7919+uint64(seed)%100003*104729)%100003)
	return text + " " + strings.Repeat(".", lineChars-2-len(text))
}

// gates and places are never written to. With their longest words and the
// highest line number two dots still fit at the end of a line.
var (
	gates  = []string{"open", "shut", "half", "full", "idle", "down"}
	places = []string{"mill", "ford", "lock", "bend", "weir", "inlet", "tower", "pier"}
)

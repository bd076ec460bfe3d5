package main

import (
	"cmp"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/weirhost/weir/sdk/guest"
)

// rank scores every definition: what many other files use, what is open to
// them, types before functions before constants, near the root before deep.
func (r *repo) rank() {
	homes := map[string]int{} // how many definitions share a name
	for _, d := range r.defs {
		homes[d.name]++
	}
	for _, d := range r.defs {
		users := len(r.uses[d.name])
		if r.uses[d.name][d.file] {
			users--
		}
		// A name that many things share tells little about who is used.
		used := float64(users) / float64(homes[d.name])
		weight := [...]float64{kindType: 3, kindFunc: 2, kindConst: 1}[d.kind]
		if languageOf(r.files[d.file]).hidden(*d) {
			weight *= 0.4
		}
		d.score = weight * (1 + math.Log2(1+used)) * pathWeight(r.files[d.file])
	}
}

func pathWeight(file string) float64 {
	weight := 1 / (1 + 0.15*float64(strings.Count(file, "/")))
	lower := strings.ToLower(file)
	for _, s := range []string{"test", "example", "mock", "fixture", "bench"} {
		if strings.Contains(lower, s) {
			return weight * 0.2
		}
	}
	return weight
}

// choose marks the best definitions that fit the budget and returns how many
// they are. The first line is paid for in advance.
func (r *repo) choose(budget int) int {
	best := slices.Clone(r.defs)
	slices.SortStableFunc(best, func(a, b *def) int { return cmp.Compare(b.score, a.score) })
	spent := headTokens
	begun := map[int]bool{}
	shown := 0
	for _, d := range best {
		cost := tokens(entry(d))
		if !begun[d.file] {
			cost += tokens(r.files[d.file]+":\n") + moreTokens
		}
		if spent+cost > budget {
			continue
		}
		spent += cost
		begun[d.file], d.shown = true, true
		shown++
	}
	return shown
}

const (
	headTokens = 40 // the line in front of everything
	moreTokens = 6  // a file's line "… 12 more"
)

// tokens estimates what a text costs a model: four characters of English or
// code to a token, one of anything else.
func tokens(s string) int {
	plain, other := 0, 0
	for _, c := range s {
		if c < 0x80 {
			plain++
		} else {
			other++
		}
	}
	return (plain+3)/4 + other
}

func entry(d *def) string {
	indent := "  "
	if d.inner {
		indent = "    "
	}
	return indent + strconv.Itoa(d.line) + ": " + d.text + "\n"
}

// draw writes the chosen definitions, or all others, the files with the best ones first.
// Each definition is an entry.
func (r *repo) draw(c *guest.Call, to *guest.List, chosen bool) {
	type group struct {
		file  int
		defs  []*def
		left  int
		score float64
	}
	groups := make([]group, len(r.files))
	for i := range groups {
		groups[i].file = i
	}
	for _, d := range r.defs {
		g := &groups[d.file]
		if d.shown != chosen {
			g.left++
			continue
		}
		g.defs = append(g.defs, d)
		g.score = max(g.score, d.score)
	}
	slices.SortStableFunc(groups, func(a, b group) int { return cmp.Compare(b.score, a.score) })
	above := ""
	if !chosen {
		above = c.Say("The others:\n", "其余定义：\n")
	}
	for _, g := range groups {
		if len(g.defs) == 0 {
			continue
		}
		above += r.files[g.file] + ":\n"
		for _, d := range g.defs {
			text := above + entry(d)
			if !to.Fits(len(text) + ownBytes) {
				return
			}
			to.Entry()
			to.WriteString(text)
			above = ""
		}
		if g.left > 0 && chosen {
			to.WriteString(c.Say("  … "+guest.Grouped(g.left)+" more\n", "  … 另有 "+guest.Grouped(g.left)+" 个\n"))
		}
	}
}

const ownBytes = 16 << 10 // room for the first line

// headline says how many definitions there are, and how many of them the budget chose. all
// says that the others follow.
func (r *repo) headline(c *guest.Call, shown, budget int, all bool) string {
	name := path.Clean(r.start)
	line := c.Say(
		name+": "+guest.Grouped(shown)+" of "+guest.Grouped(len(r.defs))+" definitions in "+guest.Grouped(len(r.files))+
			" files, the most used first (budget "+guest.Grouped(budget)+" tokens)",
		name+"：共 "+guest.Grouped(len(r.files))+" 个文件、"+guest.Grouped(len(r.defs))+" 个定义，按使用程度列出 "+guest.Grouped(shown)+
			" 个（预算 "+guest.Grouped(budget)+" 词元）")
	if all && shown < len(r.defs) {
		line += c.Say(", the others after them", "，其余在后")
	}
	if r.partial {
		line += c.Say("; stopped after 24 MiB of source", "；已达 24 MiB 源码上限")
	}
	return line + "\n"
}

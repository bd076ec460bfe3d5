package main

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/weirhost/weir/sdk/tool"
)

// The shape of a session: it is that of a chat over a knowledge base, whose
// every search brings back a chapter.
const (
	turns       = 10
	resultChars = 50_000
)

// positions are the positions of facts in a chapter, as a share of its lines.
var positions = []struct {
	name string
	at   float64
}{{"head", 0.002}, {"middle", 0.5}, {"tail", 0.995}}

// A language is everything a session is written in.
type language struct {
	name     string
	locale   tool.Locale
	parts    [4][]string // a line takes one of each
	line     string      // and puts them together
	fact     string      // gauge, value
	reading  string      // an expression that finds the value; gauge
	question string      // path
	answer   string      // path
	ask      string      // about a fact: path, gauge
	askBlind string      // the same, without the chapter: gauge
	tell     string      // value
}

var languages = []language{
	{
		name: "English", locale: tool.En, line: "%s %s %s %s.",
		parts: [4][]string{
			{"The north pump", "A spare filter", "The second crew", "Our older boiler", "The river gate", "Each night shift"},
			{"slowly", "hardly ever", "by hand", "without delay", "in most weeks", "as a rule"},
			{"cools", "checks", "refills", "carries", "measures", "replaces"},
			{"the lower basin", "a row of copper pipes", "what the log asks for", "the seals at the inlet", "every open flange", "the spare turbine"},
		},
		fact: "At noon gauge %s read %d millibar.", reading: `gauge %s read (\d+) millibar`,
		question: "What does %s describe?", answer: "%s describes how the plant is run and who looks after which part of it.",
		ask: "Earlier we read %s. What did gauge %s read?", askBlind: "What did gauge %s read, according to what we looked up earlier?",
		tell: "It read %d millibar.",
	},
	{
		name: "中文", locale: tool.Zh, line: "%s%s%s%s。",
		parts: [4][]string{
			{"北侧的水泵", "备用的过滤器", "第二班的工人", "较旧的锅炉", "河边的闸门", "夜班的值守人员"},
			{"缓慢地", "很少会", "用手工方式", "毫不拖延地", "在大多数星期里", "按照惯例"},
			{"冷却", "检查", "补充", "运送", "测量", "更换"},
			{"下游的水池和旁边的沉淀槽", "一整排铜制的管道及其接头", "记录本上要求的各个项目", "进水口处的全部密封圈", "每一个敞开的法兰和阀门", "备用的涡轮机以及它的轴承"},
		},
		fact: "中午时压力表 %s 的读数为 %d 毫巴。", reading: `压力表 %s 的读数为 (\d+) 毫巴`,
		question: "%s 讲的是什么？", answer: "%s 讲的是这座工厂如何运行，以及各个部分由谁负责。",
		ask: "之前我们读过 %s。压力表 %s 的读数是多少？", askBlind: "根据之前查到的内容，压力表 %s 的读数是多少？",
		tell: "读数为 %d 毫巴。",
	},
}

// A fact is a number in one line of one chapter and nowhere else.
type fact struct {
	path, gauge string
	line, value int // the line counts from 1
	place       string
}

// sentence is the line that holds the fact.
func (l language) sentence(f fact) string { return fmt.Sprintf(l.fact, f.gauge, f.value) }

// read finds the fact's value in a text.
func (l language) read(f fact, text string) (string, bool) {
	m := regexp.MustCompile(fmt.Sprintf(l.reading, f.gauge)).FindStringSubmatch(text)
	if m == nil {
		return "", false
	}
	return m[1], true
}

// A session is the ten chapters of one language.
type session struct {
	lang     language
	chapters map[string]string // by path
	facts    []fact
}

func path(turn int) string { return fmt.Sprintf("manual/chapter-%02d.txt", turn) }

// newSession writes the chapters. The same language always gives the same bytes.
func newSession(l language) *session {
	s := &session{lang: l, chapters: map[string]string{}}
	rng := rand.New(rand.NewPCG(2026, 1))
	for turn := range turns {
		s.write(turn+1, rng)
	}
	return s
}

// write makes one chapter of exactly resultChars characters.
func (s *session) write(turn int, rng *rand.Rand) {
	lines := s.filler(rng)
	for i, p := range positions {
		f := fact{
			path: path(turn), gauge: fmt.Sprintf("V-%02d%02d", turn, i+1), value: 1000 + rng.IntN(9000),
			line: 1 + int(p.at*float64(len(lines))), place: p.name,
		}
		// The line keeps its length, so that the chapter does.
		text := s.lang.sentence(f)
		if pad := utf8.RuneCountInString(lines[f.line-1]) - utf8.RuneCountInString(text); pad > 0 {
			text += strings.Repeat(".", pad)
		}
		lines[f.line-1] = text
		s.facts = append(s.facts, f)
	}
	text := []rune(strings.Join(lines, "\n"))
	s.chapters[path(turn)] = string(text[:resultChars-1]) + "\n"
}

// filler is enough lines for a chapter and a little more.
func (s *session) filler(rng *rand.Rand) []string {
	var lines []string
	for chars := 0; chars < resultChars; {
		var words [4]any
		for i, p := range s.lang.parts {
			words[i] = p[rng.IntN(len(p))]
		}
		line := fmt.Sprintf(s.lang.line, words[:]...)
		for utf8.RuneCountInString(line) < lineChars { // short scripts take more than one sentence
			line += line
		}
		lines = append(lines, line)
		chars += utf8.RuneCountInString(line) + 1
	}
	return lines
}

// lineChars is the least a line holds; no fact is longer.
const lineChars = 44

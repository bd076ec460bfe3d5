package recall

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// backWords are how people refer back to what was said, in both languages.
var backWords = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(earlier|before|previous(ly)?|last time|just now|a (moment|minute) ago|(that|those|the (same|first|last|other)) (results?|outputs?|files?|logs?|lists?)|as above|you (just )?(found|read|showed|listed|said|mentioned))\b` +
		`|之前|刚才|刚刚|方才|上次|上回|上一[次个条份轮]|前面|前一[次个条份]|先前|早些时候|上述|以上|[那该此](个|份|些|条)?(结果|内容|文件|日志|列表|输出)`)
})

// refersBack reports whether a question speaks of what was there before.
func refersBack(question string) bool { return backWords().MatchString(question) }

// stopWords say nothing about what a question is about.
var stopWords = strings.Fields("the what which how many much did does was were are you that this those these from with about for and but " +
	"result results output earlier before previous previously last time just now again say says said show shows showed tell more have has had " +
	"there any all can could would should please where when who why its our your into give list found find read then than them they first")

// stopPhrases are the same in Chinese, the longer ones first. They are cut out
// of a question before it is split into pairs of characters.
var stopPhrases = strings.NewReplacer(func() []string {
	var pairs []string
	for _, p := range strings.Fields("早些时候 有没有 是不是 有多少 为什么 怎么样 能不能 可不可以 之前 刚才 刚刚 方才 上次 上回 前面 先前 上述 以上 那个 这个 那份 这份 那些 这些 " +
		"什么 怎么 哪些 哪个 多少 几个 结果 内容 一下 告诉 请问 我们 你们 可以 的 了 吗 呢 吧 是 在 有 和 与 里 中 请 我 你 他 它 把 被 给 说 看 再 还 也 都 就 那 这") {
		pairs = append(pairs, p, " ")
	}
	return pairs
}()...)

// questionTerms are the words, and pairs of Chinese characters, that say what a
// question is about, each once.
func questionTerms(question string) []string {
	var out []string
	for _, t := range Terms(stopPhrases.Replace(question)) {
		if !slices.Contains(stopWords, t) && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}

// overlap is the share of the terms that are in text, 0 to 1, and how many
// those are.
func overlap(terms []string, text string) (score float64, shared int) {
	if len(terms) == 0 {
		return 0, 0
	}
	text = strings.ToLower(text)
	for _, t := range terms {
		if strings.Contains(text, t) {
			shared++
		}
	}
	return float64(shared) / float64(len(terms)), shared
}

// cosine is the likeness of two vectors, 0 to 1; opposite and broken ones are 0.
func cosine(a, b []float32) float64 {
	if len(a) != len(b) {
		return 0
	}
	var dot, aa, bb float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		dot, aa, bb = dot+x*y, aa+x*x, bb+y*y
	}
	c := dot / math.Sqrt(aa*bb)
	if !(c > 0) { // not a number, too
		return 0
	}
	return min(c, 1)
}

// Terms splits a question into lower-case words of three letters or more
// and pairs of neighbouring characters of scripts without spaces.
func Terms(question string) []string {
	var out []string
	var word []rune
	var before rune
	flush := func() {
		if len(word) > 2 {
			out = append(out, string(word))
		}
		word = word[:0]
	}
	for _, r := range strings.ToLower(question) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			word = append(word, r)
		case r >= 0x3040 && r <= 0xD7AF:
			flush()
			if before >= 0x3040 && before <= 0xD7AF {
				out = append(out, string([]rune{before, r}))
			}
		default:
			flush()
		}
		before = r
	}
	flush()
	return out
}

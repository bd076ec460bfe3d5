package toolindex

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kljensen/snowball/english"
)

// stem returns the stem of a word in lower case: the form in which words are compared.
func stem(word string) string {
	if isLatin(word) {
		return english.Stem(word, true)
	}
	return word
}

func isLatin(word string) bool {
	for i := range len(word) {
		if word[i] < 'a' || word[i] > 'z' {
			return false
		}
	}
	return true
}

// split returns the words of a text, as eachWord does.
func split(text string) []string {
	var words []string
	eachWord(text, func(w string) { words = append(words, w) })
	return words
}

// eachWord calls yield with the words of a text in lower case: letters and digits,
// split where the case changes as in getUserName, and pairs of Chinese characters.
func eachWord(text string, yield func(word string)) {
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		switch {
		case unicode.Is(unicode.Han, r):
			i = eachPair(text, i, yield)
		case wordRune(r):
			end := wordEnd(text, i)
			yield(strings.ToLower(text[i:end]))
			i = skipShortened(text, end)
		default:
			i += n
		}
	}
}

// eachPair yields the pairs of neighbouring Chinese characters from place i on, and
// returns where they end.
func eachPair(text string, i int, yield func(string)) int {
	first, before := i, -1
	for i < len(text) {
		r, n := utf8.DecodeRuneInString(text[i:])
		if !unicode.Is(unicode.Han, r) {
			break
		}
		if before >= 0 {
			yield(text[before : i+n])
		}
		before, i = i, i+n
	}
	if before == first {
		yield(text[first:i])
	}
	return i
}

// skipShortened returns the place after the end of a shortened word: what's, I'm.
func skipShortened(text string, i int) int {
	for _, mark := range []string{"'", "’"} {
		if rest, ok := strings.CutPrefix(text[i:], mark); ok {
			end := len(text) - len(rest)
			for end < len(text) && text[end]|0x20 >= 'a' && text[end]|0x20 <= 'z' {
				end++
			}
			return end
		}
	}
	return i
}

func wordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}

// wordEnd returns where the word at i ends: HTTPServer is HTTP and Server, URLs is one
// word, and so is what has digits, as mp3.
func wordEnd(text string, i int) int {
	before, n := utf8.DecodeRuneInString(text[i:])
	for j := i + n; j < len(text); j += n {
		var r rune
		r, n = utf8.DecodeRuneInString(text[j:])
		if !wordRune(r) || r >= utf8.RuneSelf && unicode.Is(unicode.Han, r) {
			return j
		}
		if unicode.IsUpper(r) && !unicode.IsDigit(before) {
			after, m := utf8.DecodeRuneInString(text[j+n:])
			last, _ := utf8.DecodeRuneInString(text[min(j+n+m, len(text)):])
			plural := after == 's' && !wordRune(last) && unicode.IsUpper(before)
			if !unicode.IsUpper(before) || unicode.IsLower(after) && !plural {
				return j
			}
		}
		before = r
	}
	return len(text)
}

// stop lists words that say nothing about a tool: grammar, politeness, greetings, and
// what every request is about.
var stop = wordSet(`a about above actually after again ain all almost alright already also always am amazing an and
any anybody anyone anything are aren as ask at aware away awesome aww be because been before being believe best better between both bye but by bit
can cannot chat chatbot chatgpt cheers come could couldn currently day dear did didn do does doesn doing don done down during each either else
enough especially etc even ever every everyone everything evening exactly excellent excited feel few fine for fine friend from further gpt give
given glad go goes going gonna good goodbye got great greetings had happen happy has hasn have having he hello help helping her here hers hey hi his how
however i if ill im in into interested is isn it its just keep kind kindly know let like likely little ll long looking look lot love
lovely made make many may maybe me mean might mine more morning most much must my myself name need needs never new next nice night no none nope nor not
nothing now of off ok okay on once one ones only onto or other our out over own particular perhaps please possible possibly pretty provide
quite rather re really right said same say see seem shall she should show simply since so some somebody someone something soon sorry
specific still stuff such sup sure take talk tell than thank thanks that the their them then there these they thing things think this those though through
tired to today together tomorrow tonight too tool tools toward truly try trying two under until up upon us use used useful user using ve very via wait wanna want wanted wants was way
we well were what whatever when where whether which while who whom whose why will wish with within without won wonder wondering wonderful would wow yeah
yep yes yesterday yet yo you your yours yourself able assist assistance assistant afternoon cool whats thats id dont cant lol haha hmm ah oh uh um hmm mm bored bye welcome
你好 您好 谢谢 多谢 再见 早上 上好 晚上 晚安 早安 好的 是的 请问 我想 想要 帮我 可以 怎么 什么 一个 一下 我们 你们 他们 这个 那个 哈哈 在吗 你是 是谁 么样 怎样 今天 天好`)

func wordSet(text string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(text) {
		set[w] = true
	}
	return set
}

// weak lists words that many questions have and that say little: they count half.
var weak = wordSet(`access available best better common complete comprehensive content context create current data day describe detail detailed details
different example experience explain explore fact feature features find first full generate get important include includes including info
information latest list local main make method new number open option options order people person place popular process project provide question read real
recent recommend recommendation recommendations related request return review search set shared show start step suggest suggestion suggestions support system
text time top type value various view way work world year years user users run perform help discover check`)

// phrases are what people say without asking for anything, where the words alone might.
const phrases = `meet you
great job
good job
nice job
well done
never mind
happy birthday
merry christmas
happy new year
happy holidays
good luck
no problem
no worries
how old are you
long time no see
made my day
take care`

// telling returns the words of a question that say what it is about.
func telling(query string) []string {
	words := split(query)
	for phrase := range strings.Lines(phrases) {
		words = without(words, strings.Fields(phrase))
	}
	return slices.DeleteFunc(words, func(w string) bool { return stop[w] || number(w) })
}

// without removes a sequence of words.
func without(words, phrase []string) []string {
	for i := 0; i+len(phrase) <= len(words); i++ {
		if slices.Equal(words[i:i+len(phrase)], phrase) {
			words = slices.Delete(words, i, i+len(phrase))
			i--
		}
	}
	return words
}

// properNames returns the words that are written as names of places and persons are:
// with a capital letter, and not at the beginning of a sentence.
func properNames(query string) map[string]bool {
	names := map[string]bool{}
	begins := true
	for w := range strings.FieldsSeq(query) {
		if first, _ := utf8.DecodeRuneInString(w); unicode.IsUpper(first) && !begins {
			eachWord(w, func(part string) { names[part] = true })
		}
		begins = strings.HasSuffix(w, ".") || strings.HasSuffix(w, "?") || strings.HasSuffix(w, "!")
	}
	return names
}
